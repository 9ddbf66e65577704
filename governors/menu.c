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
 * Parameters: intervals, how many idle times the ring holds, 1 to 64, 8 in
 * Linux. decay_shift, how slowly a correction factor learns: it has the weight
 * of 2^decay_shift wakeups, 0 to 10, 3 in Linux. interesting_ns, from which
 * length on a sleep no longer lowers a factor, 0 to a second, 50 ms in Linux.
 * residency_threshold_ns, up to which expected idle time timers are not asked,
 * and below which target residency a state replaces polling, 0 to a second,
 * 15 us in Linux. enabled_first, with 1 a latency limit of 0 means the first
 * enabled state, not state 0 even where that is switched off: 0 or 1, 0 in Linux
 * up to 7.3.
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
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>

#include "menu-common.h"

module_param_named(residency_threshold_ns, menu_tuning.residency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(residency_threshold_ns,
		 "expect less than this and timers are not asked, ns, 0 to 1000000000");

module_param_named(enabled_first, menu_tuning.enabled_first, uint, 0444);
MODULE_PARM_DESC(enabled_first,
		 "with no latency allowed, take the first enabled state, not state 0: 0 or 1");

static DEFINE_PER_CPU(struct menu_device, menu_devices);

/* The mean of the recent idle times if they are alike, us, else MENU_NO_INTERVAL. */
static __always_inline u32 menu_typical_us(const struct menu_device *data,
					   const struct menu_tuning *tuning)
{
	/* Samples strictly between these count. */
	s64 above = -1, below = U32_MAX;

	for (;;) {
		s64 lowest = U32_MAX, highest = 0, mean;
		u64 sum = 0, squares = 0;
		u32 samples = 0;
		uint i;

		for (i = 0; i < tuning->intervals; i++) {
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
		if (highest == 0) {
			pr_debug("there are no idle times to find a rhythm in\n");
			return MENU_NO_INTERVAL;
		}

		/* Not quite the variance where the mean is no integer: a little more. */
		mean = menu_mean(tuning, sum, samples);
		if (menu_regular(tuning, mean,
				 menu_mean(tuning, squares, samples) - (u64)mean * mean, samples)) {
			pr_debug("%u of %u idle times agree: %lld ns in the mean\n",
				 samples, tuning->intervals, mean * NSEC_PER_USEC);
			return (u32)mean;
		}
		if (menu_too_few(tuning, samples)) {
			pr_debug("the last %u idle times have no rhythm\n", tuning->intervals);
			return MENU_NO_INTERVAL;
		}

		if (mean - lowest > highest - mean)
			above = lowest;
		else
			below = highest;
	}
}

static __always_inline int menu_choose(struct cpuidle_driver *drv, struct cpuidle_device *dev,
				       bool *stop_tick, const struct menu_tuning *tuning)
{
	struct menu_device *data = per_cpu_ptr(&menu_devices, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	bool stopped = tick_nohz_tick_stopped();
	s64 delta_tick_ns = TICK_NSEC / 2;
	u64 predicted_ns, corrected_ns;
	int idx = -1;
	int i;

	if (data->needs_update) {
		menu_update(data, drv, dev, tuning);
	} else if (dev->last_residency_ns == 0) {
		pr_debug("no sleep was measured since: that counts as an endless idle time\n");
		menu_push_interval(data, tuning, U32_MAX);
	}

	predicted_ns = (u64)menu_typical_us(data, tuning) * NSEC_PER_USEC;
	if (predicted_ns > tuning->residency_threshold_ns || stopped) {
		menu_ask_timer(data, &delta_tick_ns);
		data->bucket = menu_magnitude(data->next_timer_ns);
		corrected_ns = (u64)menu_corrected_us(data, tuning) * NSEC_PER_USEC;
		predicted_ns = min_t(u64, predicted_ns, corrected_ns);

		/*
		 * No tick would end a sleep that turns out longer: trust a
		 * timer that is well out of its reach.
		 */
		if (stopped && predicted_ns < (u64)TICK_NSEC &&
		    data->next_timer_ns > 2 * (u64)TICK_NSEC) {
			predicted_ns = data->next_timer_ns;
			pr_debug("the tick is stopped: trust the timer in %llu ns\n", predicted_ns);
		}
	} else {
		pr_debug("%llu ns are so short that the timers are not asked\n", predicted_ns);
		data->next_timer_ns = KTIME_MAX;
		data->bucket = MENU_MAGNITUDES - 1;
	}

	if (menu_take_first(data, drv, dev, latency_limit_ns, tuning)) {
		*stop_tick = !state_polls(drv, 0);
		return 0;
	}

	for (i = 0; i < drv->state_count; i++) {
		const struct cpuidle_state *s = &drv->states[i];
		u64 residency_ns = s->target_residency_ns;

		if (state_disabled(dev, i)) {
			pr_debug("state %d is disabled\n", i);
			continue;
		}
		if (idx < 0)
			idx = i;

		if (s->exit_latency_ns > latency_limit_ns) {
			menu_explain_slow(i, s->exit_latency_ns, latency_limit_ns);
			break;
		}
		if (residency_ns <= predicted_ns) {
			idx = i;
			continue;
		}

		/*
		 * Rather than spinning, a real state that is cheap and fits
		 * before the timer.
		 */
		if (state_polls(drv, idx) && residency_ns <= data->next_timer_ns &&
		    residency_ns < tuning->residency_threshold_ns &&
		    (u64)s->exit_latency_ns <= predicted_ns) {
			menu_explain_no_poll(i, residency_ns);
			predicted_ns = residency_ns;
			idx = i;
			break;
		}
		menu_explain_deep(i, residency_ns, predicted_ns);
		if (predicted_ns < (u64)TICK_NSEC)
			break;
		if (!stopped) {
			/*
			 * Keep the tick if what was found does not need more
			 * than a tick.
			 */
			predicted_ns = drv->states[idx].target_residency_ns;
			menu_explain_modest(idx, predicted_ns);
			break;
		}
		/* The tick is off: do not sit in a shallow state for long. */
		if (drv->states[idx].target_residency_ns < TICK_NSEC &&
		    s->target_residency_ns <= delta_tick_ns)
			idx = i;
		menu_explain_stopped(idx, delta_tick_ns);
		return idx;
	}

	return menu_finish(drv, dev, idx, predicted_ns, delta_tick_ns, stopped, stop_tick);
}

static int menu_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	return menu_choose(drv, dev, stop_tick, &menu_defaults);
}

static int menu_select_tuned(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			     bool *stop_tick)
{
	return menu_choose(drv, dev, stop_tick, &menu_tuning);
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
	int err = menu_check_tuning();

	if (err)
		return err;
	if (menu_is_tuned())
		menu_governor.select = menu_select_tuned;

	return cpuidle_register_governor(&menu_governor);
}
postcore_initcall(menu_governor_init);
