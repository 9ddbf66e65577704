/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SCHED_CLOCK_H
#define _LINUX_SCHED_CLOCK_H

#include <linux/types.h>
#include <idlewise/env.h>

static inline u64 local_clock(void)
{
	return idlewise_env.in.now_ns;
}

static inline u64 sched_clock(void)
{
	return local_clock();
}

static inline u64 cpu_clock(int cpu)
{
	(void)cpu;
	return local_clock();
}

#endif
