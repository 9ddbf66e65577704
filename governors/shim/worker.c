// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process of a foreign governor: it has the governor, the shim and what
 * include/idlewise/shared.h says, and nothing else.
 *
 * Linked with the governor into a program without a C library. Before any code
 * of the governor runs, it closes all files and leaves itself one system call:
 * to wait for the next question, or wake who waits for an answer.
 */
#define IDLEWISE_HOST

#include <linux/compiler.h>
#include <linux/string.h>
#include <idlewise/shared.h>
#include "system.h"

/* Stack that a governor may use; a kernel has 16 KiB. */
#define STACK			(8UL << 20)
/* Descriptors that are closed one by one where a kernel cannot close all. */
#define MOST_FILES		4096

#pragma GCC visibility push(hidden)
/* sanitizer.c: what has to be done before there is a filter. */
void idlewise_prepare(void);
extern void (*const __init_array_start[])(void) __attribute__((weak));
extern void (*const __init_array_end[])(void) __attribute__((weak));
void _start(void);
void idlewise_main(void);
#pragma GCC visibility pop

/* Where the kernel begins: it leaves the stack pointer, and nothing else. */
#if defined(__x86_64__)
__asm__(".globl _start\n.hidden _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall idlewise_main\n\tud2\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n.hidden _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tbl idlewise_main\n\tbrk #1\n");
#elif defined(__riscv)
__asm__(".globl _start\n.hidden _start\n_start:\n\tandi sp, sp, -16\n\tcall idlewise_main\n\tebreak\n");
#endif

static struct idlewise_shared *const shared = (struct idlewise_shared *)IDLEWISE_AT;

static void stop(void)
{
	idlewise_system(__NR_exit_group, 1, 0, 0, 0, 0, 0);
}

static void limit(long what, unsigned long value)
{
	unsigned long both[2] = { value, value };

	idlewise_system(__NR_prlimit64, 0, what, (long)both, 0, 0, 0);
}

/* Everything that needs the system. */
static void settle_in(void)
{
	struct {
		unsigned short length;
		const void *filter;
	} program;
	long fd;

	/* What both see is standard input. */
	if (idlewise_system(__NR_mmap, IDLEWISE_AT, IDLEWISE_ROOM, PROT_READ_WRITE, MAP_SHARED_FIXED, 0, 0) != (long)IDLEWISE_AT)
		stop();
	idlewise_system(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	/* It may have died before; then somebody else is the parent. */
	if (idlewise_system(__NR_getppid, 0, 0, 0, 0, 0, 0) != (long)shared->parent)
		stop();
	idlewise_system(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_STACK, STACK);
	if (idlewise_system(__NR_close_range, 0, ~0U, 0, 0, 0, 0))
		for (fd = 0; fd < MOST_FILES; fd++)
			idlewise_system(__NR_close, fd, 0, 0, 0, 0, 0);
#ifdef IDLEWISE_SHADOW
	idlewise_prepare();
#endif
	program.length = shared->nr_filter;
	program.filter = shared->filter;
	shared->error = -idlewise_system(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	if (!shared->error)
		shared->error = -idlewise_system(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0, 0);
}

static void answer(u32 asked)
{
	__atomic_store_n(&shared->answered, asked, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&shared->host_sleeps, __ATOMIC_SEQ_CST))
		idlewise_system(__NR_futex, (long)&shared->answered, FUTEX_WAKE, 1, 0, 0, 0);
}

static u32 next_question(u32 last)
{
	u32 asked, spins;

	for (spins = __atomic_load_n(&shared->spins, __ATOMIC_RELAXED); spins; spins--) {
		asked = __atomic_load_n(&shared->asked, __ATOMIC_ACQUIRE);
		if (asked != last)
			return asked;
		idlewise_relax();
	}
	__atomic_store_n(&shared->sleeps, 1, __ATOMIC_SEQ_CST);
	while ((asked = __atomic_load_n(&shared->asked, __ATOMIC_SEQ_CST)) == last)
		idlewise_system(__NR_futex, (long)&shared->asked, FUTEX_WAIT, last, 0, 0, 0);
	__atomic_store_n(&shared->sleeps, 0, __ATOMIC_RELAXED);
	return asked;
}

static void reflect(struct cpuidle_device *dev)
{
	shared->stage = IDLEWISE_STAGE_REFLECT;
	idlewise_env.in.now_ns = shared->left_ns;
	idlewise_env.governor->reflect(dev, shared->entered);
}

static void select(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	shared->stage = IDLEWISE_STAGE_SELECT;
	idlewise_env.in = shared->in;
	idlewise_env.stop_tick = true;
	idlewise_env.asked_sleep_length = false;
	shared->result = idlewise_env.governor->select(drv, dev, &idlewise_env.stop_tick);
	shared->stop_tick = idlewise_env.stop_tick;
	shared->asked_sleep_length = idlewise_env.asked_sleep_length;
}

static void obey(void)
{
	void *first = (void *)shared->arg[0], *second = (void *)shared->arg[1];

	switch (shared->question) {
	case IDLEWISE_COPY:
		memcpy(first, second, shared->arg[2]);
		break;
	case IDLEWISE_CALL:
		shared->result = ((long (*)(u64, u64))first)(shared->arg[1], shared->arg[2]);
		break;
	case IDLEWISE_ENABLE:
		shared->stage = IDLEWISE_STAGE_ENABLE;
		idlewise_env.device = second;
		shared->result = idlewise_env.governor->enable(first, second);
		break;
	case IDLEWISE_REFLECT:
		idlewise_env.device = second;
		reflect(second);
		break;
	case IDLEWISE_SELECT:
		idlewise_env.device = second;
		select(first, second);
		break;
	case IDLEWISE_REFLECT_SELECT:
		idlewise_env.device = second;
		reflect(second);
		select(first, second);
		break;
	case IDLEWISE_RESTART:
		memcpy(first, second, shared->arg[2]);
		shared->stage = IDLEWISE_STAGE_INIT;
		shared->result = shared->abi.init();
		break;
	}
}

void __used idlewise_main(void)
{
	void (*const *constructor)(void);
	u32 asked;

	settle_in();
	if (!shared->error) {
		shared->abi.version = IDLEWISE_ABI_VERSION;
		idlewise_abi(&shared->abi);
		/* Where sanitizers hear of variables; a governor may have some of its own. */
		for (constructor = __init_array_start; constructor < __init_array_end; constructor++)
			(*constructor)();
	}
	/* The first question is to be there. */
	for (asked = 1;; asked = next_question(asked)) {
		if (asked != 1)
			obey();
		shared->log_used = idlewise_log.used;
		shared->stage = IDLEWISE_STAGE_HOST;
		answer(asked);
	}
}
