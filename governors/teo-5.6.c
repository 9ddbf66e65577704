// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of Linux 5.5 to 5.12: the timer's state, unless it has more misses than
 * hits.
 *
 * The idea: most wakeups are timers, and the kernel knows when the next one is
 * due. The candidate is the deepest state that this time justifies. Each state
 * has three weights, and all of them decay: hits, if the candidate proved right;
 * misses, if the CPU woke too early for it; and early hits, for the state that
 * would have been right then. If a candidate has more misses than hits, the
 * shallower state with the most early hits replaces it. Then come the last eight
 * idle periods: if more than half of them are shorter than the expected idle
 * time, their mean decides, however many states shallower that is.
 *
 * When it wins: work driven by timers, and short bursts of early wakeups, which
 * the ring of eight shows after five. Only the mean needs a division.
 *
 * When it loses: mixed wakeups. Hits and misses say how often a state was wrong
 * but not by how much, and they decay only when the timer selects the same state
 * again, so that they may be old. The early hits of one state win even if those
 * of all others together weigh more. A latency limit acts one state too late:
 * the first state beyond it is still chosen.
 *
 * Neighbours: teo-6.1 replaces hits, misses and early hits by hits and intercepts
 * in bins, and has no mean. teo-weighted is this governor with a random draw
 * after the mean.
 *
 * Parameters: intervals, the number of recent idle periods in the ring, 1 to 64,
 * 8 in Linux. decay_shift, how fast hits and misses decay: a wakeup takes one part
 * in 2^decay_shift, 0 to 10, 3 in Linux; 0 keeps only the last.
 *
 * Lineage: TEO came in Linux 5.1; this form is in 5.5 to 5.12, after TEO
 * learned to count in nanoseconds and to treat disabled states. 5.13 made the
 * lengths signed, 5.14 introduced the bins of teo-6.1. The weighted approach of
 * February 2020 is based on it. The rating is that of TEO in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "governor.h"
#include "teo-hits.h"

static DEFINE_PER_CPU(struct teo_hits, teo_cpus);

static __always_inline int teo_choose(struct cpuidle_driver *drv, struct cpuidle_device *dev,
				      bool *stop_tick, const struct teo_tuning *tuning)
{
	struct teo_hits *data = per_cpu_ptr(&teo_cpus, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_choice choice = { .idx = -1 };
	struct teo_wakeup wakeup;
	ktime_t delta_tick_ns;

	if (dev->last_state_idx >= 0) {
		wakeup = teo_hits_update(data, drv, dev, tuning);
		teo_hits_push(data, wakeup.measured_ns, tuning);
		dev->last_state_idx = -1;
	}

	data->time_span_ns = local_clock();
	choice.stopped = tick_nohz_tick_stopped();
	choice.duration_ns = tick_nohz_get_sleep_length(&delta_tick_ns);
	data->sleep_length_ns = choice.duration_ns;

	teo_hits_timer_state(data, drv, dev, latency_limit_ns, &choice);
	if (choice.idx < 0) {
		pr_debug("all states are disabled: take state 0\n");
		choice.idx = 0;
	}
	if (choice.idx > 0)
		teo_hits_average(data, drv, dev, tuning, &choice);

	if (!tick_stays(drv, choice.idx, choice.duration_ns, choice.duration_ns >= (u64)TICK_NSEC,
			choice.stopped))
		return choice.idx;

	*stop_tick = false;
	/* The tick stays, so the state must fit before it. */
	if (choice.idx > 0 &&
	    (u64)drv->states[choice.idx].target_residency_ns > (u64)delta_tick_ns)
		choice.idx = state_before_tick(drv, dev, choice.idx, delta_tick_ns);
	return choice.idx;
}

/* With constants that the compiler knows a decision is faster. */
static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	return teo_choose(drv, dev, stop_tick, &teo_defaults);
}

static int teo_select_tuned(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			    bool *stop_tick)
{
	return teo_choose(drv, dev, stop_tick, &teo_tuning);
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	teo_hits_reflect(per_cpu_ptr(&teo_cpus, dev->cpu), dev, state);
}

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	teo_hits_enable(per_cpu_ptr(&teo_cpus, dev->cpu));
	return 0;
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
