// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of Linux 6.3 to 6.5: one state shallower on a CPU that is in use.
 *
 * The idea: what wakes a CPU early is mostly work, and work shows in the
 * scheduler's utilisation signal before it shows in the governor's own history.
 * A CPU whose utilisation is above a small part of its capacity counts as
 * utilised. On such a CPU the state that TEO (see teo-6.1) chose is replaced by
 * the next enabled shallower state that does not poll. With only two states
 * there is no middle: a utilised CPU gets the first enabled state that does not
 * poll, without looking at the history.
 *
 * When it wins: interactive and I/O-bound work on machines with few states
 * whose exit latencies are long, phones above all: wakeup latency falls, and
 * the deep state is wrong less often. It reacts at once, and it forgets at once
 * when the utilisation decays.
 *
 * When it loses: periodic work that sleeps exactly until its timer. There TEO
 * is right, and the step back costs energy for nothing (misses "below"). On
 * machines with many shallow states one step is little; where the utilisation
 * of an idle CPU decays slowly, it is shallow for tens of milliseconds after
 * the work has gone.
 *
 * Parameters: util_threshold_shift, the threshold as a right shift of the CPU's
 * capacity: 6 means 1/64, about 1.5 %; larger is more eager (0 to 11).
 * util_steps, how many states the choice moves at most: 1 as in Linux, 0 makes
 * this teo-6.1, 9 goes on to the shallowest state that does not poll, much as
 * the first posting did. decay_shift and nr_recent as in teo-6.1.
 *
 * Lineage: posted on linux-pm on 15 September 2022, where a utilised CPU went
 * straight to the shallowest state; one step in the final form, merged in 6.3;
 * changed a lot in 6.6, removed in 6.11. Written from governors.md,
 * sections 7 and 8.1 ("teo-6.3"). Rating as TEO has in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>

#include "teo-util-cpu.h"

static uint util_steps = 1;
module_param(util_steps, uint, 0644);
MODULE_PARM_DESC(util_steps, "states to go back on a utilised CPU; 0 ignores utilisation");

static __always_inline bool teo_util_early(struct cpuidle_driver *drv, struct cpuidle_device *dev,
					   struct teo_bins *bins, struct teo_pick *pick)
{
	struct teo_util_cpu *cpu_data = teo_util_of(bins);
	int i;

	cpu_data->utilised = util_steps && cpu_utilised(dev->cpu, cpu_data->threshold);
	if (!cpu_data->utilised || drv->state_count > 2)
		return false;

	for (i = 0; i < drv->state_count; i++) {
		if (!state_disabled(dev, i) && !state_polls(drv, i)) {
			pr_debug("there is no middle between two states: take state %d\n", i);
			pick->idx = i;
			return true;
		}
	}
	return false;
}

static __always_inline void teo_util_late(struct cpuidle_driver *drv, struct cpuidle_device *dev,
					  struct teo_bins *bins, struct teo_pick *pick)
{
	struct teo_util_cpu *cpu_data = teo_util_of(bins);
	uint step;

	if (!cpu_data->utilised)
		return;

	pr_debug("the CPU is utilised: go %u back from state %d\n", util_steps, pick->idx);
	for (step = 0; step < min_t(uint, util_steps, CPUIDLE_STATE_MAX); step++)
		pick->idx = shallower_state(drv, dev, pick->idx, pick->duration_ns, true);
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct teo_util_cpu *cpu_data = per_cpu_ptr(&teo_util_cpus, dev->cpu);

	return teo_timer_first_select(&cpu_data->bins, drv, dev, stop_tick, teo_util_early,
				      teo_util_late);
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-util",
	.rating		= 19,
	.enable		= teo_util_enable,
	.select		= teo_select,
	.reflect	= teo_util_reflect,
};

static int __init teo_governor_init(void)
{
	return teo_util_check_params() ?: cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
