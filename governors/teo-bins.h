/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The history of TEO from 2021 to 2024 (Linux 5.14 to 6.13).
 *
 * Bin i stands for idle periods from the target residency of state i up to that
 * of state i + 1. A wakeup is a hit if the CPU was idle until the expected
 * timer, and counts in the bin of that timer. It is an intercept if something
 * else ended the idle period so early that it belongs to a shallower bin, and
 * counts there. All weights decay with each wakeup. If the intercepts in bins
 * shallower than a candidate outweigh the rest of the weights, the choice moves
 * to the bin that covers half of them.
 *
 * The governors differ in when they compute the time to the next timer, before
 * everything else or as the last thing, and in how they use utilisation. That is
 * in their own files.
 */
#ifndef TEO_BINS_H
#define TEO_BINS_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/topology.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "governor.h"

/* The weight of one wakeup. */
#define TEO_PULSE		1024

/* With a larger shift a single TEO_PULSE would be too small to decay. */
#define TEO_DECAY_SHIFT_MAX	10

#define TEO_NR_RECENT_MAX	32

/* Capacities go up to 1024, so that with 11 any utilisation is above the threshold. */
#define TEO_UTIL_SHIFT_MAX	11

static uint decay_shift = 3;
module_param(decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "a wakeup takes one part in 2^this from all weights (0 to 10)");

/* A parameter of governors in which recent wakeups count. */
static uint nr_recent = 9;

/**
 * struct teo_bin - the wakeups of one bin
 * @hits: weight of the wakeups by the expected timer
 * @intercepts: weight of the others
 * @recent: number of recent wakeups that were intercepts in this bin
 */
struct teo_bin {
	u32 hits;
	u32 intercepts;
	u32 recent;
};

/**
 * struct teo_bins - the history of a CPU
 * @time_span_ns: clock at the last choice; after the wakeup, the time since then
 * @sleep_length_ns: time to the next timer at the last choice, KTIME_MAX if it
 *   was not computed
 * @total: all weights together
 * @next_recent: slot of @recent_bin that the next wakeup takes
 * @bin: one for each state
 * @recent_bin: bins of the recent intercepts, -1 for a hit
 */
struct teo_bins {
	s64 time_span_ns;
	s64 sleep_length_ns;
	u32 total;
	u32 next_recent;
	struct teo_bin bin[CPUIDLE_STATE_MAX];
	s8 recent_bin[TEO_NR_RECENT_MAX];
};

/**
 * struct teo_wakeup - the last wakeup
 * @timer_bin: bin of the expected timer
 * @real_bin: bin of the idle period as measured, never deeper than @timer_bin
 * @measured_ns: the idle period, U64_MAX if it lasted until the timer
 */
struct teo_wakeup {
	int timer_bin;
	int real_bin;
	u64 measured_ns;
};

/**
 * struct teo_choice - a choice in the making
 * @idx: the state, -1 while no enabled one is known
 * @shallowest: the shallowest enabled state
 * @deepest: the candidate, before the history was consulted
 * @duration_ns: expected idle time
 * @stopped: the tick is stopped already
 */
struct teo_choice {
	int idx;
	int shallowest;
	int deepest;
	s64 duration_ns;
	bool stopped;
};

static inline int teo_bins_check_params(void)
{
	return check_param("decay_shift", decay_shift, 0, TEO_DECAY_SHIFT_MAX) ?:
	       check_param("nr_recent", nr_recent, 1, TEO_NR_RECENT_MAX);
}

static __always_inline void teo_bins_enable(struct teo_bins *bins)
{
	memset(bins, 0, sizeof(*bins));
	memset(bins->recent_bin, -1, sizeof(bins->recent_bin));
}

/* After a wakeup: the time since the choice, or what stands for it. */
static __always_inline void teo_bins_reflect(struct teo_bins *bins, struct cpuidle_device *dev,
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
	    (tick_nohz_idle_got_tick() && bins->sleep_length_ns > TICK_NSEC)) {
		pr_debug("%s ended the idle period: it counts as the timer\n",
			 dev->poll_time_limit ? "the polling limit" : "the tick");
		dev->poll_time_limit = false;
		bins->time_span_ns = bins->sleep_length_ns;
	} else {
		bins->time_span_ns = (s64)local_clock() - bins->time_span_ns;
	}
}

