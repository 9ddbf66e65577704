/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The algorithm of TEO as of 2019 (Linux 5.5 to 5.12), on which the weighted
 * version builds.
 *
 * The time to the next timer selects a state, and each state remembers how
 * often that was right: hits, where the CPU slept long enough for it, and
 * misses, where something woke it earlier. Early hits belong to the state that
 * would have been right for such a wakeup. If the misses of the timer's state
 * prevail, the choice goes to the state with the most early hits. At last, if
 * most of a ring of recent idle times are shorter than what the choice counts
 * on, their mean replaces it.
 *
 * Lengths of time are unsigned here, so a timer that is overdue counts as
 * infinitely far away.
 *
 * A governor that differs in a detail gives functions for two places. They are
 * inlined; the plain one gives NULL and gets code without them.
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

#include "param-check.h"
#include "shallower.h"
#include "tick.h"

/* Weight of one wakeup. */
#define TEO_PULSE		1024

#define TEO_INTERVALS_MAX	64

/**
 * struct teo_tuning - the constants of the algorithm
 * @intervals: how many idle times the ring holds
 * @decay_shift: a wakeup pushes out one part in 2^this of a weight
 * @blind_intervals: slots behind the ring that also take an idle time in their
 *   turn but are never looked at, 0 or 1
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
MODULE_PARM_DESC(intervals, "recent idle times to look at, 1 to 64");

module_param_named(decay_shift, teo_tuning.decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "a wakeup pushes out one part in 2^this of hits and misses, 0 to 10");

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
 * struct teo_state - what was learned about a state
 * @hits: weight of the wakeups before which the timer had been right to suggest
 *   this state
 * @misses: weight of those before which it had been wrong
 * @early_hits: weight of the early wakeups for which this state would have been
 *   right
 */
struct teo_state {
	u32 hits;
	u32 misses;
	u32 early_hits;
};

/**
 * struct teo_hits - what TEO knows about a CPU
 * @time_span_ns: clock at the last choice; after the wakeup, how long ago that
 *   was
 * @sleep_length_ns: time to the next timer at the last choice
 * @interval_slot: slot of @intervals that the next wakeup takes
 * @state: one for each state
 * @intervals: last idle times, U64_MAX where the timer was reached
 */
struct teo_hits {
	u64 time_span_ns;
	u64 sleep_length_ns;
	u32 interval_slot;
	struct teo_state state[CPUIDLE_STATE_MAX];
	u64 intervals[TEO_INTERVALS_MAX + 1];
};

/**
 * struct teo_wakeup - a wakeup, as it was booked
 * @timer_idx: state that the time to the timer had justified, -1 for none
 * @real_idx: state that the real idle time did, -1 for none; never deeper
 * @measured_ns: the real idle time, U64_MAX if the timer was reached
 */
struct teo_wakeup {
	int timer_idx;
	int real_idx;
	u64 measured_ns;
};

/**
 * struct teo_pick - a choice on its way
 * @idx: state, -1 as long as no enabled one was seen
 * @duration_ns: idle time that the choice counts on
 * @stopped: the tick is stopped already
 */
struct teo_pick {
	int idx;
	u64 duration_ns;
	bool stopped;
};

/* First place: learns from a wakeup before TEO puts its time into the ring. */
typedef void (*teo_learn_fn)(const struct cpuidle_driver *drv, const struct cpuidle_device *dev,
			     struct teo_hits *data, const struct teo_wakeup *wakeup);

/*
 * Second place: may change @pick->idx after the ring had its say;
 * @averaged_from is the state before that.
 */
typedef void (*teo_late_fn)(const struct cpuidle_driver *drv, const struct cpuidle_device *dev,
			    struct teo_hits *data, struct teo_pick *pick, int averaged_from);

static __always_inline void teo_hits_enable(struct teo_hits *data)
{
	memset(data, 0, sizeof(*data));
	/* All bits set: U64_MAX. */
	memset(data->intervals, 0xff, sizeof(data->intervals));
}

/* After a wakeup: was it the timer? */
static __always_inline void teo_hits_reflect(struct teo_hits *data, struct cpuidle_device *dev,
					     int state)
{
	dev->last_state_idx = state;

	/*
	 * A polling loop that ran into its limit, or the tick while something
	 * later was expected, says nothing about the time of the next event:
	 * take it for the timer. The order matters, since asking for the tick
	 * also clears the answer.
	 */
	if (dev->poll_time_limit ||
	    (tick_nohz_idle_got_tick() && data->sleep_length_ns > (u64)TICK_NSEC)) {
		pr_debug("state %d ended at the tick or its polling limit: taken for the timer\n",
			 state);
		dev->poll_time_limit = false;
		data->time_span_ns = data->sleep_length_ns;
	} else {
		data->time_span_ns = local_clock() - data->time_span_ns;
	}
}

