// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least expected cost, of each state with the tick kept and with it stopped.
 *
 * The idea: energy grows linearly with idle time, so the mean idle time decides
 * between two states, not what most idle periods do. The next timer is known; what
 * else ends idle periods is learnt as a hazard: for each octave of idle time, the
 * share that ended in it of those that reached it. Both give the mean idle time
 * until the tick and until the timer. If the tick is stopped, one state has to do.
 * If it is kept and still finds the CPU idle, that costs a tick, and the CPU is
 * asked again and knows more; until then it can wait in a shallow state.
 *
 * When it wins: where wakeups without timers are likely at first and rare later
 * (networks, disks, tasks that wake each other), and with timers alone: a few of
 * them are enough for it to trust them again.
 *
 * When it loses: where short and long idle periods take turns, since a hazard
 * knows no order; and where latency counts more than energy.
 *
 * Parameters: decay_shift, how fast a hazard changes: an idle period takes one
 * part in 2^decay_shift, 2 (0 to 10). latency_price, what exit latency costs on
 * top, in percent of a transition: 5 (0 to 1000), 0 for energy alone.
 *
 * Lineage: none in Linux; found by replays, and rated below Linux's own. There teo
 * becomes shallower where most wakeups come early, menu predicts one idle time,
 * and both decide on the tick by the state chosen.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "governor.h"

/* One: a probability, and the power of a running CPU. */
#define ECO_ONE		65536

/* Bin 0 ends at 2^11 ns, each further one at twice the time, the last one never. */
#define ECO_SHIFT	11
#define ECO_BINS	18

/* A hazard before anything is known. */
#define ECO_PRIOR	(ECO_ONE / 32)

/* To stop the tick and start it again; to handle a tick and choose again: ns of a running CPU. */
#define ECO_STOP_NS	2000
#define ECO_TICK_NS	3000

/* Earlier by less than this is on time: the CPU is not idle at once, and timers have slack. */
#define ECO_EARLY_NS	50000

/* A transition costs this part of a running CPU's energy in the exit latency: 1/16. */
#define ECO_COST_SHIFT	4

static uint decay_shift = 2;
module_param(decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "an idle period takes one part in 2^this from a hazard (0 to 10)");

static uint latency_price = 5;
module_param(latency_price, uint, 0444);
MODULE_PARM_DESC(latency_price, "price of exit latency, in percent of a transition (0 to 1000)");

/**
 * struct eco_cpu - what is known of a CPU
 * @sleep_length_ns: time to the next timer at the last choice
 * @idle_ns: for how long the CPU had been idle at the last choice, ticks aside
 * @tick: the tick ended the last idle period
 * @hazard: share of the idle periods that end in a bin, of those that reach it
 * @fixed_ns: what it costs to enter and leave a state
 * @power: power in a state, above that of the deepest
 */
struct eco_cpu {
	s64 sleep_length_ns;
	s64 idle_ns;
	bool tick;
	u16 hazard[ECO_BINS];
	u32 fixed_ns[CPUIDLE_STATE_MAX];
	u32 power[CPUIDLE_STATE_MAX];
};

static DEFINE_PER_CPU(struct eco_cpu, eco_cpus);

/* How likely an idle period lasts until some time, and its mean length until then. */
struct eco_outlook {
	u32 alive;
	u64 mean_ns;
};

static __always_inline int eco_bin(s64 idle_ns)
{
	return min(fls64(idle_ns >> ECO_SHIFT), ECO_BINS - 1);
}

/* The binary logarithm of a bin's width. */
static __always_inline int eco_shift(int bin)
{
	return ECO_SHIFT + max(bin, 1) - 1;
}

static __always_inline s64 eco_start_ns(int bin)
{
	return bin ? BIT_ULL(eco_shift(bin)) : 0;
}

/* Whether the first half of a bin ends before. */
static __always_inline bool eco_late(s64 idle_ns, int bin)
{
	return idle_ns > eco_start_ns(bin) + (s64)BIT_ULL(eco_shift(bin)) / 2;
}

