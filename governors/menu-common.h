/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the versions of the menu governor have in common: the ring of recent
 * idle times, the correction of the time to the next timer by experience, and
 * the booking of a wakeup.
 */
#ifndef MENU_COMMON_H
#define MENU_COMMON_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "param-check.h"
#include "shallower.h"
#include "tick.h"

/* What one wakeup adds to a correction factor, at most. */
#define MENU_RESOLUTION		1024

#define MENU_INTERVALS_MAX	64

/*
 * One slot for each order of magnitude; older versions have a second set for
 * CPUs with tasks waiting for I/O.
 */
#define MENU_MAGNITUDES		6
#define MENU_BUCKETS		(2 * MENU_MAGNITUDES)

/* No interval repeats. */
#define MENU_NO_INTERVAL	U32_MAX

/* 36 times the largest variance must fit into 64 bits. */
#define MENU_SIGMAS_SQUARED	36
#define MENU_VARIANCE_MAX	(U64_MAX / MENU_SIGMAS_SQUARED)
#define MENU_VARIANCE_SMALL	400

/**
 * struct menu_tuning - the constants of the algorithm
 * @intervals: how many idle times the ring holds
 * @decay_shift: a correction factor has the weight of 2^this wakeups
 * @interesting_ns: from here on a sleep counts as full length whatever its
 *   timer was
 * @residency_threshold_ns: below this an expected idle time does not depend on
 *   timers, and a state does not need a good reason; not in older versions
 * @enabled_first: with no latency allowed state 0 is taken at once only if it is
 *   enabled; not in older versions
 */
struct menu_tuning {
	uint intervals;
	uint decay_shift;
	uint interesting_ns;
	uint residency_threshold_ns;
	uint enabled_first;
};

/* As in Linux. */
#define MENU_DEFAULTS {						\
	.intervals = 8,						\
	.decay_shift = 3,					\
	.interesting_ns = 50 * NSEC_PER_MSEC,			\
	.residency_threshold_ns = 15 * NSEC_PER_USEC,				\
}

static const struct menu_tuning menu_defaults = MENU_DEFAULTS;
static struct menu_tuning menu_tuning = MENU_DEFAULTS;

module_param_named(intervals, menu_tuning.intervals, uint, 0444);
MODULE_PARM_DESC(intervals, "recent idle times to look for a rhythm in, 1 to 64");

module_param_named(decay_shift, menu_tuning.decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "a correction factor has the weight of 2^this wakeups, 0 to 10");

module_param_named(interesting_ns, menu_tuning.interesting_ns, uint, 0444);
MODULE_PARM_DESC(interesting_ns, "longer sleeps do not lower a factor, ns, 0 to 1000000000");

static inline int __init menu_check_tuning(void)
{
	return check_param("enabled_first", menu_tuning.enabled_first, 0, 1) ?:
	       check_param("intervals", menu_tuning.intervals, 1, MENU_INTERVALS_MAX) ?:
	       check_param("decay_shift", menu_tuning.decay_shift, 0, 10) ?:
	       check_param("interesting_ns", menu_tuning.interesting_ns, 0, NSEC_PER_SEC) ?:
	       check_param("residency_threshold_ns", menu_tuning.residency_threshold_ns, 0,
			   NSEC_PER_SEC);
}

static inline bool menu_is_tuned(void)
{
	return memcmp(&menu_tuning, &menu_defaults, sizeof(menu_tuning)) != 0;
}

/* A correction factor of one. */
static __always_inline u32 menu_unity(const struct menu_tuning *tuning)
{
	return MENU_RESOLUTION << tuning->decay_shift;
}

/* What a sleep counts that the tick cut short: hardly interesting. */
static __always_inline u64 menu_tick_cut_ns(const struct menu_tuning *tuning)
{
	return 9 * (u64)tuning->interesting_ns / 10;
}

/**
 * struct menu_device - what menu knows about a CPU
 * @next_timer_ns: time to the next timer at the last choice
 * @bucket: correction factor that belonged to it
 * @interval_slot: slot of @intervals that the next wakeup takes
 * @needs_update: a wakeup has not been booked yet
 * @tick_wakeup: the tick ended the last sleep, or at least ran
 * @factor: how much of the time to the timer was really slept, menu_unity() for
 *   all
 * @intervals: last idle times, us
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

static __always_inline void menu_enable(struct menu_device *data)
{
	int i;

	memset(data, 0, sizeof(*data));
	for (i = 0; i < MENU_BUCKETS; i++)
		data->factor[i] = menu_unity(&menu_tuning);
}

static __always_inline void menu_reflect_common(struct menu_device *data,
						struct cpuidle_device *dev, int index)
{
	dev->last_state_idx = index;
	data->needs_update = true;
	data->tick_wakeup = tick_nohz_idle_got_tick();
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

/* How long the CPU could have slept, at most until the timer. */
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
		 * The tick should have been stopped; do not let it look like
		 * the event that was awaited.
		 */
		measured_ns = menu_tick_cut_ns(tuning);
		pr_debug("state %d was cut short by the tick: that counts as %llu ns\n",
			 dev->last_state_idx, measured_ns);
	} else if ((last->flags & CPUIDLE_FLAG_POLLING) && dev->poll_time_limit) {
		/* The end of the polling loop is no event. */
		measured_ns = data->next_timer_ns;
		pr_debug("state %d polled to its limit: that counts as the %llu ns to the timer\n",
			 dev->last_state_idx, measured_ns);
	} else {
		if (measured_ns > 2 * latency_ns)
			measured_ns -= latency_ns;
		else
			measured_ns /= 2;
		pr_debug("state %d was left after %llu ns, %llu ns without its exit latency\n",
			 dev->last_state_idx, dev->last_residency_ns, measured_ns);
	}
	return min_t(u64, measured_ns, data->next_timer_ns);
}

