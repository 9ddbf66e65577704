/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The history of TEO of 2019 (Linux 5.5 to 5.12), and the choice that follows
 * from it.
 *
 * The time to the next timer selects a state, and each state has a record of how
 * often that was right: hits, if the CPU was idle long enough for it, and misses,
 * if something woke the CPU earlier. Such an early wakeup is an early hit of the
 * state that would have been right. If the timer's state has more misses than
 * hits, the state with the most early hits replaces it. At last, if most of the
 * recent idle periods are shorter than the expected idle time, their mean
 * replaces it.
 *
 * Lengths of time are unsigned here, so that a timer that is overdue counts as
 * infinitely far away.
 */
#ifndef TEO_HITS_H
#define TEO_HITS_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "governor.h"

/* The weight of one wakeup. */
#define TEO_PULSE		1024

#define TEO_INTERVALS_MAX	64

/**
 * struct teo_tuning - the constants of the algorithm
 * @intervals: number of idle periods in the ring
 * @decay_shift: a wakeup takes one part in 2^this from a weight
 * @blind_intervals: slots behind the ring that take an idle period in their turn
 *   but are never read, 0 or 1
 */
struct teo_tuning {
	uint intervals;
	uint decay_shift;
	uint blind_intervals;
};

/* As in Linux. */
#define TEO_DEFAULTS		{ .intervals = 8, .decay_shift = 3, .blind_intervals = 0 }

static const struct teo_tuning teo_defaults = TEO_DEFAULTS;
static struct teo_tuning teo_tuning = TEO_DEFAULTS;

module_param_named(intervals, teo_tuning.intervals, uint, 0444);
MODULE_PARM_DESC(intervals, "number of recent idle periods in the ring, 1 to 64");

module_param_named(decay_shift, teo_tuning.decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "a wakeup takes one part in 2^this from hits and misses, 0 to 10");

static inline int __init teo_check_tuning(void)
{
	return check_param("intervals", teo_tuning.intervals, 1, TEO_INTERVALS_MAX) ?:
	       check_param("decay_shift", teo_tuning.decay_shift, 0, 10);
}

static inline bool teo_is_tuned(void)
{
	return memcmp(&teo_tuning, &teo_defaults, sizeof(teo_tuning)) != 0;
}

/**
 * struct teo_state - the record of a state
 * @hits: weight of the wakeups for which the timer selected this state rightly
 * @misses: weight of the wakeups for which it did so wrongly
 * @early_hits: weight of the early wakeups for which this state would have been
 *   right
 */
struct teo_state {
	u32 hits;
	u32 misses;
	u32 early_hits;
};

/**
 * struct teo_hits - the history of a CPU
 * @time_span_ns: clock at the last choice; after the wakeup, the time since then
 * @sleep_length_ns: time to the next timer at the last choice
 * @interval_slot: slot of @intervals that the next idle period takes
 * @state: one for each state
 * @intervals: last idle periods, U64_MAX for one that lasted until the timer
 */
struct teo_hits {
	u64 time_span_ns;
	u64 sleep_length_ns;
	u32 interval_slot;
	struct teo_state state[CPUIDLE_STATE_MAX];
	u64 intervals[TEO_INTERVALS_MAX + 1];
};

/**
 * struct teo_wakeup - the last wakeup
 * @timer_idx: state that the time to the timer justified, -1 for none
 * @real_idx: state that the idle period justified, -1 for none; never deeper
 * @measured_ns: the idle period, U64_MAX if it lasted until the timer
 */
struct teo_wakeup {
	int timer_idx;
	int real_idx;
	u64 measured_ns;
};

/**
 * struct teo_choice - a choice in the making
 * @idx: the state, -1 while no enabled one is known
 * @duration_ns: expected idle time
 * @stopped: the tick is stopped already
 */
struct teo_choice {
	int idx;
	u64 duration_ns;
	bool stopped;
};

static __always_inline void teo_hits_enable(struct teo_hits *data)
{
	memset(data, 0, sizeof(*data));
	/* All bits set: U64_MAX. */
	memset(data->intervals, 0xff, sizeof(data->intervals));
}