/* An idle period that was in the bin ended there, or went on. */
static __always_inline void eco_count(u16 *hazard, bool ended)
{
	*hazard -= *hazard >> decay_shift;
	if (ended)
		*hazard += (ECO_ONE - 1) >> decay_shift;
}

/* Learn from the last idle period. */
static void eco_learn(struct eco_cpu *eco, const struct cpuidle_driver *drv,
		      struct cpuidle_device *dev)
{
	s64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;
	s64 measured_ns = clamp_t(s64, dev->last_residency_ns, 0, NSEC_PER_SEC);
	s64 until_ns, from_ns = eco->idle_ns;
	bool timer, goes_on = eco->tick || dev->poll_time_limit;
	int bin, last;

	dev->poll_time_limit = false;
	/* Half of the worst-case exit latency stands for the real one. */
	measured_ns -= min(measured_ns, latency_ns) / 2;
	timer = eco->sleep_length_ns - measured_ns < latency_ns / 2 + ECO_EARLY_NS;
	until_ns = from_ns + measured_ns;

	/* A bin of which less than half was seen tells nothing, but for an end in it. */
	last = eco_bin(until_ns);
	for (bin = eco_bin(from_ns) + eco_late(from_ns, eco_bin(from_ns)); bin < last; bin++)
		eco_count(&eco->hazard[bin], false);
	if (!goes_on && !timer)
		eco_count(&eco->hazard[last], true);
	else if (bin == last && last < ECO_BINS - 1 && eco_late(until_ns, last))
		eco_count(&eco->hazard[last], false);

	eco->idle_ns = goes_on ? min(until_ns, NSEC_PER_SEC) : 0;
	pr_debug("the CPU was idle for %lld ns, until %s\n", until_ns,
		 goes_on ? "the tick, and goes on" : timer ? "the timer" : "something else");
}

/* What is expected of the idle time from @at_ns to @until_ns, of the part that is alive. */
static __always_inline void eco_look(const struct eco_cpu *eco, struct eco_outlook *look,
				     s64 at_ns, s64 until_ns)
{
	int bin = eco_bin(at_ns);

	for (; at_ns < until_ns && look->alive; bin++) {
		s64 start_ns = bin < ECO_BINS - 1 ? eco_start_ns(bin) : at_ns;
		s64 part_ns = min(start_ns + (s64)BIT_ULL(eco_shift(bin)), until_ns) - at_ns;
		u32 ends = (u64)look->alive * eco->hazard[bin] * part_ns >> (16 + eco_shift(bin));

		look->mean_ns += (look->alive - ends / 2) * (u64)part_ns >> 16;
		look->alive -= ends;
		at_ns += part_ns;
		if (bin == ECO_BINS - 1)
			break;
	}
}

/* The cheapest of the allowed states for a mean idle time, and its cost. */
static __always_inline int eco_cheapest(const struct eco_cpu *eco, u32 allowed, u64 mean_ns,
					u32 alive, u64 *cost)
{
	int found = 0;

	*cost = U64_MAX;
	for (; allowed; allowed &= allowed - 1) {
		int i = __ffs(allowed);
		u64 this = (u64)alive * eco->fixed_ns[i] + mean_ns * eco->power[i];

		if (this <= *cost) {
			found = i;
			*cost = this;
		}
	}
	return found;
}

/* The shallowest enabled state, and all others that keep the latency limit. */
static __always_inline u32 eco_allowed(const struct cpuidle_driver *drv,
				       const struct cpuidle_device *dev, s64 latency_limit_ns)
{
	u32 allowed = 0;
	int i;

	for (i = 0; i < drv->state_count; i++) {
		if (!state_disabled(dev, i) &&
		    (!allowed || drv->states[i].exit_latency_ns <= latency_limit_ns))
			allowed |= BIT(i);
	}
	return allowed;
}

