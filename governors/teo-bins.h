/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of TEO from 2021 to 2024 (Linux 5.14 to 6.10), and what it says
 * about a candidate.
 *
 * Idle times are sorted into bins; bin i starts at the target residency of
 * state i and ends where the next one starts. A bin counts hits (the CPU slept
 * until the timer that was expected) and intercepts (something else woke it,
 * and the sleep fell into a shallower bin than the timer had promised). If the
 * intercepts below a candidate outweigh everything that speaks for it, the
 * choice moves to the bin where half of them are covered.
 *
 * When the timers are asked makes two families of governors: before all else
 * (teo-timer-first.h) or as the last thing (teo-timer-last.h).
 */
#ifndef TEO_BINS_H
#define TEO_BINS_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "teo-common.h"

#define TEO_NR_RECENT_MAX	32

/* More than half of these being intercepts is a pattern. */
static uint nr_recent = 9;
module_param(nr_recent, uint, 0444);
MODULE_PARM_DESC(nr_recent, "so many wakeups back count as recent (1 to 32)");

/**
 * struct teo_bin - what ended in one bin
 * @hits: weight of the wakeups by the expected timer
 * @intercepts: weight of the others
 * @recent: how many of the recent wakeups were intercepts in this bin
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
 * @bin: one for each state
 * @recent_bin: bins of the last intercepts, -1 for hits
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
 * struct teo_wakeup - where the last wakeup belongs
 * @timer_bin: bin of the timer that was expected
 * @real_bin: bin of the sleep as it was, never deeper than @timer_bin
 * @measured_ns: its length, U64_MAX if it lasted until the timer
 */
struct teo_wakeup {
	int timer_bin;
	int real_bin;
	u64 measured_ns;
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

static inline int teo_bins_check_params(void)
{
	return teo_check_decay_shift() ?: check_param("nr_recent", nr_recent, 1, TEO_NR_RECENT_MAX);
}

static __always_inline void teo_bins_enable(struct teo_bins *bins)
{
	memset(bins, 0, sizeof(*bins));
	memset(bins->recent_bin, -1, sizeof(bins->recent_bin));
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
		pr_debug("%s ended the sleep: take it for the timer\n",
			 dev->poll_time_limit ? "the limit of the polling loop" : "the tick");
		dev->poll_time_limit = false;
		bins->time_span_ns = bins->sleep_length_ns;
	} else {
		bins->time_span_ns = (s64)local_clock() - bins->time_span_ns;
	}
}

/* Forget a part of the past, and find the bins of the last wakeup. */
static __always_inline struct teo_wakeup teo_bins_age(struct teo_bins *bins,
						      const struct cpuidle_driver *drv,
						      const struct cpuidle_device *dev)
{
	struct teo_wakeup wakeup = { .measured_ns = U64_MAX };
	const u32 shift = decay_shift;
	u32 total = 0;
	int i;

	if (bins->time_span_ns < bins->sleep_length_ns) {
		u64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;

		/* Half of the worst-case exit latency is taken for the real one. */
		wakeup.measured_ns = dev->last_residency_ns;
		if (wakeup.measured_ns >= latency_ns)
			wakeup.measured_ns -= latency_ns / 2;
		else
			wakeup.measured_ns /= 2;

		pr_debug("the sleep in state %d lasted %llu ns, corrected for exit latency, %s\n",
			 dev->last_state_idx, wakeup.measured_ns,
			 bins->sleep_length_ns == KTIME_MAX ? "with no timer known" :
							      "and ended before the timer");
	} else {
		pr_debug("the sleep in state %d lasted until the timer, due after %lld ns\n",
			 dev->last_state_idx, bins->sleep_length_ns);
	}

	for (i = 0; i < drv->state_count; i++) {
		s64 residency_ns = drv->states[i].target_residency_ns;
		struct teo_bin *bin = &bins->bin[i];

		bin->hits -= bin->hits >> shift;
		bin->intercepts -= bin->intercepts >> shift;
		total += bin->hits + bin->intercepts;

		if (residency_ns <= bins->sleep_length_ns) {
			wakeup.timer_bin = i;
			if ((u64)residency_ns <= wakeup.measured_ns)
				wakeup.real_bin = i;
		}
	}
	bins->total = total + TEO_PULSE;
	return wakeup;
}

