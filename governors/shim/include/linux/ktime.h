/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KTIME_H
#define _LINUX_KTIME_H

#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/time64.h>
#include <linux/types.h>

#define KTIME_MAX		S64_MAX

static inline s64 ktime_to_ns(ktime_t kt)
{
	return kt;
}

static inline ktime_t ns_to_ktime(u64 ns)
{
	return (ktime_t)ns;
}

static inline s64 ktime_to_us(ktime_t kt)
{
	return kt / NSEC_PER_USEC;
}

#endif