static int eco_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct eco_cpu *eco = per_cpu_ptr(&eco_cpus, dev->cpu);
	const u32 allowed = eco_allowed(drv, dev, cpuidle_governor_latency_req(dev->cpu));
	struct eco_outlook tick = { .alive = ECO_ONE }, all;
	u64 keeping, later, stopping;
	s64 delta_tick_ns, tick_ns, timer_ns;
	int keep, stop;

	if (dev->last_state_idx >= 0) {
		eco_learn(eco, drv, dev);
		dev->last_state_idx = -1;
	}

	eco->sleep_length_ns = max(tick_nohz_get_sleep_length(&delta_tick_ns), 0);
	timer_ns = eco->idle_ns + min(eco->sleep_length_ns, NSEC_PER_SEC);
	tick_ns = eco->idle_ns + min(delta_tick_ns, NSEC_PER_SEC);
	if (tick_nohz_tick_stopped())
		tick_ns = timer_ns;
	eco_look(eco, &tick, eco->idle_ns, min(tick_ns, timer_ns));
	keep = eco_cheapest(eco, allowed, tick.mean_ns, ECO_ONE, &keeping);
	pr_debug("the timer is due in %lld ns; idle until it or the tick: %llu ns, state %d\n",
		 eco->sleep_length_ns, tick.mean_ns, keep);
	*stop_tick = false;
	if (tick_ns >= timer_ns)
		return keep;

	/* A tick that finds the CPU idle is stopped then, and another state taken. */
	all = tick;
	eco_look(eco, &all, tick_ns, timer_ns);
	eco_cheapest(eco, allowed, all.mean_ns - tick.mean_ns, tick.alive, &later);
	keeping += later + (u64)tick.alive * (ECO_TICK_NS + ECO_STOP_NS);

	stop = eco_cheapest(eco, allowed, all.mean_ns, ECO_ONE, &stopping);
	stopping += (u64)ECO_ONE * ECO_STOP_NS;

	*stop_tick = stopping < keeping && allowed && !state_polls(drv, stop);
	pr_debug("idle without the tick: %llu ns, state %d, cost %llu; with it %llu: %s it\n",
		 all.mean_ns, stop, stopping >> 16, keeping >> 16, *stop_tick ? "stop" : "keep");
	return *stop_tick ? stop : keep;
}

static void eco_reflect(struct cpuidle_device *dev, int state)
{
	per_cpu_ptr(&eco_cpus, dev->cpu)->tick = tick_nohz_idle_got_tick();
	dev->last_state_idx = state;
}

/* What states cost: at its target residency each costs as much as the one before. */
static int eco_enable_device(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	struct eco_cpu *eco = per_cpu_ptr(&eco_cpus, dev->cpu);
	int i;

	memset(eco, 0, sizeof(*eco));
	for (i = 0; i < ECO_BINS; i++)
		eco->hazard[i] = ECO_PRIOR;

	for (i = 0; i < drv->state_count; i++) {
		s64 fixed_ns = min(drv->states[i].exit_latency_ns, NSEC_PER_SEC) >> ECO_COST_SHIFT;

		eco->fixed_ns[i] = max_t(s64, fixed_ns, i ? eco->fixed_ns[i - 1] : 0);
	}
	for (i = drv->state_count - 2; i >= 0; i--) {
		u64 more_ns = eco->fixed_ns[i + 1] - eco->fixed_ns[i];
		u64 residency_ns = max_t(s64, drv->states[i + 1].target_residency_ns, more_ns + 1);

		eco->power[i] = eco->power[i + 1] + div64_u64(more_ns * ECO_ONE, residency_ns);
	}
	for (i = 0; i < drv->state_count; i++)
		eco->fixed_ns[i] += (u64)eco->fixed_ns[i] * latency_price / 100;
	return 0;
}

static struct cpuidle_governor eco_governor = {
	.name		= "eco",
	.rating		= 5,
	.enable		= eco_enable_device,
	.select		= eco_select,
	.reflect	= eco_reflect,
};

static int __init eco_governor_init(void)
{
	return check_param("decay_shift", decay_shift, 0, 10) ?:
	       check_param("latency_price", latency_price, 0, 1000) ?:
	       cpuidle_register_governor(&eco_governor);
}
postcore_initcall(eco_governor_init);