/* The slot of the oldest recent wakeup, which no longer counts. */
static __always_inline s8 *teo_bins_oldest(struct teo_bins *bins)
{
	s8 *oldest = &bins->recent_bin[bins->next_recent];

	if (++bins->next_recent == nr_recent)
		bins->next_recent = 0;
	if (*oldest >= 0)
		bins->bin[*oldest].recent--;
	return oldest;
}

/* Book the last wakeup; @recent is its slot, or NULL if these are not kept. */
static __always_inline void teo_bins_hit(struct teo_bins *bins, int bin, s8 *recent)
{
	bins->bin[bin].hits += TEO_PULSE;
	if (recent)
		*recent = -1;
	pr_debug("that is a hit in bin %d: hits there weigh %u now\n", bin, bins->bin[bin].hits);
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
	pr_debug("that is an intercept in bin %d, not in bin %d: they weigh %u there\n",
		 wakeup->real_bin, wakeup->timer_bin, bin->intercepts);
}

/*
 * The deepest enabled state that fits into @pick->duration_ns, the deepest one
 * allowed by the latency limit, and the weights of the bins above the former.
 * Without an enabled state @pick->idx is -1.
 */
static __always_inline void teo_bins_candidate(const struct teo_bins *bins,
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
 * they outweigh the rest. A sleep in a bin counts as long as half way to the
 * next bin if @middle, else as the start of the bin.
 */
static __always_inline void teo_bins_intercepts(const struct teo_bins *bins,
						const struct cpuidle_driver *drv,
						const struct cpuidle_device *dev,
						struct teo_pick *pick, bool middle)
{
	u32 rest = bins->total - pick->below.hits;
	bool many = 2 * pick->below.intercepts > rest;
	bool lately = pick->below.recent > nr_recent / 2;
	s64 first_duration_ns = pick->duration_ns;
	int first_idx = pick->idx;
	u32 intercepts = 0, recent = 0;
	int i;

	pr_debug("intercepts below state %d weigh %u, %smore than half of the rest (%u)%s\n",
		 pick->idx, pick->below.intercepts, many ? "" : "not ", rest,
		 many ? ": look shallower" : "");
	if (lately)
		pr_debug("%u of the last %u were intercepts below state %d: look shallower\n",
			 pick->below.recent, nr_recent, pick->idx);

	if (!many && !lately)
		return;

	for (i = pick->idx - 1; i >= 0; i--) {
		s64 length_ns = drv->states[i].target_residency_ns;

		if (middle)
			length_ns = (length_ns + drv->states[i + 1].target_residency_ns) / 2;

		intercepts += bins->bin[i].intercepts;
		recent += bins->bin[i].recent;

		if ((!lately || 2 * recent > pick->below.recent) &&
		    (!many || 2 * intercepts > pick->below.intercepts)) {
			if (teo_long_enough(pick, length_ns) && !state_disabled(dev, i)) {
				pick->idx = i;
				pick->duration_ns = length_ns;
				pr_debug("half of them are covered by state %d: take it\n", i);
			} else {
				/*
				 * The shallowest one so far that is enabled and
				 * long enough.
				 */
				pick->idx = first_idx;
				pick->duration_ns = first_duration_ns;
				pr_debug("half of them need state %d, which is %s: take state %d\n",
					 i, state_disabled(dev, i) ? "disabled" : "too short",
					 first_idx);
			}
			return;
		}

		if (state_disabled(dev, i))
			continue;

		if (!teo_long_enough(pick, length_ns)) {
			/*
			 * Only shorter bins follow. Go on only with a fallback
			 * in hand.
			 */
			if (first_idx != pick->idx)
				continue;
			break;
		}

		first_duration_ns = length_ns;
		first_idx = i;
	}
	pr_debug("no shallower state is of use: keep state %d\n", pick->idx);
}

/* The latency limit has the last word over the history. */
static __always_inline void teo_bins_limit(struct teo_pick *pick, s64 latency_limit_ns)
{
	if (pick->idx <= pick->allowed)
		return;

	pr_debug("state %d is too slow for the latency limit of %lld ns: take state %d\n",
		 pick->idx, latency_limit_ns, pick->allowed);
	pick->idx = pick->allowed;
}

#endif
