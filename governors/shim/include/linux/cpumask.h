/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_CPUMASK_H
#define _LINUX_CPUMASK_H

#include <linux/bitmap.h>
#include <linux/cpuidle.h>
#include <linux/types.h>

/*
 * No masks: a governor is asked about one CPU at a time, and the others of the
 * machine are the host's business.
 */
#define NR_CPUS		8192
#define nr_cpu_ids	((unsigned int)NR_CPUS)

/*
 * So a loop over CPUs visits the one that is running. In an initcall none is:
 * the loop's body runs once, for the image that every CPU starts from.
 */
#define for_each_possible_cpu(cpu)						\
	for (bool idlewise_once = ((cpu) = idlewise_any_cpu(), true);		\
	     idlewise_once; idlewise_once = false)
#define for_each_present_cpu(cpu)	for_each_possible_cpu(cpu)
#define for_each_online_cpu(cpu)	for_each_possible_cpu(cpu)

static inline int idlewise_any_cpu(void)
{
	return idlewise_env.device ? (int)idlewise_env.device->cpu : 0;
}

#define num_possible_cpus()	1U
#define num_present_cpus()	1U
#define num_online_cpus()	1U
#define cpu_possible(cpu)	true
#define cpu_present(cpu)	true
#define cpu_online(cpu)		true

#endif
