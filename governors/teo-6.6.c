// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of Linux 6.6 to 6.10: history first, and the timer only where it matters.
 *
 * The idea: the time to the next timer is dear to compute. So this version of
 * TEO starts from the deepest enabled state and asks its history (the bins of
 * teo-6.1) whether wakeups keep coming too early for it. A utilised CPU goes
 * one state back, as in teo-util. Only if the state found is not so shallow
 * that no timer could matter, the next timer is asked for, to go back further
 * if it is near and to decide about the tick; the tick also stays if most
 * wakeups are intercepts. Where no state needs as much as a tick, sleeps of a
 * tick or more are counted in a bin of their own.
 *
 * When it wins: fast wakeups on machines with many shallow states, where it
 * saves most of the timer queries; everything that wakes early and often.
 *
 * When it loses: a timer that was not asked for counts as infinitely far, so
 * nearly all wakeups after such a decision become intercepts, which make the
 * next decision as shallow, and so on: sleeps that a timer ends all the same
 * may be spent in the shallowest state for long. The counts of recent
 * intercepts can wrap below zero on tables without a state that needs a tick;
 * from then on they speak against the candidate at every decision, and as no
 * shallower state covers half of so many, it mostly stays: after a long quiet
 * time early wakeups go unheeded.
 *
 * Parameters: util_threshold_shift, the utilisation threshold as a right shift
 * of the CPU's capacity: 6 means 1/64 (0 to 11). residency_threshold_ns, the
 * target residency below which the timers are not asked on CPUs that can poll:
 * 15000 (0 to 1000000). decay_shift and nr_recent as in teo-6.1.
 *
 * Lineage: teo-util, reworked in 6.6; its utilisation and its recent intercepts
 * went in 6.11. The "teo mainline" of seed 002, whose six patches are
 * teo-fixed. Written from governors.md, section 8.2 ("teo-6.6"). Rating as TEO
 * has in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/percpu.h>

#include "teo-timer-last.h"

static const struct teo_fixes no_fixes = { .tick_margin_ns = -1 };

static DEFINE_PER_CPU(struct teo_timer_last, teo_cpus);

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	teo_timer_last_enable(per_cpu_ptr(&teo_cpus, dev->cpu),
			      util_threshold(dev->cpu, util_threshold_shift));
	return 0;
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	return teo_timer_last_select(per_cpu_ptr(&teo_cpus, dev->cpu), drv, dev, stop_tick,
				     &no_fixes);
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	teo_bins_reflect(&per_cpu_ptr(&teo_cpus, dev->cpu)->bins, dev, state);
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-6.6",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	return teo_timer_last_check_params() ?: cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
