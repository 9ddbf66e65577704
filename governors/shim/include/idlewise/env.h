/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a governor sees of the world, as plain memory of its own shared object.
 *
 * The host writes this structure before it calls a governor, and the functions
 * of the <linux/...> headers read it. So a question that a governor asks is a
 * load, not a call; but that for the sleep length, which costs time in a kernel,
 * is a call of the host where a governor has a process of its own, in which it
 * could read what it has not asked for. crates/governor/src/abi.rs has the same layout; the two are
 * compared when an object is loaded, and IDLEWISE_ABI_VERSION changes with
 * every change of either.
 */
#ifndef IDLEWISE_ENV_H
#define IDLEWISE_ENV_H

#include <linux/types.h>

#define IDLEWISE_ABI_VERSION	4

struct cpuidle_device;
struct cpuidle_governor;
struct idlewise_control;

/**
 * struct idlewise_inputs - what one call of select may ask
 * @now_ns: local_clock(), also in reflect
 * @sleep_length_ns: result of tick_nohz_get_sleep_length()
 * @delta_tick_ns: what tick_nohz_get_sleep_length() stores: time to the next
 *   event with the tick running
 * @latency_limit_ns: cpuidle_governor_latency_req()
 * @util: sched_cpu_util()
 * @iowait: nr_iowait_cpu()
 * @random: the random number of this call
 * @tick_stopped: tick_nohz_tick_stopped()
 */
struct idlewise_inputs {
	u64 now_ns;
	s64 sleep_length_ns;
	s64 delta_tick_ns;
	s64 latency_limit_ns;
	u32 util;
	u32 iowait;
	u32 random;
	bool tick_stopped;
};

/**
 * struct idlewise_env - the environment of one shared object
 * @in: inputs of the current call
 * @device: device of the CPU that is running
 * @per_cpu_offset: for each CPU the way from the per-CPU image to its copy
 * @tick_nsec: TICK_NSEC
 * @governor: what the object registered, NULL before its initcalls ran
 * @ask: makes the host write the sleep length into @in; NULL where it is there
 * @control: what @ask takes
 * @stop_tick: where select leaves its second answer
 * @asked_sleep_length: set when the sleep length is asked for
 */
struct idlewise_env {
	struct idlewise_inputs in;
	struct cpuidle_device *device;
	const unsigned long *per_cpu_offset;
	long tick_nsec;
	struct cpuidle_governor *governor;
	void (*ask)(struct idlewise_control *control);
	struct idlewise_control *control;
	bool stop_tick;
	bool asked_sleep_length;
};

#pragma GCC visibility push(hidden)
extern struct idlewise_env idlewise_env;
#pragma GCC visibility pop

#endif
