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
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)

#endif
