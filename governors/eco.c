// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least expected cost, of each state with the tick kept and with it stopped.
 *
 * The idea: energy grows linearly with idle time, so the mean idle time decides between two
 * states, not what most idle periods do. The next timer is known; what else ends idle periods is
 * learnt as a hazard, apart for near and far timers: for each octave of idle time, the share that
 * ended in it of those that reached it. If the tick is kept and finds the CPU still idle, that
 * costs a tick, and another state is taken then: until then the CPU can wait in a shallow state
 * for what comes early. With the tick stopped nothing asks again; there the timer counts for at
 * least 1/512.
 *
 * When it wins: where wakeups without timers are likely at first and rare later (networks, disks,
 * tasks that wake each other), and with timers alone, which it trusts again after a few.
 *
 * When it loses: where latency counts more than energy; and where ticks wake tasks, since it
 * takes the CPU for idle all the time then.
 *
 * Parameters: decay_shift, how fast a hazard changes: an idle period takes one part in
 * 2^decay_shift, 2 (0 to 10). latency_price, what exit latency costs on top, in percent of a
 * transition: 5 (0 to 1000), 0 for energy alone.
 *
 * Lineage: none in Linux; found by replays. The rating is below Linux's own.
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
/* Bin 0 ends at 2^13 ns, each further one at twice the time; the last stands for more, too. */
#define ECO_SHIFT	13
#define ECO_BINS	15
/* Until the next timer: below 2 ms, 17 ms, 134 ms, more. */
#define ECO_TIMERS	4
/* To stop the tick and start it again; to handle a tick and choose again: ns of a running CPU. */
#define ECO_STOP_NS	2000
#define ECO_TICK_NS	3000
/* Earlier by less than this is on time: the CPU is not idle at once, and timers have slack. */
#define ECO_EARLY_NS	50000

static uint decay_shift = 2;
module_param(decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "an idle period takes one part in 2^this from a hazard (0 to 10)");

static uint latency_price = 5;
module_param(latency_price, uint, 0444);
MODULE_PARM_DESC(latency_price, "price of exit latency, in percent of a transition (0 to 1000)");

/* What is expected of an idle period until some time. */
struct eco_outlook {
	u64 mean;	/* of its length until then, ns * 2^30 */
	u32 alive;	/* probability that it lasts until then, of 2^30 */
};

/* What is known of a CPU. */
struct eco_cpu {
	s64 sleep_length_ns;			/* to the next timer at the last choice */
	s64 idle_ns;				/* before it, where nothing but ticks came */
	bool tick;				/* the tick ended the last idle period */
	u8 timer;				/* how far it was when the CPU went idle */
	u16 hazard[ECO_TIMERS][ECO_BINS];	/* share that ends in a bin, of what reaches it */
	struct eco_outlook start[ECO_TIMERS][ECO_BINS];	/* until the start of a bin */
	u32 fixed_ns[CPUIDLE_STATE_MAX];	/* what it costs to enter and leave a state */
	u32 power[CPUIDLE_STATE_MAX];		/* in a state, above that of the deepest */
};

static DEFINE_PER_CPU(struct eco_cpu, eco_cpus);

static __always_inline int eco_bin(s64 idle_ns)
{
	return min(fls64(idle_ns >> ECO_SHIFT), ECO_BINS - 1);
}

/* log2 of a bin's width. */
static __always_inline int eco_shift(int bin)
{
	return ECO_SHIFT + max(bin, 1) - 1;
}

static __always_inline s64 eco_start_ns(int bin)
{
	return bin ? BIT_ULL(eco_shift(bin)) : 0;
}

