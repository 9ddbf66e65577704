/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_MATH_H
#define _LINUX_MATH_H

#include <linux/types.h>

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP((unsigned long long)(n), d)
#define DIV_ROUND_DOWN_ULL(n, d) ((unsigned long long)(n) / (d))
#define DIV_ROUND_CLOSEST(n, d)	(((n) + (d) / 2) / (d))
#define DIV_ROUND_CLOSEST_ULL(n, d) DIV_ROUND_CLOSEST((unsigned long long)(n), d)

#define roundup(x, y)		(DIV_ROUND_UP(x, y) * (y))
#define rounddown(x, y)		({ typeof(x) round_x_ = (x); round_x_ - round_x_ % (y); })
/* Only for powers of two. */
#define round_up(x, y)		((((x) - 1) | ((typeof(x))(y) - 1)) + 1)
#define round_down(x, y)	((x) & ~((typeof(x))(y) - 1))

#define abs(x)			({ typeof((x) + 0) abs_x_ = (x); abs_x_ < 0 ? -abs_x_ : abs_x_; })
#define abs_diff(a, b)		({			\
	typeof(a) diff_a_ = (a);			\
	typeof(b) diff_b_ = (b);			\
	diff_a_ > diff_b_ ? diff_a_ - diff_b_ : diff_b_ - diff_a_; })

#define mult_frac(x, n, d)	({			\
	typeof(x) frac_x_ = (x);			\
	typeof(n) frac_n_ = (n);			\
	typeof(d) frac_d_ = (d);			\
	frac_x_ / frac_d_ * frac_n_ + frac_x_ % frac_d_ * frac_n_ / frac_d_; })

/* The root of the largest square that is no more than x, bit by bit. */
static inline u32 int_sqrt64(u64 x)
{
	u64 root = 0;
	int bit;

	for (bit = 31; bit >= 0; bit--) {
		u64 more = root | 1ULL << bit;

		if (more * more <= x)
			root = more;
	}
	return root;
}

static inline unsigned long int_sqrt(unsigned long x)
{
	return int_sqrt64(x);
}

#endif
