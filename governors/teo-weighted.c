// SPDX-License-Identifier: GPL-2.0-only
/*
 * Weighted TEO: where recent idle times overrule the timer, draw the state at
 * random, by experience.
 *
 * The idea: TEO (see teo-5.6) remembers eight idle times; a matrix of weights
 * remembers without end at no more cost. Row i belongs to wakeups from state i;
 * its entry j says how often state j would have been the right one, out of
 * about 10000. After a wakeup the entry of the right state grows by a few
 * percent and all others of the row shrink. When the recent idle times move
 * TEO's choice to a shallower state, the state is drawn at random from that
 * state's row, each with its weight.
 *
 * When it wins: loads that alternate between two habits in no order that a ring
 * of eight could show. Its authors measured less power at equal speed in
 * schbench, against the TEO of their time.
 *
 * When it loses: it is a gamble at each decision where it matters, and it
 * repeats itself only if its random numbers do. The weights never fade, so a
 * habit that has passed keeps its part. With n states a wakeup costs n
 * divisions more.
 *
 * Parameters: draw, how a state is drawn: 0 as posted in February 2020, 1 as
 * posted again in May 2020, 2 as the cover letter means it. learning_rate,
 * percent by which a weight changes, 0 to 50, and own_weight and other_weight,
 * where the weights start, for the state itself and shared by all others, 0 to
 * 10000: 5, 7000, 3000 in the first posting, 10, 6000, 4000 in the second.
 * posted_ring, whether the ring writes one slot too far, into the matrix, as
 * both postings do. seed, where random numbers come from: 0 asks the kernel's
 * generator, anything else starts a generator for each CPU, so that a run can
 * be repeated. intervals and decay_shift as in teo-5.6.
 *
 * Lineage: posted to linux-pm on 22 February 2020 (seed 003) and 11 May 2020,
 * on the TEO of 5.5-rc; never merged. In the postings the random number counts
 * through the enabled states but is taken for an index among all, half of the
 * numbers of the first posting are negative and always lead one state beyond
 * the averaged one, and the ring destroys two weights with every ninth wakeup;
 * all that is kept in draw 0 and 1, the last with posted_ring=1. draw=2 is
 * ours: at each decision, from the row of the state that TEO chose, over the
 * enabled states not deeper than it. In no case is the expected time computed
 * anew, so the tick goes by the choice before the draw. Written from
 * governors.md, section 11 ("wteo-v1", "wteo-v2"). Rating as TEO has in Linux.
 */
#include <linux/container_of.h>
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/random.h>

#include "teo-hits.h"

/* What the weights of a row are parts of, at the start. */
#define WEIGHT_WHOLE		10000

enum {
	DRAW_FEBRUARY,
	DRAW_MAY,
	DRAW_MEANT,
};

static uint draw = DRAW_FEBRUARY;
module_param(draw, uint, 0444);
MODULE_PARM_DESC(draw, "draw as posted in February 2020 (0), in May 2020 (1), or as meant (2)");

static uint learning_rate = 5;
module_param(learning_rate, uint, 0444);
MODULE_PARM_DESC(learning_rate, "percent by which a wakeup changes a weight, 0 to 50");

static uint own_weight = 7000;
module_param(own_weight, uint, 0444);
MODULE_PARM_DESC(own_weight, "first weight of a state in its own row, 0 to 10000");

static uint other_weight = 3000;
module_param(other_weight, uint, 0444);
MODULE_PARM_DESC(other_weight, "first weight of all others in a row together, 0 to 10000");

static bool posted_ring;
module_param(posted_ring, bool, 0444);
MODULE_PARM_DESC(posted_ring, "let the ring write one slot too far, into the matrix, as posted");

static uint seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "seed of a generator for each CPU; 0 asks the kernel for random numbers");

/**
 * struct weighted_cpu - per-CPU data
 * @teo: what TEO knows
 * @random: state of the CPU's own generator
 * @weights: row of the state that was left, entry of the one that would have
 *   been right
 */
struct weighted_cpu {
	struct teo_hits teo;
	u64 random;
	s32 weights[CPUIDLE_STATE_MAX][CPUIDLE_STATE_MAX];
};

static DEFINE_PER_CPU(struct weighted_cpu, weighted_cpus);

static u32 weighted_random(struct weighted_cpu *cpu_data)
{
	u32 number;

	if (seed) {
		/* Knuth's multiplier for 64 bits; the upper half is the good one. */
		cpu_data->random = cpu_data->random * 6364136223846793005ULL + 1;
		return cpu_data->random >> 32;
	}
	get_random_bytes(&number, sizeof(number));
	return number;
}

/* A part of a weight; 32 bits that wrap, since the ring may have left anything there. */
static u32 weighted_step(s32 weight, int parts)
{
	return (s32)(learning_rate * (u32)weight) / parts;
}

/* Grow the weight of @right_idx in the row, shrink all others, none beyond its bound. */
static void weighted_adjust(s32 *row, int count, int right_idx)
{
	int others = max(count - 1, 1);
	int i;

	for (i = 0; i < count; i++) {
		u32 weight = row[i], step;

		if (i == right_idx) {
			step = weighted_step(row[i], 100);
			if (weight + step < (100 - learning_rate) * 100)
				row[i] = weight + step;
		} else {
			step = weighted_step(row[i], 100 * others);
			if (weight - step > learning_rate * 100)
				row[i] = weight - step;
		}
	}
}

