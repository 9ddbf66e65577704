/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_MINMAX_H
#define _LINUX_MINMAX_H

#define min_t(type, a, b) ({				\
	type min_a_ = (a);				\
	type min_b_ = (b);				\
	min_a_ < min_b_ ? min_a_ : min_b_; })

#define max_t(type, a, b) ({				\
	type max_a_ = (a);				\
	type max_b_ = (b);				\
	max_a_ > max_b_ ? max_a_ : max_b_; })

#define min(a, b)		min_t(typeof((a) + (b)), a, b)
#define max(a, b)		max_t(typeof((a) + (b)), a, b)
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define min_not_zero(a, b)	({			\
	typeof(a) nz_a_ = (a);				\
	typeof(b) nz_b_ = (b);				\
	nz_a_ == 0 ? nz_b_ : nz_b_ == 0 ? nz_a_ : min(nz_a_, nz_b_); })
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)
#define clamp_val(v, lo, hi)	clamp_t(typeof(v), v, lo, hi)
#define in_range(v, start, len)	((v) >= (start) && (v) - (start) < (len))

#define swap(a, b)		do {			\
	typeof(a) swap_a_ = (a);			\
	(a) = (b);					\
	(b) = swap_a_;					\
} while (0)

#endif
