// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of late Linux 6.12.y: the history and the timer, without utilisation and
 * recent intercepts.
 *
 * The idea: start from the deepest enabled state. The history (hits and
 * intercepts, as in teo-6.1) shows whether wakeups keep coming too early for it.
 * If so, move to a shallower state. Compute the next timer, which is expensive,
 * last of all, and also if the history alone leads to state 0; on a CPU that can
 * poll, not for a state that needs less than 15 us. If the timer comes before the
 * target residency, take a shallower state that fits.
 *
 * When it wins: mixed loads. It follows the history of all wakeups, and no count
 * can go wrong.
 *
 * When it loses: the tick counts as the timer, so that a CPU that keeps its tick
 * learns nothing of the long idle periods that it divides. On a CPU without a
 * polling state most timers are computed. A timer that was not computed counts as
 * infinitely far: nearly all wakeups after such a decision are intercepts.
 *
 * Neighbours: teo-6.6 tests utilisation and recent intercepts, and computes no
 * timer where the history leads to state 0. teo, the present version, counts ticks
 * and short idle periods apart.
 *
 * Parameters: residency_threshold_ns and decay_shift as in teo-6.6.
 * residency_guard, with 1 a state that fits before the timer is not taken if the
 * tick is stopped and it needs less than a tick, as in 6.11 to 6.13 and to
 * 6.12.63; with 0 it is taken, as in 6.12.64 and later.
 *
 * Lineage: teo-6.6 without utilisation and recent intercepts, since 6.11; the
 * stable release 6.12.64 dropped the guard. 6.14 replaced the clock and the bin
 * of the tick, on the way to teo. The rating is that of TEO in Linux.
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

