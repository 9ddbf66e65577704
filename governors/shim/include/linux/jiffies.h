/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_JIFFIES_H
#define _LINUX_JIFFIES_H

#include <linux/time64.h>
#include <idlewise/env.h>

/*
 * Constants in a kernel; here the period belongs to the run, so that one build
 * serves every HZ.
 */
#define TICK_NSEC		(idlewise_env.tick_nsec)

#endif
