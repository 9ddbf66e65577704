// SPDX-License-Identifier: GPL-2.0-only
/*
 * PELT, per-entity load tracking: an average that halves in 32 ms of history.
 *
 * The idea: time is cut into periods of about a millisecond. What a task did in
 * a period counts fully in that one and less in every later one, by the factor
 * whose 32nd power is one half. The sum over all history, divided by what it can
 * be at most, is the share of time that the task ran (utilisation), ran or
 * waited (runnable) or, times its weight, was on the queue (load). A queue has
 * the same averages of its own, and so have real-time tasks, deadline tasks and
 * interrupts. Tasks asleep stay in the queue's average and decay there; one that
 * migrates takes its part along. On a slow clock or a small CPU the averages'
 * time passes slower while it runs, so that the same work makes the same
 * utilisation; what that took from idling is given back when the CPU idles.
 *
 * When it wins: loads that repeat within some tens of milliseconds, whatever
 * their phase, and mixtures of many. It needs no parameter and no history to
 * keep, a few multiplications an event, and says the same of a task on any CPU.
 *
 * When it loses: changes. A CPU that becomes busy comes up to 80 % in 74
 * periods, and one that stops has faded to 1 % after 213. A task that sleeps
 * long wakes up small; util_est is the crutch for that: the utilisation at the
 * end of past activations, kept asleep. A CPU that idles is aged by others only,
 * so that its averages are stale between.
 *
 * Parameters: fields of struct pelt_config, as pelt_config_kernel() fills them
 * for a version. half_life, 32, 16 or 8 periods, a table of the compiler's time;
 * clock_shift, the same at run time by a faster clock. scale_clock,
 * keep_remainder, moving_divider, old_steps, runnable: how older kernels counted.
 * est, est_flag, est_first: which util_est. limits_apart: which utilisation a
 * governor is given.
 *
 * Lineage: Linux 3.8; written anew in 4.3; exact since 4.13; util_est 4.17; time
 * scaled instead of contributions 5.1; runnable 5.7; util_est in one field 6.8.
 * Half-lives of 16 and 8 ms are Android's. Groups are not here. Rules: section A
 * of docs/reference/signal-behaviour.md.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "pelt.h"

/* What @n periods leave of a sum, times 2^32; every second or fourth for shorter half-lives. */
static const u32 pelt_left[PELT_HALF_LIFE] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6,
	0xe0ccdeeb, 0xdbfbb796, 0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85,
	0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46, 0xb504f333, 0xb123f581,
	0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
	0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80,
	0x85aac367, 0x82cd8698,
};

/* What @n full periods before the open one add up to, as kernels until 4.12 had it. */
static const u32 pelt_whole[PELT_HALF_LIFE + 1] = {
	0, 1002, 1982, 2941, 3880, 4798, 5697, 6576, 7437, 8279, 9103, 9909, 10698,
	11470, 12226, 12966, 13690, 14398, 15091, 15769, 16433, 17082, 17718, 18340,
	18949, 19545, 20128, 20698, 21256, 21802, 22336, 22859, 23371,
};

/* From so many on, the sum is what it converges to. */
#define PELT_WHOLE_ALL		345

/* What the sum of an always running task converges to, by half-life. */
static const u32 pelt_sum_max[] = {
	[PELT_32MS] = 47742,
	[PELT_16MS] = 24130,
	[PELT_8MS] = 12326,
};

/* No sum_max is larger, so that no sum of utilisation exceeds 32 bits. */
#define PELT_SUM_LIMIT		65536

/**
 * pelt_config_kernel - PELT as a kernel has it
 * @config: is filled
 * @major: of the kernel's version
 * @minor: likewise
 *
 * Return: 0, or -EINVAL for a kernel before 4.3, which had another PELT.
 */
