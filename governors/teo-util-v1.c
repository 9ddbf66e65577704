// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first posting of util-aware TEO: the shallowest state on a CPU in use.
 *
 * The idea: a CPU whose utilisation is above a small part of its capacity has
 * work, and the next piece of it will come before any timer. So such a CPU gets
 * the shallowest enabled state at once; only if it is not utilised TEO decides
 * (see teo-6.1). What then happens was not TEO's choice, so TEO does not learn
 * from it: its history stands still until the CPU is no longer utilised.
 *
 * When it wins: wakeup latency under load, of all TEOs the best; scores of
 * benchmarks that wait for short wakeups, on machines whose shallowest state is
 * cheap.
 *
 * When it loses: power. Every pause of a CPU that is in use is spent in the
 * shallowest state, long ones as well, and the tick is even stopped for it if
 * the timer is far, so that nothing corrects a long stay. On x86 the shallowest
 * state polls. After a busy phase the history is as old as the phase is long.
 *
 * Parameters: util_threshold_shift, the threshold as a right shift of the CPU's
 * capacity: 6 means 1/64, about 1.5 %; larger is more eager (0 to 11).
 * update_utilised, whether the history also learns from what followed a
 * utilised choice: 0 as posted. decay_shift and nr_recent as in teo-6.1.
 *
 * Lineage: posted on linux-pm on 15 September 2022 (seed 000) on top of
 * teo-6.1; never merged in this form, which later postings made milder and
 * milder until it was teo-util. With all states disabled the posted code
 * returned a state that does not exist; here it is state 0. Written from
 * governors.md, section 7 ("teo-ua1"). Rating as TEO has in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>

#include "teo-util-cpu.h"

static bool update_utilised;
module_param(update_utilised, bool, 0444);
MODULE_PARM_DESC(update_utilised, "learn also from what followed the choice on a utilised CPU");

static __always_inline bool teo_util_early(struct cpuidle_driver *drv, struct cpuidle_device *dev,
					   struct teo_bins *bins, struct teo_pick *pick)
{
	struct teo_util_cpu *cpu_data = teo_util_of(bins);
	int i;

	cpu_data->utilised = cpu_utilised(dev->cpu, cpu_data->threshold);
	if (!cpu_data->utilised)
		return false;

	for (i = 0; i < drv->state_count; i++) {
		if (!state_disabled(dev, i)) {
			pr_debug("the shallowest enabled state is state %d: take it\n", i);
			pick->idx = i;
			return true;
		}
	}
	return false;
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct teo_util_cpu *cpu_data = per_cpu_ptr(&teo_util_cpus, dev->cpu);

	if (cpu_data->utilised && !update_utilised) {
		pr_debug("the CPU was utilised at the last choice: learn nothing from it\n");
		dev->last_state_idx = -1;
	}
	return teo_timer_first_select(&cpu_data->bins, drv, dev, stop_tick, teo_util_early, NULL);
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-util-v1",
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
