// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of Linux 5.5 to 5.12: the timer's state, unless its misses outnumber its
 * hits.
 *
 * The idea: most wakeups are timers, and the kernel knows when the next one is
 * due. The deepest state that this time justifies is the candidate. For each
 * state three weights are kept, all fading: hits, when the candidate proved
 * right; misses, when the CPU woke too early for it; and early hits, for the
 * state that would have been right then. A candidate whose misses prevail
 * gives way to the state with the most early hits above it. Then the last eight
 * idle times are asked: if more than half of them are shorter than what the
 * choice counts on, their mean decides, going back as many states as it needs.
 *
 * When it wins: work driven by timers, and short bursts of early wakeups, which
 * the ring of eight recognises after five. It needs no division but that for
 * the mean.
 *
 * When it loses: mixed wakeups. Hits and misses say how often a state was wrong
 * but not by how much, and they fade only when the timer points at the same
 * state again, so they may be old. The early hits of one state win even if all
 * others together outweigh them. A latency limit is kept one state too late:
 * the first state beyond it is still chosen.
 *
 * Parameters: intervals, how many recent idle times are asked, 1 to 64, 8 in
 * Linux. decay_shift, how fast hits and misses fade, one part in 2^decay_shift
 * at each wakeup, 0 to 10, 3 in Linux; 0 remembers only the last.
 *
 * Lineage: TEO came in Linux 5.1; this form is in 5.5 to 5.12, after it learned
 * to count in nanoseconds and to treat disabled states; 5.13 made the lengths
 * signed, 5.14 replaced hits and misses by the bins of teo-6.1. The base of
 * teo-weighted and of seed 003. Written from governors.md, section 5
 * ("teo-5.5"). Rating as TEO has in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/percpu.h>

#include "teo-hits.h"

static DEFINE_PER_CPU(struct teo_hits, teo_cpus);

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	teo_hits_enable(per_cpu_ptr(&teo_cpus, dev->cpu));
	return 0;
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	return teo_hits_select(per_cpu_ptr(&teo_cpus, dev->cpu), drv, dev, stop_tick,
			       &teo_defaults, NULL, NULL);
}

static int teo_select_tuned(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			    bool *stop_tick)
{
	return teo_hits_select(per_cpu_ptr(&teo_cpus, dev->cpu), drv, dev, stop_tick,
			       &teo_tuning, NULL, NULL);
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	teo_hits_reflect(per_cpu_ptr(&teo_cpus, dev->cpu), dev, state);
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-5.6",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	int err = teo_check_tuning();

	if (err)
		return err;
	if (teo_is_tuned())
		teo_governor.select = teo_select_tuned;

	return cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
