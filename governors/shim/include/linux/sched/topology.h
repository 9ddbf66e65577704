/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SCHED_TOPOLOGY_H
#define _LINUX_SCHED_TOPOLOGY_H

#include <linux/cpuidle.h>

static inline unsigned long arch_scale_cpu_capacity(int cpu)
{
	return per_cpu(idlewise_device, cpu).capacity;
}

#endif