/* Let all weights decay, and find the bins of the last wakeup. */
static __always_inline struct teo_wakeup teo_bins_decay(struct teo_bins *bins,
							const struct cpuidle_driver *drv,
							const struct cpuidle_device *dev)
{
	struct teo_wakeup wakeup = { .measured_ns = U64_MAX };
	const s64 sleep_length_ns = bins->sleep_length_ns;
	const u32 shift = decay_shift;
	const int count = drv->state_count;
	u32 total = 0;
	s64 real_ns;
	int i;

	if (bins->time_span_ns < sleep_length_ns) {
		u64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;

		/* Half of the worst-case exit latency stands for the real one. */
		wakeup.measured_ns = dev->last_residency_ns;
		if (wakeup.measured_ns >= latency_ns)
			wakeup.measured_ns -= latency_ns / 2;
		else
			wakeup.measured_ns /= 2;

		pr_debug("the CPU was idle in state %d for %llu ns without exit latency, %s\n",
			 dev->last_state_idx, wakeup.measured_ns,
			 sleep_length_ns == KTIME_MAX ? "and no timer was known" :
							"and woke before the timer");
	} else {
		pr_debug("the CPU was idle in state %d until the timer, due after %lld ns\n",
			 dev->last_state_idx, sleep_length_ns);
	}

	/* The bin of the timer is the deepest that the idle period can be in. */
	real_ns = min_t(u64, wakeup.measured_ns, KTIME_MAX);
	real_ns = min(real_ns, sleep_length_ns);

	for (i = 0; i < count; i++) {
		s64 residency_ns = drv->states[i].target_residency_ns;
		struct teo_bin *bin = &bins->bin[i];

		bin->hits -= bin->hits >> shift;
		bin->intercepts -= bin->intercepts >> shift;
		total += bin->hits + bin->intercepts;

		if (residency_ns <= sleep_length_ns)
			wakeup.timer_bin = i;
		if (residency_ns <= real_ns)
			wakeup.real_bin = i;
	}
	bins->total = total + TEO_PULSE;
	return wakeup;
}

/* The slot of the oldest recent wakeup, which is no longer recent. */
static __always_inline s8 *teo_bins_oldest(struct teo_bins *bins)
{
	s8 *oldest = &bins->recent_bin[bins->next_recent];

	if (++bins->next_recent == nr_recent)
		bins->next_recent = 0;
	if (*oldest >= 0)
		bins->bin[*oldest].recent--;
	return oldest;
}

/* Count the last wakeup; @recent is its slot, NULL if recent wakeups do not count. */
static __always_inline void teo_bins_hit(struct teo_bins *bins, int bin, s8 *recent)
{
	bins->bin[bin].hits += TEO_PULSE;
	if (recent)
		*recent = -1;
	pr_debug("it was a hit in bin %d: its hits now weigh %u\n", bin,
		 bins->bin[bin].hits);
}

static __always_inline void teo_bins_intercept(struct teo_bins *bins,
					       const struct teo_wakeup *wakeup, s8 *recent)
{
	struct teo_bin *bin = &bins->bin[wakeup->real_bin];

	bin->intercepts += TEO_PULSE;
	if (recent) {
		bin->recent++;
		*recent = wakeup->real_bin;
	}
	pr_debug("it was an intercept in bin %d, not in bin %d: its intercepts now weigh %u\n",
		 wakeup->real_bin, wakeup->timer_bin, bin->intercepts);
}

/*
 * The candidate: the deepest enabled state that fits into @choice->duration_ns.
 * Without an enabled state @choice->idx remains -1.
 */
static __always_inline void teo_bins_candidate(const struct cpuidle_driver *drv,
					       const struct cpuidle_device *dev,
					       struct teo_choice *choice)
{
	const int count = drv->state_count;
	int idx = choice->idx;
	int i;

	if (idx < 0) {
		for (i = 1; i < count && state_disabled(dev, i); i++)
			;
		if (i == count)
			return;
		idx = i;
		choice->shallowest = i;
	}
	for (i = max(idx, 1); i < count; i++) {
		if (state_disabled(dev, i))
			continue;
		if (drv->states[i].target_residency_ns > choice->duration_ns)
			break;
		idx = i;
	}
	choice->idx = idx;
	choice->deepest = idx;
}

/*
 * If the tick is stopped, nothing but the timer ends an idle period that turns
 * out long: no state for less than a tick will do.
 */
static __always_inline bool teo_long_enough(const struct teo_choice *choice, s64 duration_ns)
{
	return !choice->stopped || duration_ns >= TICK_NSEC;
}

/*
 * Move to the state that covers half of the intercepts in bins shallower than
 * the candidate, if these outweigh the rest. An idle period in a bin counts as
 * long as half way to the next bin if @middle, else as long as the bin's start.
 */
