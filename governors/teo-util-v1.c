// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first posting of util-aware TEO: the shallowest state on a utilised CPU.
 *
 * The idea: a CPU whose utilisation is above a small part of its capacity has
 * work, and the next work comes before any timer. Such a CPU takes the
 * shallowest enabled state at once; on all others TEO decides (see teo-6.1).
 * Since TEO did not make that choice it does not learn from the outcome: the
 * history does not change until the CPU is no longer utilised.
 *
 * When it wins: wakeup latency under load, the best of all TEOs; benchmarks that
 * wait for short wakeups, on machines whose shallowest state is cheap.
 *
 * When it loses: power. All idle periods of a utilised CPU are spent in the
 * shallowest state, long ones as well. If the timer is far the tick is even
 * stopped for it, so that nothing ends a long idle period in that state. On x86
 * the shallowest state polls. After a busy phase the history is as old as the
 * phase is long.
 *
 * Neighbours: teo-6.1 is the same without utilisation. teo-util, the version
 * that was merged, steps back one state only, leaves polling states out and
 * learns from every wakeup.
 *
 * Parameters: util_threshold_shift, the threshold as a right shift of the CPU's
 * capacity: 6 as posted means 1/64, about 1.5 %; a larger shift makes more CPUs
 * utilised (0 to 11). update_utilised, whether the history also learns from the
 * wakeups after a utilised choice: 0 as posted. decay_shift and nr_recent as in
 * teo-6.1.
 *
 * Lineage: "[RFC PATCH 0/1] cpuidle: teo: Introduce optional util-awareness",
 * Kajetan Puchalski, linux-pm, 15 September 2022, on top of teo-6.1; never
 * merged in this form. Each later posting changed less of TEO's choice, until
 * it was teo-util. With all states disabled the posted code returns a state
 * that does not exist; here it is state 0. The rating is that of TEO in Linux.
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

static uint util_threshold_shift = 6;
module_param(util_threshold_shift, uint, 0444);
MODULE_PARM_DESC(util_threshold_shift, "utilised means above capacity >> this (0 to 11)");

static bool update_utilised;
module_param(update_utilised, bool, 0444);
MODULE_PARM_DESC(update_utilised, "learn also from the wakeups after a choice on a utilised CPU");

/**
 * struct teo_util_cpu - the data of a CPU
 * @bins: the history
 * @threshold: utilisation above this makes the CPU a utilised one
 * @utilised: whether it was one when this was last tested
 */
struct teo_util_cpu {
	struct teo_bins bins;
	unsigned long threshold;
	bool utilised;
};

static DEFINE_PER_CPU(struct teo_util_cpu, teo_util_cpus);

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
	struct teo_util_cpu *cpu_data = per_cpu_ptr(&teo_util_cpus, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_choice choice = { .idx = -1 };
	ktime_t delta_tick_ns;
	int i;

	if (dev->last_state_idx >= 0) {
		if (!cpu_data->utilised || update_utilised)
			teo_update(&cpu_data->bins, drv, dev);
		else
			pr_debug("the CPU was utilised: the last wakeup does not count\n");
		dev->last_state_idx = -1;
	}

	cpu_data->bins.time_span_ns = local_clock();
	choice.stopped = tick_nohz_tick_stopped();
	choice.duration_ns = tick_nohz_get_sleep_length(&delta_tick_ns);
	cpu_data->bins.sleep_length_ns = choice.duration_ns;
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

	cpu_data->utilised = teo_cpu_utilised(dev->cpu, cpu_data->threshold);
	if (cpu_data->utilised) {
		for (i = 0; i < drv->state_count; i++) {
			if (!state_disabled(dev, i)) {
				pr_debug("state %d is the shallowest enabled one: take it\n", i);
				choice.idx = i;
				goto tick;
			}
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

	teo_bins_intercepts(&cpu_data->bins, drv, dev, &choice, true);
	teo_bins_limit(drv, dev, latency_limit_ns, &choice);
tick:
	if (!tick_stays(drv, choice.idx, choice.duration_ns, choice.duration_ns >= TICK_NSEC,
			choice.stopped))
		return choice.idx;

	return teo_keep_tick(drv, dev, &choice, delta_tick_ns, stop_tick);
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	teo_bins_reflect(&per_cpu_ptr(&teo_util_cpus, dev->cpu)->bins, dev, state);
}

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	struct teo_util_cpu *cpu_data = per_cpu_ptr(&teo_util_cpus, dev->cpu);

	teo_bins_enable(&cpu_data->bins);
	cpu_data->threshold = teo_util_threshold(dev->cpu, util_threshold_shift);
	cpu_data->utilised = false;
	return 0;
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-util-v1",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	return teo_bins_check_params() ?:
	       check_param("util_threshold_shift", util_threshold_shift, 0, TEO_UTIL_SHIFT_MAX) ?:
	       cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
