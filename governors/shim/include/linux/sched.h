/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SCHED_H
#define _LINUX_SCHED_H

#include <linux/kernel.h>
#include <linux/sched/idle.h>
#include <idlewise/env.h>
#include <idlewise/version.h>

#define SCHED_CAPACITY_SHIFT	10
#define SCHED_CAPACITY_SCALE	(1L << SCHED_CAPACITY_SHIFT)

/* Only the CPU that is being asked about its next idle state has a known utilisation. */
#if IDLEWISE_SINCE(6, 0)
static inline unsigned long sched_cpu_util(int cpu __always_unused)
{
	return idlewise_env.in.util;
}
#else
static inline unsigned long sched_cpu_util(int cpu __always_unused, unsigned long max)
{
	return min((unsigned long)idlewise_env.in.util, max);
}
#endif

#endif
