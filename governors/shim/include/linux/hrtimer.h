/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_HRTIMER_H
#define _LINUX_HRTIMER_H

/*
 * A governor asks for times; it has no timers of its own here, since nothing
 * would run them.
 */
#include <linux/ktime.h>

#endif
