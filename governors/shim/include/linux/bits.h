/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_BITS_H
#define _LINUX_BITS_H

#define BITS_PER_BYTE		8
#define BITS_PER_LONG		__LONG_WIDTH__
#define BITS_PER_LONG_LONG	64
#define BIT(nr)			(1UL << (nr))
#define BIT_ULL(nr)		(1ULL << (nr))
#define GENMASK(high, low) \
	((~0UL >> (BITS_PER_LONG - 1 - (high))) & (~0UL << (low)))
#define GENMASK_ULL(high, low) \
	((~0ULL >> (BITS_PER_LONG_LONG - 1 - (high))) & (~0ULL << (low)))

#endif
