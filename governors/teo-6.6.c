// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of Linux 6.6 to 6.10: the history first, and the timer only where it matters.
 *
 * The idea: the time to the next timer is expensive to compute. This version of
 * TEO therefore starts from the deepest enabled state, and its history (the bins
 * of teo-6.1) shows whether wakeups keep coming too early for it. A utilised CPU
 * steps back one state, as in teo-util. The next timer is computed only if the
 * state found is deep enough for a timer to matter; it can lead to a shallower
 * state, and it decides about the tick. The tick also stays if most wakeups are
 * intercepts. Where no state needs as much as a tick, idle periods of a tick or
 * more have a bin of their own.
 *
 * When it wins: fast wakeups on machines with many shallow states, where most
 * timers need not be computed; work that wakes the CPU early and often.
 *
 * When it loses: a timer that was not computed counts as infinitely far, so that
 * nearly all wakeups after such a decision are intercepts, which make the next
 * decision as shallow, and so on. Idle periods that a timer ends may thus be
 * spent in the shallowest state for long. The counts of recent intercepts can
 * wrap below zero on machines without a state that needs a tick. From then on
 * they speak against the candidate at every decision; as no shallower state
 * covers half of so many, the candidate mostly stays, and after a long quiet time
 * early wakeups have no effect.
 *
 * Neighbours: teo-util computes the timer first. teo-fixed is this governor with
 * six patches, each with a switch. teo, the present version, has neither
 * utilisation nor recent intercepts.
 *
 * Parameters: util_threshold_shift, the utilisation threshold as a right shift
 * of the CPU's capacity: 6 in Linux means 1/64 (0 to 11). residency_threshold_ns:
 * on a CPU that can poll, no timer is computed for a state with a target
 * residency below this, 15000 in Linux (0 to 1000000). decay_shift and nr_recent
 * as in teo-6.1.
 *
 * Lineage: teo-util, reworked in 6.6. Linux 6.11 removed its utilisation and
 * its recent intercepts. The series "cpuidle: teo: fixes and improvements" of
 * June 2024 calls it "teo mainline". The rating is that of TEO in Linux.
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

static uint residency_threshold_ns = 15000;
module_param(residency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(residency_threshold_ns,
		 "no timer matters to a state that needs less, if state 0 polls (0 to 1000000)");

/**
 * struct teo_timer_last - the data of a CPU
 * @bins: the history
 * @tick_hits: weight of the idle periods of a tick or more; they have this bin of
 *   their own, deeper than all states, where no state needs a tick
 * @threshold: utilisation above this makes the CPU a utilised one
 */
struct teo_timer_last {
	struct teo_bins bins;
	u32 tick_hits;
	unsigned long threshold;
};

static DEFINE_PER_CPU(struct teo_timer_last, teo_cpus);

/* Add the last wakeup to the history. */
static __always_inline void teo_update(struct teo_timer_last *cpu_data,
				       const struct cpuidle_driver *drv,
				       const struct cpuidle_device *dev)
{
	struct teo_bins *bins = &cpu_data->bins;
	struct teo_wakeup wakeup = teo_bins_decay(bins, drv, dev);
	s8 *recent = teo_bins_oldest(bins);
	int deepest = drv->state_count - 1;

	if (drv->states[deepest].target_residency_ns < TICK_NSEC) {
		cpu_data->tick_hits -= cpu_data->tick_hits >> decay_shift;
		bins->total += cpu_data->tick_hits;

		if (bins->sleep_length_ns >= TICK_NSEC) {
			wakeup.timer_bin = deepest + 1;
			if (wakeup.measured_ns >= (u64)TICK_NSEC) {
				/*
				 * As in Linux, the slot of the recent wakeup
				 * keeps its bin, which is taken off again when
				 * the slot is the oldest next time. So a count
				 * may wrap below zero.
				 */
				cpu_data->tick_hits += TEO_PULSE;
				pr_debug("it was a hit in the tick's bin, which now weighs %u\n",
					 cpu_data->tick_hits);
				return;
			}
		}
	}

	if (wakeup.real_bin == wakeup.timer_bin)
		teo_bins_hit(bins, wakeup.timer_bin, recent);
	else
		teo_bins_intercept(bins, &wakeup, recent);
}

/* Compute the time to the next timer. */
static __always_inline void teo_ask_timer(struct teo_choice *choice, s64 *delta_tick_ns)
{
	choice->duration_ns = tick_nohz_get_sleep_length(delta_tick_ns);
	pr_debug("the next timer is due in %lld ns\n", choice->duration_ns);
}

/* Step back to the shallower state @idx, unless the tick is stopped and it needs less. */
static __always_inline void teo_step_back(const struct cpuidle_driver *drv,
					  struct teo_choice *choice, int idx)
{
	if (teo_long_enough(choice, drv->states[idx].target_residency_ns))
		choice->idx = idx;
	else
		pr_debug("state %d needs less than a tick, but none comes: keep state %d\n",
			 idx, choice->idx);
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
	bool utilised;

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

	utilised = teo_cpu_utilised(dev->cpu, cpu_data->threshold);
	if (utilised && drv->state_count < 3) {
		/* State 0 if it is of use, else state 1. */
		if ((choice.idx == 0 && !state_polls(drv, 0) &&
		     teo_long_enough(&choice, drv->states[0].target_residency_ns)) ||
		    state_disabled(dev, 1)) {
			pr_debug("the CPU has only two states: take state 0\n");
			return teo_settle(0, stop_tick);
		}
		pr_debug("state 0 does not qualify, and there is only one more: take state 1\n");
		choice.idx = 1;
		choice.duration_ns = drv->states[1].target_residency_ns;
		goto tick;
	}

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
	teo_bins_limit(drv, dev, latency_limit_ns, &choice);
	if (utilised) {
		pr_debug("the CPU is utilised: step back from state %d\n", choice.idx);
		teo_step_back(drv, &choice,
			      shallower_state(drv, dev, choice.idx, KTIME_MAX, true));
	}

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

	teo_ask_timer(&choice, &delta_tick_ns);
	bins->sleep_length_ns = choice.duration_ns;
	if (drv->states[choice.idx].target_residency_ns > choice.duration_ns) {
		pr_debug("state %d needs %lld ns, longer than that: try a shallower state\n",
			 choice.idx, drv->states[choice.idx].target_residency_ns);
		teo_step_back(drv, &choice,
			      shallower_state(drv, dev, choice.idx, choice.duration_ns, false));
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
	cpu_data->threshold = teo_util_threshold(dev->cpu, util_threshold_shift);
	return 0;
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
	return teo_bins_check_params() ?:
	       check_param("util_threshold_shift", util_threshold_shift, 0, TEO_UTIL_SHIFT_MAX) ?:
	       check_param("residency_threshold_ns", residency_threshold_ns, 0, 1000000) ?:
	       cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
