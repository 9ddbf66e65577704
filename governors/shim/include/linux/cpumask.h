/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_CPUMASK_H
#define _LINUX_CPUMASK_H

#include <linux/bitmap.h>
#include <linux/types.h>

/*
 * No masks: a governor is asked about one CPU at a time, and the others of the
 * machine are the host's business.
 */
#define NR_CPUS		8192
#define nr_cpu_ids	((unsigned int)NR_CPUS)

#endif
