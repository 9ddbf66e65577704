/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_COMPILER_H
#define _LINUX_COMPILER_H

#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define __always_unused		__attribute__((__unused__))
#define __maybe_unused		__attribute__((__unused__))
#define __used			__attribute__((__used__))
#define __section(name)		__attribute__((__section__(name)))
#define __cold
#define __pure			__attribute__((__pure__))
#define __packed		__attribute__((__packed__))
#define noinline		__attribute__((__noinline__))
#define fallthrough		__attribute__((__fallthrough__))
#define __cpuidle
#define __printf(fmt, args)	__attribute__((__format__(printf, fmt, args)))
#define __aligned(x)		__attribute__((__aligned__(x)))
#define ____cacheline_aligned	__aligned(64)

#define barrier()		__asm__ __volatile__("" : : : "memory")
#define ____cacheline_aligned_in_smp ____cacheline_aligned

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)

#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, val)	do { *(volatile typeof(x) *)&(x) = (val); } while (0)

#endif