/* Idle periods go through the bins from @first to before @last; one may end in @last. */
static void eco_count(struct eco_cpu *eco, int first, int last, bool ended)
{
	struct eco_outlook start = { .alive = BIT(30) };
	u16 *hazard = eco->hazard[eco->timer];
	int bin;

	for (bin = first; bin < last; bin++)
		hazard[bin] -= hazard[bin] >> decay_shift;
	if (ended)
		hazard[last] += (ECO_ONE - 1 - hazard[last]) >> decay_shift;

	for (bin = 0; bin < ECO_BINS; bin++) {
		u32 alive = (u64)start.alive * (ECO_ONE - hazard[bin]) >> 16;

		eco->start[eco->timer][bin] = start;
		start.mean += (u64)(start.alive + alive) << (eco_shift(bin) - 1);
		/* Never 0: what is thought impossible happens. */
		start.alive = max_t(u32, alive, BIT(14));
	}
}

/* Learn from the last idle period. */
static void eco_learn(struct eco_cpu *eco, const struct cpuidle_driver *drv,
		      struct cpuidle_device *dev)
{
	s64 latency_ns = drv->states[dev->last_state_idx].exit_latency_ns;
	s64 measured_ns = clamp_t(s64, dev->last_residency_ns, 0, NSEC_PER_SEC);
	bool timer, goes_on = eco->tick || dev->poll_time_limit;
	s64 until_ns;

	dev->poll_time_limit = false;
	/* Half of the worst-case latency stands for the real one. */
	measured_ns -= min(measured_ns, latency_ns) / 2;
	timer = eco->sleep_length_ns - measured_ns < latency_ns / 2 + ECO_EARLY_NS;
	until_ns = eco->idle_ns + measured_ns;
	eco_count(eco, eco_bin(eco->idle_ns), eco_bin(until_ns), !goes_on && !timer);

	eco->idle_ns = goes_on ? min(until_ns, eco_start_ns(ECO_BINS - 1)) : 0;
	pr_debug("the CPU was idle for %lld ns, until %s\n", until_ns,
		 goes_on ? "the tick" : timer ? "the timer" : "something else");
}

/* What is expected until @idle_ns. */
static __always_inline struct eco_outlook eco_until(const struct eco_cpu *eco, s64 idle_ns)
{
	int bin = eco_bin(idle_ns);
	struct eco_outlook until = eco->start[eco->timer][bin];
	u64 part_ns = min(idle_ns - eco_start_ns(bin), (s64)BIT_ULL(eco_shift(bin)));
	u32 hazard = eco->hazard[eco->timer][bin];
	u32 ends = ((u64)until.alive * hazard >> 16) * part_ns >> eco_shift(bin);

	until.mean += (until.alive - ends / 2) * part_ns;
	until.alive -= ends;
	return until;
}

