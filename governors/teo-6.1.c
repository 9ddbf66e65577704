// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of Linux 5.14 to 6.2: the timer decides, unless wakeups keep coming earlier.
 *
 * The idea: most wakeups are timers, and the kernel knows when the next one is
 * due. The candidate is the deepest state whose target residency fits before
 * the timer. The history can overrule it. Each wakeup counts in a bin: as a hit
 * if the timer ended the idle period, and as an intercept if something else did
 * so earlier. If the intercepts in bins shallower than the candidate outweigh
 * its hits and those of all deeper bins, or if more than half of the last nine
 * wakeups were such intercepts, the choice moves to the state that covers half
 * of them. The idle time expected then also decides about the tick: if it is
 * less than a tick, the tick keeps running.
 *
 * When it wins: work driven by timers; steady or slowly changing mixes of timers
 * and interrupts; machines with few states far apart. A decision costs two loops
 * over the states and no division.
 *
 * When it loses: bursts. All weights lose one part in eight at each wakeup, so
 * that a change of habit takes about ten wakeups to show. On CPUs that run tasks
 * it learns too late that IPIs and interrupts end idle periods early; teo-util
 * was made for these. Every decision computes the next timer. The latency limit
 * caps the state but not the expected idle time, so that the tick may be stopped
 * for a shallow state.
 *
 * Neighbours: teo-5.6 has hits, misses and early hits for each state instead of
 * the bins, and takes the mean of recent idle periods. teo-util and teo-util-v1
 * are this governor with a test for utilisation. teo-6.6 computes the timer last.
 *
 * Parameters: decay_shift, how fast weights decay: a wakeup takes one part in
 * 2^decay_shift, 3 in Linux (0 to 10; 0 keeps the last wakeup only). nr_recent,
 * the number of wakeups that count as recent: 9 in Linux (1 to 32).
 *
 * Lineage: TEO came in Linux 5.1; 5.14 introduced the bins used here. They did
 * not change until 6.2, nor in 6.1.y. The patches that add utilisation to TEO,
 * the posting of September 2022 and the commit of January 2023, are based on
 * it. The rating is that of TEO in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "governor.h"
#include "teo-bins.h"

module_param(nr_recent, uint, 0444);
MODULE_PARM_DESC(nr_recent, "number of wakeups that count as recent (1 to 32)");

static DEFINE_PER_CPU(struct teo_bins, teo_bins);

/* Add the last wakeup to the history. */
static __always_inline void teo_update(struct teo_bins *bins, const struct cpuidle_driver *drv,
				       const struct cpuidle_device *dev)
{
	struct teo_wakeup wakeup = teo_bins_decay(bins, drv, dev);
	s8 *recent = teo_bins_oldest(bins);

	if (wakeup.real_bin == wakeup.timer_bin)
		teo_bins_hit(bins, wakeup.timer_bin, recent);
	else
		teo_bins_intercept(bins, &wakeup, recent);
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct teo_bins *bins = per_cpu_ptr(&teo_bins, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_choice choice = { .idx = -1 };
	ktime_t delta_tick_ns;

	if (dev->last_state_idx >= 0) {
		teo_update(bins, drv, dev);
		dev->last_state_idx = -1;
	}

	bins->time_span_ns = local_clock();
	choice.stopped = tick_nohz_tick_stopped();
	choice.duration_ns = tick_nohz_get_sleep_length(&delta_tick_ns);
	bins->sleep_length_ns = choice.duration_ns;
	pr_debug("the next timer is due in %lld ns\n", choice.duration_ns);

	if (drv->state_count < 2) {
		pr_debug("state 0 is the only state\n");
		choice.idx = 0;
		goto tick;
	}
	if (!state_disabled(dev, 0)) {
		choice.idx = 0;
		/* State 1 counts here even if it is disabled. */
		if (drv->states[1].target_residency_ns > choice.duration_ns) {
			pr_debug("state 1 needs %lld ns, longer than that: take state 0\n",
				 drv->states[1].target_residency_ns);
			goto tick;
		}
	}

	teo_bins_candidate(drv, dev, &choice);
	if (choice.idx < 0) {
		pr_debug("all states are disabled: take state 0\n");
		choice.idx = 0;
		goto tick;
	}
	/* There is no other state, so that the latency limit does not matter. */
	if (choice.idx == choice.shallowest) {
		pr_debug("no state deeper than state %d, the shallowest enabled one, fits\n",
			 choice.idx);
		goto tick;
	}
	pr_debug("state %d is the deepest that fits before the timer\n", choice.idx);

	teo_bins_intercepts(bins, drv, dev, &choice, true);
	teo_bins_limit(drv, dev, latency_limit_ns, &choice);
tick:
	if (!tick_stays(drv, choice.idx, choice.duration_ns, choice.duration_ns >= TICK_NSEC,
			choice.stopped))
		return choice.idx;

	return teo_keep_tick(drv, dev, &choice, delta_tick_ns, stop_tick);
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	teo_bins_reflect(per_cpu_ptr(&teo_bins, dev->cpu), dev, state);
}

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	teo_bins_enable(per_cpu_ptr(&teo_bins, dev->cpu));
	return 0;
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-6.1",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	return teo_bins_check_params() ?:
	       cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
