// SPDX-License-Identifier: GPL-2.0-only
/*
 * The menu governor of late Linux 6.12.y: recent idle periods without the longest,
 * then the timer.
 *
 * The idea: as menu, look for a pattern in the last eight idle periods first, and
 * compute the time to the next timer, corrected by experience, only if the
 * pattern predicts more than 15 us or the tick is stopped. The pattern is found
 * as in menu-6.1: if most idle periods are alike after one or two long ones were
 * dropped, their mean is the prediction.
 *
 * When it wins: as menu, regular wakeups from any source, and fast ones, which
 * cost it no timer.
 *
 * When it loses: as menu, mixed wakeups. Short idle periods are never dropped:
 * one among long ones hides the pattern, or is left as the pattern. With the
 * tick stopped it expects the timer, however near that is.
 *
 * Neighbours: menu drops the idle period farthest from the mean at either end,
 * and with the tick stopped expects the timer only if it is more than two ticks
 * away. menu-6.1 computes the timer first, has a rule for I/O, and lets the
 * prediction limit the exit latency.
 *
 * Parameters: intervals, the number of idle periods in the ring, 1 to 64, 8 in
 * Linux. decay_shift, how slowly a correction factor learns: the factor has the
 * weight of 2^decay_shift wakeups, 0 to 10, 3 in Linux. interesting_ns: a longer
 * idle period does not lower the factor, 0 to a second, 50 ms in Linux.
 * no_pattern, what recent idle periods without a pattern predict: 0, nothing, as
 * in 6.12.56 and later; 1, the longest of those that are left, if there are four,
 * as in 6.12.31 to 6.12.55; 2, the longest of all. residency_threshold_ns, the
 * largest prediction for which no timer is computed, and the target residency
 * below which a state replaces polling, 0 to a second, 15 us in Linux.
 *
 * Lineage: menu-6.1; 6.6 skips the timer for short predictions. The stable
 * releases 6.12.43 to 6.12.75 then took what 6.13 to 7.0 changed, except for the
 * search for a pattern of 6.15: no rule for I/O, the latency first, polling
 * replaced only by states below 15 us, the timer whenever the tick is stopped.
 * The rating is that of menu in Linux.
 */
#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "governor.h"

/* The most that one wakeup adds to a correction factor. */
#define MENU_RESOLUTION		1024

#define MENU_INTERVALS_MAX	64

/* One correction factor for each order of magnitude of the time to the timer. */
#define MENU_BUCKETS		6

/* An endless idle period, and the answer if the recent ones show no pattern, us. */
#define MENU_NO_INTERVAL	U32_MAX

/* A longer idle period is part of no pattern, us. */
#define MENU_INTERVAL_LONGEST	S32_MAX

/* 36 times the largest variance must fit into 64 bits. */
#define MENU_SIGMAS_SQUARED	36
#define MENU_VARIANCE_MAX	(U64_MAX / MENU_SIGMAS_SQUARED)
#define MENU_VARIANCE_SMALL	400

/**
 * struct menu_tuning - the constants of the algorithm
 * @residency_threshold_ns: up to this prediction no timer is computed, and a
 *   state with a target residency below it may replace polling
 * @intervals: number of idle periods in the ring
 * @decay_shift: a correction factor has the weight of 2^this wakeups
 * @interesting_ns: an idle period of this length counts as if it had lasted
 *   until the timer
 * @no_pattern: what recent idle periods without a pattern predict: nothing (0),
 *   the longest of those that are left if these are four or more (1), or the
 *   longest of all (2)
 */
struct menu_tuning {
	uint residency_threshold_ns;
	uint intervals;
	uint decay_shift;
	uint interesting_ns;
	uint no_pattern;
};

/* As in Linux. */
#define MENU_DEFAULTS {						\
	.residency_threshold_ns = 15 * NSEC_PER_USEC,		\
	.intervals = 8,						\
	.decay_shift = 3,					\
	.interesting_ns = 50 * NSEC_PER_MSEC,			\
}

static const struct menu_tuning menu_defaults = MENU_DEFAULTS;
static struct menu_tuning menu_tuning = MENU_DEFAULTS;

