/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_MATH64_H
#define _LINUX_MATH64_H

#include <linux/types.h>

/* All of these are one instruction on a 64-bit machine. */
static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline s64 div_s64(s64 dividend, s32 divisor)
{
	return dividend / divisor;
}

static inline s64 div64_s64(s64 dividend, s64 divisor)
{
	return dividend / divisor;
}

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return (u64)((unsigned __int128)a * mul >> shift);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 mul, unsigned int shift)
{
	return (u64)((unsigned __int128)a * mul >> shift);
}

static inline u64 mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 mul, u64 div)
{
	return (u64)((unsigned __int128)a * mul / div);
}

/* Divides n in place and gives the remainder. */
#define do_div(n, base)		({			\
	u32 base_ = (base);				\
	u32 rest_ = (u64)(n) % base_;			\
	(n) = (u64)(n) / base_;				\
	rest_; })

#define DIV64_U64_ROUND_UP(n, d) ({ u64 up_d_ = (d); ((u64)(n) + up_d_ - 1) / up_d_; })
#define DIV64_U64_ROUND_CLOSEST(n, d) ({ u64 cl_d_ = (d); ((u64)(n) + cl_d_ / 2) / cl_d_; })
#define DIV_S64_ROUND_CLOSEST(n, d) ({			\
	s64 cl_n_ = (n);				\
	s32 cl_d_ = (d);				\
	((cl_n_ > 0) == (cl_d_ > 0) ? cl_n_ + cl_d_ / 2 : cl_n_ - cl_d_ / 2) / cl_d_; })
#define div64_long(x, y)	div64_s64((x), (y))
#define div64_ul(x, y)		div64_u64((x), (y))

#endif
