/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_LOG2_H
#define _LINUX_LOG2_H

#include <linux/bitops.h>

/* A constant for a constant. */
#define ilog2(n)		(63 - __builtin_clzll(n))
#define is_power_of_2(n)	((n) != 0 && ((n) & ((n) - 1)) == 0)

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n < 2 ? 1 : 1UL << (__fls(n - 1) + 1);
}

static inline unsigned long rounddown_pow_of_two(unsigned long n)
{
	return 1UL << __fls(n);
}

#define order_base_2(n)		((n) > 1 ? ilog2((n) - 1) + 1 : 0)

#endif