/* After a wakeup: the time since the choice, or what stands for it. */
static __always_inline void teo_hits_reflect(struct teo_hits *data, struct cpuidle_device *dev,
					     int state)
{
	dev->last_state_idx = state;

	/*
	 * The limit of the polling loop says nothing about the next event, nor
	 * does the tick while something later was expected: both count as the
	 * timer. The order of the tests matters, since the test for the tick
	 * also clears the flag.
	 */
	if (dev->poll_time_limit ||
	    (tick_nohz_idle_got_tick() && data->sleep_length_ns > (u64)TICK_NSEC)) {
		pr_debug("the tick or the polling limit ended state %d: it counts as the timer\n",
			 state);
		dev->poll_time_limit = false;
		data->time_span_ns = data->sleep_length_ns;
	} else {
		data->time_span_ns = local_clock() - data->time_span_ns;
	}
}

/* How long the CPU could have been idle, at most until the timer. */
static __always_inline u64 teo_hits_measured(const struct teo_hits *data,
					     const struct cpuidle_driver *drv,
					     const struct cpuidle_device *dev)
{
	u64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;
	u64 measured_ns = dev->last_residency_ns;

	if (data->time_span_ns >= data->sleep_length_ns) {
		pr_debug("the CPU was idle in state %d until the timer, due after %llu ns\n",
			 dev->last_state_idx, data->sleep_length_ns);
		return U64_MAX;
	}
	/* Half of the worst-case exit latency stands for the real one. */
	if (measured_ns >= latency_ns)
		measured_ns -= latency_ns / 2;
	else
		measured_ns /= 2;
	pr_debug("the CPU was idle in state %d for %llu ns without exit latency\n",
		 dev->last_state_idx, measured_ns);
	return measured_ns;
}

/* Add the last wakeup to the records of the states. */
static __always_inline struct teo_wakeup
teo_hits_update(struct teo_hits *data, const struct cpuidle_driver *drv,
		const struct cpuidle_device *dev, const struct teo_tuning *tuning)
{
	struct teo_wakeup wakeup = { .timer_idx = -1, .real_idx = -1 };
	int i;

	wakeup.measured_ns = teo_hits_measured(data, drv, dev);

	for (i = 0; i < drv->state_count; i++) {
		u64 residency_ns = drv->states[i].target_residency_ns;
		struct teo_state *s = &data->state[i];

		s->early_hits -= s->early_hits >> tuning->decay_shift;

		if (residency_ns <= data->sleep_length_ns) {
			wakeup.timer_idx = i;
			if (residency_ns <= wakeup.measured_ns)
				wakeup.real_idx = i;
		}
	}

	/* Hits and misses decay only in the state that the timer selected. */
	if (wakeup.timer_idx >= 0) {
		struct teo_state *s = &data->state[wakeup.timer_idx];

		s->hits -= s->hits >> tuning->decay_shift;
		s->misses -= s->misses >> tuning->decay_shift;
		if (wakeup.timer_idx == wakeup.real_idx) {
			s->hits += TEO_PULSE;
			pr_debug("it was a hit of the timer's state %d: hits now %u, misses %u\n",
				 wakeup.timer_idx, s->hits, s->misses);
		} else {
			s->misses += TEO_PULSE;
			pr_debug("it was a miss of the timer's state %d: hits now %u, misses %u\n",
				 wakeup.timer_idx, s->hits, s->misses);
			if (wakeup.real_idx >= 0) {
				data->state[wakeup.real_idx].early_hits += TEO_PULSE;
				pr_debug("it was an early hit of state %d\n", wakeup.real_idx);
			}
		}
	}

	return wakeup;
}

/* Add the last idle period to the ring. */
static __always_inline void teo_hits_push(struct teo_hits *data, u64 measured_ns,
					  const struct teo_tuning *tuning)
{
	data->intervals[data->interval_slot] = measured_ns;
	if (++data->interval_slot >= tuning->intervals + tuning->blind_intervals)
		data->interval_slot = 0;
}

/*
 * If the tick is stopped, nothing but the timer ends an idle period that turns
 * out long: no state for less than a tick will do.
 */
static __always_inline bool teo_long_enough(const struct teo_choice *choice, u64 duration_ns)
{
	return !choice->stopped || duration_ns >= (u64)TICK_NSEC;
}

/*
 * The state that the timer selects, or the one with the most early hits if that
 * one was wrong too often.
 */