int pelt_config_kernel(struct pelt_config *config, u32 major, u32 minor)
{
	u64 version = (u64)major << 32 | minor;
#define SINCE(major, minor)	(version >= ((u64)(major) << 32 | (minor)))

	*config = (struct pelt_config) {
		.est_flag	= SINCE(5, 13) ? 1U << 31 : 1,
		.keep_remainder	= SINCE(4, 13),
		.moving_divider	= SINCE(4, 13),
		.old_steps	= !SINCE(4, 13),
		.scale_clock	= SINCE(5, 1),
		.runnable	= SINCE(5, 7),
		.est_first	= SINCE(6, 12),
		.limits_apart	= SINCE(6, 8),
	};
	pelt_config_half_life(config, PELT_32MS);
	if (SINCE(6, 8))
		config->est = PELT_EST_ONE;
	else if (SINCE(5, 5))
		config->est = PELT_EST_TWO_UP;
	else if (SINCE(4, 17))
		config->est = PELT_EST_TWO;
	return SINCE(4, 3) ? 0 : -EINVAL;
#undef SINCE
}

/**
 * pelt_config_half_life - another half-life, with the sum that belongs to it
 * @config: settings
 * @half_life: the half-life
 */
void pelt_config_half_life(struct pelt_config *config, enum pelt_half_life half_life)
{
	config->half_life = half_life;
	config->sum_max = pelt_sum_max[half_life];
}

/**
 * pelt_config_check - whether the rest can work with it
 * @config: settings
 *
 * Return: 0, or -EINVAL if a field is out of its range or does not go with
 * another.
 */
int pelt_config_check(const struct pelt_config *config)
{
	if (config->half_life > PELT_8MS || config->est > PELT_EST_ONE || config->clock_shift > 2)
		return -EINVAL;
	if (config->est_flag != 1 && config->est_flag != 1U << 31)
		return -EINVAL;
	if (config->old_steps && config->half_life != PELT_32MS)
		return -EINVAL;
	/* Below what it converges to, a full period would add less than nothing. */
	if (config->sum_max > PELT_SUM_LIMIT ||
	    pelt_decay(config, config->sum_max, 1) + PELT_PERIOD > config->sum_max)
		return -EINVAL;
	return 0;
}

/**
 * pelt_decay - what is left of a sum
 * @config: settings
 * @sum: a sum
 * @periods: how many have passed
 *
 * Return: the sum, decayed.
 */
u64 pelt_decay(const struct pelt_config *config, u64 sum, u64 periods)
{
	u32 halves_shift = 5 - config->half_life;

	if (periods > (u64)63 << halves_shift)
		return 0;
	sum >>= periods >> halves_shift;
	periods &= (1U << halves_shift) - 1;
	return mul_u64_u32_shr(sum, pelt_left[periods << config->half_life], 32);
}

/**
 * pelt_divider - what an average is a share of
 * @config: settings
 * @avg: an average
 *
 * Return: units, the most that the time covered could have added up to.
 */
u32 pelt_divider(const struct pelt_config *config, const struct pelt_avg *avg)
{
	/* The caller's memory may hold anything; nothing is divided by 0. */
	return config->moving_divider ? config->sum_max - PELT_PERIOD + avg->frac % PELT_PERIOD :
					config->sum_max;
}

static void pelt_decay_sums(const struct pelt_config *config, struct pelt_avg *avg, u64 periods)
{
	avg->load_sum = pelt_decay(config, avg->load_sum, periods);
	avg->runnable_sum = pelt_decay(config, avg->runnable_sum, periods);
	avg->util_sum = pelt_decay(config, avg->util_sum, periods);
}

static void pelt_add(const struct pelt_config *config, const struct pelt_speed *speed,
		     struct pelt_avg *avg, u32 units, u64 load, u64 runnable, bool running)
{
	u32 scale = PELT_SCALE;

	if (!config->scale_clock) {
		units = units * speed->freq / PELT_SCALE;
		scale = speed->capacity;
	}
	avg->load_sum += load * units;
	avg->runnable_sum += runnable * units * PELT_SCALE;
	if (running)
		avg->util_sum += units * scale;
}

