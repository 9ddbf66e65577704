/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SMP_H
#define _LINUX_SMP_H

#include <linux/cpuidle.h>

static inline int smp_processor_id(void)
{
	return (int)idlewise_env.device->cpu;
}

#define raw_smp_processor_id()	smp_processor_id()
#define get_cpu()		smp_processor_id()
#define put_cpu()		do { } while (0)

#endif