static __always_inline void teo_bins_intercepts(const struct teo_bins *bins,
						const struct cpuidle_driver *drv,
						const struct cpuidle_device *dev,
						struct teo_choice *choice, bool middle)
{
	s64 first_duration_ns = choice->duration_ns;
	int first_idx = choice->idx;
	u32 hits = 0, all_intercepts = 0, all_recent = 0, rest;
	u32 intercepts = 0, recent = 0;
	bool many, lately;
	int i;

	for (i = 0; i < choice->idx; i++) {
		hits += bins->bin[i].hits;
		all_intercepts += bins->bin[i].intercepts;
		all_recent += bins->bin[i].recent;
	}
	rest = bins->total - hits;
	many = 2 * all_intercepts > rest;
	/* More than half of the recent wakeups being intercepts is a pattern. */
	lately = all_recent > nr_recent / 2;

	pr_debug("intercepts shallower than state %d: %u, %smore than half of the rest, %u%s\n",
		 choice->idx, all_intercepts, many ? "" : "not ", rest,
		 many ? ": try a shallower state" : "");
	if (lately)
		pr_debug("%u of %u recent wakeups were intercepts there: try a shallower state\n",
			 all_recent, nr_recent);

	if (!many && !lately)
		return;

	for (i = choice->idx - 1; i >= 0; i--) {
		s64 length_ns = drv->states[i].target_residency_ns;

		if (middle)
			length_ns = (length_ns + drv->states[i + 1].target_residency_ns) / 2;

		intercepts += bins->bin[i].intercepts;
		recent += bins->bin[i].recent;

		if ((!lately || 2 * recent > all_recent) &&
		    (!many || 2 * intercepts > all_intercepts)) {
			if (teo_long_enough(choice, length_ns) && !state_disabled(dev, i)) {
				choice->idx = i;
				choice->duration_ns = length_ns;
				pr_debug("state %d covers half of the intercepts: take it\n", i);
			} else {
				/*
				 * The shallowest one so far that is enabled and
				 * long enough.
				 */
				pr_debug("state %d covers half of them but is %s: take state %d\n",
					 i, state_disabled(dev, i) ? "disabled" : "too short",
					 first_idx);
				choice->idx = first_idx;
				choice->duration_ns = first_duration_ns;
			}
			return;
		}

		if (state_disabled(dev, i))
			continue;

		if (!teo_long_enough(choice, length_ns)) {
			/*
			 * Only shorter bins follow. Go on only if there is
			 * another state to fall back on.
			 */
			if (first_idx != choice->idx)
				continue;
			break;
		}

		first_duration_ns = length_ns;
		first_idx = i;
	}
	pr_debug("no shallower state qualifies: keep state %d\n", choice->idx);
}

/*
 * The latency limit comes after the history: if the state is too slow, take the
 * deepest one up to the candidate that is enabled and keeps the limit, but none
 * deeper than now; state 0 if there is none.
 */
static __always_inline void teo_bins_limit(const struct cpuidle_driver *drv,
					   const struct cpuidle_device *dev,
					   s64 latency_limit_ns, struct teo_choice *choice)
{
	int i;

	if (drv->states[choice->idx].exit_latency_ns <= latency_limit_ns)
		return;

	for (i = choice->deepest; i > 0; i--) {
		if (!state_disabled(dev, i) &&
		    drv->states[i].exit_latency_ns <= latency_limit_ns)
			break;
	}
	if (choice->idx <= i)
		return;

	pr_debug("state %d has an exit latency above the limit of %lld ns: take state %d\n",
		 choice->idx, latency_limit_ns, i);
	choice->idx = i;
}

/* The tick stays, so the state must fit before it. */
static __always_inline int teo_keep_tick(const struct cpuidle_driver *drv,
					 const struct cpuidle_device *dev,
					 const struct teo_choice *choice, s64 delta_tick_ns,
					 bool *stop_tick)
{
	*stop_tick = false;
	if (choice->idx <= choice->shallowest ||
	    drv->states[choice->idx].target_residency_ns <= delta_tick_ns)
		return choice->idx;

	return state_before_tick(drv, dev, choice->idx, delta_tick_ns);
}

/* The utilisation above which a CPU counts as utilised. */
static __always_inline unsigned long teo_util_threshold(unsigned int cpu, uint shift)
{
	return arch_scale_cpu_capacity(cpu) >> shift;
}

static __always_inline bool teo_cpu_utilised(unsigned int cpu, unsigned long threshold)
{
	unsigned long util = sched_cpu_util(cpu);

	pr_debug("utilisation %lu is %s the threshold of %lu: the CPU counts as %s\n", util,
		 util > threshold ? "above" : "not above", threshold,
		 util > threshold ? "utilised" : "not utilised");
	return util > threshold;
}

#endif
