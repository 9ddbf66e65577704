// SPDX-License-Identifier: GPL-2.0-only
/*
 * The menu governor of Linux 7.1 to 7.3: rhythm first, the next timer only
 * where it can matter.
 *
 * The idea: as menu-6.1, turned round. The last eight idle times are looked at
 * first, and outliers are dropped at both ends, whichever is farther from the
 * mean. If they say that the CPU wakes within 15 us anyway, the timers are not
 * asked at all, which is expensive in a kernel. Otherwise the time to the next
 * timer, corrected by experience, limits the prediction. Tasks that wait for
 * I/O no longer play a part, nor does the prediction limit the latency that may
 * be spent. An entry that was rejected or broken off counts as a very long
 * interval, so that it cannot become part of a pattern.
 *
 * When it wins: as menu-6.1, with less cost for a decision in fast wakeup
 * patterns, and with deeper states for storage and network work, whose latency
 * rule is gone.
 *
 * When it loses: latency of I/O-bound work against menu-6.1 and TEO. Mixed
 * wakeups still defeat the pattern, and a correction factor still averages over
 * unlike events.
 *
 * Parameters: none.
 *
 * Lineage: menu-6.1; timers skipped in 6.6, I/O rule dropped in 6.13, new
 * pattern search in 6.15, latency tested first in 6.17, polling replaced only
 * for states below 15 us in 6.19, timers always asked with the tick stopped in
 * 7.0, trusted then only beyond two ticks in 7.1. Written from governors.md,
 * sections 4.1 to 4.5 ("menu-7.1"). Rating as menu has in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/limits.h>
#include <linux/percpu.h>

#include "menu-common.h"

/*
 * Below this an expected idle time does not depend on timers, and a state does
 * not need a good reason.
 */
#define MENU_SHORT_NS		(15 * NSEC_PER_USEC)

static DEFINE_PER_CPU(struct menu_device, menu_devices);

/* The mean of the recent idle times if they are alike, us, else MENU_NO_INTERVAL. */
static u32 menu_typical_us(const struct menu_device *data)
{
	/* Samples strictly between these count. */
	s64 above = -1, below = U32_MAX;

	for (;;) {
		s64 lowest = U32_MAX, highest = 0, mean;
		u64 sum = 0, squares = 0;
		u32 samples = 0;
		int i;

		for (i = 0; i < MENU_INTERVALS; i++) {
			s64 value = data->intervals[i];

			if (value <= above || value >= below)
				continue;
			sum += value;
			squares += (u64)value * value;
			samples++;
			highest = max_t(s64, highest, value);
			lowest = min_t(s64, lowest, value);
		}
		/* No samples, or only zeros as right after boot. */
		if (highest == 0)
			return MENU_NO_INTERVAL;

		/* Not quite the variance where the mean is no integer: a little more. */
		mean = div_u64(sum, samples);
		if (menu_regular(mean, div_u64(squares, samples) - (u64)mean * mean, samples))
			return (u32)mean;
		if (4 * samples <= 3 * MENU_INTERVALS)
			return MENU_NO_INTERVAL;

		if (mean - lowest > highest - mean)
			above = lowest;
		else
			below = highest;
	}
}

static int menu_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct menu_device *data = per_cpu_ptr(&menu_devices, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	bool stopped = tick_nohz_tick_stopped();
	s64 delta_tick_ns = TICK_NSEC / 2;
	u64 predicted_ns, corrected_ns;
	int idx = -1;
	int i;

	if (data->needs_update)
		menu_update(data, drv, dev);
	else if (dev->last_residency_ns == 0)
		menu_push_interval(data, U32_MAX);

	predicted_ns = (u64)menu_typical_us(data) * NSEC_PER_USEC;
	if (predicted_ns > MENU_SHORT_NS || stopped) {
		menu_ask_timer(data, &delta_tick_ns);
		data->bucket = menu_magnitude(data->next_timer_ns);
		corrected_ns = (u64)menu_corrected_us(data) * NSEC_PER_USEC;
		predicted_ns = min_t(u64, predicted_ns, corrected_ns);

		/*
		 * No tick would end a sleep that turns out longer: trust a
		 * timer that is well out of its reach.
		 */
		if (stopped && predicted_ns < (u64)TICK_NSEC &&
		    data->next_timer_ns > 2 * (u64)TICK_NSEC)
			predicted_ns = data->next_timer_ns;
	} else {
		data->next_timer_ns = KTIME_MAX;
		data->bucket = MENU_MAGNITUDES - 1;
	}

	if (menu_take_first(data, drv, dev, latency_limit_ns)) {
		*stop_tick = !state_polls(drv, 0);
		return 0;
	}

	for (i = 0; i < drv->state_count; i++) {
		const struct cpuidle_state *s = &drv->states[i];
		u64 residency_ns = s->target_residency_ns;

		if (state_disabled(dev, i))
			continue;
		if (idx < 0)
			idx = i;

		if (s->exit_latency_ns > latency_limit_ns)
			break;
		if (residency_ns <= predicted_ns) {
			idx = i;
			continue;
		}

		/*
		 * Rather than spinning, a real state that is cheap and fits
		 * before the timer.
		 */
		if (state_polls(drv, idx) && residency_ns <= data->next_timer_ns &&
		    residency_ns < MENU_SHORT_NS && (u64)s->exit_latency_ns <= predicted_ns) {
			predicted_ns = residency_ns;
			idx = i;
			break;
		}
		if (predicted_ns < (u64)TICK_NSEC)
			break;
		if (!stopped) {
			/*
			 * Keep the tick if what was found does not need more
			 * than a tick.
			 */
			predicted_ns = drv->states[idx].target_residency_ns;
			break;
		}
		/* The tick is off: do not sit in a shallow state for long. */
		if (drv->states[idx].target_residency_ns < TICK_NSEC &&
		    s->target_residency_ns <= delta_tick_ns)
			idx = i;
		return idx;
	}

	return menu_finish(drv, dev, idx, predicted_ns, delta_tick_ns, stopped, stop_tick);
}

static void menu_reflect(struct cpuidle_device *dev, int index)
{
	menu_reflect_common(per_cpu_ptr(&menu_devices, dev->cpu), dev, index);
}

static int menu_enable_device(struct cpuidle_driver *drv __always_unused,
			      struct cpuidle_device *dev)
{
	menu_enable(per_cpu_ptr(&menu_devices, dev->cpu));
	return 0;
}

static struct cpuidle_governor menu_governor = {
	.name		= "menu",
	.rating		= 20,
	.enable		= menu_enable_device,
	.select		= menu_select,
	.reflect	= menu_reflect,
};

static int __init menu_governor_init(void)
{
	return cpuidle_register_governor(&menu_governor);
}
postcore_initcall(menu_governor_init);
