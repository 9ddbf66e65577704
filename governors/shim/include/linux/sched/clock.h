/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SCHED_CLOCK_H
#define _LINUX_SCHED_CLOCK_H

#include <idlewise/env.h>

static inline u64 local_clock(void)
{
	return idlewise_env.in.now_ns;
}

#endif
