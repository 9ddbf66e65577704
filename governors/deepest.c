// SPDX-License-Identifier: GPL-2.0-only
/*
 * Always the deepest state that the latency limit allows: the opposite of
 * shallow.
 *
 * The idea: a reference row. It shows what the deepest possible states cost in
 * wakeup latency and in entries that do not pay, and thus what a governor's
 * predictions are worth. It reads no timer, keeps no history, and stops the tick
 * unless the state polls. Where no enabled state keeps the limit, it takes the
 * shallowest.
 *
 * When it wins: power on a machine that is nearly idle, with idle periods far
 * longer than the deepest target residency.
 *
 * When it loses: everything that wakes up often. Misses "above" pile up, and each
 * one pays an exit latency and the energy of a transition for nothing.
 *
 * Parameters: none.
 *
 * Lineage: ours. The cpuidle core has a deepest state of its own for idle
 * injection, which goes by exit latency and treats equal states differently.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/printk.h>

#include "governor.h"

static int deepest_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	s64 latency_limit_ns = cpuidle_governor_latency_req(dev->cpu);
	/* The core takes state 0, too, if all are disabled. */
	int idx = 0;
	int i;

	for (i = drv->state_count - 1; i >= 0; i--) {
		const struct cpuidle_state *s = &drv->states[i];

		if (state_disabled(dev, i)) {
			pr_debug("state %d is disabled\n", i);
			continue;
		}
		idx = i;
		if (s->exit_latency_ns <= latency_limit_ns)
			break;
		pr_debug("state %d: exit latency %lld ns is above the limit of %lld ns\n", i,
			 s->exit_latency_ns, latency_limit_ns);
	}
	*stop_tick = !state_polls(drv, idx);
	pr_debug("state %d is the deepest that qualifies: take it, %s the tick\n", idx,
		 *stop_tick ? "stop" : "keep");
	return idx;
}

static void deepest_reflect(struct cpuidle_device *dev, int state)
{
	dev->last_state_idx = state;
}

static struct cpuidle_governor deepest_governor = {
	.name		= "deepest",
	.rating		= 1,
	.select		= deepest_select,
	.reflect	= deepest_reflect,
};

static int __init deepest_governor_init(void)
{
	return cpuidle_register_governor(&deepest_governor);
}
postcore_initcall(deepest_governor_init);