/* What a closed piece, the full periods after it and the open piece leave together. */
static u32 pelt_contribution(const struct pelt_config *config, u32 closing, u64 periods, u32 open)
{
	return pelt_decay(config, closing, periods) +
	       (config->sum_max - pelt_decay(config, config->sum_max, periods) - PELT_PERIOD) +
	       open;
}

static u32 pelt_whole_periods(const struct pelt_config *config, u64 periods)
{
	u64 sum = 0;

	if (periods <= PELT_HALF_LIFE)
		return pelt_whole[periods];
	if (periods >= PELT_WHOLE_ALL)
		return config->sum_max;
	do {
		sum = sum / 2 + pelt_whole[PELT_HALF_LIFE];
		periods -= PELT_HALF_LIFE;
	} while (periods > PELT_HALF_LIFE);
	return pelt_decay(config, sum, periods) + pelt_whole[periods];
}

/* Until 4.12 the closing piece was added before all was decayed. */
static bool pelt_add_old(const struct pelt_config *config, const struct pelt_speed *speed,
			 struct pelt_avg *avg, u64 units, u64 load, u64 runnable, bool running)
{
	bool crossed = avg->frac + units >= PELT_PERIOD;
	u64 periods;

	if (crossed) {
		pelt_add(config, speed, avg, PELT_PERIOD - avg->frac, load, runnable, running);
		units -= PELT_PERIOD - avg->frac;
		periods = units / PELT_PERIOD;
		units %= PELT_PERIOD;
		pelt_decay_sums(config, avg, periods + 1);
		pelt_add(config, speed, avg, pelt_whole_periods(config, periods), load, runnable,
			 running);
		avg->frac = 0;
	}
	pelt_add(config, speed, avg, units, load, runnable, running);
	avg->frac += units;
	return crossed;
}

/**
 * pelt_update - bring the sums up to now
 * @config: settings, checked
 * @speed: of the CPU; before scale_clock what is added depends on it
 * @avg: the average
 * @now_ns: its clock; if it runs backwards, the sums go on from there
 * @load: that was there since the last update; without any, nothing ran
 * @runnable: how many ran or waited
 * @running: one ran
 *
 * Return: true if a period has ended, and pelt_publish() is due.
 */
bool pelt_update(const struct pelt_config *config, const struct pelt_speed *speed,
		 struct pelt_avg *avg, u64 now_ns, u64 load, u64 runnable, bool running)
{
	u64 units = now_ns - avg->last_ns;
	u32 frac = avg->frac;
	u64 periods;
	u32 added;

	if ((s64)units < 0) {
		avg->last_ns = now_ns;
		return false;
	}
	units /= PELT_SCALE;
	if (!units)
		return false;
	avg->last_ns = config->keep_remainder ? avg->last_ns + units * PELT_SCALE : now_ns;

	running = running && load;
	if (!load || !config->runnable)
		runnable = 0;
	if (config->old_steps)
		return pelt_add_old(config, speed, avg, units, load, runnable, running);

	added = units;
	units += frac;
	periods = units / PELT_PERIOD;
	avg->frac = units % PELT_PERIOD;
	if (periods)
		pelt_decay_sums(config, avg, periods);
	if (load) {
		if (periods)
			added = pelt_contribution(config, PELT_PERIOD - frac, periods, avg->frac);
		pelt_add(config, speed, avg, added, load, runnable, running);
	}
	return periods;
}

/**
 * pelt_publish - averages from the sums
 * @config: settings
 * @avg: the average
 * @weight: of the load, where the sum is without; else 1
 */
void pelt_publish(const struct pelt_config *config, struct pelt_avg *avg, u64 weight)
{
	u32 divider = pelt_divider(config, avg);

	avg->load = div_u64(weight * avg->load_sum, divider);
	avg->runnable = div_u64(avg->runnable_sum, divider);
	avg->util = avg->util_sum / divider;
}

