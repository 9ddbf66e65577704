/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The step back to a shallower idle state that TEO and menu both take when a
 * state turns out to be too deep.
 */
#ifndef IDLE_SHALLOWER_H
#define IDLE_SHALLOWER_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/printk.h>
#include <linux/types.h>

static __always_inline bool state_disabled(const struct cpuidle_device *dev, int i)
{
	return dev->states_usage[i].disable;
}

static __always_inline bool state_polls(const struct cpuidle_driver *drv, int i)
{
	return drv->states[i].flags & CPUIDLE_FLAG_POLLING;
}

/**
 * shallower_state - the deepest enabled state above @idx that fits into
 * @duration_ns
 * @drv: states
 * @dev: which of them are disabled
 * @idx: where to start; never returned unless nothing shallower is enabled
 * @duration_ns: expected idle time
 * @no_poll: leave polling states out
 *
 * Return: the state found; the shallowest enabled one if none fits.
 */
static __always_inline int shallower_state(const struct cpuidle_driver *drv,
					   const struct cpuidle_device *dev,
					   int idx, s64 duration_ns, bool no_poll)
{
	int found = idx;
	int i;

	for (i = idx - 1; i >= 0; i--) {
		if (state_disabled(dev, i) || (no_poll && state_polls(drv, i)))
			continue;

		found = i;
		if (drv->states[i].target_residency_ns <= duration_ns)
			break;
	}

	if (found == idx)
		pr_debug("nothing shallower than state %d may be used: stay with it\n", idx);
	else
		pr_debug("state %d is the next shallower one that may be used%s\n", found,
			 i < 0 ? ", and there is none that fits" : " and fits");
	return found;
}

#endif