/* How long the CPU could have slept, at most until the timer. */
static __always_inline u64 teo_hits_measured(const struct teo_hits *data,
					     const struct cpuidle_driver *drv,
					     const struct cpuidle_device *dev)
{
	u64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;
	u64 measured_ns = dev->last_residency_ns;

	if (data->time_span_ns >= data->sleep_length_ns) {
		pr_debug("state %d lasted until the timer in %llu ns\n", dev->last_state_idx,
			 data->sleep_length_ns);
		return U64_MAX;
	}
	/* Half of the worst-case exit latency is taken for the real one. */
	if (measured_ns >= latency_ns)
		measured_ns -= latency_ns / 2;
	else
		measured_ns /= 2;
	pr_debug("state %d was left before the timer in %llu ns: %llu ns of idle time\n",
		 dev->last_state_idx, data->sleep_length_ns, measured_ns);
	return measured_ns;
}

/* Book the last wakeup. */
static __always_inline void teo_hits_update(struct teo_hits *data, const struct cpuidle_driver *drv,
					    const struct cpuidle_device *dev,
					    const struct teo_tuning *tuning, teo_learn_fn learn)
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

	/* Hits and misses fade only where the timer points. */
	if (wakeup.timer_idx >= 0) {
		struct teo_state *s = &data->state[wakeup.timer_idx];

		s->hits -= s->hits >> tuning->decay_shift;
		s->misses -= s->misses >> tuning->decay_shift;
		if (wakeup.timer_idx == wakeup.real_idx) {
			s->hits += TEO_PULSE;
			pr_debug("a hit of state %d, the timer's: %u hits to %u misses\n",
				 wakeup.timer_idx, s->hits, s->misses);
		} else {
			s->misses += TEO_PULSE;
			pr_debug("a miss of state %d, the timer's: %u hits to %u misses\n",
				 wakeup.timer_idx, s->hits, s->misses);
			if (wakeup.real_idx >= 0) {
				data->state[wakeup.real_idx].early_hits += TEO_PULSE;
				pr_debug("an early hit of state %d\n", wakeup.real_idx);
			}
		}
	}

	if (learn)
		learn(drv, dev, data, &wakeup);

	data->intervals[data->interval_slot] = wakeup.measured_ns;
	if (++data->interval_slot >= tuning->intervals + tuning->blind_intervals)
		data->interval_slot = 0;
}

/*
 * With the tick stopped, a state is no choice for less than a tick: nothing
 * would wake the CPU out of it.
 */
static __always_inline bool teo_long_enough(const struct teo_pick *pick, u64 duration_ns)
{
	return !pick->stopped || duration_ns >= (u64)TICK_NSEC;
}

/*
 * The state that the timer suggests, or the one with the most early hits if
 * that one was wrong too often.
 */
static __always_inline void teo_hits_timer_state(const struct teo_hits *data,
						 const struct cpuidle_driver *drv,
						 const struct cpuidle_device *dev,
						 s64 latency_limit_ns, struct teo_pick *pick)
{
	int early_idx = -1, early_before = -1, too_slow = drv->state_count;
	u32 hits = 0, misses = 0, early_hits = 0;
	int i;

	for (i = 0; i < drv->state_count; i++) {
		const struct cpuidle_state *s = &drv->states[i];
		u64 residency_ns = s->target_residency_ns;
		const struct teo_state *learned = &data->state[i];

		if (state_disabled(dev, i)) {
			/*
			 * What speaks for it and against it goes to the next
			 * shallower enabled one.
			 */
			if (residency_ns > pick->duration_ns)
				continue;
			pr_debug("state %d is disabled: its hits count for the one before\n", i);
			hits = learned->hits;
			misses = learned->misses;
			if (pick->idx < 0 || early_hits >= learned->early_hits)
				continue;
			if (early_idx == pick->idx) {
				early_hits = learned->early_hits;
			} else if (teo_long_enough(pick,
						   drv->states[pick->idx].target_residency_ns)) {
				early_before = early_idx;
				early_idx = pick->idx;
				early_hits = learned->early_hits;
			}
			continue;
		}

		if (pick->idx < 0) {
			pick->idx = i;
			hits = learned->hits;
			misses = learned->misses;
		}
		if (residency_ns > pick->duration_ns)
			break;
		if (s->exit_latency_ns > latency_limit_ns && too_slow > i)
			too_slow = i;

		pick->idx = i;
		hits = learned->hits;
		misses = learned->misses;
		if (early_hits < learned->early_hits && teo_long_enough(pick, residency_ns)) {
			early_before = early_idx;
			early_idx = i;
			early_hits = learned->early_hits;
		}
	}
	pr_debug("next timer in %llu ns: it suggests state %d, with %u hits to %u misses\n",
		 pick->duration_ns, pick->idx, hits, misses);

	if (hits <= misses) {
		/* Its own early hits are no reason to keep it. */
		if (pick->idx == early_idx)
			early_idx = early_before;
		if (early_idx >= 0) {
			pick->idx = early_idx;
			pick->duration_ns = drv->states[early_idx].target_residency_ns;
			pr_debug("hits do not prevail: state %d has more early hits, for %llu ns\n",
				 early_idx, pick->duration_ns);
		} else {
			pr_debug("hits do not prevail, but nothing has early hits: it stays\n");
		}
	}

	/* The first one beyond the limit: one too deep, but so it is in Linux. */
	if (pick->idx > too_slow) {
		pick->idx = too_slow;
		pr_debug("state %d is the first above the latency limit of %lld ns: no deeper\n",
			 too_slow, latency_limit_ns);
	}
}