static __always_inline void weighted_learn(const struct cpuidle_driver *drv,
					   const struct cpuidle_device *dev,
					   struct teo_hits *data, const struct teo_wakeup *wakeup)
{
	struct weighted_cpu *cpu_data = container_of(data, struct weighted_cpu, teo);
	s32 *row = cpu_data->weights[dev->last_state_idx];
	int right_idx = dev->last_state_idx;

	if (wakeup->real_idx != wakeup->timer_idx)
		right_idx = wakeup->real_idx >= 0 ? wakeup->real_idx : wakeup->timer_idx;

	if (wakeup->timer_idx >= 0) {
		weighted_adjust(row, drv->state_count, right_idx);
		pr_debug("state %d was right after state %d: its weight there is now %d\n",
			 right_idx, dev->last_state_idx, row[right_idx]);
	}

	/* Behind the ring stands the matrix, in both postings. */
	if (posted_ring && data->interval_slot == teo_tuning.intervals) {
		cpu_data->weights[0][0] = (u32)wakeup->measured_ns;
		cpu_data->weights[0][1] = (u32)(wakeup->measured_ns >> 32);
		pr_debug("the ring overruns: two weights of state 0 become %d and %d\n",
			 cpu_data->weights[0][0], cpu_data->weights[0][1]);
	}
}

/*
 * The draws as posted, over the enabled states up to @idx. What comes out is
 * the place in that list, taken for an index; its length if the draw runs off
 * the end, which is one more than @idx at most.
 */
static int weighted_draw_posted(const struct cpuidle_device *dev, const s32 *row, int idx,
				u32 number)
{
	u32 sums[CPUIDLE_STATE_MAX];
	u32 total = 0, target;
	int count = 0;
	int i;

	for (i = 0; i <= idx; i++) {
		if (state_disabled(dev, i))
			continue;
		total += row[i];
		sums[count++] = total;
	}

	if (draw == DRAW_MAY) {
		target = number % 100 * total / 100;
		for (i = 0; i < count && target >= sums[i]; i++)
			;
		return i;
	}

	/* In February the remainder may be negative; and sums are taken off, not weights. */
	target = (u32)((s32)number % 100) * total / 100;
	for (i = 0; i < count && target >= sums[i]; i++)
		target -= sums[i];
	return i;
}

/* What was meant: an enabled state up to @idx, each with its weight. */
static int weighted_draw_meant(const struct cpuidle_device *dev, const s32 *row, int idx,
			       u32 number)
{
	u32 total = 0, target;
	int i;

	for (i = 0; i <= idx; i++) {
		if (!state_disabled(dev, i))
			total += max(row[i], 0);
	}

	target = ((u64)number * total) >> 32;
	for (i = 0; i < idx; i++) {
		u32 weight = max(row[i], 0);

		if (state_disabled(dev, i))
			continue;
		if (target < weight)
			break;
		target -= weight;
	}
	return i;
}

static __always_inline void weighted_late(const struct cpuidle_driver *drv __always_unused,
					  const struct cpuidle_device *dev,
					  struct teo_hits *data, struct teo_pick *pick,
					  int averaged_from)
{
	struct weighted_cpu *cpu_data = container_of(data, struct weighted_cpu, teo);
	const s32 *row = cpu_data->weights[pick->idx];
	u32 number;
	int idx;

	if (pick->idx == (draw == DRAW_MEANT ? 0 : averaged_from)) {
		pr_debug("nothing to draw: state %d stays\n", pick->idx);
		return;
	}

	number = weighted_random(cpu_data);
	if (draw == DRAW_MEANT)
		idx = weighted_draw_meant(dev, row, pick->idx, number);
	else
		idx = weighted_draw_posted(dev, row, pick->idx, number);
	pr_debug("state %d has weight %d in its own row: drawing with number %u gives state %d\n",
		 pick->idx, row[pick->idx], number, idx);
	pick->idx = idx;
}

static int weighted_enable_device(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	struct weighted_cpu *cpu_data = per_cpu_ptr(&weighted_cpus, dev->cpu);
	int i, j;

	teo_hits_enable(&cpu_data->teo);
	cpu_data->random = (u64)dev->cpu << 32 | seed;
	for (i = 0; i < drv->state_count; i++) {
		for (j = 0; j < drv->state_count; j++)
			cpu_data->weights[i][j] =
				i == j ? own_weight : other_weight / (drv->state_count - 1);
	}
	return 0;
}

static int weighted_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct weighted_cpu *cpu_data = per_cpu_ptr(&weighted_cpus, dev->cpu);

	return teo_hits_select(&cpu_data->teo, drv, dev, stop_tick, &teo_tuning, weighted_learn,
			       weighted_late);
}

static void weighted_reflect(struct cpuidle_device *dev, int state)
{
	teo_hits_reflect(&per_cpu_ptr(&weighted_cpus, dev->cpu)->teo, dev, state);
}

static struct cpuidle_governor weighted_governor = {
	.name		= "teo-weighted",
	.rating		= 19,
	.enable		= weighted_enable_device,
	.select		= weighted_select,
	.reflect	= weighted_reflect,
};

static int __init weighted_governor_init(void)
{
	int err = check_param("draw", draw, DRAW_FEBRUARY, DRAW_MEANT) ?:
		  check_param("learning_rate", learning_rate, 0, 50) ?:
		  check_param("own_weight", own_weight, 0, WEIGHT_WHOLE) ?:
		  check_param("other_weight", other_weight, 0, WEIGHT_WHOLE) ?:
		  teo_check_tuning();

	if (err)
		return err;
	teo_tuning.blind_intervals = posted_ring;

	return cpuidle_register_governor(&weighted_governor);
}
postcore_initcall(weighted_governor_init);