/**
 * pelt_faded - whether nothing is left to decay
 * @avg: an average
 *
 * Return: true if all sums are 0.
 */
bool pelt_faded(const struct pelt_avg *avg)
{
	return !avg->load_sum && !avg->runnable_sum && !avg->util_sum;
}

/**
 * pelt_scale_time - what time is worth on a slow clock and a small CPU
 * @speed: of the CPU
 * @ns: time
 *
 * Return: ns of the biggest CPU at full speed. Both steps lose their fraction.
 */
u64 pelt_scale_time(const struct pelt_speed *speed, u64 ns)
{
	ns = mul_u64_u32_shr(ns, speed->capacity, 10);
	return mul_u64_u32_shr(ns, speed->freq, 10);
}

/* The CPU is idle, and the averages' clock goes with the wall's. */
static void pelt_clock_sync(struct pelt_clock *clock)
{
	clock->pelt_ns = clock->fast_ns;
	clock->idle_wall_ns = clock->wall_ns;
	clock->idle_now_ns = pelt_clock_now(clock);
}

/**
 * pelt_clock_pass - time has passed
 * @config: settings
 * @speed: of the CPU since then
 * @clock: its clock
 * @now_ns: the wall's time; if it runs backwards, none has passed
 * @irq_ns: of it, what interrupts took
 * @steal_ns: of the rest, what a hypervisor took
 * @idle: the CPU runs its idle task
 *
 * Return: ns of the time passed that tasks did not have.
 */
u64 pelt_clock_pass(const struct pelt_config *config, const struct pelt_speed *speed,
		    struct pelt_clock *clock, u64 now_ns, u64 irq_ns, u64 steal_ns, bool idle)
{
	u64 passed_ns = now_ns - clock->wall_ns;
	u64 fast_ns;

	if ((s64)passed_ns < 0)
		return 0;
	clock->wall_ns = now_ns;
	irq_ns = min_t(u64, irq_ns, passed_ns);
	passed_ns -= irq_ns;
	steal_ns = min_t(u64, steal_ns, passed_ns);
	passed_ns -= steal_ns;

	fast_ns = passed_ns << config->clock_shift;
	clock->task_ns += passed_ns;
	clock->fast_ns += fast_ns;
	if (idle)
		pelt_clock_sync(clock);
	else if (config->scale_clock)
		clock->pelt_ns += pelt_scale_time(speed, fast_ns);
	else
		clock->pelt_ns = clock->fast_ns;
	return irq_ns + steal_ns;
}

/**
 * pelt_clock_idle - the CPU begins to idle
 * @config: settings
 * @clock: its clock
 * @util_sums: of all that ran there; a CPU that was full does not get the time
 *   back that running slowly took from idling
 */
void pelt_clock_idle(const struct pelt_config *config, struct pelt_clock *clock, u64 util_sums)
{
	u64 full = (u64)(config->sum_max - PELT_PERIOD) * PELT_SCALE - config->sum_max;

	if (util_sums >= full)
		clock->lost_ns += clock->fast_ns - clock->pelt_ns;
	pelt_clock_sync(clock);
}

/**
 * pelt_clock_now - the averages' time
 * @clock: a CPU's clock
 *
 * Return: ns.
 */
u64 pelt_clock_now(const struct pelt_clock *clock)
{
	return clock->pelt_ns - clock->lost_ns;
}

/**
 * pelt_clock_guess - the averages' time of a CPU that idles and is not asked
 * @config: settings
 * @clock: its clock
 * @wall_ns: the wall's time
 *
 * Return: ns.
 */
u64 pelt_clock_guess(const struct pelt_config *config, const struct pelt_clock *clock, u64 wall_ns)
{
	u64 since_ns = wall_ns - clock->idle_wall_ns;

	if ((s64)since_ns < 0)
		since_ns = 0;
	return clock->idle_now_ns + (since_ns << config->clock_shift);
}