static __always_inline void teo_hits_timer_state(const struct teo_hits *data,
						 const struct cpuidle_driver *drv,
						 const struct cpuidle_device *dev,
						 s64 latency_limit_ns, struct teo_choice *choice)
{
	int early_idx = -1, early_before = -1, too_slow = drv->state_count;
	u32 hits = 0, misses = 0, early_hits = 0;
	int i;

	for (i = 0; i < drv->state_count; i++) {
		const struct cpuidle_state *s = &drv->states[i];
		u64 residency_ns = s->target_residency_ns;
		const struct teo_state *record = &data->state[i];

		if (state_disabled(dev, i)) {
			/* The next shallower enabled state takes over its record. */
			if (residency_ns > choice->duration_ns)
				continue;
			pr_debug("state %d is disabled: a shallower one gets its record\n", i);
			hits = record->hits;
			misses = record->misses;
			if (choice->idx < 0 || early_hits >= record->early_hits)
				continue;
			if (early_idx == choice->idx) {
				early_hits = record->early_hits;
			} else if (teo_long_enough(choice,
						   drv->states[choice->idx].target_residency_ns)) {
				early_before = early_idx;
				early_idx = choice->idx;
				early_hits = record->early_hits;
			}
			continue;
		}

		if (choice->idx < 0) {
			choice->idx = i;
			hits = record->hits;
			misses = record->misses;
		}
		if (residency_ns > choice->duration_ns)
			break;
		if (s->exit_latency_ns > latency_limit_ns && too_slow > i)
			too_slow = i;

		choice->idx = i;
		hits = record->hits;
		misses = record->misses;
		if (early_hits < record->early_hits && teo_long_enough(choice, residency_ns)) {
			early_before = early_idx;
			early_idx = i;
			early_hits = record->early_hits;
		}
	}
	pr_debug("the next timer, in %llu ns, selects state %d: hits %u, misses %u\n",
		 choice->duration_ns, choice->idx, hits, misses);

	if (hits <= misses) {
		/* Its own early hits are no reason to keep it. */
		if (choice->idx == early_idx)
			early_idx = early_before;
		if (early_idx >= 0) {
			choice->idx = early_idx;
			choice->duration_ns = drv->states[early_idx].target_residency_ns;
			pr_debug("too many misses: state %d has more early hits, for %llu ns\n",
				 early_idx, choice->duration_ns);
		} else {
			pr_debug("too many misses, but no state has early hits: keep it\n");
		}
	}

	/* The first state beyond the limit: one too deep, as in Linux. */
	if (choice->idx > too_slow) {
		choice->idx = too_slow;
		pr_debug("state %d is the first above the latency limit of %lld ns: take it\n",
			 too_slow, latency_limit_ns);
	}
}

/*
 * If most of the recent idle periods are shorter than the expected idle time,
 * expect their mean.
 */
static __always_inline void teo_hits_average(const struct teo_hits *data,
					     const struct cpuidle_driver *drv,
					     const struct cpuidle_device *dev,
					     const struct teo_tuning *tuning,
					     struct teo_choice *choice)
{
	u64 sum = 0, mean_ns;
	u32 shorter = 0;
	uint i;

	for (i = 0; i < tuning->intervals; i++) {
		u64 interval_ns = data->intervals[i];
		bool counts = interval_ns < choice->duration_ns;

		sum += counts ? interval_ns : 0;
		shorter += counts;
	}
	if (shorter <= tuning->intervals / 2) {
		pr_debug("%u of the last %u idle periods were below %llu ns: not most of them\n",
			 shorter, tuning->intervals, choice->duration_ns);
		return;
	}

	mean_ns = div64_u64(sum, shorter);
	pr_debug("%u of the last %u idle periods were below %llu ns: their mean is %llu ns\n",
		 shorter, tuning->intervals, choice->duration_ns, mean_ns);
	if (!teo_long_enough(choice, mean_ns)) {
		pr_debug("the tick is stopped: that is too short to expect\n");
		return;
	}
	choice->duration_ns = mean_ns;
	if ((u64)drv->states[choice->idx].target_residency_ns > mean_ns) {
		choice->idx = shallower_state(drv, dev, choice->idx, mean_ns, false);
		pr_debug("that is below the target residency: take state %d\n", choice->idx);
	}
}

#endif
