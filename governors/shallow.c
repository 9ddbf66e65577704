// SPDX-License-Identifier: GPL-2.0-only
/*
 * Always the shallowest enabled state: the floor of latency, the ceiling of
 * power.
 *
 * The idea: a reference row. It shows what wakeup latency a machine can have if
 * idle power does not matter, and how much of a governor's gain is owed to
 * nothing but shallower states. It looks at no timer and remembers nothing.
 *
 * When it wins: latency, always; also energy, where every sleep is shorter than
 * the next state's target residency.
 *
 * When it loses: any sleep long enough for another state. It also misses
 * "below" on nearly all of them.
 *
 * Parameters: stop_tick, whether to stop the tick. A governor that says nothing
 * about the tick stops it, which is the default here; with stop_tick=0 the tick
 * ends each sleep. A state that polls always keeps it.
 *
 * Lineage: a row in the tables of the util-aware TEO posting of 15 September
 * 2022 ("only ever selects the shallowest available state"), whose source was
 * never posted; this one is written from that sentence and governors.md,
 * section 12.1.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>

#include "shallower.h"

static bool stop_tick_param = true;
module_param_named(stop_tick, stop_tick_param, bool, 0644);
MODULE_PARM_DESC(stop_tick, "stop the tick unless the state polls");

static int shallow_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	int i;

	for (i = 0; i < drv->state_count; i++) {
		if (!state_disabled(dev, i))
			break;
	}
	/* All disabled: state 0, as the core itself does without a governor's help. */
	if (i == drv->state_count) {
		pr_debug("all states are disabled: state 0\n");
		i = 0;
	} else {
		pr_debug("state %d is the shallowest enabled one\n", i);
	}

	*stop_tick = stop_tick_param && !state_polls(drv, i);
	if (state_polls(drv, i))
		pr_debug("state %d polls: keep the tick\n", i);
	else if (stop_tick_param)
		pr_debug("state %d does not poll: the tick stops\n", i);
	else
		pr_debug("stop_tick is off: the tick stays\n");
	return i;
}

static void shallow_reflect(struct cpuidle_device *dev, int state)
{
	dev->last_state_idx = state;
}

static struct cpuidle_governor shallow_governor = {
	.name		= "shallow",
	.rating		= 1,
	.select		= shallow_select,
	.reflect	= shallow_reflect,
};

static int __init shallow_governor_init(void)
{
	return cpuidle_register_governor(&shallow_governor);
}
postcore_initcall(shallow_governor_init);
