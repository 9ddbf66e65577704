/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the TEOs that mind utilisation keep for a CPU: the bins, and whether the
 * CPU is in use.
 */
#ifndef TEO_UTIL_CPU_H
#define TEO_UTIL_CPU_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "teo-timer-first.h"
#include "utilised.h"

/**
 * struct teo_util_cpu - per-CPU data
 * @bins: what TEO knows
 * @threshold: utilisation above this makes the CPU a utilised one
 * @utilised: whether it was one when this was last looked at
 */
struct teo_util_cpu {
	struct teo_bins bins;
	unsigned long threshold;
	bool utilised;
};

static DEFINE_PER_CPU(struct teo_util_cpu, teo_util_cpus);

static __always_inline struct teo_util_cpu *teo_util_of(struct teo_bins *bins)
{
	return container_of(bins, struct teo_util_cpu, bins);
}

static int teo_util_enable(struct cpuidle_driver *drv __always_unused, struct cpuidle_device *dev)
{
	struct teo_util_cpu *cpu_data = per_cpu_ptr(&teo_util_cpus, dev->cpu);

	teo_bins_enable(&cpu_data->bins);
	cpu_data->threshold = util_threshold(dev->cpu, util_threshold_shift);
	cpu_data->utilised = false;
	return 0;
}

static void teo_util_reflect(struct cpuidle_device *dev, int state)
{
	teo_bins_reflect(&per_cpu_ptr(&teo_util_cpus, dev->cpu)->bins, dev, state);
}

static inline int __init teo_util_check_params(void)
{
	return teo_bins_check_params() ?: check_util_threshold_shift();
}

#endif