/* The cheapest of the allowed states for a mean idle time and a probability; its cost. */
static __always_inline int eco_cheapest(const struct eco_cpu *eco, u32 allowed, u64 mean,
					u32 alive, u64 *cost)
{
	int found = 0;

	/* Of 2^20, so that nothing overflows. */
	mean >>= 26;
	alive >>= 10;
	*cost = U64_MAX;
	for (; allowed; allowed &= allowed - 1) {
		int i = __ffs(allowed);
		u64 this = (u64)alive * eco->fixed_ns[i] + mean * eco->power[i];

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

	for (i = 0; i < drv->state_count; i++)
		if (!state_disabled(dev, i) &&
		    (!allowed || drv->states[i].exit_latency_ns <= latency_limit_ns))
			allowed |= BIT(i);
	return allowed;
}

static int eco_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct eco_cpu *eco = per_cpu_ptr(&eco_cpus, dev->cpu);
	const u32 allowed = eco_allowed(drv, dev, cpuidle_governor_latency_req(dev->cpu));
	struct eco_outlook now, tick, all;
	s64 tick_ns, timer_ns;
	u64 mean, keeping, later, stopping;
	int keep, stop;

	if (dev->last_state_idx >= 0) {
		eco_learn(eco, drv, dev);
		dev->last_state_idx = -1;
	} else {
		/* The last choice came to nothing, which a task may have caused. */
		eco->idle_ns = 0;
	}

	eco->sleep_length_ns = max_t(s64, tick_nohz_get_sleep_length(&tick_ns), 0);
	timer_ns = min_t(s64, eco->sleep_length_ns, NSEC_PER_SEC);
	tick_ns = tick_nohz_tick_stopped() ? timer_ns : clamp_t(s64, tick_ns, 0, timer_ns);
	if (!eco->idle_ns)
		eco->timer = min(fls64(eco->sleep_length_ns >> 19) / 3, ECO_TIMERS - 1);
	now = eco_until(eco, eco->idle_ns);
	tick = eco_until(eco, eco->idle_ns + tick_ns);
	/* What is next to nothing may be rounded to less. */
	mean = max(tick.mean, now.mean) - now.mean;
	/* Nothing asks again then: as if once in 512 times nothing came before the timer. */
	if (tick_nohz_tick_stopped())
		mean = max(mean, (u64)now.alive *
				 min_t(s64, eco->sleep_length_ns >> 9, NSEC_PER_SEC));
	keep = eco_cheapest(eco, allowed, mean, now.alive, &keeping);
	pr_debug("the timer is due in %lld ns, it or the tick in %lld ns: state %d\n",
		 eco->sleep_length_ns, tick_ns, keep);
	*stop_tick = false;
	if (tick_ns == timer_ns)
		return keep;

	/* A tick that finds the CPU idle is stopped then, and another state taken. */
	all = eco_until(eco, eco->idle_ns + timer_ns);
	all.mean = max3(all.mean, tick.mean, now.mean);
	eco_cheapest(eco, allowed, all.mean - tick.mean, tick.alive, &later);
	keeping += later + (u64)(tick.alive >> 10) * (ECO_TICK_NS + ECO_STOP_NS);
	stop = eco_cheapest(eco, allowed, all.mean - now.mean, now.alive, &stopping);
	stopping += (u64)(now.alive >> 10) * ECO_STOP_NS;
	*stop_tick = stopping < keeping && allowed && !state_polls(drv, stop);
	pr_debug("state %d without the tick costs %llu, state %d with it %llu: %s it\n",
		 stop, stopping >> 20, keep, keeping >> 20, *stop_tick ? "stop" : "keep");
	return *stop_tick ? stop : keep;
}

static void eco_reflect(struct cpuidle_device *dev, int state)
{
	per_cpu_ptr(&eco_cpus, dev->cpu)->tick = tick_nohz_idle_got_tick();
	dev->last_state_idx = state;
}

/*
 * What states cost: a transition 1/16 of what a running CPU takes in the exit
 * latency, and at its target residency each as much as the one before.
 */
static int eco_enable_device(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	struct eco_cpu *eco = per_cpu_ptr(&eco_cpus, dev->cpu);
	int i;

	memset(eco, 0, sizeof(*eco));
	/* Nothing is known: 1/32 of all, as 0x0808 of 0x10000. */
	memset(eco->hazard, 8, sizeof(eco->hazard));
	for (i = ECO_TIMERS - 1; i >= 0; i--) {
		eco->timer = i;
		eco_count(eco, 0, 0, false);
	}

	for (i = 0; i < drv->state_count; i++) {
		const struct cpuidle_state *state = &drv->states[i];
		s64 longer_ns = i ? state->target_residency_ns - state[-1].target_residency_ns : 0;
		/* A longer residency has a price, even where the exit is as fast. */
		s64 least_ns = (i ? eco->fixed_ns[i - 1] : 0) + (longer_ns >> 10);

		eco->fixed_ns[i] = min_t(s64, max_t(s64, state->exit_latency_ns >> 4, least_ns),
					 NSEC_PER_SEC >> 4);
	}
	for (i = drv->state_count - 2; i >= 0; i--) {
		u64 more_ns = max(eco->fixed_ns[i + 1], eco->fixed_ns[i]) - eco->fixed_ns[i];
		u64 residency_ns = max_t(s64, drv->states[i + 1].target_residency_ns, more_ns + 1);

		eco->power[i] = eco->power[i + 1] + div64_u64(more_ns * ECO_ONE, residency_ns);
	}
	for (i = 0; i < drv->state_count; i++)
		eco->fixed_ns[i] += div_u64((u64)eco->fixed_ns[i] * latency_price, 100);
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
