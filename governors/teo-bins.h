/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The algorithm of TEO as of 2021 (Linux 5.14 to 6.2), on which the
 * utilisation-aware versions build.
 *
 * Idle times are sorted into bins; bin i starts at the target residency of
 * state i and ends where the next one starts. A bin counts hits (the CPU slept
 * until the timer that was expected) and intercepts (something else woke it,
 * and the sleep fell into a shallower bin than the timer had promised). If the
 * intercepts below the state that the timer suggests outweigh everything that
 * speaks for that state, the choice moves to the bin where half of them are
 * covered.
 *
 * A governor that differs in a detail gives functions for two places. They are
 * inlined; the plain one gives NULL and gets code without them.
 */
#ifndef TEO_BINS_H
#define TEO_BINS_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "shallower.h"

/* Weight of one wakeup, and how much of the old weight it pushes out: one part in 2^3. */
#define TEO_PULSE		1024
#define TEO_DECAY_SHIFT		3

/*
 * So many wakeups back count as recent; more than half of them being intercepts
 * is a pattern.
 */
#define TEO_NR_RECENT		9

/**
 * struct teo_bin - what ended in one bin
 * @hits: weight of the wakeups by the expected timer
 * @intercepts: weight of the others
 * @recent: how many of the last TEO_NR_RECENT wakeups were intercepts in this
 *   bin
 */
struct teo_bin {
	u32 hits;
	u32 intercepts;
	u32 recent;
};

/**
 * struct teo_bins - what TEO knows about a CPU
 * @time_span_ns: clock at the last choice; after the wakeup, how long ago that
 *   was
 * @sleep_length_ns: time to the next timer at the last choice
 * @total: all weights together
 * @next_recent: slot of @recent_bin that the next wakeup takes
 * @recent_bin: bins of the last intercepts, -1 for hits
 * @bin: one for each state
 */
struct teo_bins {
	s64 time_span_ns;
	s64 sleep_length_ns;
	u32 total;
	int next_recent;
	int recent_bin[TEO_NR_RECENT];
	struct teo_bin bin[CPUIDLE_STATE_MAX];
};

/**
 * struct teo_pick - a choice on its way
 * @idx: state, -1 as long as no enabled one was seen
 * @shallowest: shallowest enabled state
 * @allowed: deepest state seen that keeps the latency limit, 0 if none does
 * @below: weights of the bins shallower than @idx
 * @duration_ns: idle time that the choice counts on
 * @stopped: the tick is stopped already
 */
struct teo_pick {
	int idx;
	int shallowest;
	int allowed;
	struct teo_bin below;
	s64 duration_ns;
	bool stopped;
};

/*
 * First place: may settle @pick->idx before the bins are looked at; returns
 * whether it did.
 */
typedef bool (*teo_early_fn)(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			     struct teo_bins *bins, struct teo_pick *pick);

/* Second place: may change @pick->idx after the bins had their say. */
typedef void (*teo_late_fn)(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			    struct teo_bins *bins, struct teo_pick *pick);

static __always_inline void teo_bins_enable(struct teo_bins *bins)
{
	int i;

	memset(bins, 0, sizeof(*bins));
	for (i = 0; i < TEO_NR_RECENT; i++)
		bins->recent_bin[i] = -1;
}

/* After a wakeup: was it the timer? */
static __always_inline void teo_bins_reflect(struct teo_bins *bins, struct cpuidle_device *dev,
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
	    (tick_nohz_idle_got_tick() && bins->sleep_length_ns > TICK_NSEC)) {
		dev->poll_time_limit = false;
		bins->time_span_ns = bins->sleep_length_ns;
	} else {
		bins->time_span_ns = (s64)local_clock() - bins->time_span_ns;
	}
}

/* Book the last wakeup. */
static __always_inline void teo_bins_update(struct teo_bins *bins,
					    const struct cpuidle_driver *drv,
					    const struct cpuidle_device *dev)
{
	int timer_bin = 0, real_bin = 0;
	u64 measured_ns = U64_MAX;
	u32 total = 0;
	int *recent;
	int i;

	if (bins->time_span_ns < bins->sleep_length_ns) {
		u64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;

		/* Half of the worst-case exit latency is taken for the real one. */
		measured_ns = dev->last_residency_ns;
		if (measured_ns >= latency_ns)
			measured_ns -= latency_ns / 2;
		else
			measured_ns /= 2;
	}

	for (i = 0; i < drv->state_count; i++) {
		s64 residency_ns = drv->states[i].target_residency_ns;
		struct teo_bin *bin = &bins->bin[i];

		bin->hits -= bin->hits >> TEO_DECAY_SHIFT;
		bin->intercepts -= bin->intercepts >> TEO_DECAY_SHIFT;
		total += bin->hits + bin->intercepts;

		if (residency_ns <= bins->sleep_length_ns) {
			timer_bin = i;
			if ((u64)residency_ns <= measured_ns)
				real_bin = i;
		}
	}
	bins->total = total + TEO_PULSE;

	recent = &bins->recent_bin[bins->next_recent];
	if (++bins->next_recent == TEO_NR_RECENT)
		bins->next_recent = 0;
	if (*recent >= 0)
		bins->bin[*recent].recent--;

	if (real_bin == timer_bin) {
		bins->bin[timer_bin].hits += TEO_PULSE;
		*recent = -1;
	} else {
		bins->bin[real_bin].intercepts += TEO_PULSE;
		bins->bin[real_bin].recent++;
		*recent = real_bin;
	}
}

