// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where C has the fields that src/walt.rs and src/c.rs declare once more; a
 * test compares.
 */
#include <linux/types.h>

#include "walt-hooks.h"

#define END(type, field)	(offsetof(type, field) + sizeof(((type *)0)->field))

const u32 idlewise_walt_layout[] = {
	sizeof(struct walt_config), END(struct walt_config, exact_util),
	sizeof(struct walt_task), END(struct walt_task, prev_ns), END(struct walt_task, waking),
	sizeof(struct walt_cpu), offsetof(struct walt_cpu, irqload), END(struct walt_cpu, io_wait),
	sizeof(struct walt), offsetof(struct walt, cpus), END(struct walt, started),
};
