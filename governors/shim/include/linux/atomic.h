/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_ATOMIC_H
#define _LINUX_ATOMIC_H

#include <linux/types.h>

/* Nothing else runs meanwhile: these are plain reads and writes. */
typedef struct {
	s64 counter;
} atomic64_t;

#define ATOMIC_INIT(i)			{ (i) }
#define ATOMIC64_INIT(i)		{ (i) }
#define atomic_read(v)			((v)->counter)
#define atomic_set(v, i)		((void)((v)->counter = (i)))
#define atomic_add(i, v)		((void)((v)->counter += (i)))
#define atomic_sub(i, v)		((void)((v)->counter -= (i)))
#define atomic_inc(v)			atomic_add(1, v)
#define atomic_dec(v)			atomic_sub(1, v)
#define atomic_inc_return(v)		(++(v)->counter)
#define atomic_dec_return(v)		(--(v)->counter)
#define atomic_dec_and_test(v)		(--(v)->counter == 0)
#define atomic64_read(v)		atomic_read(v)
#define atomic64_set(v, i)		atomic_set(v, i)
#define atomic64_add(i, v)		atomic_add(i, v)
#define atomic64_inc(v)			atomic_inc(v)

#endif
