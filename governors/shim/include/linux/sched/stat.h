/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SCHED_STAT_H
#define _LINUX_SCHED_STAT_H

#include <linux/compiler.h>
#include <idlewise/env.h>

static inline unsigned int nr_iowait_cpu(int cpu __always_unused)
{
	return idlewise_env.in.iowait;
}

#endif
