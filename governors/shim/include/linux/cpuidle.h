/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_CPUIDLE_H
#define _LINUX_CPUIDLE_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/types.h>
#include <idlewise/env.h>
#include <idlewise/version.h>

#define CPUIDLE_STATE_MAX	10
#define CPUIDLE_NAME_LEN	16

#define CPUIDLE_FLAG_NONE	0x00
#define CPUIDLE_FLAG_POLLING	BIT(0)
#define CPUIDLE_FLAG_COUPLED	BIT(1)
#define CPUIDLE_FLAG_TIMER_STOP	BIT(2)
#define CPUIDLE_FLAG_UNUSABLE	BIT(3)
#define CPUIDLE_FLAG_OFF	BIT(4)

#define CPUIDLE_STATE_DISABLED_BY_USER		BIT(0)
#define CPUIDLE_STATE_DISABLED_BY_DRIVER	BIT(1)

/* The type of a state's times decides how they compare with a negative one. */
#if IDLEWISE_SINCE(5, 13)
typedef s64 idlewise_state_ns;
#else
typedef u64 idlewise_state_ns;
#endif

/*
 * What a governor reads of an idle state: the same names as in a kernel, packed
 * so that a scan of all stays short.
 */
struct cpuidle_state {
	idlewise_state_ns exit_latency_ns;
	idlewise_state_ns target_residency_ns;
	unsigned int flags;
	unsigned int exit_latency;	/* us */
	unsigned int target_residency;	/* us */
	int power_usage;		/* mW; 0 */
};

/* The counters of the cpuidle core are not here: the ledger of a run has them. */
struct cpuidle_state_usage {
	unsigned long long disable;
};

struct cpuidle_device {
	u64 last_residency_ns;
	u64 poll_limit_ns;
	bool poll_time_limit;
	bool got_tick;			/* host: the sticky tick flag of this CPU */
	int last_state_idx;
	struct cpuidle_state_usage states_usage[CPUIDLE_STATE_MAX];
	unsigned int cpu;		/* dense: the order in which CPUs were added */
	unsigned int capacity;		/* host: of this CPU, 1024 for the biggest */
};

struct cpuidle_driver {
	int state_count;
	int safe_state_index;
	struct cpuidle_state states[CPUIDLE_STATE_MAX];
};

struct cpuidle_governor {
	char name[CPUIDLE_NAME_LEN];
	unsigned int rating;
	int (*enable)(struct cpuidle_driver *drv, struct cpuidle_device *dev);
	void (*disable)(struct cpuidle_driver *drv, struct cpuidle_device *dev);
	int (*select)(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick);
	void (*reflect)(struct cpuidle_device *dev, int index);
};

int cpuidle_register_governor(struct cpuidle_governor *gov);

static inline s64 cpuidle_governor_latency_req(unsigned int cpu __always_unused)
{
	return idlewise_env.in.latency_limit_ns;
}

/* Behind the device, which a loop over CPUs needs. */
#include <linux/cpumask.h>

#endif
