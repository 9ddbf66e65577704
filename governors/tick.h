/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last step of TEO and menu: whether the tick stays, and a state that fits
 * in front of it.
 */
#ifndef IDLE_TICK_H
#define IDLE_TICK_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/printk.h>
#include <linux/types.h>

#include "shallower.h"

/**
 * tick_stays - whether to keep a tick that is running
 * @drv: states
 * @idx: the state chosen
 * @expected_ns: idle time that the choice counts on
 * @enough: that is long enough to stop the tick for it
 * @stopped: the tick is stopped already
 *
 * Return: true if it is to be kept.
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
	pr_debug("%lld ns are expected, %s\n", expected_ns,
		 enough ? "enough to stop the tick" : "too little to stop the tick");
	return !enough;
}

/* A shallower state, since the tick comes too early for @idx. */
static __always_inline int before_tick(const struct cpuidle_driver *drv,
				       const struct cpuidle_device *dev, int idx, s64 delta_tick_ns)
{
	pr_debug("state %d needs %lld ns, but the tick leaves %lld ns: look shallower\n", idx,
		 drv->states[idx].target_residency_ns, delta_tick_ns);
	return shallower_state(drv, dev, idx, delta_tick_ns, false);
}

#endif
