/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_TICK_H
#define _LINUX_TICK_H

#include <linux/cpuidle.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/smp.h>

/* Whether the machine can stop the tick at all. */
#define tick_nohz_enabled	true
#define tick_nohz_active	true

static inline bool tick_nohz_tick_stopped(void)
{
	return idlewise_env.in.tick_stopped;
}

static inline int tick_nohz_tick_stopped_cpu(int cpu)
{
	(void)cpu;
	return tick_nohz_tick_stopped();
}

static inline ktime_t tick_nohz_get_sleep_length(ktime_t *delta_next)
{
#ifdef IDLEWISE_APART
	idlewise_env.ask(idlewise_env.control);
#endif
	idlewise_env.asked_sleep_length = true;
	*delta_next = idlewise_env.in.delta_tick_ns;
	return idlewise_env.in.sleep_length_ns;
}

static inline bool tick_nohz_idle_got_tick(void)
{
	bool got_tick = idlewise_env.device->got_tick;

	idlewise_env.device->got_tick = false;
	return got_tick;
}

#endif
