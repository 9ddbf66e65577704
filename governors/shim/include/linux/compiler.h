/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_COMPILER_H
#define _LINUX_COMPILER_H

#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define __always_unused		__attribute__((__unused__))
#define __maybe_unused		__attribute__((__unused__))
#define __used			__attribute__((__used__))
#define __section(name)		__attribute__((__section__(name)))
#define __printf(fmt, args)	__attribute__((__format__(printf, fmt, args)))
#define __aligned(x)		__attribute__((__aligned__(x)))
#define ____cacheline_aligned	__aligned(64)

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)

#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, val)	do { *(volatile typeof(x) *)&(x) = (val); } while (0)

#endif
