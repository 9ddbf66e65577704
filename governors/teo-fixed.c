// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO with the six fixes posted in June 2024, each of which can be switched off.
 *
 * The idea: the TEO of 6.6 (see teo-6.6) chooses shallow states too easily. Patch
 * 1: a CPU counts as utilised from a quarter of its capacity on. Patch 2: a
 * utilised CPU with two states keeps the tick, whichever state it takes. Patch 3:
 * on a CPU whose only state does not poll, the tick stops if the timer is far.
 * Patch 4: stopping the tick has a price, so that a millisecond more than a tick
 * must be expected. Patch 5: the recent intercepts, whose counts go wrong, do not
 * count. Patch 6: a wakeup is no intercept if no timer was known, and the timer is
 * computed before state 0 is taken on history alone.
 *
 * When it wins: I/O that finishes long before the next timer, and timers on CPUs
 * with little work: it takes the deep state far more often than teo-6.6, with
 * fewer misses in both directions.
 *
 * When it loses: the margin for the tick is the same for all states, so that the
 * tick divides idle periods a little longer than a tick. On a CPU below a quarter
 * of its capacity history alone decides again.
 *
 * Neighbours: with all switches off it is teo-6.6. What became of patches 5 and 6
 * is in teo.
 *
 * Parameters: one switch for each patch, on by default: higher_util_threshold
 * (1), keep_tick_utilised (2), stop_tick_one_state (3), tick_margin (4),
 * no_recent_intercepts (5), no_fake_intercepts (6). The constants of the patches:
 * higher_util_shift 2 (0 to 11) and higher_util_min 50 (0 to 1024), the new
 * threshold; tick_margin_ns 1000000 (0 to 100000000). util_threshold_shift acts
 * without patch 1 only, nr_recent without patch 5 only; these two,
 * residency_threshold_ns and decay_shift are as in teo-6.6.
 *
 * Lineage: "[PATCH 0/6] cpuidle: teo: fixes and improvements", Christian
 * Loehle, linux-pm, 6 June 2024, for 6.10. Patches 1 to 4 were never merged; 5
 * and, with changes, 6 are in 6.11, together with the removal of all
 * utilisation. As posted, patch 6 writes beyond its table on a machine with ten
 * states; here it writes nowhere. The rating is that of TEO in Linux.
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

static uint util_threshold_shift = 6;
module_param(util_threshold_shift, uint, 0444);
MODULE_PARM_DESC(util_threshold_shift, "utilised means above capacity >> this (0 to 11)");

static uint residency_threshold_ns = 15000;
module_param(residency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(residency_threshold_ns,
		 "no timer matters to a state that needs less, if state 0 polls (0 to 1000000)");

/**
 * struct teo_fixes - the patches that act
 * @tick_utilised: with two states, a utilised CPU keeps the tick
 * @tick_one_state: with one state, the tick stops if the timer is far
 * @tick_margin_ns: the tick stops if more than a tick and this is expected; -1
 *   makes one tick enough
 * @no_recent: the recent intercepts do not count
 * @no_fake_intercepts: a wakeup is no intercept if no timer was known, and the
 *   timer is computed if the history alone leads to state 0
 */
struct teo_fixes {
	bool tick_utilised;
	bool tick_one_state;
	s64 tick_margin_ns;
	bool no_recent;
	bool no_fake_intercepts;
};

static struct teo_fixes fixes = {
	.tick_utilised		= true,
	.tick_one_state		= true,
	.no_recent		= true,
	.no_fake_intercepts	= true,
};

static bool higher_util_threshold = true;
module_param(higher_util_threshold, bool, 0444);
MODULE_PARM_DESC(higher_util_threshold, "patch 1: utilised means more than now");

module_param_named(keep_tick_utilised, fixes.tick_utilised, bool, 0444);
MODULE_PARM_DESC(keep_tick_utilised, "patch 2: with two states a utilised CPU keeps the tick");

module_param_named(stop_tick_one_state, fixes.tick_one_state, bool, 0444);
MODULE_PARM_DESC(stop_tick_one_state, "patch 3: with one state the tick stops if the timer is far");

static bool tick_margin = true;
module_param(tick_margin, bool, 0444);
MODULE_PARM_DESC(tick_margin, "patch 4: the tick stops only for more than a tick of idle time");

module_param_named(no_recent_intercepts, fixes.no_recent, bool, 0444);
MODULE_PARM_DESC(no_recent_intercepts, "patch 5: recent intercepts do not count on their own");

module_param_named(no_fake_intercepts, fixes.no_fake_intercepts, bool, 0444);
MODULE_PARM_DESC(no_fake_intercepts, "patch 6: without a known timer a wakeup is no intercept");

static uint higher_util_shift = 2;
module_param(higher_util_shift, uint, 0444);
MODULE_PARM_DESC(higher_util_shift, "patch 1: utilised means above capacity >> this (0 to 11)");

static uint higher_util_min = 50;
module_param(higher_util_min, uint, 0444);
MODULE_PARM_DESC(higher_util_min, "patch 1: and above this utilisation (0 to 1024)");

static uint tick_margin_ns = 1000000;
module_param(tick_margin_ns, uint, 0444);
MODULE_PARM_DESC(tick_margin_ns, "patch 4: how much more than a tick (0 to 100000000)");

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
	s8 *recent = fixes.no_recent ? NULL : teo_bins_oldest(bins);
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

	if (wakeup.real_bin == wakeup.timer_bin) {
		teo_bins_hit(bins, wakeup.timer_bin, recent);
	} else if (fixes.no_fake_intercepts && bins->sleep_length_ns == KTIME_MAX) {
		pr_debug("no timer was known, so it was no intercept\n");
		/* Nothing reads the hits of the bin deeper than all states. */
		if (wakeup.timer_bin <= deepest)
			teo_bins_hit(bins, wakeup.timer_bin, recent);
		else if (recent)
			*recent = -1;
	} else {
		teo_bins_intercept(bins, &wakeup, recent);
	}
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
		if (!fixes.tick_one_state || state_polls(drv, 0))
			return teo_settle(0, stop_tick);
		choice.idx = 0;
		teo_ask_timer(&choice, &delta_tick_ns);
		goto tick;
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
		if (fixes.tick_utilised)
			goto keep_tick;
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
	if (fixes.no_fake_intercepts && choice.idx == 0) {
		teo_ask_timer(&choice, &delta_tick_ns);
		bins->sleep_length_ns = choice.duration_ns;
	}

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
	if (!tick_stays(drv, choice.idx, choice.duration_ns,
			choice.duration_ns > TICK_NSEC + fixes.tick_margin_ns, choice.stopped))
		return choice.idx;
keep_tick:
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
	if (higher_util_threshold)
		cpu_data->threshold =
			max_t(unsigned long, higher_util_min,
			      teo_util_threshold(dev->cpu, higher_util_shift));
	return 0;
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-fixed",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	fixes.tick_margin_ns = tick_margin ? (s64)tick_margin_ns : -1;

	return teo_bins_check_params() ?:
	       check_param("util_threshold_shift", util_threshold_shift, 0, TEO_UTIL_SHIFT_MAX) ?:
	       check_param("residency_threshold_ns", residency_threshold_ns, 0, 1000000) ?:
	       check_param("higher_util_shift", higher_util_shift, 0, TEO_UTIL_SHIFT_MAX) ?:
	       check_param("higher_util_min", higher_util_min, 0, 1024) ?:
	       check_param("tick_margin_ns", tick_margin_ns, 0, 100000000) ?:
	       cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
