/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls of a program without a C library. A governor that includes this
 * gains nothing: the filter that worker.c sets ends it.
 */
#ifndef IDLEWISE_SYSTEM_H
#define IDLEWISE_SYSTEM_H

#include <asm/unistd.h>

/* Numbers of the system's interface. */
#define PROT_READ_WRITE		3
#define MAP_SHARED_FIXED	0x100001
#define MAP_PRIVATE_FIXED	0x104022
#define PR_SET_PDEATHSIG	1
#define PR_SET_DUMPABLE		4
#define PR_SET_NO_NEW_PRIVS	38
#define SIGKILL			9
#define RLIMIT_STACK		3
#define RLIMIT_CORE		4
#define SECCOMP_SET_MODE_FILTER	1
#define FUTEX_WAIT		0
#define FUTEX_WAKE		1

static inline long idlewise_system(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a" (ret)
			 : "0" (nr), "D" (a), "S" (b), "d" (c), "r" (r10), "r" (r8), "r" (r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r" (x0)
			 : "r" (x8), "r" (x1), "r" (x2), "r" (x3), "r" (x4), "r" (x5)
			 : "memory");
	return x0;
#elif defined(__riscv) && __riscv_xlen == 64
	register long a7 __asm__("a7") = nr;
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	register long a4 __asm__("a4") = e;
	register long a5 __asm__("a5") = f;

	__asm__ volatile("ecall"
			 : "+r" (a0)
			 : "r" (a7), "r" (a1), "r" (a2), "r" (a3), "r" (a4), "r" (a5)
			 : "memory");
	return a0;
#else
#error "foreign governors run on x86-64, arm64 and 64-bit RISC-V"
#endif
}

/* A processor that looks at memory again and again may take its time. */
static inline void idlewise_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
