// SPDX-License-Identifier: GPL-2.0-only
/*
 * Weighted TEO: where recent idle periods overrule the timer, draw the state at
 * random, by experience.
 *
 * The idea: TEO (see teo-5.6) keeps eight idle periods. A matrix of weights keeps
 * the whole past at no more cost. Row i belongs to wakeups from state i; its entry
 * j says how often state j would have been the right one, out of about 10000.
 * After a wakeup the entry of the right state grows by a few percent and all
 * others of the row shrink. When the recent idle periods move TEO's choice to a
 * shallower state, the state is drawn at random from the row of that state, each
 * with its weight.
 *
 * When it wins: loads that alternate between two habits in no order that a ring
 * of eight could show. Its author measured less power at equal speed in schbench,
 * against the TEO of the time.
 *
 * When it loses: each decision for which the draw matters is a gamble, and a run
 * repeats itself only if its random numbers do. The weights never decay, so that a
 * habit keeps its weight after it has passed. With n states a wakeup costs n
 * divisions more.
 *
 * Neighbours: teo-5.6 is the same without matrix and draw. Later TEOs have
 * neither.
 *
 * Parameters: draw, how a state is drawn: 0 as posted in February 2020, 1 as
 * posted again in May 2020, 2 as the cover letter describes it. learning_rate,
 * percent by which a weight changes, 0 to 50; own_weight and other_weight, the
 * first weight of the state itself and that of all others together, 0 to 10000:
 * 5, 7000, 3000 in the first posting, 10, 6000, 4000 in the second. posted_ring,
 * whether the ring writes one slot too far, into the matrix, as both postings do.
 * seed, the source of random numbers: 0 is the kernel's generator, anything else
 * starts a generator for each CPU, so that a run can be repeated. intervals and
 * decay_shift as in teo-5.6.
 *
 * Lineage: "[RFC 0/1] Weighted approach to gather and use history in TEO
 * governor", Pratik Rajesh Sampat, linux-pm, 22 February 2020, and a second
 * version of 11 May 2020, on the TEO of 5.5-rc; never merged. In the postings
 * the random number counts through the enabled states but is used as an index
 * among all. Half of the numbers of the first posting are negative and always
 * lead one state beyond the averaged one. The ring destroys two weights with
 * every ninth wakeup. Draws 0 and 1 keep all that, the last with posted_ring=1.
 * draw=2 is ours: it draws at each decision, from the row of the state that TEO
 * chose, among the enabled states not deeper than it. No draw computes the
 * expected idle time anew, so that the tick depends on the choice before the
 * draw. The rating is that of TEO in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/sched/clock.h>
#include <linux/tick.h>
#include <linux/types.h>

#include "governor.h"
#include "teo-hits.h"

/* The sum of the weights of a row at the start. */
#define WEIGHT_WHOLE		10000

enum {
	DRAW_FEBRUARY,
	DRAW_MAY,
	DRAW_MEANT,
};

static uint draw = DRAW_FEBRUARY;
module_param(draw, uint, 0444);
MODULE_PARM_DESC(draw, "draw as posted in February 2020 (0), in May 2020 (1), or as described (2)");

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
 * struct weighted_cpu - the data of a CPU
 * @teo: the history of TEO
 * @random: state of the CPU's own generator
 * @weights: a row for the state that was entered, an entry for the one that would
 *   have been right
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

/* A part of a weight. The product wraps: the ring may have written anything there. */
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

static __always_inline void weighted_learn(struct weighted_cpu *cpu_data,
					   const struct cpuidle_driver *drv,
					   const struct cpuidle_device *dev,
					   const struct teo_wakeup *wakeup)
{
	s32 *row = cpu_data->weights[dev->last_state_idx];
	int right_idx = dev->last_state_idx;

	if (wakeup->real_idx != wakeup->timer_idx)
		right_idx = wakeup->real_idx >= 0 ? wakeup->real_idx : wakeup->timer_idx;

	if (wakeup->timer_idx >= 0) {
		weighted_adjust(row, drv->state_count, right_idx);
		pr_debug("state %d was right after state %d: its weight there is now %d\n",
			 right_idx, dev->last_state_idx, row[right_idx]);
	}

	/* The matrix follows the ring in memory, in both postings. */
	if (posted_ring && cpu_data->teo.interval_slot == teo_tuning.intervals) {
		cpu_data->weights[0][0] = (u32)wakeup->measured_ns;
		cpu_data->weights[0][1] = (u32)(wakeup->measured_ns >> 32);
		pr_debug("the ring overruns: two weights of state 0 become %d and %d\n",
			 cpu_data->weights[0][0], cpu_data->weights[0][1]);
	}
}

/*
 * The draws as posted, over the enabled states up to @idx. The answer is a place
 * in the list of these, used as an index of a state. If the draw runs off the end
 * it is the length of the list, which is at most one more than @idx.
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

	/* In February the remainder may be negative, and it loses sums, not weights. */
	target = (u32)((s32)number % 100) * total / 100;
	for (i = 0; i < count && target >= sums[i]; i++)
		target -= sums[i];
	return i;
}

/* The draw as described: an enabled state up to @idx, each with its weight. */
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

static __always_inline int weighted_draw(struct weighted_cpu *cpu_data,
					 const struct cpuidle_device *dev, int idx,
					 int averaged_from)
{
	const s32 *row = cpu_data->weights[idx];
	u32 number;
	int drawn;

	if (idx == (draw == DRAW_MEANT ? 0 : averaged_from)) {
		pr_debug("there is nothing to draw: keep state %d\n", idx);
		return idx;
	}

	number = weighted_random(cpu_data);
	if (draw == DRAW_MEANT)
		drawn = weighted_draw_meant(dev, row, idx, number);
	else
		drawn = weighted_draw_posted(dev, row, idx, number);
	pr_debug("state %d has weight %d in its own row: the random number %u selects state %d\n",
		 idx, row[idx], number, drawn);
	return drawn;
}

static int weighted_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct weighted_cpu *cpu_data = per_cpu_ptr(&weighted_cpus, dev->cpu);
	struct teo_hits *data = &cpu_data->teo;
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	struct teo_choice choice = { .idx = -1 };
	struct teo_wakeup wakeup;
	ktime_t delta_tick_ns;
	int averaged_from;

	if (dev->last_state_idx >= 0) {
		wakeup = teo_hits_update(data, drv, dev, &teo_tuning);
		weighted_learn(cpu_data, drv, dev, &wakeup);
		teo_hits_push(data, wakeup.measured_ns, &teo_tuning);
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
	averaged_from = choice.idx;
	if (choice.idx > 0)
		teo_hits_average(data, drv, dev, &teo_tuning, &choice);
	choice.idx = weighted_draw(cpu_data, dev, choice.idx, averaged_from);

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

static void weighted_reflect(struct cpuidle_device *dev, int state)
{
	teo_hits_reflect(&per_cpu_ptr(&weighted_cpus, dev->cpu)->teo, dev, state);
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
