/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included by the Makefile before the first line of every governor's file, ours
 * and (for recording) the kernel's, so that the files can stay as they are.
 *
 * Other functions take the place of those that a governor asks, and remember
 * the answer; others take the place of its own, and emit the trace events. The
 * headers that declare what is replaced are included first, so that nothing but
 * calls is left to be replaced. IW_NAME is the name for a governor whose own may
 * be taken several times.
 */
#ifndef IDLEWISE_IN_GOVERNOR_H
#define IDLEWISE_IN_GOVERNOR_H

#include "idlewise.h"

#ifdef CONFIG_IDLEWISE_RECORD
#include <linux/init.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/stat.h>
#include <linux/sched/topology.h>
#include <linux/string.h>
#include <linux/tick.h>

static struct iw_hooks iw_here;

static int iw_enable_here(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	return iw_enable(&iw_here, drv, dev);
}

static int iw_select_here(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	return iw_select(&iw_here, drv, dev, stop_tick);
}

static void iw_reflect_here(struct cpuidle_device *dev, int index)
{
	iw_reflect(&iw_here, dev, index);
}

static inline int __init iw_register_here(struct cpuidle_governor *gov)
{
#ifdef IW_NAME
	strscpy(gov->name, IW_NAME, sizeof(gov->name));
#endif
	iw_here.own = *gov;
	gov->enable = iw_enable_here;
	gov->select = iw_select_here;
	gov->reflect = iw_reflect_here;
	return iw_register(gov, &iw_here);
}

#define cpuidle_register_governor	iw_register_here
#define tick_nohz_get_sleep_length	iw_sleep_length
#define cpuidle_governor_latency_req	iw_latency_req
#define local_clock			iw_local_clock
#define tick_nohz_tick_stopped		iw_tick_stopped
#define tick_nohz_idle_got_tick		iw_got_tick
#define sched_cpu_util			iw_cpu_util
#define nr_iowait_cpu			iw_iowait_cpu
#undef arch_scale_cpu_capacity
#define arch_scale_cpu_capacity		iw_capacity
#define get_random_u32			iw_random_u32
#define get_random_bytes		iw_random_bytes
#else
#define cpuidle_register_governor	iw_register_governor
#endif

#endif
