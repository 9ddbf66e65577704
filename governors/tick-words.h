/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What governors that decide about the tick say about it.
 */
#ifndef IDLE_TICK_WORDS_H
#define IDLE_TICK_WORDS_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/types.h>

#include "shallower.h"

static __always_inline void explain_tick_stopped(void)
{
	pr_debug("the tick is stopped already\n");
}

static __always_inline void explain_tick_stops(u64 expected_ns)
{
	pr_debug("%llu ns are expected, no less than a tick of %llu ns: it stops\n", expected_ns,
		 (u64)TICK_NSEC);
}

static __always_inline void explain_tick_stays(const struct cpuidle_driver *drv, int idx,
					       u64 expected_ns)
{
	if (state_polls(drv, idx))
		pr_debug("state %d polls: the tick stays\n", idx);
	else
		pr_debug("%llu ns are expected, less than a tick of %llu ns: it stays\n",
			 expected_ns, (u64)TICK_NSEC);
}

static __always_inline void explain_tick_first(s64 delta_tick_ns, int idx)
{
	pr_debug("the tick comes in %lld ns, too early for that: back to state %d\n",
		 delta_tick_ns, idx);
}

#endif
