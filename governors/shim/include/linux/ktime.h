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

static inline ktime_t us_to_ktime(u64 us)
{
	return (ktime_t)(us * NSEC_PER_USEC);
}

static inline ktime_t ms_to_ktime(u64 ms)
{
	return (ktime_t)(ms * NSEC_PER_MSEC);
}

static inline s64 ktime_to_us(ktime_t kt)
{
	return kt / NSEC_PER_USEC;
}

static inline s64 ktime_to_ms(ktime_t kt)
{
	return kt / NSEC_PER_MSEC;
}

static inline ktime_t ktime_set(s64 secs, unsigned long nsecs)
{
	return secs * NSEC_PER_SEC + (s64)nsecs;
}

static inline int ktime_compare(ktime_t a, ktime_t b)
{
	return a < b ? -1 : a > b;
}

static inline bool ktime_after(ktime_t a, ktime_t b)
{
	return a > b;
}

static inline bool ktime_before(ktime_t a, ktime_t b)
{
	return a < b;
}

#define ktime_add(a, b)		((a) + (b))
#define ktime_sub(a, b)		((a) - (b))
#define ktime_add_ns(kt, ns)	((kt) + (ns))
#define ktime_sub_ns(kt, ns)	((kt) - (ns))
#define ktime_add_us(kt, us)	((kt) + (us) * NSEC_PER_USEC)
#define ktime_us_delta(a, b)	ktime_to_us(ktime_sub(a, b))
#define ktime_ms_delta(a, b)	ktime_to_ms(ktime_sub(a, b))

#include <linux/timekeeping.h>

#endif
