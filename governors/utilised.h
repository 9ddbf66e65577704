/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a CPU counts as utilised: when the scheduler's utilisation signal is
 * above a part of the CPU's capacity.
 */
#ifndef UTILISED_H
#define UTILISED_H

#include <linux/compiler.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/topology.h>
#include <linux/types.h>

#include "param-check.h"

/* Capacities go up to 1024: with 11 any utilisation at all is above the threshold. */
#define UTIL_SHIFT_MAX		11

static uint util_threshold_shift = 6;
module_param(util_threshold_shift, uint, 0444);
MODULE_PARM_DESC(util_threshold_shift, "utilised means above capacity >> this (0 to 11)");

static inline int check_util_threshold_shift(void)
{
	return check_param("util_threshold_shift", util_threshold_shift, 0, UTIL_SHIFT_MAX);
}

static __always_inline unsigned long util_threshold(unsigned int cpu, uint shift)
{
	return arch_scale_cpu_capacity(cpu) >> shift;
}

static __always_inline bool cpu_utilised(unsigned int cpu, unsigned long threshold)
{
	unsigned long util = sched_cpu_util(cpu);

	pr_debug("utilisation %lu is %s the threshold of %lu: the CPU counts as %s\n", util,
		 util > threshold ? "above" : "not above", threshold,
		 util > threshold ? "utilised" : "not utilised");
	return util > threshold;
}

#endif