module_param_named(residency_threshold_ns, menu_tuning.residency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(residency_threshold_ns,
		 "the largest prediction without a timer, ns, 0 to 1000000000");

module_param_named(intervals, menu_tuning.intervals, uint, 0444);
MODULE_PARM_DESC(intervals, "number of recent idle periods in the ring, 1 to 64");

module_param_named(decay_shift, menu_tuning.decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "a correction factor has the weight of 2^this wakeups, 0 to 10");

module_param_named(interesting_ns, menu_tuning.interesting_ns, uint, 0444);
MODULE_PARM_DESC(interesting_ns,
		 "a longer idle period does not lower the factor, ns, 0 to 1000000000");

module_param_named(no_pattern, menu_tuning.no_pattern, uint, 0444);
MODULE_PARM_DESC(no_pattern,
		 "without a pattern expect nothing (0), the longest left (1), the longest (2)");

/**
 * struct menu_device - the history of a CPU
 * @next_timer_ns: time to the next timer at the last choice
 * @bucket: index of the correction factor for that time
 * @interval_slot: slot of @intervals that the next idle period takes
 * @needs_update: the last wakeup is not part of the history yet
 * @tick_wakeup: the tick ended the last idle period, or ran during it
 * @factor: the part of the time to the timer that the CPU was really idle,
 *   menu_unity() for all of it
 * @intervals: last idle periods, us
 */
struct menu_device {
	u64 next_timer_ns;
	u32 bucket;
	u32 interval_slot;
	bool needs_update;
	bool tick_wakeup;
	u32 factor[MENU_BUCKETS];
	u32 intervals[MENU_INTERVALS_MAX];
};

static DEFINE_PER_CPU(struct menu_device, menu_devices);

/* A correction factor of one. */
static __always_inline u32 menu_unity(const struct menu_tuning *tuning)
{
	return MENU_RESOLUTION << tuning->decay_shift;
}

/* Order of magnitude of @duration_ns: 0 below 10 us, 5 from 100 ms on. */
static __always_inline u32 menu_magnitude(u64 duration_ns)
{
	return (duration_ns >= 10 * NSEC_PER_USEC) + (duration_ns >= 100 * NSEC_PER_USEC) +
	       (duration_ns >= NSEC_PER_MSEC) + (duration_ns >= 10 * NSEC_PER_MSEC) +
	       (duration_ns >= 100 * NSEC_PER_MSEC);
}

static __always_inline void menu_push_interval(struct menu_device *data,
					       const struct menu_tuning *tuning, u32 interval_us)
{
	data->intervals[data->interval_slot] = interval_us;
	data->interval_slot = (data->interval_slot + 1) % tuning->intervals;
}

/* How long the CPU could have been idle, at most until the timer. */
static __always_inline u64 menu_measured(const struct menu_device *data,
					 const struct cpuidle_driver *drv,
					 const struct cpuidle_device *dev,
					 const struct menu_tuning *tuning)
{
	const struct cpuidle_state *last = &drv->states[dev->last_state_idx];
	u64 latency_ns = last->exit_latency_ns;
	u64 measured_ns = dev->last_residency_ns;

	if (data->tick_wakeup && data->next_timer_ns > (u64)TICK_NSEC) {
		/*
		 * It was wrong to keep the tick. It must not look like the
		 * expected event, nor count as an interesting idle period.
		 */
		measured_ns = 9 * (u64)tuning->interesting_ns / 10;
		pr_debug("the tick ended the idle period in state %d: it counts as %llu ns\n",
			 dev->last_state_idx, measured_ns);
	} else if ((last->flags & CPUIDLE_FLAG_POLLING) && dev->poll_time_limit) {
		/* The end of the polling loop is no event. */
		measured_ns = data->next_timer_ns;
		pr_debug("polling in state %d reached its limit: it counts as %llu ns\n",
			 dev->last_state_idx, measured_ns);
	} else {
		if (measured_ns > 2 * latency_ns)
			measured_ns -= latency_ns;
		else
			measured_ns /= 2;
		pr_debug("the CPU was idle in state %d for %llu ns, %llu ns without exit latency\n",
			 dev->last_state_idx, dev->last_residency_ns, measured_ns);
	}
	return min_t(u64, measured_ns, data->next_timer_ns);
}

/* Add the last wakeup to the history. */
static __always_inline void menu_update(struct menu_device *data, const struct cpuidle_driver *drv,
					const struct cpuidle_device *dev,
					const struct menu_tuning *tuning)
{
	u64 measured_ns = menu_measured(data, drv, dev, tuning);
	u32 factor = data->factor[data->bucket];

	factor -= factor >> tuning->decay_shift;
	if (data->next_timer_ns > 0 && measured_ns < tuning->interesting_ns)
		factor += (u32)div64_u64(MENU_RESOLUTION * measured_ns, data->next_timer_ns);
	else
		factor += MENU_RESOLUTION;
	pr_debug("the timer was %llu ns away: its correction factor goes from %u/%u to %u/%u\n",
		 data->next_timer_ns, data->factor[data->bucket], menu_unity(tuning), factor,
		 menu_unity(tuning));
	data->factor[data->bucket] = factor;

	menu_push_interval(data, tuning, (u32)div_u64(measured_ns, NSEC_PER_USEC));
	data->needs_update = false;
}

/* The usual numbers of samples are constants: a compiler multiplies instead of dividing. */
static __always_inline u64 menu_mean(u64 sum, u32 samples)
{
	switch (samples) {
	case 8:
		return sum / 8;
	case 7:
		return div_u64(sum, 7);
	case 6:
		return div_u64(sum, 6);
	default:
		return div_u64(sum, samples);
	}
}

/* Whether intervals with this mean and variance are alike enough to predict the next one. */
static __always_inline bool menu_regular(const struct menu_tuning *tuning, u64 mean, u64 variance,
					 u32 samples)
{
	if (variance > MENU_VARIANCE_MAX)
		return false;

	if (variance <= MENU_VARIANCE_SMALL)
		return true;

	return mean * mean > MENU_SIGMAS_SQUARED * variance &&
	       4 * samples >= 3 * tuning->intervals;
}

/* What the recent idle periods predict without a pattern, us. */
static __always_inline u32 menu_irregular_us(const struct menu_tuning *tuning, u32 samples,
					     u32 longest_left, u32 longest)
{
	bool left = tuning->no_pattern == 1 && samples >= 4;

	pr_debug("the last %u idle periods show no pattern\n", tuning->intervals);
	if (!left && tuning->no_pattern != 2)
		return MENU_NO_INTERVAL;

	if (left)
		longest = longest_left;
	pr_debug("the longest of them, %llu ns, is expected\n", longest * (u64)NSEC_PER_USEC);
	return longest;
}

/* The mean of the recent idle periods if they are alike, us, else MENU_NO_INTERVAL. */
static __always_inline u32 menu_typical_us(const struct menu_device *data,
					   const struct menu_tuning *tuning)
{
	u32 lowest = U32_MAX, highest = 0, samples = 0, longest;
	u64 sum = 0, squares = 0;
	uint i;

	for (i = 0; i < tuning->intervals; i++) {
		u32 value = data->intervals[i];

		if (value > MENU_INTERVAL_LONGEST)
			continue;
		lowest = min(lowest, value);
		sum += value;
		squares += (u64)value * value;
		samples++;
		highest = max(highest, value);
	}
	longest = highest;

	for (;;) {
		u32 outlier = highest, count = 0;
		u64 mean, variance;

		/* The ring starts with zeros, which are no pattern. */
		if (highest == 0) {
			pr_debug("no recent idle period is known: there is no pattern\n");
			return MENU_NO_INTERVAL;
		}

		/* The sum of the squared distances from the rounded mean. */
		mean = menu_mean(sum, samples);
		variance = squares - 2 * mean * sum + samples * mean * mean;
		variance = menu_mean(variance, samples);
		if (menu_regular(tuning, mean, variance, samples)) {
			pr_debug("%u of %u recent idle periods are alike: their mean is %llu ns\n",
				 samples, tuning->intervals, mean * NSEC_PER_USEC);
			return (u32)mean;
		}
		if (4 * samples <= 3 * tuning->intervals)
			return menu_irregular_us(tuning, samples, highest, longest);

		/*
		 * Drop the largest value, as often as it occurs. Not all values
		 * are equal, since they would be regular.
		 */
		highest = lowest;
		for (i = 0; i < tuning->intervals; i++) {
			u32 value = data->intervals[i];

			count += value == outlier;
			highest = max(highest, value < outlier ? value : lowest);
		}
		samples -= count;
		sum -= (u64)count * outlier;
		squares -= (u64)outlier * outlier * count;
	}
}

/* Compute the time to the next timer. A timer that is overdue counts as due now. */
static __always_inline void menu_ask_timer(struct menu_device *data, s64 *delta_tick_ns)
{
	s64 sleep_length_ns = tick_nohz_get_sleep_length(delta_tick_ns);

	if (sleep_length_ns < 0) {
		pr_debug("the timer is overdue by %lld ns: it counts as due now\n",
			 -sleep_length_ns);
		sleep_length_ns = 0;
		*delta_tick_ns = 0;
	}
	data->next_timer_ns = sleep_length_ns;
}

/*
 * Time to the next timer after correction, us. The product wraps for times
 * beyond 26 days, among them "never", and the result keeps 32 bits: it is then
 * an arbitrary number, nearly always a large one.
 */
static __always_inline u32 menu_corrected_us(const struct menu_device *data,
					     const struct menu_tuning *tuning)
{
	u64 product = data->next_timer_ns * data->factor[data->bucket];
	u32 factor_ns_to_us = menu_unity(tuning) * (u32)NSEC_PER_USEC;
	u32 corrected_us = (u32)div_u64(product + factor_ns_to_us / 2, factor_ns_to_us);

	pr_debug("the next timer is due in %llu ns, corrected to %llu ns by the factor %u/%u\n",
		 data->next_timer_ns, (u64)corrected_us * NSEC_PER_USEC,
		 data->factor[data->bucket], menu_unity(tuning));
	return corrected_us;
}

/*
 * Whether state 0 is taken without a search: no latency is allowed, or state 1
 * fits neither before the timer nor under the latency limit. State 1 counts
 * here even if it is disabled.
 */
static __always_inline bool menu_take_first(const struct menu_device *data,
					    const struct cpuidle_driver *drv,
					    const struct cpuidle_device *dev, s64 latency_limit_ns)
{
	const struct cpuidle_state *second = &drv->states[1];

	if (drv->state_count <= 1) {
		pr_debug("state 0 is the only state\n");
		return true;
	}
	if (latency_limit_ns == 0) {
		pr_debug("no exit latency is allowed: take state 0\n");
		return true;
	}
	if (state_disabled(dev, 0))
		return false;

	if (data->next_timer_ns < (u64)second->target_residency_ns) {
		pr_debug("the timer is due in %llu ns, but state 1 needs %lld ns: take state 0\n",
			 data->next_timer_ns, second->target_residency_ns);
		return true;
	}
	if (latency_limit_ns < second->exit_latency_ns) {
		pr_debug("state 1: exit latency %lld ns is above the limit of %lld ns: state 0\n",
			 second->exit_latency_ns, latency_limit_ns);
		return true;
	}
	return false;
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
		pr_debug("no idle period was measured: it counts as an endless one\n");
		menu_push_interval(data, tuning, MENU_NO_INTERVAL);
	}

	predicted_ns = (u64)menu_typical_us(data, tuning) * NSEC_PER_USEC;
	if (predicted_ns > tuning->residency_threshold_ns || stopped) {
		menu_ask_timer(data, &delta_tick_ns);
		data->bucket = menu_magnitude(data->next_timer_ns);
		corrected_ns = (u64)menu_corrected_us(data, tuning) * NSEC_PER_USEC;
		predicted_ns = min_t(u64, predicted_ns, corrected_ns);

		/*
		 * If the idle period is longer than predicted, no tick ends it:
		 * expect the timer.
		 */
		if (stopped && predicted_ns < (u64)TICK_NSEC) {
			predicted_ns = data->next_timer_ns;
			pr_debug("the tick is stopped: expect the timer in %llu ns\n",
				 predicted_ns);
		}
	} else {
		pr_debug("%llu ns are too short for a timer to matter: none is computed\n",
			 predicted_ns);
		data->next_timer_ns = KTIME_MAX;
		data->bucket = MENU_BUCKETS - 1;
	}

	if (menu_take_first(data, drv, dev, latency_limit_ns)) {
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
			pr_debug("state %d: exit latency %lld ns is above the limit of %lld ns\n",
				 i, s->exit_latency_ns, latency_limit_ns);
			break;
		}
		if (residency_ns <= predicted_ns) {
			idx = i;
			continue;
		}

		/*
		 * Instead of polling, take a state that is cheap to leave and
		 * fits before the timer.
		 */
		if (state_polls(drv, idx) && residency_ns <= data->next_timer_ns &&
		    residency_ns < tuning->residency_threshold_ns &&
		    (u64)s->exit_latency_ns <= predicted_ns) {
			pr_debug("state %d needs %llu ns: take it instead of polling\n",
				 i, residency_ns);
			predicted_ns = residency_ns;
			idx = i;
			break;
		}
		pr_debug("state %d: target residency %llu ns is above the %llu ns expected\n",
			 i, residency_ns, predicted_ns);
		if (predicted_ns < (u64)TICK_NSEC)
			break;
		if (!stopped) {
			/* Keep the tick if the state found needs less than a tick. */
			predicted_ns = drv->states[idx].target_residency_ns;
			pr_debug("state %d needs %llu ns: expect no more\n", idx, predicted_ns);
			break;
		}
		/* No tick ends an idle period that turns out long: avoid a shallow state. */
		if (drv->states[idx].target_residency_ns < TICK_NSEC &&
		    s->target_residency_ns <= delta_tick_ns)
			idx = i;
		pr_debug("the tick is stopped, the next event is in %lld ns: take state %d\n",
			 delta_tick_ns, idx);
		return idx;
	}

	if (idx < 0) {
		pr_debug("all states are disabled: take state 0\n");
		idx = 0;
	}
	pr_debug("state %d is the deepest that qualifies\n", idx);

	if (!tick_stays(drv, idx, predicted_ns, predicted_ns >= (u64)TICK_NSEC, stopped))
		return idx;

	*stop_tick = false;
	if (idx > 0 && drv->states[idx].target_residency_ns > delta_tick_ns)
		idx = state_before_tick(drv, dev, idx, delta_tick_ns);
	return idx;
}

