// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ladder governor: one state deeper after four long idle periods, one
 * shallower after a short one.
 *
 * The idea: the oldest of the kernel's governors looks at the past only. It takes
 * the exit latency off each idle period. If the rest is longer than the exit
 * latency of the state, the idle period was a long one, and four long ones in a
 * row promote to the next deeper state. If it is shorter, the next shallower state
 * is chosen at once. It computes no timer, predicts nothing, and leaves the tick to
 * the core, which stops it.
 *
 * When it wins: periodic ticks. With a tick that always runs every idle period is
 * short and the next timer says little, so that a slow climb is as good as a
 * prediction. A decision costs two comparisons.
 *
 * When it loses: any dynamic tick. From the shallowest state to the fifth it takes
 * sixteen idle periods, however long they are, and one short one among them costs a
 * state. It never reads a target residency, and it reacts only after an idle period
 * is over.
 *
 * Parameters: none.
 *
 * Lineage: in Linux from the start of its cpuidle subsystem, the default with a
 * periodic tick to this day, the same from 5.5 to 7.3. It has three quirks. An
 * idle period shorter than the exit latency counts as an endless one, since the
 * comparison is unsigned, and so it promotes. The next shallower state is taken
 * even if it is disabled. A disabled state in between is never passed on the
 * way down to deeper ones. Ours alone: a machine whose only state polls gets
 * state 0, where Linux returns a state that does not exist. The rating is that
 * of ladder in Linux with a dynamic tick.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/types.h>

#include "governor.h"

/* The number of long idle periods that promote, and of short ones that demote. */
#define LADDER_PROMOTIONS	4
#define LADDER_DEMOTIONS	1

/**
 * struct ladder_rung - idle periods in one state since it was last left for another
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

/* The first state of the ladder: not the one that polls, if there is another. */
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
	/* In the polling state before the ladder one idle period of any length promotes. */
	u64 threshold_ns = last_idx < first_idx ? 0 : last->exit_latency_ns;
	u32 promotions = last_idx < first_idx ? 0 : LADDER_PROMOTIONS;
	s64 rest_ns;
	int i;

	if (latency_limit_ns == 0) {
		pr_debug("no exit latency is allowed: take state 0\n");
		return ladder_move(ladder, dev, 0);
	}

	rest_ns = (s64)dev->last_residency_ns - last->exit_latency_ns;
	pr_debug("the CPU was idle in state %d for %lld ns, %lld ns without exit latency\n",
		 last_idx, (s64)dev->last_residency_ns, rest_ns);

	if (last_idx < drv->state_count - 1 && !state_disabled(dev, last_idx + 1) &&
	    (u64)rest_ns > threshold_ns &&
	    last[1].exit_latency_ns <= latency_limit_ns) {
		rung->promotions++;
		rung->demotions = 0;
		pr_debug("above %llu ns, or negative, it is a long one: number %u of %u\n",
			 threshold_ns, rung->promotions, promotions);
		if (rung->promotions >= promotions) {
			pr_debug("that is enough to promote: take state %d\n", last_idx + 1);
			return ladder_move(ladder, dev, last_idx + 1);
		}
	}

	if (last_idx > first_idx &&
	    (state_disabled(dev, last_idx) || last->exit_latency_ns > latency_limit_ns)) {
		for (i = last_idx - 1; i > first_idx; i--) {
			if (drv->states[i].exit_latency_ns <= latency_limit_ns)
				break;
		}
		pr_debug("state %d is disabled or above the limit of %lld ns: take state %d\n",
			 last_idx, latency_limit_ns, i);
		return ladder_move(ladder, dev, i);
	}

	if (last_idx > first_idx && (u64)rest_ns < threshold_ns) {
		rung->demotions++;
		rung->promotions = 0;
		if (rung->demotions >= LADDER_DEMOTIONS) {
			pr_debug("below %llu ns it is a short one: take state %d\n",
				 threshold_ns, last_idx - 1);
			return ladder_move(ladder, dev, last_idx - 1);
		}
	}

	pr_debug("that is not enough for another state: keep state %d\n", last_idx);
	return last_idx;
}

static void ladder_reflect(struct cpuidle_device *dev, int index)
{
	/* State 0 before the ladder was the choice of the latency limit, not a step. */
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
