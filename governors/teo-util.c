// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of Linux 6.3 to 6.5: one state shallower on a CPU that is utilised.
 *
 * The idea: work ends most idle periods that end early, and the scheduler's
 * utilisation signal shows work sooner than the governor's history. A CPU whose
 * utilisation is above a small part of its capacity counts as utilised. There
 * the state that TEO chose is replaced by the next enabled shallower state that
 * does not poll. On a CPU with two states a utilised CPU takes the first enabled
 * state that does not poll, whatever the history says.
 *
 * When it wins: interactive and I/O-bound work on machines with few states and
 * long exit latencies, phones above all: wakeup latency falls, and the deep
 * state is wrong less often. The test reacts at once to new work, and at once
 * when the utilisation has decayed.
 *
 * When it loses: periodic work that is idle exactly until its timer. There TEO
 * is right, and the shallower state costs energy for nothing (misses "below").
 * On machines with many shallow states one step changes little. Where the
 * utilisation of an idle CPU decays slowly, the choice is too shallow for tens
 * of milliseconds after the work has ended.
 *
 * Neighbours: teo-6.1 is the same without utilisation. teo-util-v1 takes the
 * shallowest state of all on a utilised CPU and does not learn meanwhile.
 * teo-6.6 keeps the step, but computes the timer last.
 *
 * Parameters: util_threshold_shift, the threshold as a right shift of the CPU's
 * capacity: 6 in Linux means 1/64, about 1.5 %; a larger shift makes more CPUs
 * utilised (0 to 11). util_steps, how many states the choice moves at most: 1 in
 * Linux, 0 makes this teo-6.1, 9 leads to the shallowest state that does not
 * poll, much as in teo-util-v1. decay_shift and nr_recent as in teo-6.1.
 *
 * Lineage: "cpuidle: teo: Introduce util-awareness", Kajetan Puchalski, commit
 * 9ce0f7c4bc of 10 January 2023, in Linux 6.3; before, posted on linux-pm in
 * several versions from 15 September 2022 on. Linux 6.6 reworked it, 6.11
 * removed it. The rating is that of TEO in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
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

static uint util_steps = 1;
module_param(util_steps, uint, 0644);
MODULE_PARM_DESC(util_steps, "states to step back on a utilised CPU; 0 ignores utilisation");

static uint util_threshold_shift = 6;
module_param(util_threshold_shift, uint, 0444);
MODULE_PARM_DESC(util_threshold_shift, "utilised means above capacity >> this (0 to 11)");

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
		teo_update(&cpu_data->bins, drv, dev);
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

	cpu_data->utilised = util_steps && teo_cpu_utilised(dev->cpu, cpu_data->threshold);
	if (cpu_data->utilised && drv->state_count < 3) {
		for (i = 0; i < drv->state_count; i++) {
			if (!state_disabled(dev, i) && !state_polls(drv, i)) {
				pr_debug("the CPU has only two states: take state %d\n", i);
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
	if (cpu_data->utilised) {
		pr_debug("the CPU is utilised: step back from state %d (util_steps %u)\n",
			 choice.idx, util_steps);
		for (i = 0; i < (int)min_t(uint, util_steps, CPUIDLE_STATE_MAX); i++)
			choice.idx = shallower_state(drv, dev, choice.idx, choice.duration_ns,
						     true);
	}
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
	.name		= "teo-util",
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