static uint residency_threshold_ns = 15000;
module_param(residency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(residency_threshold_ns,
		 "no timer matters to a state that needs less, if state 0 polls (0 to 1000000)");

static bool residency_guard;
module_param(residency_guard, bool, 0444);
MODULE_PARM_DESC(residency_guard,
		 "with the tick stopped take no state below a tick because the timer is near");

/**
 * struct teo_timer_last - the data of a CPU
 * @bins: the history
 * @tick_hits: weight of the idle periods of a tick or more; they have this bin of
 *   their own, deeper than all states, where no state needs a tick
 */
struct teo_timer_last {
	struct teo_bins bins;
	u32 tick_hits;
};

static DEFINE_PER_CPU(struct teo_timer_last, teo_cpus);

/* Add the last wakeup to the history. */
static __always_inline void teo_update(struct teo_timer_last *cpu_data,
				       const struct cpuidle_driver *drv,
				       const struct cpuidle_device *dev)
{
	struct teo_bins *bins = &cpu_data->bins;
	struct teo_wakeup wakeup = teo_bins_decay(bins, drv, dev);
	int deepest = drv->state_count - 1;

	if (drv->states[deepest].target_residency_ns < TICK_NSEC) {
		cpu_data->tick_hits -= cpu_data->tick_hits >> decay_shift;
		bins->total += cpu_data->tick_hits;

		if (bins->sleep_length_ns >= TICK_NSEC) {
			wakeup.timer_bin = deepest + 1;
			if (wakeup.measured_ns >= (u64)TICK_NSEC) {
				cpu_data->tick_hits += TEO_PULSE;
				pr_debug("it was a hit in the tick's bin, which now weighs %u\n",
					 cpu_data->tick_hits);
				return;
			}
		}
	}

	if (wakeup.real_bin == wakeup.timer_bin)
		teo_bins_hit(bins, wakeup.timer_bin, NULL);
	else
		teo_bins_intercept(bins, &wakeup, NULL);
}

/* Compute the time to the next timer. */
static __always_inline void teo_ask_timer(struct teo_bins *bins, struct teo_choice *choice,
					  s64 *delta_tick_ns)
{
	choice->duration_ns = tick_nohz_get_sleep_length(delta_tick_ns);
	bins->sleep_length_ns = choice->duration_ns;
	pr_debug("the next timer is due in %lld ns\n", choice->duration_ns);
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

/* Keep the tick, whatever the timer says. */
static __always_inline int teo_settle(int idx, bool *stop_tick)
{
	*stop_tick = false;
	return idx;
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct teo_timer_last *cpu_data = per_cpu_ptr(&teo_cpus, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_bins *bins = &cpu_data->bins;
	struct teo_choice choice = { .idx = -1 };
	s64 delta_tick_ns = TICK_NSEC / 2;
	int idx;

	if (dev->last_state_idx >= 0) {
		teo_update(cpu_data, drv, dev);
		dev->last_state_idx = -1;
	}

	bins->time_span_ns = local_clock();
	/* Not known until it is computed. */
	bins->sleep_length_ns = KTIME_MAX;
	choice.stopped = tick_nohz_tick_stopped();

	if (drv->state_count < 2) {
		pr_debug("state 0 is the only state\n");
		return teo_settle(0, stop_tick);
	}

	if (!state_disabled(dev, 0))
		choice.idx = 0;

	choice.duration_ns = KTIME_MAX;
	teo_bins_candidate(drv, dev, &choice);
	if (choice.idx < 0) {
		pr_debug("all states are disabled: take state 0\n");
		return teo_settle(0, stop_tick);
	}
	if (choice.idx == choice.shallowest) {
		pr_debug("state %d is the only one enabled: take it\n", choice.idx);
		choice.duration_ns = drv->states[choice.idx].target_residency_ns;
		goto tick;
	}
	pr_debug("the deepest enabled state is state %d\n", choice.idx);

	teo_bins_intercepts(bins, drv, dev, &choice, false);
	if (choice.idx == 0) {
		pr_debug("the history leads to state 0: the timer decides how it counts\n");
		teo_ask_timer(bins, &choice, &delta_tick_ns);
		return teo_settle(0, stop_tick);
	}

	teo_bins_limit(drv, dev, latency_limit_ns, &choice);
	if (choice.idx == 0) {
		pr_debug("state 0 is no reason to stop the tick: keep it\n");
		return teo_settle(0, stop_tick);
	}
	if (state_polls(drv, 0) &&
	    drv->states[choice.idx].target_residency_ns < residency_threshold_ns) {
		pr_debug("state %d needs so little that no timer matters: keep the tick\n",
			 choice.idx);
		return teo_settle(choice.idx, stop_tick);
	}

	teo_ask_timer(bins, &choice, &delta_tick_ns);
	if (drv->states[choice.idx].target_residency_ns > choice.duration_ns) {
		pr_debug("state %d needs %lld ns, longer than that: try a shallower state\n",
			 choice.idx, drv->states[choice.idx].target_residency_ns);
		idx = shallower_state(drv, dev, choice.idx, choice.duration_ns, false);
		if (!residency_guard ||
		    teo_long_enough(&choice, drv->states[idx].target_residency_ns))
			choice.idx = idx;
		else
			pr_debug("state %d needs less than a tick, but none comes: keep state %d\n",
				 idx, choice.idx);
	}
	if (drv->states[choice.idx].target_residency_ns < TICK_NSEC &&
	    teo_mostly_intercepts(bins, drv)) {
		pr_debug("most wakeups are intercepts: expect half a tick\n");
		choice.duration_ns = TICK_NSEC / 2;
	}
tick:
	if (!tick_stays(drv, choice.idx, choice.duration_ns, choice.duration_ns >= TICK_NSEC,
			choice.stopped))
		return choice.idx;

	return teo_keep_tick(drv, dev, &choice, delta_tick_ns, stop_tick);
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	teo_bins_reflect(&per_cpu_ptr(&teo_cpus, dev->cpu)->bins, dev, state);
}

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	struct teo_timer_last *cpu_data = per_cpu_ptr(&teo_cpus, dev->cpu);

	teo_bins_enable(&cpu_data->bins);
	cpu_data->tick_hits = 0;
	return 0;
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-6.12",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	return teo_bins_check_params() ?:
	       check_param("residency_threshold_ns", residency_threshold_ns, 0, 1000000) ?:
	       cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
