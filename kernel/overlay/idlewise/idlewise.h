/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What stands between the kernel and a governor: registering it under a free
 * name, and recording what it is told and what it chooses.
 */
#ifndef IDLEWISE_H
#define IDLEWISE_H

#include <linux/cpuidle.h>
#include <linux/ktime.h>
#include <linux/types.h>

int iw_register_governor(struct cpuidle_governor *gov);

/**
 * enum iw_asked - which answers a governor got
 * @IW_SLEEP_LENGTH: tick_nohz_get_sleep_length()
 * @IW_LATENCY: cpuidle_governor_latency_req()
 * @IW_CLOCK: local_clock()
 * @IW_CLOCK_AGAIN: the same once more; @clock_ns has the first answer
 * @IW_TICK_STOPPED: tick_nohz_tick_stopped()
 * @IW_GOT_TICK: tick_nohz_idle_got_tick()
 * @IW_UTIL: sched_cpu_util()
 * @IW_IOWAIT: nr_iowait_cpu()
 * @IW_RANDOM: get_random_u32() or get_random_bytes()
 */
enum iw_asked {
	IW_SLEEP_LENGTH	= 1 << 0,
	IW_LATENCY	= 1 << 1,
	IW_CLOCK	= 1 << 2,
	IW_CLOCK_AGAIN	= 1 << 3,
	IW_TICK_STOPPED	= 1 << 4,
	IW_GOT_TICK	= 1 << 5,
	IW_UTIL		= 1 << 6,
	IW_IOWAIT	= 1 << 7,
	IW_RANDOM	= 1 << 8,
};

/**
 * struct iw_told - the answers that one call of a governor got
 * @asked: which there were, of enum iw_asked
 * @sleep_length_ns: time to the next timer but the tick
 * @delta_tick_ns: time to the next event of the clock, the tick included
 * @latency_limit_ns: the latency limit
 * @clock_ns: the clock
 * @util: the utilisation, where it was asked for
 * @iowait: tasks waiting for I/O
 * @random: the first 32 random bits
 * @capacity: the CPU's capacity
 * @tick_stopped: the tick was stopped
 * @got_tick: the tick handler had run
 */
struct iw_told {
	u32 asked;
	s64 sleep_length_ns;
	s64 delta_tick_ns;
	s64 latency_limit_ns;
	u64 clock_ns;
	u32 util;
	u32 iowait;
	u32 random;
	u32 capacity;
	bool tick_stopped;
	bool got_tick;
};

/**
 * struct iw_hooks - what stands between the kernel and one governor
 * @own: the governor as its file has it
 * @registered: the governor as the kernel has it
 */
struct iw_hooks {
	struct cpuidle_governor own;
	struct cpuidle_governor *registered;
};

int iw_register(struct cpuidle_governor *gov, struct iw_hooks *hooks);
int iw_enable(const struct iw_hooks *hooks, struct cpuidle_driver *drv,
	      struct cpuidle_device *dev);
int iw_select(const struct iw_hooks *hooks, struct cpuidle_driver *drv,
	      struct cpuidle_device *dev, bool *stop_tick);
void iw_reflect(const struct iw_hooks *hooks, struct cpuidle_device *dev, int index);

ktime_t iw_sleep_length(ktime_t *delta_next);
s64 iw_latency_req(unsigned int cpu);
u64 iw_local_clock(void);
bool iw_tick_stopped(void);
bool iw_got_tick(void);
unsigned long iw_cpu_util(int cpu);
unsigned int iw_iowait_cpu(int cpu);
unsigned long iw_capacity(int cpu);
u32 iw_random_u32(void);
void iw_random_bytes(void *buf, size_t len);

#ifdef CONFIG_IDLEWISE_KUNIT_TEST
void iw_answer_with(struct iw_told *answers);
u32 iw_last_asked(void);
const struct iw_hooks *iw_find(const char *name);
#endif

#endif
