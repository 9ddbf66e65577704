// SPDX-License-Identifier: GPL-2.0-only
/*
 * The menu governor of Linux 5.13 to 6.5: the next timer, corrected by
 * experience and by rhythm.
 *
 * The idea: start from the time to the next timer. Multiply it by a factor that
 * says how much of such a time was really slept in the past, one factor for
 * each order of magnitude, with a second set for CPUs on which tasks wait for
 * I/O. Then look at the last eight idle times: if they are much alike after
 * dropping an outlier or two, their mean is a better guess if it is the shorter
 * one. The deepest state whose target residency fits into the result is chosen.
 * While tasks wait for I/O the latency that may be spent shrinks to a part of
 * the expected time. If less than a tick is expected, the tick keeps running.
 *
 * When it wins: regular wakeups of any source, also such that no timer
 * announces, since the ring of eight sees the rhythm itself; storage and
 * network work on servers, through the I/O rule.
 *
 * When it loses: mixtures. One factor for a whole order of magnitude averages
 * over unlike events, and an interval pattern needs six of eight alike. It goes
 * too deep after a short burst, and a decision is dear: a division by a
 * variable to book a wakeup, up to six more to find a pattern.
 *
 * Parameters: intervals, how many idle times the ring holds, 1 to 64, 8 in
 * Linux. decay_shift, how slowly a correction factor learns: it has the weight
 * of 2^decay_shift wakeups, 0 to 10, 3 in Linux. interesting_ns, from which
 * length on a sleep no longer lowers a factor, 0 to a second, 50 ms in Linux.
 *
 * Lineage: the default governor of kernels with a dynamic tick. This form is in
 * 5.13 to 6.5 and in 6.1.y before 6.1.141; the baseline of seeds 000, 002 and
 * 004. Written from governors.md, sections 4.1 to 4.4 ("menu-5.13"). Rating as
 * menu has in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/limits.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched/stat.h>

#include "menu-common.h"

/*
 * With tasks waiting for I/O, allow one part in 1 + this for each of them as
 * exit latency.
 */
#define MENU_IOWAIT_WEIGHT	10

static DEFINE_PER_CPU(struct menu_device, menu_devices);

/*
 * The mean of the recent idle times if they are alike, us, else
 * MENU_NO_INTERVAL. Samples at the upper end are dropped while three quarters
 * remain. If even the smallest is not below @limit_us the pattern would not
 * shorten the prediction, and is not looked for.
 */
static __always_inline u32 menu_typical_us(const struct menu_device *data,
					   const struct menu_tuning *tuning, u32 limit_us)
{
	u32 threshold = S32_MAX;

	for (;;) {
		u32 lowest = U32_MAX, highest = 0, samples = 0, mean;
		u64 sum = 0, variance = 0;
		uint i;

		for (i = 0; i < tuning->intervals; i++) {
			u32 value = data->intervals[i];
			bool counts = value <= threshold;

			/* What does not count is longer than all that does. */
			lowest = min_t(u32, lowest, value);
			value *= counts;
			sum += value;
			samples += counts;
			highest = max_t(u32, highest, value);
		}
		if (samples == 0 || lowest >= limit_us) {
			pr_debug("no recent idle time is shorter: their rhythm does not matter\n");
			return MENU_NO_INTERVAL;
		}

		mean = (u32)menu_mean(tuning, sum, samples);
		for (i = 0; i < tuning->intervals; i++) {
			s64 diff = (s64)data->intervals[i] - mean;

			variance += diff * diff * (data->intervals[i] <= threshold);
		}
		variance = menu_mean(tuning, variance, samples);

		if (menu_regular(tuning, mean, variance, samples)) {
			pr_debug("%u of %u idle times agree: %llu ns in the mean\n",
				 samples, tuning->intervals, mean * (u64)NSEC_PER_USEC);
			return mean;
		}
		if (menu_too_few(tuning, samples)) {
			pr_debug("the last %u idle times have no rhythm\n", tuning->intervals);
			return MENU_NO_INTERVAL;
		}

		threshold = highest - 1;
	}
}

static __always_inline int menu_choose(struct cpuidle_driver *drv, struct cpuidle_device *dev,
				       bool *stop_tick, const struct menu_tuning *tuning)
{
	struct menu_device *data = per_cpu_ptr(&menu_devices, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	u64 iowait = nr_iowait_cpu(dev->cpu);
	bool stopped = tick_nohz_tick_stopped();
	u64 predicted_ns;
	s64 delta_tick_ns;
	u32 corrected_us, typical_us;
	int idx = -1;
	int i;

	if (data->needs_update)
		menu_update(data, drv, dev, tuning);

	menu_ask_timer(data, &delta_tick_ns);
	data->bucket = menu_magnitude(data->next_timer_ns) + (iowait ? MENU_MAGNITUDES : 0);

	if (menu_take_first(data, drv, dev, latency_limit_ns, tuning)) {
		*stop_tick = !state_polls(drv, 0);
		return 0;
	}

	corrected_us = menu_corrected_us(data, tuning);
	typical_us = menu_typical_us(data, tuning, corrected_us);
	predicted_ns = (u64)min_t(u32, corrected_us, typical_us) * NSEC_PER_USEC;

	if (stopped) {
		/*
		 * No tick would end a sleep that turns out longer: better trust
		 * the timer.
		 */
		if (predicted_ns < (u64)TICK_NSEC) {
			predicted_ns = data->next_timer_ns;
			pr_debug("the tick is stopped: trust the timer in %llu ns\n", predicted_ns);
		}
	} else {
		u64 affordable_ns = predicted_ns;

		if (iowait)
			affordable_ns = div64_u64(predicted_ns, 1 + MENU_IOWAIT_WEIGHT * iowait);

		if ((u64)latency_limit_ns > affordable_ns) {
			latency_limit_ns = affordable_ns;
			pr_debug("prediction and %llu I/O waiters limit the latency to %lld ns\n",
				 iowait, latency_limit_ns);
		}
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

		if (residency_ns > predicted_ns) {
			/*
			 * Rather than spinning, a real state that fits before
			 * the timer.
			 */
			if (state_polls(drv, idx) && s->exit_latency_ns <= latency_limit_ns &&
			    residency_ns <= data->next_timer_ns) {
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
				 * Keep the tick unless the state found needs
				 * more than one.
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
		/*
		 * The prediction stays: a shallow state forced by the limit may
		 * stop the tick.
		 */
		if (s->exit_latency_ns > latency_limit_ns) {
			menu_explain_slow(i, s->exit_latency_ns, latency_limit_ns);
			break;
		}
		idx = i;
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
	.name		= "menu-6.1",
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
