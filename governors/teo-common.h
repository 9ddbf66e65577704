/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all versions of TEO since 2021 have in common: the weight of a wakeup,
 * how fast it is forgotten, and what follows from keeping the tick.
 */
#ifndef TEO_COMMON_H
#define TEO_COMMON_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/types.h>

#include "param-check.h"
#include "shallower.h"
#include "tick.h"

/* Weight of one wakeup. */
#define TEO_PULSE		1024

/* With more than this a single TEO_PULSE would be too small to decay. */
#define TEO_DECAY_SHIFT_MAX	10

static uint decay_shift = 3;
module_param(decay_shift, uint, 0444);
MODULE_PARM_DESC(decay_shift, "a wakeup takes one part in 2^this from all weights (0 to 10)");

static inline int teo_check_decay_shift(void)
{
	return check_param("decay_shift", decay_shift, 0, TEO_DECAY_SHIFT_MAX);
}

/* The tick will come, so the state must fit in front of it. */
static __always_inline int teo_keep_tick(const struct cpuidle_driver *drv,
					 const struct cpuidle_device *dev, int idx, int shallowest,
					 s64 delta_tick_ns, bool *stop_tick)
{
	*stop_tick = false;
	if (idx <= shallowest || drv->states[idx].target_residency_ns <= delta_tick_ns)
		return idx;

	return before_tick(drv, dev, idx, delta_tick_ns);
}

#endif
