/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_JIFFIES_H
#define _LINUX_JIFFIES_H

#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <idlewise/env.h>

/*
 * Constants in a kernel; here the period belongs to the run, so that one build
 * serves every HZ.
 */
#define TICK_NSEC		(idlewise_env.tick_nsec)
#define TICK_USEC		(((TICK_NSEC) + NSEC_PER_USEC / 2) / NSEC_PER_USEC)
#define HZ			((NSEC_PER_SEC + TICK_NSEC / 2) / TICK_NSEC)

/* Counted from the start of the clock, not from a time before boot. */
#define jiffies			((unsigned long)(idlewise_env.in.now_ns / TICK_NSEC))
#define get_jiffies_64()	((u64)jiffies)

#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before_eq(a, b)	time_after_eq(b, a)

#define msecs_to_jiffies(ms)	DIV64_U64_ROUND_UP((u64)(ms) * NSEC_PER_MSEC, TICK_NSEC)
#define usecs_to_jiffies(us)	DIV64_U64_ROUND_UP((u64)(us) * NSEC_PER_USEC, TICK_NSEC)
#define nsecs_to_jiffies(ns)	((unsigned long)((u64)(ns) / TICK_NSEC))
#define jiffies_to_msecs(j)	((unsigned int)((u64)(j) * TICK_NSEC / NSEC_PER_MSEC))
#define jiffies_to_usecs(j)	((unsigned int)((u64)(j) * TICK_NSEC / NSEC_PER_USEC))
#define jiffies_to_nsecs(j)	((u64)(j) * TICK_NSEC)

#endif
