// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TEO governor of Linux 7.1 to 7.3: history first, and ticks told from
 * other wakeups.
 *
 * The idea: start from the deepest enabled state and ask the history (hits and
 * intercepts in a bin for each state, as in teo-6.1) whether wakeups keep coming
 * too early for it. If so, go back until half of the early wakeups are covered,
 * and not only half of them but also the bin in which most of them ended. Ask for
 * the next timer, which is dear, only if wakeups are not so frequent anyway
 * that it cannot matter. Wakeups by the tick are told from others: if most are,
 * the CPU could sleep in the deepest state. What counts as a hit must have come
 * about when the timer said. The weights of rare bins decay down to nothing.
 *
 * When it wins: mixed loads, servers and laptops: it recovers quickly from a
 * wrong habit in both directions and does not mistake its own tick for an
 * interrupt, while fast wakeups cost it no timer query. With the tick stopped
 * it trusts the timer and does not stay shallow.
 *
 * When it loses: as all TEOs where wakeups without timers alternate between
 * short and long, since a bin knows how often but not when. Phones with work in
 * short bursts get deeper states than with teo-util.
 *
 * Parameters: decay_shift, how fast the weights forget: one part in 2^3 = 8 at
 * each wakeup (0 to 10; 0 remembers the last wakeup only).
 * residency_threshold_ns, sleeps and target residencies below which count as
 * short: 15000 (0 to 1000000). latency_threshold_ns, a latency limit below
 * which the timer is not asked for a short state: 7500 (0 to 1000000).
 * enabled_first, with 1 the first enabled state is taken where no enabled one
 * keeps the latency limit: 0. Linux up to 7.3 takes state 0 then, even one that
 * is switched off.
 *
 * Lineage: teo-6.6 lost its utilisation in 6.11, counts short sleeps since 6.14
 * and no longer reads the clock; decay to nothing and the tick's own count in
 * 6.19, hits by time and the largest bin in 7.0, the stopped tick apart in 7.1.
 * Written from governors.md, section 10.3 ("teo-7.1"). Rating as TEO has in
 * Linux.
 */
#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "teo-common.h"

