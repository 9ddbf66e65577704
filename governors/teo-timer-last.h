/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TEO of 2023 (Linux 6.6 to 6.10): the history (teo-bins.h) is asked first, and
 * the time to the next timer, which is dear to compute, only if the state found
 * so far could be wrong about it. Utilisation moves the choice one state back.
 *
 * The fixes that were posted for it in June 2024 stand here where they act,
 * each behind a flag. A governor without them gives a constant set, and gets
 * code without them.
 */
#ifndef TEO_TIMER_LAST_H
#define TEO_TIMER_LAST_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "teo-bins.h"
#include "utilised.h"

static uint residency_threshold_ns = 15000;
module_param(residency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(residency_threshold_ns,
		 "no timer matters to a state that needs less, if state 0 polls (0 to 1000000)");

/**
 * struct teo_fixes - which of the changes of June 2024 act
 * @tick_utilised: with two states, a utilised CPU keeps the tick
 * @tick_one_state: with one state, the tick stops if the timer is far
 * @tick_margin_ns: more than a tick and this must be expected to stop the tick;
 *   -1 makes one tick enough
 * @no_recent: the recent intercepts do not count
 * @no_fake_intercepts: a wakeup without a known timer is no intercept, and the
 *   timers are asked when the history alone leads to state 0
 */
struct teo_fixes {
	bool tick_utilised;
	bool tick_one_state;
	s64 tick_margin_ns;
	bool no_recent;
	bool no_fake_intercepts;
};

/**
 * struct teo_timer_last - what TEO of 2023 knows about a CPU
 * @bins: as in all versions; the sleep length is KTIME_MAX if it was not asked
 *   for
 * @tick_hits: weight of the sleeps of a tick or more, in a bin of their own
 *   below all states, where no state needs as much
 * @threshold: utilisation above this makes the CPU a utilised one
 */
struct teo_timer_last {
	struct teo_bins bins;
	u32 tick_hits;
	unsigned long threshold;
};

static inline int teo_timer_last_check_params(void)
{
	return teo_bins_check_params() ?: check_util_threshold_shift() ?:
	       check_param("residency_threshold_ns", residency_threshold_ns, 0, 1000000);
}

static __always_inline void teo_timer_last_enable(struct teo_timer_last *data,
						  unsigned long threshold)
{
	teo_bins_enable(&data->bins);
	data->tick_hits = 0;
	data->threshold = threshold;
}

/* Book the last wakeup. */
static __always_inline void teo_timer_last_update(struct teo_timer_last *data,
						  const struct cpuidle_driver *drv,
						  const struct cpuidle_device *dev,
						  const struct teo_fixes *fixes)
{
	struct teo_bins *bins = &data->bins;
	struct teo_wakeup wakeup = teo_bins_age(bins, drv, dev);
	s8 *recent = fixes->no_recent ? NULL : teo_bins_oldest(bins);
	int deepest = drv->state_count - 1;

	if (drv->states[deepest].target_residency_ns < TICK_NSEC) {
		data->tick_hits -= data->tick_hits >> decay_shift;
		bins->total += data->tick_hits;

		if (bins->sleep_length_ns >= TICK_NSEC) {
			wakeup.timer_bin = deepest + 1;
			if (wakeup.measured_ns >= (u64)TICK_NSEC) {
				/*
				 * As in Linux, the slot of the recent wakeup
				 * keeps its bin, which will leave it again
				 * later. So a count may wrap below zero.
				 */
				data->tick_hits += TEO_PULSE;
				pr_debug("that is a hit in the bin of the tick: they weigh %u\n",
					 data->tick_hits);
				return;
			}
		}
	}

	if (wakeup.real_bin == wakeup.timer_bin) {
		teo_bins_hit(bins, wakeup.timer_bin, recent);
	} else if (fixes->no_fake_intercepts && bins->sleep_length_ns == KTIME_MAX) {
		pr_debug("the timers had not been asked, so it is no intercept\n");
		/* Nothing reads the hits of the bin below all states. */
		if (wakeup.timer_bin <= deepest)
			teo_bins_hit(bins, wakeup.timer_bin, recent);
		else if (recent)
			*recent = -1;
	} else {
		teo_bins_intercept(bins, &wakeup, recent);
	}
}

/* Ask for the time to the next timer. */
static __always_inline void teo_ask_timer(struct teo_pick *pick, s64 *delta_tick_ns)
{
	pick->duration_ns = tick_nohz_get_sleep_length(delta_tick_ns);
	pr_debug("the next timer is due in %lld ns\n", pick->duration_ns);
}

/* With the tick stopped, no state that needs less than a tick will do. */
static __always_inline bool teo_deep_enough(const struct cpuidle_driver *drv,
					    const struct teo_pick *pick, int idx)
{
	return teo_long_enough(pick, drv->states[idx].target_residency_ns);
}

/* Go back to @idx if it is deep enough. */
static __always_inline void teo_go_back(const struct cpuidle_driver *drv, struct teo_pick *pick,
					int idx)
{
	if (teo_deep_enough(drv, pick, idx))
		pick->idx = idx;
	else
		pr_debug("with the tick stopped state %d needs too little: keep state %d\n",
			 idx, pick->idx);
}

/* More than five eighths of the weight are intercepts. */
static __always_inline bool teo_mostly_intercepts(const struct teo_bins *bins,
						  const struct cpuidle_driver *drv)
{
	u32 intercepts = 0;
	int i;

	for (i = 0; i < drv->state_count; i++)
		intercepts += bins->bin[i].intercepts;
	return intercepts > bins->total / 2 + bins->total / 8;
}

/* An answer that leaves the tick on, without a look at the timers. */
static __always_inline int teo_settle(int idx, bool *stop_tick)
{
	*stop_tick = false;
	return idx;
}

/**
 * teo_timer_last_select - choose the next idle state
 * @data: data of the CPU
 * @drv: states
 * @dev: the CPU
 * @stop_tick: second answer; the caller preset it to true
 * @fixes: which changes act
 *
 * With all states disabled the answer is state 0.
 *
 * Return: index of the state.
 */
static __always_inline int teo_timer_last_select(struct teo_timer_last *data,
						 struct cpuidle_driver *drv,
						 struct cpuidle_device *dev, bool *stop_tick,
						 const struct teo_fixes *fixes)
{
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_bins *bins = &data->bins;
	struct teo_pick pick = { .idx = -1 };
	s64 delta_tick_ns = TICK_NSEC / 2;
	bool utilised;
	int candidate;

	if (dev->last_state_idx >= 0) {
		teo_timer_last_update(data, drv, dev, fixes);
		dev->last_state_idx = -1;
	}

	bins->time_span_ns = local_clock();
	/* Not known unless asked for. */
	bins->sleep_length_ns = KTIME_MAX;
	pick.stopped = tick_nohz_tick_stopped();

	if (drv->state_count < 2) {
		pr_debug("there is no other state than state 0\n");
		if (!fixes->tick_one_state || state_polls(drv, 0))
			return teo_settle(0, stop_tick);
		pick.idx = 0;
		teo_ask_timer(&pick, &delta_tick_ns);
		goto tick;
	}

	if (!state_disabled(dev, 0))
		pick.idx = 0;

	utilised = cpu_utilised(dev->cpu, data->threshold);
	if (utilised && drv->state_count < 3) {
		/* There is no middle: state 0 if it is of use, else state 1. */
		if ((pick.idx == 0 && !state_polls(drv, 0) && teo_deep_enough(drv, &pick, 0)) ||
		    state_disabled(dev, 1)) {
			pr_debug("there is no middle between two states: take state 0\n");
			return teo_settle(0, stop_tick);
		}
		pr_debug("there is no middle, and state 0 is of no use: take state 1\n");
		pick.idx = 1;
		if (fixes->tick_utilised)
			goto keep_tick;
		pick.duration_ns = drv->states[1].target_residency_ns;
		goto tick;
	}

	pick.duration_ns = KTIME_MAX;
	teo_bins_candidate(bins, drv, dev, latency_limit_ns, &pick);
	if (pick.idx < 0) {
		pr_debug("all states are disabled: take state 0\n");
		return teo_settle(0, stop_tick);
	}
	if (pick.idx == pick.shallowest) {
		pr_debug("state %d is the only one enabled: take it\n", pick.idx);
		pick.duration_ns = drv->states[pick.idx].target_residency_ns;
		goto tick;
	}
	pr_debug("the deepest enabled state is state %d\n", pick.idx);

	candidate = pick.idx;
	teo_bins_intercepts(bins, drv, dev, &pick, false);
	if (fixes->no_fake_intercepts && pick.idx == 0 && candidate != 0) {
		teo_ask_timer(&pick, &delta_tick_ns);
		bins->sleep_length_ns = pick.duration_ns;
	}

	teo_bins_limit(&pick, latency_limit_ns);
	if (utilised) {
		pr_debug("the CPU is utilised: go back from state %d\n", pick.idx);
		teo_go_back(drv, &pick, shallower_state(drv, dev, pick.idx, KTIME_MAX, true));
	}

	if (pick.idx == 0) {
		pr_debug("state 0 is no reason to stop the tick: keep it\n");
		return teo_settle(0, stop_tick);
	}
	if (state_polls(drv, 0) &&
	    drv->states[pick.idx].target_residency_ns < residency_threshold_ns) {
		pr_debug("no timer matters to state %d, which needs so little: keep the tick\n",
			 pick.idx);
		return teo_settle(pick.idx, stop_tick);
	}

	teo_ask_timer(&pick, &delta_tick_ns);
	bins->sleep_length_ns = pick.duration_ns;
	if (drv->states[pick.idx].target_residency_ns > pick.duration_ns) {
		pr_debug("state %d needs %lld ns, more than the timer leaves: look shallower\n",
			 pick.idx, drv->states[pick.idx].target_residency_ns);
		teo_go_back(drv, &pick,
			    shallower_state(drv, dev, pick.idx, pick.duration_ns, false));
	}
	if (drv->states[pick.idx].target_residency_ns < TICK_NSEC &&
	    teo_mostly_intercepts(bins, drv)) {
		pr_debug("most wakeups are intercepts: expect half a tick\n");
		pick.duration_ns = TICK_NSEC / 2;
	}
tick:
	if (!tick_stays(drv, pick.idx, pick.duration_ns,
			pick.duration_ns > TICK_NSEC + fixes->tick_margin_ns, pick.stopped))
		return pick.idx;
keep_tick:
	return teo_keep_tick(drv, dev, pick.idx, pick.shallowest, delta_tick_ns, stop_tick);
}

#endif
