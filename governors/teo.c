// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TEO governor of Linux 7.1 to 7.3: the history first, and ticks apart from
 * other wakeups.
 *
 * The idea: start from the deepest enabled state. The history (hits and
 * intercepts in a bin for each state, as in teo-6.1) shows whether wakeups keep
 * coming too early for it. If so, move to a shallower state that covers half of
 * the early wakeups and also the bin in which most of them ended. Compute the
 * next timer, which is expensive, unless wakeups are so frequent that it cannot
 * matter. Wakeups by the tick count apart: if most wakeups are ticks, the CPU
 * could be in the deepest state. A wakeup is a hit only if it came about when the
 * timer was due. The weights of rare bins decay to nothing.
 *
 * When it wins: mixed loads, servers and laptops. It recovers quickly from a
 * wrong habit in both directions and does not mistake its own tick for an
 * interrupt, and fast wakeups cost it no timer. With the tick stopped it expects
 * the timer and does not stay shallow.
 *
 * When it loses: as all TEOs, where wakeups without timers alternate between
 * short and long, since a bin knows how often but not when. Phones with work in
 * short bursts get deeper states than with teo-util.
 *
 * Neighbours: teo-6.6 and teo-fixed test utilisation and count recent intercepts;
 * they tell a timer from another wakeup by the bin alone, and the tick counts as
 * the timer. teo-6.1 computes the timer first.
 *
 * Parameters: decay_shift, how fast weights decay: a wakeup takes one part in
 * 2^decay_shift, 3 in Linux (0 to 10; 0 keeps the last wakeup only).
 * residency_threshold_ns: idle periods and target residencies below it are short,
 * 15000 in Linux (0 to 1000000). latency_threshold_ns: with a latency limit below
 * it no timer is computed for a short state, 7500 in Linux (0 to 1000000).
 * enabled_first, with 1 the first enabled state is taken where no enabled state
 * keeps the latency limit: 0. Linux up to 7.3 takes state 0 then, even if it is
 * disabled.
 *
 * Lineage: teo-6.6. 6.11 removed its utilisation; since 6.14 it counts short
 * idle periods and no longer reads the clock; 6.19 made weights decay to
 * nothing and counts ticks apart; 7.0 compares times for a hit and looks for
 * the largest bin; 7.1 treats a stopped tick apart. The rating is that of TEO
 * in Linux.
 */
#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "governor.h"

/* The weight of one wakeup. */
#define TEO_PULSE		1024

/* With a larger shift a single TEO_PULSE would be too small to decay. */
#define TEO_DECAY_SHIFT_MAX	10

static uint decay_shift = 3;
module_param(decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "a wakeup takes one part in 2^this from all weights (0 to 10)");

