/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SCHED_IDLE_H
#define _LINUX_SCHED_IDLE_H

#include <linux/types.h>

/* Whether somebody waits for this CPU: not while its governor is asked. */
static inline bool need_resched(void)
{
	return false;
}

#endif
