/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers that do not depend on a prediction: the check of a parameter's range,
 * the properties of an idle state, the step to a shallower state, and the last
 * test before the tick is stopped.
 */
#ifndef GOVERNOR_H
#define GOVERNOR_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/printk.h>
#include <linux/types.h>

/**
 * check_param - refuse a parameter with which a governor would make no sense
 * @name: its name, for the message
 * @value: its value
 * @lowest: the smallest value allowed
 * @highest: the largest value allowed
 *
 * An initcall checks each parameter before it registers the governor.
 *
 * Return: 0, or -EINVAL after a message if the value is out of range.
 */
static inline int __init check_param(const char *name, uint value, uint lowest, uint highest)
{
	if (value >= lowest && value <= highest)
		return 0;

	pr_err("%s=%u is out of range: it must be from %u to %u\n", name, value, lowest, highest);
	return -EINVAL;
}

static __always_inline bool state_disabled(const struct cpuidle_device *dev, int i)
{
	return dev->states_usage[i].disable;
}

static __always_inline bool state_polls(const struct cpuidle_driver *drv, int i)
{
	return drv->states[i].flags & CPUIDLE_FLAG_POLLING;
}

/**
 * shallower_state - the deepest enabled state shallower than @idx whose target
 * residency is at most @duration_ns
 * @drv: idle states
 * @dev: tells which of them are disabled
 * @idx: the state to start from; returned only if no shallower one is allowed
 * @duration_ns: expected idle time
 * @no_poll: exclude polling states
 *
 * Return: the state found, or the shallowest allowed state if none fits.
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
		pr_debug("no state shallower than state %d is allowed: keep it\n", idx);
	else if (i < 0)
		pr_debug("no shallower state fits: take state %d, the shallowest allowed\n", found);
	else
		pr_debug("state %d is the next shallower one that fits: take it\n", found);
	return found;
}

/**
 * tick_stays - whether a tick that is running must be kept
 * @drv: idle states
 * @idx: the state chosen
 * @expected_ns: expected idle time
 * @enough: whether that is long enough to stop the tick
 * @stopped: whether the tick is stopped already
 */
static __always_inline bool tick_stays(const struct cpuidle_driver *drv, int idx, s64 expected_ns,
				       bool enough, bool stopped)
{
	if (stopped) {
		pr_debug("the tick is stopped already\n");
		return false;
	}
	if (state_polls(drv, idx)) {
		pr_debug("state %d polls: keep the tick\n", idx);
		return true;
	}
	pr_debug("the expected idle time is %lld ns: %s\n", expected_ns,
		 enough ? "stop the tick" : "too short to stop the tick");
	return !enough;
}

/* The tick comes before the target residency of @idx has passed. */
static __always_inline int state_before_tick(const struct cpuidle_driver *drv,
					     const struct cpuidle_device *dev, int idx,
					     s64 delta_tick_ns)
{
	pr_debug("state %d needs %lld ns, but the tick comes in %lld ns: try a shallower state\n",
		 idx, drv->states[idx].target_residency_ns, delta_tick_ns);
	return shallower_state(drv, dev, idx, delta_tick_ns, false);
}

#endif
