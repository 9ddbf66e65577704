// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where C has the fields that src/walt/, src/pelt/ and src/c.rs declare once
 * more; tests compare.
 */
#include <linux/types.h>

#include "pelt-rq.h"
#include "walt-hooks.h"

#define END(type, field)	(offsetof(type, field) + sizeof(((type *)0)->field))

const u32 idlewise_walt_layout[] = {
	sizeof(struct walt_config), END(struct walt_config, exact_util),
	sizeof(struct walt_task), END(struct walt_task, prev_ns), END(struct walt_task, waking),
	sizeof(struct walt_cpu), offsetof(struct walt_cpu, irqload), END(struct walt_cpu, io_wait),
	sizeof(struct walt), offsetof(struct walt, cpus), END(struct walt, started),
};

const u32 idlewise_pelt_layout[] = {
	sizeof(struct pelt_config), END(struct pelt_config, limits_apart),
	sizeof(struct pelt_speed),
	sizeof(struct pelt_avg), END(struct pelt_avg, frac),
	sizeof(struct pelt_clock), END(struct pelt_clock, idle_now_ns),
	sizeof(struct pelt_task), offsetof(struct pelt_task, est), END(struct pelt_task, running),
	sizeof(struct pelt_rq), offsetof(struct pelt_rq, hw), END(struct pelt_rq, gone),
	sizeof(struct pelt_limits), END(struct pelt_limits, rt_runnable),
	sizeof(struct pelt_need),
};