static uint residency_threshold_ns = 15000;
module_param(residency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(residency_threshold_ns,
		 "shorter idle periods and target residencies are short (0 to 1000000)");

static uint latency_threshold_ns = 7500;
module_param(latency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(latency_threshold_ns,
		 "with a lower latency limit no timer is computed for short states (0 to 1000000)");

static bool enabled_first;
module_param(enabled_first, bool, 0444);
MODULE_PARM_DESC(enabled_first,
		 "where no enabled state keeps the latency limit, take the first enabled one");

/**
 * struct teo_bin - the wakeups of one bin
 * @hits: weight of the wakeups that came when the expected timer was due
 * @intercepts: weight of the others
 */
struct teo_bin {
	u32 hits;
	u32 intercepts;
};

/**
 * struct teo_cpu - the history of a CPU
 * @sleep_length_ns: time to the next timer at the last choice, KTIME_MAX if it
 *   was not computed
 * @total: weight of all wakeups
 * @total_tick: weight of the wakeups by the tick
 * @tick_intercepts: weight of the intercepts within a tick
 * @short_idles: weight of the short idle periods
 * @tick_wakeup: the tick ended the last idle period, or ran during it
 * @bin: one for each state
 */
struct teo_cpu {
	s64 sleep_length_ns;
	u32 total;
	u32 total_tick;
	u32 tick_intercepts;
	u32 short_idles;
	bool tick_wakeup;
	struct teo_bin bin[CPUIDLE_STATE_MAX];
};

static DEFINE_PER_CPU(struct teo_cpu, teo_cpus);

/* A weight that is too small to decay becomes 0. */
static __always_inline u32 teo_decay(u32 weight, u32 shift)
{
	u32 part = weight >> shift;
	u32 rest = weight - part;

	return part ? rest : 0;
}

/* The length of the last idle period. A short one is counted. */
static s64 teo_measure(struct teo_cpu *cpu_data, struct cpuidle_device *dev, s64 latency_ns)
{
	s64 measured_ns = dev->last_residency_ns;

	if (dev->poll_time_limit) {
		/* There was no wakeup. */
		dev->poll_time_limit = false;
		pr_debug("the polling limit ended the idle period: it counts as endless\n");
		return KTIME_MAX;
	}

	/* Half of the worst-case exit latency stands for the real one. */
	if (measured_ns >= latency_ns) {
		measured_ns -= latency_ns / 2;
		if (measured_ns < residency_threshold_ns)
			cpu_data->short_idles += TEO_PULSE;
	} else {
		measured_ns /= 2;
		cpu_data->short_idles += TEO_PULSE;
	}
	pr_debug("the CPU was idle in state %d for %lld ns without exit latency\n",
		 dev->last_state_idx, measured_ns);
	return measured_ns;
}

static void teo_hit(struct teo_cpu *cpu_data, int bin)
{
	cpu_data->bin[bin].hits += TEO_PULSE;
	pr_debug("it was a hit in bin %d: its hits now weigh %u\n", bin,
		 cpu_data->bin[bin].hits);
}

/* Add the last wakeup to the history. */
static void teo_update(struct teo_cpu *cpu_data, const struct cpuidle_driver *drv,
		       struct cpuidle_device *dev)
{
	s64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;
	const s64 sleep_length_ns = cpu_data->sleep_length_ns;
	const int count = drv->state_count;
	const u32 shift = decay_shift;
	int timer_bin = 0, real_bin = 0;
	s64 measured_ns, real_ns;
	u32 known = 0;
	int i;

	cpu_data->short_idles = teo_decay(cpu_data->short_idles, shift);
	measured_ns = teo_measure(cpu_data, dev, latency_ns);

	/* The bin of the timer is the deepest that the idle period can be in. */
	real_ns = min(measured_ns, sleep_length_ns);

	for (i = 0; i < count; i++) {
		s64 residency_ns = drv->states[i].target_residency_ns;
		struct teo_bin *bin = &cpu_data->bin[i];

		bin->hits = teo_decay(bin->hits, shift);
		bin->intercepts = teo_decay(bin->intercepts, shift);
		known += bin->hits + bin->intercepts;

		if (residency_ns <= sleep_length_ns)
			timer_bin = i;
		if (residency_ns <= real_ns)
			real_bin = i;
	}
	cpu_data->total = known + TEO_PULSE;
	cpu_data->tick_intercepts = teo_decay(cpu_data->tick_intercepts, shift);
	cpu_data->total_tick = teo_decay(cpu_data->total_tick, shift);

	if (cpu_data->tick_wakeup) {
		cpu_data->total_tick += TEO_PULSE;
		/* Without the tick, the CPU would be idle for long. */
		if (3 * cpu_data->total_tick > 2 * cpu_data->total) {
			pr_debug("the tick ended the idle period, as it mostly does: go deep\n");
			teo_hit(cpu_data, drv->state_count - 1);
			return;
		}
		/* If few wakeups are intercepts, one by the tick is none. */
		if (3 * cpu_data->tick_intercepts < 2 * known) {
			pr_debug("the tick ended the idle period: it counts as the timer\n");
			teo_hit(cpu_data, timer_bin);
			return;
		}
	}

	/* The timer must have been the reason, not only be in the same bin. */
	if (real_bin == timer_bin && sleep_length_ns - measured_ns < latency_ns / 2) {
		teo_hit(cpu_data, timer_bin);
		return;
	}

	cpu_data->bin[real_bin].intercepts += TEO_PULSE;
	if (measured_ns <= TICK_NSEC)
		cpu_data->tick_intercepts += TEO_PULSE;
	pr_debug("it was an intercept in bin %d, %s, whose intercepts weigh %u\n", real_bin,
		 real_bin == timer_bin ? "the bin of the timer" : "shallower than the timer's",
		 cpu_data->bin[real_bin].intercepts);
}

/**
 * struct teo_choice - a choice in the making
 * @idx: the state, -1 if none is enabled
 * @shallowest: the shallowest enabled state
 * @allowed: the deepest enabled state that keeps the latency limit, 0 if none does
 */
struct teo_choice {
	int idx;
	int shallowest;
	int allowed;
};

/* Start from the deepest enabled state. */
static __always_inline struct teo_choice teo_deepest(const struct cpuidle_driver *drv,
						     const struct cpuidle_device *dev,
						     s64 latency_limit_ns)
{
	struct teo_choice choice = { .idx = drv->state_count - 1 };
	int i;

	while (choice.idx >= 0 && state_disabled(dev, choice.idx))
		choice.idx--;

	while (choice.shallowest < choice.idx && state_disabled(dev, choice.shallowest))
		choice.shallowest++;

	for (i = choice.idx; i > 0; i--) {
		if (!state_disabled(dev, i) && drv->states[i].exit_latency_ns <= latency_limit_ns) {
			choice.allowed = i;
			break;
		}
	}
	return choice;
}

/* The bin with the most intercepts, the deepest of equal ones; the last bin is left out. */
static int teo_largest_bin(const struct teo_cpu *cpu_data, const struct cpuidle_driver *drv)
{
	u32 largest = 0;
	int found = -1;
	int i;

	for (i = 0; i < drv->state_count - 1; i++) {
		if (cpu_data->bin[i].intercepts >= largest) {
			largest = cpu_data->bin[i].intercepts;
			found = i;
		}
	}
	return found;
}

/*
 * Move to a state that covers half of the intercepts in bins shallower than the
 * deepest enabled state, and the bin with most of them, if these intercepts
 * outweigh the rest.
 */
static __always_inline void teo_intercepts(const struct teo_cpu *cpu_data,
					   const struct cpuidle_driver *drv,
					   const struct cpuidle_device *dev,
					   struct teo_choice *choice)
{
	u32 hits = 0, all_intercepts = 0, intercepts = 0, rest;
	int largest_bin;
	bool many;
	int i;

	for (i = 0; i < choice->idx; i++) {
		hits += cpu_data->bin[i].hits;
		all_intercepts += cpu_data->bin[i].intercepts;
	}
	rest = cpu_data->total - hits;
	many = 2 * all_intercepts > rest;

	pr_debug("intercepts shallower than state %d: %u, %smore than half of the rest, %u%s\n",
		 choice->idx, all_intercepts, many ? "" : "not ", rest,
		 many ? ": try a shallower state" : "");
	if (!many)
		return;

	largest_bin = teo_largest_bin(cpu_data, drv);
	for (i = choice->idx - 1; i >= choice->shallowest; i--) {
		intercepts += cpu_data->bin[i].intercepts;
		if (state_disabled(dev, i))
			continue;

		choice->idx = i;
		if (2 * intercepts > all_intercepts && i <= largest_bin) {
			pr_debug("state %d covers half of them, and most end in bin %d: take it\n",
				 i, largest_bin);
			return;
		}
	}
	pr_debug("no state covers half of them: take state %d, the shallowest\n", choice->idx);
}

/* Whether the next timer is worth its computation. */
static __always_inline bool teo_timer_matters(const struct teo_cpu *cpu_data,
					      const struct cpuidle_driver *drv, int idx,
					      s64 latency_limit_ns)
{
	if (idx != 0 && drv->states[idx].target_residency_ns >= residency_threshold_ns)
		return true;

	if (2 * cpu_data->short_idles >= cpu_data->total) {
		pr_debug("state %d is short and so is half of the idle periods: compute no timer\n",
			 idx);
		return false;
	}
	if (latency_limit_ns < latency_threshold_ns) {
		pr_debug("state %d is short and the latency limit is %lld ns: compute no timer\n",
			 idx, latency_limit_ns);
		return false;
	}
	return true;
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct teo_cpu *cpu_data = per_cpu_ptr(&teo_cpus, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	bool stopped = tick_nohz_tick_stopped();
	struct teo_choice choice;
	s64 delta_tick_ns = TICK_NSEC / 2;
	s64 duration_ns;
	int i;

	if (dev->last_state_idx >= 0) {
		teo_update(cpu_data, drv, dev);
		dev->last_state_idx = -1;
	}

	/* Not known until it is computed. */
	cpu_data->sleep_length_ns = KTIME_MAX;

	choice = teo_deepest(drv, dev, latency_limit_ns);
	/* Any deeper state would be enabled, so that this can only be state 0. */
	if (enabled_first && choice.allowed < choice.shallowest)
		choice.allowed = choice.shallowest;
	if (choice.idx < 0) {
		pr_debug("all states are disabled: take state 0\n");
		*stop_tick = false;
		return 0;
	}
	if (choice.idx == choice.shallowest) {
		pr_debug("state %d is the only one enabled: take it\n", choice.idx);
		duration_ns = drv->states[choice.idx].target_residency_ns;
		goto tick;
	}
	pr_debug("the deepest enabled state is state %d\n", choice.idx);

	teo_intercepts(cpu_data, drv, dev, &choice);
	if (choice.idx > choice.allowed) {
		pr_debug("state %d has an exit latency above the limit of %lld ns: take state %d\n",
			 choice.idx, latency_limit_ns, choice.allowed);
		choice.idx = choice.allowed;
	}
	if (!stopped && !teo_timer_matters(cpu_data, drv, choice.idx, latency_limit_ns)) {
		*stop_tick = false;
		return choice.idx;
	}

	duration_ns = tick_nohz_get_sleep_length(&delta_tick_ns);
	cpu_data->sleep_length_ns = duration_ns;
	pr_debug("the next timer is due in %lld ns\n", duration_ns);

	if (stopped && duration_ns > 2 * TICK_NSEC &&
	    drv->states[choice.idx].target_residency_ns < TICK_NSEC) {
		/* No tick ends an idle period that turns out long: expect the timer. */
		for (i = choice.allowed; i > choice.idx; i--) {
			if (!state_disabled(dev, i) &&
			    drv->states[i].target_residency_ns <= duration_ns) {
				choice.idx = i;
				break;
			}
		}
		pr_debug("the tick is stopped and the timer is far: take state %d, which fits\n",
			 choice.idx);
		return choice.idx;
	}
	if (choice.idx == 0) {
		pr_debug("state 0 is no reason to stop the tick: keep it\n");
		*stop_tick = false;
		return 0;
	}

	if (drv->states[choice.idx].target_residency_ns > duration_ns) {
		pr_debug("state %d needs %lld ns, longer than that: try a shallower state\n",
			 choice.idx, drv->states[choice.idx].target_residency_ns);
		choice.idx = shallower_state(drv, dev, choice.idx, duration_ns, false);
	}
	if (drv->states[choice.idx].target_residency_ns < TICK_NSEC &&
	    3 * cpu_data->tick_intercepts >= 2 * cpu_data->total) {
		pr_debug("most wakeups are no timers and come within a tick: expect half a tick\n");
		duration_ns = TICK_NSEC / 2;
	}
tick:
	if (!tick_stays(drv, choice.idx, duration_ns, duration_ns >= TICK_NSEC, stopped))
		return choice.idx;

	*stop_tick = false;
	/* The tick stays, so the state must fit before it. */
	if (choice.idx > choice.shallowest &&
	    drv->states[choice.idx].target_residency_ns > delta_tick_ns)
		return state_before_tick(drv, dev, choice.idx, delta_tick_ns);
	return choice.idx;
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	struct teo_cpu *cpu_data = per_cpu_ptr(&teo_cpus, dev->cpu);

	cpu_data->tick_wakeup = tick_nohz_idle_got_tick();
	dev->last_state_idx = state;
}

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	struct teo_cpu *cpu_data = per_cpu_ptr(&teo_cpus, dev->cpu);

	memset(cpu_data, 0, sizeof(*cpu_data));
	return 0;
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	return check_param("decay_shift", decay_shift, 0, TEO_DECAY_SHIFT_MAX) ?:
	       check_param("residency_threshold_ns", residency_threshold_ns, 0, 1000000) ?:
	       check_param("latency_threshold_ns", latency_threshold_ns, 0, 1000000) ?:
	       cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
