/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_TIMEKEEPING_H
#define _LINUX_TIMEKEEPING_H

#include <linux/ktime.h>
#include <linux/sched/clock.h>

/* All clocks are the CPU's one. */
static inline ktime_t ktime_get(void)
{
	return (ktime_t)local_clock();
}

static inline u64 ktime_get_ns(void)
{
	return local_clock();
}

static inline u64 ktime_get_mono_fast_ns(void)
{
	return local_clock();
}

#endif