static uint residency_threshold_ns = 15000;
module_param(residency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(residency_threshold_ns, "what needs or takes less is short (0 to 1000000)");

static uint latency_threshold_ns = 7500;
module_param(latency_threshold_ns, uint, 0444);
MODULE_PARM_DESC(latency_threshold_ns,
		 "with a latency limit below, no timer is asked for short states (0 to 1000000)");

static bool enabled_first;
module_param(enabled_first, bool, 0444);
MODULE_PARM_DESC(enabled_first,
		 "where no enabled state keeps the latency limit, take the first enabled one");

/**
 * struct teo_bin - what ended in one bin
 * @hits: weight of the wakeups when the expected timer was due
 * @intercepts: weight of the others
 */
struct teo_bin {
	u32 hits;
	u32 intercepts;
};

/**
 * struct teo_cpu - what TEO knows about a CPU
 * @sleep_length_ns: time to the next timer at the last choice, KTIME_MAX if it
 *   was not asked for
 * @total: weight of all wakeups
 * @total_tick: weight of those by the tick
 * @tick_intercepts: weight of the intercepts within a tick
 * @short_idles: weight of the short sleeps
 * @tick_wakeup: the tick ended the last sleep, or at least ran
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

/* What is too small to decay goes at once. */
static __always_inline u32 teo_decay(u32 weight, u32 shift)
{
	u32 part = weight >> shift;

	return part ? weight - part : 0;
}

/* How long the last sleep was; whether it was short is booked. */
static s64 teo_measure(struct teo_cpu *cpu_data, struct cpuidle_device *dev, s64 latency_ns)
{
	s64 measured_ns = dev->last_residency_ns;

	if (dev->poll_time_limit) {
		/* Nothing woke the CPU at all. */
		dev->poll_time_limit = false;
		pr_debug("the limit of the polling loop ended the sleep: take it for endless\n");
		return KTIME_MAX;
	}

	/* Half of the worst-case exit latency is taken for the real one. */
	if (measured_ns >= latency_ns) {
		measured_ns -= latency_ns / 2;
		if (measured_ns < residency_threshold_ns)
			cpu_data->short_idles += TEO_PULSE;
	} else {
		measured_ns /= 2;
		cpu_data->short_idles += TEO_PULSE;
	}
	pr_debug("the sleep in state %d lasted %lld ns, corrected for exit latency\n",
		 dev->last_state_idx, measured_ns);
	return measured_ns;
}

static void teo_hit(struct teo_cpu *cpu_data, int bin)
{
	cpu_data->bin[bin].hits += TEO_PULSE;
	pr_debug("that is a hit in bin %d: hits there weigh %u now\n", bin,
		 cpu_data->bin[bin].hits);
}

/* Book the last wakeup. */
static void teo_update(struct teo_cpu *cpu_data, const struct cpuidle_driver *drv,
		       struct cpuidle_device *dev)
{
	s64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;
	const u32 shift = decay_shift;
	int timer_bin = 0, real_bin = 0;
	u32 known = 0;
	s64 measured_ns;
	int i;

	cpu_data->short_idles = teo_decay(cpu_data->short_idles, shift);
	measured_ns = teo_measure(cpu_data, dev, latency_ns);

	for (i = 0; i < drv->state_count; i++) {
		s64 residency_ns = drv->states[i].target_residency_ns;
		struct teo_bin *bin = &cpu_data->bin[i];

		bin->hits = teo_decay(bin->hits, shift);
		bin->intercepts = teo_decay(bin->intercepts, shift);
		known += bin->hits + bin->intercepts;

		if (residency_ns <= cpu_data->sleep_length_ns) {
			timer_bin = i;
			if (residency_ns <= measured_ns)
				real_bin = i;
		}
	}
	cpu_data->total = known + TEO_PULSE;
	cpu_data->tick_intercepts = teo_decay(cpu_data->tick_intercepts, shift);
	cpu_data->total_tick = teo_decay(cpu_data->total_tick, shift);

	if (cpu_data->tick_wakeup) {
		cpu_data->total_tick += TEO_PULSE;
		/* But for the tick, the CPU would sleep. */
		if (3 * cpu_data->total_tick > 2 * cpu_data->total) {
			pr_debug("the tick ended the sleep, as it mostly does: none is too deep\n");
			teo_hit(cpu_data, drv->state_count - 1);
			return;
		}
		/* Without many intercepts, one by the tick is none. */
		if (3 * cpu_data->tick_intercepts < 2 * known) {
			pr_debug("the tick ended the sleep: take it for the timer\n");
			teo_hit(cpu_data, timer_bin);
			return;
		}
	}

	/* The timer must have been the reason, not only be in the same bin. */
	if (real_bin == timer_bin && cpu_data->sleep_length_ns - measured_ns < latency_ns / 2) {
		teo_hit(cpu_data, timer_bin);
		return;
	}

	cpu_data->bin[real_bin].intercepts += TEO_PULSE;
	if (measured_ns <= TICK_NSEC)
		cpu_data->tick_intercepts += TEO_PULSE;
	pr_debug("that is an intercept in bin %d, %s: they weigh %u there\n", real_bin,
		 real_bin == timer_bin ? "where the timer was, but before it" :
					 "shallower than the timer's",
		 cpu_data->bin[real_bin].intercepts);
}

/**
 * struct teo_pick - a choice on its way
 * @idx: state, -1 as long as no enabled one was seen
 * @shallowest: shallowest enabled state
 * @allowed: deepest enabled state that keeps the latency limit, 0 if none does
 * @largest_bin: where most of the intercepts above the deepest state ended
 * @below: weights of the bins shallower than @idx
 */
struct teo_pick {
	int idx;
	int shallowest;
	int allowed;
	int largest_bin;
	struct teo_bin below;
};

/* The deepest enabled state, and the weights of the bins above it. */
static __always_inline void teo_deepest(const struct teo_cpu *cpu_data,
					const struct cpuidle_driver *drv,
					const struct cpuidle_device *dev,
					s64 latency_limit_ns, struct teo_pick *pick)
{
	struct teo_bin sum = { 0 };
	u32 largest = 0;
	int i;

	for (i = 1; i < drv->state_count; i++) {
		const struct teo_bin *bin = &cpu_data->bin[i - 1];

		sum.hits += bin->hits;
		sum.intercepts += bin->intercepts;
		if (bin->intercepts >= largest) {
			largest = bin->intercepts;
			pick->largest_bin = i - 1;
		}

		if (state_disabled(dev, i))
			continue;

		if (pick->idx < 0)
			pick->shallowest = i;
		pick->idx = i;
		if (drv->states[i].exit_latency_ns <= latency_limit_ns)
			pick->allowed = i;
		pick->below = sum;
	}
}

/*
 * Go back to where half of the intercepts are covered, and the bin with most of
 * them, if they outweigh the rest.
 */
static __always_inline void teo_intercepts(const struct teo_cpu *cpu_data,
					   const struct cpuidle_device *dev, struct teo_pick *pick)
{
	u32 rest = cpu_data->total - pick->below.hits;
	bool many = 2 * pick->below.intercepts > rest;
	u32 intercepts = 0;
	int i;

	pr_debug("intercepts below state %d weigh %u, %smore than half of the rest (%u)%s\n",
		 pick->idx, pick->below.intercepts, many ? "" : "not ", rest,
		 many ? ": look shallower" : "");
	if (!many)
		return;

	for (i = pick->idx - 1; i >= pick->shallowest; i--) {
		intercepts += cpu_data->bin[i].intercepts;
		if (state_disabled(dev, i))
			continue;

		pick->idx = i;
		if (2 * intercepts > pick->below.intercepts && i <= pick->largest_bin) {
			pr_debug("state %d covers half of them, and most end in bin %d: take it\n",
				 i, pick->largest_bin);
			return;
		}
	}
	pr_debug("no state covers half of them: take the shallowest, state %d\n", pick->idx);
}

/* Whatever the timers say, it would not be worth asking. */
static __always_inline bool teo_timer_matters(const struct teo_cpu *cpu_data,
					      const struct cpuidle_driver *drv, int idx,
					      s64 latency_limit_ns)
{
	if (idx != 0 && drv->states[idx].target_residency_ns >= residency_threshold_ns)
		return true;

	if (2 * cpu_data->short_idles >= cpu_data->total) {
		pr_debug("state %d is a short one and half of the sleeps are short: ask no timer\n",
			 idx);
		return false;
	}
	if (latency_limit_ns < latency_threshold_ns) {
		pr_debug("state %d is a short one and the latency limit is %lld ns: ask no timer\n",
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
	struct teo_pick pick = { .idx = -1, .largest_bin = -1 };
	s64 delta_tick_ns = TICK_NSEC / 2;
	s64 duration_ns;
	int i;

	if (dev->last_state_idx >= 0) {
		teo_update(cpu_data, drv, dev);
		dev->last_state_idx = -1;
	}

	/* Not known unless asked for. */
	cpu_data->sleep_length_ns = KTIME_MAX;

	if (!state_disabled(dev, 0))
		pick.idx = 0;
	teo_deepest(cpu_data, drv, dev, latency_limit_ns, &pick);
	/* What keeps the limit is enabled, so that this can only be state 0. */
	if (enabled_first && pick.allowed < pick.shallowest)
		pick.allowed = pick.shallowest;
	if (pick.idx < 0) {
		pr_debug("all states are disabled: take state 0\n");
		*stop_tick = false;
		return 0;
	}
	if (pick.idx == pick.shallowest) {
		pr_debug("state %d is the only one enabled: take it\n", pick.idx);
		duration_ns = drv->states[pick.idx].target_residency_ns;
		goto tick;
	}
	pr_debug("the deepest enabled state is state %d\n", pick.idx);

	teo_intercepts(cpu_data, dev, &pick);
	if (pick.idx > pick.allowed) {
		pr_debug("state %d is too slow for the latency limit of %lld ns: take state %d\n",
			 pick.idx, latency_limit_ns, pick.allowed);
		pick.idx = pick.allowed;
	}
	if (!stopped && !teo_timer_matters(cpu_data, drv, pick.idx, latency_limit_ns)) {
		*stop_tick = false;
		return pick.idx;
	}

	duration_ns = tick_nohz_get_sleep_length(&delta_tick_ns);
	cpu_data->sleep_length_ns = duration_ns;
	pr_debug("the next timer is due in %lld ns\n", duration_ns);

	if (stopped && duration_ns > 2 * TICK_NSEC &&
	    drv->states[pick.idx].target_residency_ns < TICK_NSEC) {
		/* No tick would end a sleep that turns out long: trust the timer. */
		for (i = pick.allowed; i > pick.idx; i--) {
			if (!state_disabled(dev, i) &&
			    drv->states[i].target_residency_ns <= duration_ns) {
				pick.idx = i;
				break;
			}
		}
		pr_debug("the tick is stopped and the timer far: take state %d, which it allows\n",
			 pick.idx);
		return pick.idx;
	}
	if (pick.idx == 0) {
		pr_debug("state 0 is no reason to stop the tick: keep it\n");
		*stop_tick = false;
		return 0;
	}

	if (drv->states[pick.idx].target_residency_ns > duration_ns) {
		pr_debug("state %d needs %lld ns, more than the timer leaves: look shallower\n",
			 pick.idx, drv->states[pick.idx].target_residency_ns);
		pick.idx = shallower_state(drv, dev, pick.idx, duration_ns, false);
	}
	if (drv->states[pick.idx].target_residency_ns < TICK_NSEC &&
	    3 * cpu_data->tick_intercepts >= 2 * cpu_data->total) {
		pr_debug("most wakeups come within a tick, by no timer: expect half a tick\n");
		duration_ns = TICK_NSEC / 2;
	}
tick:
	if (!tick_stays(drv, pick.idx, duration_ns, duration_ns >= TICK_NSEC, stopped))
		return pick.idx;

	return teo_keep_tick(drv, dev, pick.idx, pick.shallowest, delta_tick_ns, stop_tick);
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
	return teo_check_decay_shift() ?:
	       check_param("residency_threshold_ns", residency_threshold_ns, 0, 1000000) ?:
	       check_param("latency_threshold_ns", latency_threshold_ns, 0, 1000000) ?:
	       cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
