// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ladder governor: one rung deeper after four long sleeps, one rung back
 * after a short one.
 *
 * The idea: the oldest of the kernel's governors looks back only. Of each sleep
 * it takes the time beyond the exit latency of the state. If that is longer
 * than the exit latency, the sleep speaks for the next deeper state, and four
 * such sleeps in a row promote to it; if it is shorter, the next shallower
 * state is chosen at once. No timer is asked, so nothing is predicted, and
 * nothing is said about the tick, which therefore stops.
 *
 * When it wins: periodic ticks. With a tick that always runs, every sleep is
 * short, the next timer says little, and a slow climb is as good as a forecast.
 * It costs next to nothing: two comparisons.
 *
 * When it loses: any dynamic tick. From the shallowest state to the fifth it
 * takes sixteen sleeps, however long they are, and one short sleep among them
 * costs a rung. It never looks at target residencies, and it knows only sleeps
 * that are over.
 *
 * Parameters: none.
 *
 * Lineage: in Linux from the start of its cpuidle, default with a periodic tick
 * to this day, the same in 5.5 to 7.3. Quirks that belong to it: a sleep
 * shorter than the exit latency counts as an endless one, since the comparison
 * is unsigned, and so promotes; a state is left for the next shallower one even
 * if that is disabled; a disabled state in between is never climbed over. Ours
 * alone: a machine whose only state polls gets state 0, where Linux goes to a
 * state that does not exist. Written from governors.md, section 2 ("ladder").
 * Rating as ladder has in Linux with a dynamic tick.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/types.h>

#include "shallower.h"

/* So many long sleeps promote, so many short ones demote. */
#define LADDER_PROMOTIONS	4
#define LADDER_DEMOTIONS	1

/**
 * struct ladder_rung - sleeps in one state since it was last left
 * @promotions: long ones since the last short one
 * @demotions: short ones since the last long one
 */
struct ladder_rung {
	u32 promotions;
	u32 demotions;
};

struct ladder_device {
	struct ladder_rung rungs[CPUIDLE_STATE_MAX];
};

static DEFINE_PER_CPU(struct ladder_device, ladder_devices);

/* The lowest rung: not the state that polls, if there is another. */
static int ladder_first(const struct cpuidle_driver *drv)
{
	return drv->state_count > 1 && state_polls(drv, 0);
}

static int ladder_move(struct ladder_device *ladder, struct cpuidle_device *dev, int new_idx)
{
	ladder->rungs[dev->last_state_idx] = (struct ladder_rung){ 0 };
	dev->last_state_idx = new_idx;
	return new_idx;
}

static int ladder_select(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			 bool *stop_tick __always_unused)
{
	struct ladder_device *ladder = per_cpu_ptr(&ladder_devices, dev->cpu);
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	int last_idx = dev->last_state_idx, first_idx = ladder_first(drv);
	struct ladder_rung *rung = &ladder->rungs[last_idx];
	const struct cpuidle_state *last = &drv->states[last_idx];
	/* Below the ladder anything is long, and once is enough. */
	u64 threshold_ns = last_idx < first_idx ? 0 : last->exit_latency_ns;
	u32 promotions = last_idx < first_idx ? 0 : LADDER_PROMOTIONS;
	s64 slept_ns;
	int i;

	if (latency_limit_ns == 0) {
		pr_debug("no exit latency is allowed: state 0\n");
		return ladder_move(ladder, dev, 0);
	}

	slept_ns = (s64)dev->last_residency_ns - last->exit_latency_ns;
	pr_debug("state %d was left after %lld ns, %lld ns beyond its exit latency\n", last_idx,
		 (s64)dev->last_residency_ns, slept_ns);

	if (last_idx < drv->state_count - 1 && !state_disabled(dev, last_idx + 1) &&
	    (u64)slept_ns > threshold_ns &&
	    last[1].exit_latency_ns <= latency_limit_ns) {
		rung->promotions++;
		rung->demotions = 0;
		pr_debug("more than %llu ns, or less than none, is a long sleep: number %u of %u\n",
			 threshold_ns, rung->promotions, promotions);
		if (rung->promotions >= promotions) {
			pr_debug("enough long sleeps: one rung deeper, to state %d\n",
				 last_idx + 1);
			return ladder_move(ladder, dev, last_idx + 1);
		}
	}

	if (last_idx > first_idx &&
	    (state_disabled(dev, last_idx) || last->exit_latency_ns > latency_limit_ns)) {
		for (i = last_idx - 1; i > first_idx; i--) {
			if (drv->states[i].exit_latency_ns <= latency_limit_ns)
				break;
		}
		pr_debug("state %d is disabled or above the limit of %lld ns: back to state %d\n",
			 last_idx, latency_limit_ns, i);
		return ladder_move(ladder, dev, i);
	}

	if (last_idx > first_idx && (u64)slept_ns < threshold_ns) {
		rung->demotions++;
		rung->promotions = 0;
		if (rung->demotions >= LADDER_DEMOTIONS) {
			pr_debug("less than %llu ns is a short sleep: one rung back, to state %d\n",
				 threshold_ns, last_idx - 1);
			return ladder_move(ladder, dev, last_idx - 1);
		}
	}

	pr_debug("not enough for another rung: state %d again\n", last_idx);
	return last_idx;
}

static void ladder_reflect(struct cpuidle_device *dev, int index)
{
	/* The state below the ladder was the limit's choice, not a step. */
	if (index > 0)
		dev->last_state_idx = index;
}

static int ladder_enable_device(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	memset(per_cpu_ptr(&ladder_devices, dev->cpu), 0, sizeof(struct ladder_device));
	dev->last_state_idx = ladder_first(drv);
	return 0;
}

static struct cpuidle_governor ladder_governor = {
	.name		= "ladder",
	.rating		= 10,
	.enable		= ladder_enable_device,
	.select		= ladder_select,
	.reflect	= ladder_reflect,
};

static int __init ladder_governor_init(void)
{
	return cpuidle_register_governor(&ladder_governor);
}
postcore_initcall(ladder_governor_init);
