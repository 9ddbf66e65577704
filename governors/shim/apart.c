// SPDX-License-Identifier: GPL-2.0-only
/*
 * A governor in a process of its own: what that process does from its beginning
 * to its end.
 *
 * It is an object of its own, with which no governor is linked. The process is
 * spawned as a copy of the host, and first gives back all of the host's memory.
 * Left are the pages of struct idlewise_control, a stack, and the object with its
 * data, which both sides see at the same addresses. Then it calls what the host
 * asks for, one function after the other. The host has installed a filter that
 * permits no other system calls than those below.
 */
#define IDLEWISE_HOST

#include <linux/compiler.h>
#include <linux/types.h>
#include <idlewise/apart.h>

#if defined(__x86_64__)
#define SYS_MUNMAP	11
#define SYS_FUTEX	202
#define SYS_EXIT_GROUP	231
#define pause()		__asm__ volatile("pause")

static long call(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	register unsigned long fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall" : "=a" (result)
			 : "0" (number), "D" (a), "S" (b), "d" (c), "r" (fourth)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)
#define SYS_MUNMAP	215
#define SYS_FUTEX	98
#define SYS_EXIT_GROUP	94

#ifdef __aarch64__
#define NUMBER		"x8"
#define ARGUMENT(n)	"x" #n
#define TRAP		"svc 0"
#define pause()		__asm__ volatile("yield")
#else
#define NUMBER		"a7"
#define ARGUMENT(n)	"a" #n
#define TRAP		"ecall"
#define pause()		__asm__ volatile("" ::: "memory")
#endif

static long call(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	register long n __asm__(NUMBER) = number;
	register unsigned long first __asm__(ARGUMENT(0)) = a;
	register unsigned long second __asm__(ARGUMENT(1)) = b;
	register unsigned long third __asm__(ARGUMENT(2)) = c;
	register unsigned long fourth __asm__(ARGUMENT(3)) = d;

	__asm__ volatile(TRAP : "+r" (first) : "r" (n), "r" (second), "r" (third), "r" (fourth) : "memory");
	return first;
}
#else
/* The host makes no processes on other machines: these calls are for them to write. */
#define SYS_MUNMAP	0
#define SYS_FUTEX	0
#define SYS_EXIT_GROUP	0
#define pause()		((void)0)

static long call(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	return number + (long)(a + b + c + d) ? -1 : -1;
}
#endif

#define FUTEX_WAIT	0
#define FUTEX_WAKE	1

static bool is_its_turn(struct idlewise_control *control)
{
	return __atomic_load_n(&control->turn, __ATOMIC_ACQUIRE) & IDLEWISE_GOVERNORS;
}

static void wait_for_turn(struct idlewise_control *control)
{
	u32 i;

	for (i = 0; i < control->spins; i++) {
		if (is_its_turn(control))
			return;
		pause();
	}
	while (!is_its_turn(control)) {
		u32 before = IDLEWISE_HOSTS;

		/* Fails where it is its turn by now, or where it says so already. */
		__atomic_compare_exchange_n(&control->turn, &before, IDLEWISE_HOSTS | IDLEWISE_SLEEPS, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		call(SYS_FUTEX, (unsigned long)&control->turn, FUTEX_WAIT, IDLEWISE_HOSTS | IDLEWISE_SLEEPS, 0);
	}
}

static void hand_over(struct idlewise_control *control)
{
	u32 before = __atomic_exchange_n(&control->turn, IDLEWISE_HOSTS, __ATOMIC_ACQ_REL);

	if (before & IDLEWISE_SLEEPS)
		call(SYS_FUTEX, (unsigned long)&control->turn, FUTEX_WAKE, 1, 0);
}

/* Gives back all memory but what is kept, in which this runs. */
static bool give_back(const struct idlewise_control *control)
{
	unsigned long from = 0, end;
	unsigned long i;

	for (i = 0; i < control->nr_kept; i++) {
		if (control->kept[i][0] > from && call(SYS_MUNMAP, from, control->kept[i][0] - from, 0, 0))
			return false;
		from = control->kept[i][1];
	}
	/* Where addresses end depends on the machine: at a power of two, or a page before it. */
	for (end = 1UL << 62; end > from; end >>= 1) {
		if (!call(SYS_MUNMAP, from, end - from, 0, 0) || !call(SYS_MUNMAP, from, end - 4096 - from, 0, 0))
			return true;
	}
	return false;
}

__attribute__((visibility("default"), noreturn)) void idlewise_apart(struct idlewise_control *control);

/**
 * idlewise_apart - the loop of a governor's process
 * @control: what it shares with the host
 *
 * Does not return.
 */
void idlewise_apart(struct idlewise_control *control)
{
	if (!give_back(control)) {
		for (;;)
			call(SYS_EXIT_GROUP, 1, 0, 0, 0);
	}
	for (;;) {
		unsigned long (*function)(unsigned long, unsigned long, unsigned long);

		wait_for_turn(control);
		function = (unsigned long (*)(unsigned long, unsigned long, unsigned long))control->function;
		control->result = function(control->argument[0], control->argument[1], control->argument[2]);
		hand_over(control);
	}
}

__attribute__((visibility("default"))) void idlewise_ask(struct idlewise_control *control);

/**
 * idlewise_ask - ask the host for the sleep length
 * @control: what the governor's process shares with it
 *
 * The host writes it into the inputs. Outside of select, and when it was asked
 * before, they stay as they are.
 */
void idlewise_ask(struct idlewise_control *control)
{
	if (!control->may_ask)
		return;
	control->asks = 1;
	hand_over(control);
	wait_for_turn(control);
}