/* Whether most of the recent idle times are shorter than what is counted on. */
static __always_inline void teo_hits_average(const struct teo_hits *data,
					     const struct cpuidle_driver *drv,
					     const struct cpuidle_device *dev,
					     const struct teo_tuning *tuning,
					     struct teo_pick *pick)
{
	u64 sum = 0, mean_ns;
	u32 shorter = 0;
	uint i;

	for (i = 0; i < tuning->intervals; i++) {
		u64 interval_ns = data->intervals[i];

		if (interval_ns >= pick->duration_ns)
			continue;
		sum += interval_ns;
		shorter++;
	}
	if (shorter <= tuning->intervals / 2) {
		pr_debug("of the last %u idle times %u were below %llu ns: not most of them\n",
			 tuning->intervals, shorter, pick->duration_ns);
		return;
	}

	mean_ns = div64_u64(sum, shorter);
	pr_debug("of the last %u idle times %u were below %llu ns: %llu ns in the mean\n",
		 tuning->intervals, shorter, pick->duration_ns, mean_ns);
	if (!teo_long_enough(pick, mean_ns)) {
		pr_debug("the tick is stopped: that is too short to count on\n");
		return;
	}
	pick->duration_ns = mean_ns;
	if ((u64)drv->states[pick->idx].target_residency_ns > mean_ns) {
		pick->idx = shallower_state(drv, dev, pick->idx, mean_ns, false);
		pr_debug("that is below its target residency: back to state %d\n", pick->idx);
	}
}

/**
 * teo_hits_select - choose the next idle state
 * @data: of the CPU
 * @drv: states
 * @dev: the CPU
 * @stop_tick: second answer; the caller preset it to true
 * @tuning: constants of the algorithm
 * @learn: first place, or NULL
 * @late: second place, or NULL
 *
 * With all states disabled the answer is state 0.
 *
 * Return: index of the state.
 */
static __always_inline int teo_hits_select(struct teo_hits *data, struct cpuidle_driver *drv,
					   struct cpuidle_device *dev, bool *stop_tick,
					   const struct teo_tuning *tuning,
					   teo_learn_fn learn, teo_late_fn late)
{
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_pick pick = { .idx = -1 };
	ktime_t delta_tick_ns;
	int averaged_from;

	if (dev->last_state_idx >= 0) {
		teo_hits_update(data, drv, dev, tuning, learn);
		dev->last_state_idx = -1;
	}

	data->time_span_ns = local_clock();
	pick.stopped = tick_nohz_tick_stopped();
	pick.duration_ns = tick_nohz_get_sleep_length(&delta_tick_ns);
	data->sleep_length_ns = pick.duration_ns;

	teo_hits_timer_state(data, drv, dev, latency_limit_ns, &pick);

	if (pick.idx < 0) {
		pr_debug("all states are disabled: state 0\n");
		pick.idx = 0;
	}
	averaged_from = pick.idx;
	if (pick.idx > 0)
		teo_hits_average(data, drv, dev, tuning, &pick);
	if (late)
		late(drv, dev, data, &pick, averaged_from);

	if (!tick_stays(drv, pick.idx, pick.duration_ns, pick.duration_ns >= (u64)TICK_NSEC,
			pick.stopped))
		return pick.idx;

	*stop_tick = false;
	/* The tick will come, so the state must fit in front of it. */
	if (pick.idx > 0 && (u64)drv->states[pick.idx].target_residency_ns > (u64)delta_tick_ns)
		pick.idx = before_tick(drv, dev, pick.idx, delta_tick_ns);
	return pick.idx;
}

#endif