/* With constants that the compiler knows a decision is faster. */
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
	struct menu_device *data = per_cpu_ptr(&menu_devices, dev->cpu);

	dev->last_state_idx = index;
	data->needs_update = true;
	data->tick_wakeup = tick_nohz_idle_got_tick();
}

static int menu_enable_device(struct cpuidle_driver *drv __always_unused,
			      struct cpuidle_device *dev)
{
	struct menu_device *data = per_cpu_ptr(&menu_devices, dev->cpu);
	int i;

	memset(data, 0, sizeof(*data));
	for (i = 0; i < MENU_BUCKETS; i++)
		data->factor[i] = menu_unity(&menu_tuning);
	return 0;
}

static struct cpuidle_governor menu_governor = {
	.name		= "menu-6.12",
	.rating		= 20,
	.enable		= menu_enable_device,
	.select		= menu_select,
	.reflect	= menu_reflect,
};

static int __init menu_governor_init(void)
{
	int err = check_param("intervals", menu_tuning.intervals, 1, MENU_INTERVALS_MAX) ?:
		  check_param("no_pattern", menu_tuning.no_pattern, 0, 2) ?:
		  check_param("decay_shift", menu_tuning.decay_shift, 0, 10) ?:
		  check_param("interesting_ns", menu_tuning.interesting_ns, 0, NSEC_PER_SEC) ?:
		  check_param("residency_threshold_ns", menu_tuning.residency_threshold_ns, 0,
			      NSEC_PER_SEC);

	if (err)
		return err;
	if (memcmp(&menu_tuning, &menu_defaults, sizeof(menu_tuning)) != 0)
		menu_governor.select = menu_select_tuned;

	return cpuidle_register_governor(&menu_governor);
}
postcore_initcall(menu_governor_init);