/*
 * The state that the timer suggests, and the weights of the bins above it.
 * False if there is nothing to weigh.
 */
static __always_inline bool teo_bins_timer_state(const struct teo_bins *bins,
						 const struct cpuidle_driver *drv,
						 const struct cpuidle_device *dev,
						 s64 latency_limit_ns, struct teo_pick *pick)
{
	struct teo_bin sum = { 0 };
	int i;

	for (i = 1; i < drv->state_count; i++) {
		const struct cpuidle_state *s = &drv->states[i];

		sum.hits += bins->bin[i - 1].hits;
		sum.intercepts += bins->bin[i - 1].intercepts;
		sum.recent += bins->bin[i - 1].recent;

		if (state_disabled(dev, i))
			continue;

		if (pick->idx < 0) {
			pick->idx = i;
			pick->shallowest = i;
		}
		if (s->target_residency_ns > pick->duration_ns)
			break;

		pick->idx = i;
		if (s->exit_latency_ns <= latency_limit_ns)
			pick->allowed = i;
		pick->below = sum;
	}

	if (pick->idx < 0) {
		pick->idx = 0;
		return false;
	}
	return pick->idx != pick->shallowest;
}

/*
 * With the tick stopped, a state is no choice for less than a tick: nothing
 * would wake the CPU out of it.
 */
static __always_inline bool teo_long_enough(const struct teo_pick *pick, s64 duration_ns)
{
	return !pick->stopped || duration_ns >= TICK_NSEC;
}

/*
 * Go back to where half of the intercepts below the candidate are covered, if
 * they outweigh the rest.
 */
static __always_inline void teo_bins_intercepts(const struct teo_bins *bins,
						const struct cpuidle_driver *drv,
						const struct cpuidle_device *dev,
						struct teo_pick *pick)
{
	bool many = 2 * pick->below.intercepts > bins->total - pick->below.hits;
	bool lately = pick->below.recent > TEO_NR_RECENT / 2;
	s64 first_duration_ns = pick->duration_ns;
	int first_idx = pick->idx;
	u32 intercepts = 0, recent = 0;
	int i;

	if (!many && !lately)
		return;

	for (i = pick->idx - 1; i >= 0; i--) {
		s64 middle_ns = (drv->states[i].target_residency_ns +
				 drv->states[i + 1].target_residency_ns) / 2;

		intercepts += bins->bin[i].intercepts;
		recent += bins->bin[i].recent;

		if ((!lately || 2 * recent > pick->below.recent) &&
		    (!many || 2 * intercepts > pick->below.intercepts)) {
			if (teo_long_enough(pick, middle_ns) && !state_disabled(dev, i)) {
				pick->idx = i;
				pick->duration_ns = middle_ns;
			} else {
				/*
				 * The shallowest one so far that is enabled and
				 * long enough.
				 */
				pick->idx = first_idx;
				pick->duration_ns = first_duration_ns;
			}
			return;
		}

		if (state_disabled(dev, i))
			continue;

		if (!teo_long_enough(pick, middle_ns)) {
			/*
			 * Only shorter bins follow. Go on only with a fallback
			 * in hand.
			 */
			if (first_idx != pick->idx)
				continue;
			return;
		}

		first_duration_ns = middle_ns;
		first_idx = i;
	}
}

/**
 * teo_bins_select - choose the next idle state
 * @bins: data of the CPU
 * @drv: states
 * @dev: the CPU
 * @stop_tick: second answer; the caller preset it to true
 * @early: first place, or NULL
 * @late: second place, or NULL
 *
 * With all states disabled the answer is state 0.
 *
 * Return: index of the state.
 */
static __always_inline int teo_bins_select(struct teo_bins *bins, struct cpuidle_driver *drv,
					   struct cpuidle_device *dev, bool *stop_tick,
					   teo_early_fn early, teo_late_fn late)
{
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_pick pick = { .idx = -1 };
	ktime_t delta_tick_ns;

	if (dev->last_state_idx >= 0) {
		teo_bins_update(bins, drv, dev);
		dev->last_state_idx = -1;
	}

	bins->time_span_ns = local_clock();
	pick.stopped = tick_nohz_tick_stopped();
	pick.duration_ns = tick_nohz_get_sleep_length(&delta_tick_ns);
	bins->sleep_length_ns = pick.duration_ns;

	if (drv->state_count < 2) {
		pick.idx = 0;
		goto tick;
	}
	if (!state_disabled(dev, 0)) {
		pick.idx = 0;
		/* Whether state 1 is enabled does not matter here. */
		if (drv->states[1].target_residency_ns > pick.duration_ns)
			goto tick;
	}
	if (early && early(drv, dev, bins, &pick))
		goto tick;

	/*
	 * The latency limit does not count for the shallowest state: there is
	 * no other.
	 */
	if (!teo_bins_timer_state(bins, drv, dev, latency_limit_ns, &pick))
		goto tick;

	teo_bins_intercepts(bins, drv, dev, &pick);
	if (pick.idx > pick.allowed)
		pick.idx = pick.allowed;

	if (late)
		late(drv, dev, bins, &pick);
tick:
	if ((state_polls(drv, pick.idx) || pick.duration_ns < TICK_NSEC) && !pick.stopped) {
		*stop_tick = false;
		/* The tick will come, so the state must fit in front of it. */
		if (pick.idx > pick.shallowest &&
		    drv->states[pick.idx].target_residency_ns > delta_tick_ns)
			pick.idx = shallower_state(drv, dev, pick.idx, delta_tick_ns, false);
	}
	return pick.idx;
}

#endif
