/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_BITOPS_H
#define _LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* Number of the highest bit set, from 1; 0 if none is. */
static __always_inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static __always_inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

/* Number of the lowest bit set, from 1; 0 if none is. */
static __always_inline int ffs(int x)
{
	return __builtin_ffs(x);
}

/* From 0; nothing may be asked of 0. */
static __always_inline unsigned long __fls(unsigned long x)
{
	return BITS_PER_LONG - 1 - __builtin_clzl(x);
}

static __always_inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static __always_inline unsigned int hweight8(unsigned int x)
{
	return __builtin_popcount(x & 0xff);
}

static __always_inline unsigned int hweight16(unsigned int x)
{
	return __builtin_popcount(x & 0xffff);
}

static __always_inline unsigned int hweight32(unsigned int x)
{
	return __builtin_popcount(x);
}

static __always_inline unsigned long hweight64(u64 x)
{
	return __builtin_popcountll(x);
}

static __always_inline unsigned long hweight_long(unsigned long x)
{
	return __builtin_popcountl(x);
}

static inline bool test_bit(long nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] >> nr % BITS_PER_LONG & 1;
}

static inline void __set_bit(long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= BIT(nr % BITS_PER_LONG);
}

static inline void __clear_bit(long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] &= ~BIT(nr % BITS_PER_LONG);
}

#define set_bit(nr, map)	__set_bit(nr, map)
#define clear_bit(nr, map)	__clear_bit(nr, map)

static inline unsigned long find_next_bit(const unsigned long *map, unsigned long size,
					  unsigned long from)
{
	while (from < size && !test_bit(from, map))
		from++;
	return from < size ? from : size;
}

static inline unsigned long find_next_zero_bit(const unsigned long *map, unsigned long size,
					       unsigned long from)
{
	while (from < size && test_bit(from, map))
		from++;
	return from < size ? from : size;
}

/* The highest bit set, or size. */
static inline unsigned long find_last_bit(const unsigned long *map, unsigned long size)
{
	unsigned long i;

	for (i = size; i > 0; i--)
		if (test_bit(i - 1, map))
			return i - 1;
	return size;
}

#define find_first_bit(map, size)	find_next_bit(map, size, 0)
#define find_first_zero_bit(map, size)	find_next_zero_bit(map, size, 0)
#define for_each_set_bit(bit, map, size) \
	for ((bit) = find_first_bit(map, size); (bit) < (size); \
	     (bit) = find_next_bit(map, size, (bit) + 1))

#endif
