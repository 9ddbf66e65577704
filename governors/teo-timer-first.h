/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TEO of 2021 (Linux 5.14 to 6.2), on which the first utilisation-aware
 * versions build: the time to the next timer, asked for before all else, gives
 * the candidate, and the history (teo-bins.h) is only asked whether something
 * speaks against it.
 *
 * A governor that differs in a detail gives functions for two places. They are
 * inlined; the plain one gives NULL and gets code without them.
 */
#ifndef TEO_TIMER_FIRST_H
#define TEO_TIMER_FIRST_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "teo-bins.h"

/*
 * First place: may settle @pick->idx before the bins are looked at; returns
 * whether it did.
 */
typedef bool (*teo_early_fn)(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			     struct teo_bins *bins, struct teo_pick *pick);

/* Second place: may change @pick->idx after the bins had their say. */
typedef void (*teo_late_fn)(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			    struct teo_bins *bins, struct teo_pick *pick);

/* Book the last wakeup. */
static __always_inline void teo_timer_first_update(struct teo_bins *bins,
						   const struct cpuidle_driver *drv,
						   const struct cpuidle_device *dev)
{
	struct teo_wakeup wakeup = teo_bins_age(bins, drv, dev);
	s8 *recent = teo_bins_oldest(bins);

	if (wakeup.real_bin == wakeup.timer_bin)
		teo_bins_hit(bins, wakeup.timer_bin, recent);
	else
		teo_bins_intercept(bins, &wakeup, recent);
}

/**
 * teo_timer_first_select - choose the next idle state
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
static __always_inline int teo_timer_first_select(struct teo_bins *bins,
						  struct cpuidle_driver *drv,
						  struct cpuidle_device *dev, bool *stop_tick,
						  teo_early_fn early, teo_late_fn late)
{
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_pick pick = { .idx = -1 };
	ktime_t delta_tick_ns;

	if (dev->last_state_idx >= 0) {
		teo_timer_first_update(bins, drv, dev);
		dev->last_state_idx = -1;
	}

	bins->time_span_ns = local_clock();
	pick.stopped = tick_nohz_tick_stopped();
	pick.duration_ns = tick_nohz_get_sleep_length(&delta_tick_ns);
	bins->sleep_length_ns = pick.duration_ns;
	pr_debug("the next timer is due in %lld ns\n", pick.duration_ns);

	if (drv->state_count < 2) {
		pr_debug("there is no other state than state 0\n");
		pick.idx = 0;
		goto tick;
	}
	if (!state_disabled(dev, 0)) {
		pick.idx = 0;
		/* Whether state 1 is enabled does not matter here. */
		if (drv->states[1].target_residency_ns > pick.duration_ns) {
			pr_debug("state 1 needs %lld ns, more than there is: take state 0\n",
				 drv->states[1].target_residency_ns);
			goto tick;
		}
	}
	if (early && early(drv, dev, bins, &pick))
		goto tick;

	teo_bins_candidate(bins, drv, dev, latency_limit_ns, &pick);
	if (pick.idx < 0) {
		pr_debug("all states are disabled: take state 0\n");
		pick.idx = 0;
		goto tick;
	}
	/*
	 * The latency limit does not count for the shallowest state: there is
	 * no other.
	 */
	if (pick.idx == pick.shallowest) {
		pr_debug("nothing deeper than state %d, the shallowest enabled one, fits\n",
			 pick.idx);
		goto tick;
	}
	pr_debug("the timer suggests state %d\n", pick.idx);

	teo_bins_intercepts(bins, drv, dev, &pick, true);
	teo_bins_limit(&pick, latency_limit_ns);
	if (late)
		late(drv, dev, bins, &pick);
tick:
	if (!tick_stays(drv, pick.idx, pick.duration_ns, pick.duration_ns >= TICK_NSEC,
			pick.stopped))
		return pick.idx;

	return teo_keep_tick(drv, dev, pick.idx, pick.shallowest, delta_tick_ns, stop_tick);
}

#endif