/* Book the last wakeup. */
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
	pr_debug("the timer had been %llu ns away: factor for such timers from %u/%u to %u/%u\n",
		 data->next_timer_ns, data->factor[data->bucket], menu_unity(tuning), factor,
		 menu_unity(tuning));
	data->factor[data->bucket] = factor;

	menu_push_interval(data, tuning, (u32)div_u64(measured_ns, NSEC_PER_USEC));
	data->needs_update = false;
}

/* Ask for the next timer. A timer that is overdue counts as due now. */
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
 * beyond 26 days, "never" among them, and the result keeps 32 bits: an odd
 * number then, but nearly always a large one.
 */
static __always_inline u32 menu_corrected_us(const struct menu_device *data,
					     const struct menu_tuning *tuning)
{
	u64 product = data->next_timer_ns * data->factor[data->bucket];
	u32 factor_ns_to_us = menu_unity(tuning) * (u32)NSEC_PER_USEC;
	u32 corrected_us = (u32)div_u64(product + factor_ns_to_us / 2, factor_ns_to_us);

	pr_debug("next timer in %llu ns, corrected to %llu ns by factor %u/%u\n",
		 data->next_timer_ns, (u64)corrected_us * NSEC_PER_USEC,
		 data->factor[data->bucket], menu_unity(tuning));
	return corrected_us;
}

/* Mostly all intervals count, and their number is a constant: no need to divide. */
static __always_inline u64 menu_mean(const struct menu_tuning *tuning, u64 sum, u32 samples)
{
	return samples == tuning->intervals ? sum / tuning->intervals : div_u64(sum, samples);
}

/*
 * Whether intervals with this mean and variance repeat well enough to predict
 * the next.
 */
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

/* No more samples may be dropped in search of a rhythm. */
static __always_inline bool menu_too_few(const struct menu_tuning *tuning, u32 samples)
{
	return 4 * samples <= 3 * tuning->intervals;
}

/*
 * Whether state 0 is taken without looking further: no latency is allowed, or
 * state 1 does not fit before the timer or under the latency limit. The states
 * of index 0 and 1 count here even if they are disabled, except where asked.
 */
static __always_inline bool menu_take_first(const struct menu_device *data,
					    const struct cpuidle_driver *drv,
					    const struct cpuidle_device *dev, s64 latency_limit_ns,
					    const struct menu_tuning *tuning)
{
	const struct cpuidle_state *second = &drv->states[1];

	if (drv->state_count <= 1) {
		pr_debug("there is only one state: state 0\n");
		return true;
	}
	if (latency_limit_ns == 0 && !(tuning->enabled_first && state_disabled(dev, 0))) {
		pr_debug("no exit latency is allowed: state 0\n");
		return true;
	}
	if (state_disabled(dev, 0))
		return false;

	if (data->next_timer_ns < (u64)second->target_residency_ns) {
		pr_debug("the timer comes in %llu ns, before the %lld ns of state 1: state 0\n",
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

/* Words for what both loops over the states find. */
static __always_inline void menu_explain_deep(int i, u64 residency_ns, u64 predicted_ns)
{
	pr_debug("state %d: target residency %llu ns is above the %llu ns expected: stop here\n",
		 i, residency_ns, predicted_ns);
}

static __always_inline void menu_explain_slow(int i, s64 latency_ns, s64 limit_ns)
{
	pr_debug("state %d: exit latency %lld ns is above the limit of %lld ns: stop here\n",
		 i, latency_ns, limit_ns);
}

static __always_inline void menu_explain_no_poll(int i, u64 residency_ns)
{
	pr_debug("state %d: target residency %llu ns fits before the timer: better than polling\n",
		 i, residency_ns);
}

static __always_inline void menu_explain_modest(int idx, u64 residency_ns)
{
	pr_debug("state %d needs only %llu ns: count on no more\n", idx, residency_ns);
}

static __always_inline void menu_explain_stopped(int idx, s64 delta_tick_ns)
{
	pr_debug("the tick is stopped, the next event comes in %lld ns: state %d\n",
		 delta_tick_ns, idx);
}

/*
 * The last step: decide about the tick, and make the state fit in front of it
 * if it stays.
 */
static __always_inline int menu_finish(const struct cpuidle_driver *drv,
				       const struct cpuidle_device *dev, int idx,
				       u64 predicted_ns, s64 delta_tick_ns, bool stopped,
				       bool *stop_tick)
{
	if (idx < 0) {
		pr_debug("all states are disabled: state 0\n");
		idx = 0;
	}
	pr_debug("state %d is the deepest left\n", idx);

	if (!tick_stays(drv, idx, predicted_ns, predicted_ns >= (u64)TICK_NSEC, stopped))
		return idx;

	*stop_tick = false;
	if (idx > 0 && drv->states[idx].target_residency_ns > delta_tick_ns)
		idx = before_tick(drv, dev, idx, delta_tick_ns);
	return idx;
}

#endif
