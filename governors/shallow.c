// SPDX-License-Identifier: GPL-2.0-only
/*
 * Always the shallowest enabled state: the floor of latency, the ceiling of
 * power.
 *
 * The idea: a reference row. It shows the wakeup latency of a machine on which idle
 * power does not matter, and how much of a governor's gain comes from shallower
 * states alone. It reads no timer and keeps no history.
 *
 * When it wins: latency, always; also energy, where every idle period is shorter
 * than the target residency of the next state.
 *
 * When it loses: any idle period long enough for another state; nearly all of them
 * are misses "below".
 *
 * Parameters: stop_tick, whether to stop the tick. The core stops the tick unless a
 * governor asks to keep it; that is the default here. With stop_tick=0 the tick ends
 * each idle period. A state that polls always keeps the tick.
 *
 * Lineage: a row in the tables of "[RFC PATCH 0/1] cpuidle: teo: Introduce optional
 * util-awareness", Kajetan Puchalski, linux-pm, 15 September 2022, described there
 * as "only ever selects the shallowest available state". Its source was never
 * posted; this governor follows that sentence.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>

#include "governor.h"

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
	/* The core takes state 0, too, if no governor is there to choose. */
	if (i == drv->state_count) {
		pr_debug("all states are disabled: take state 0\n");
		i = 0;
	} else {
		pr_debug("state %d is the shallowest enabled one: take it\n", i);
	}

	*stop_tick = stop_tick_param && !state_polls(drv, i);
	if (state_polls(drv, i))
		pr_debug("state %d polls: keep the tick\n", i);
	else if (stop_tick_param)
		pr_debug("state %d does not poll: stop the tick\n", i);
	else
		pr_debug("stop_tick is 0: keep the tick\n");
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
