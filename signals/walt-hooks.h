/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A system under WALT: tables of CPUs and tasks, and what its scheduler tells.
 */
#ifndef SIGNALS_WALT_HOOKS_H
#define SIGNALS_WALT_HOOKS_H

#include <linux/types.h>

#include "walt.h"

/**
 * struct walt - a system
 * @config: settings, not changed after walt_init()
 * @nr_cpus: CPUs
 * @nr_tasks: tasks; those numbered like a CPU are its idle task
 * @cpus: the caller's memory for them
 * @tasks: likewise; may move and grow between calls
 * @window_start_ns: when the first CPU to start began its first window
 * @started: @window_start_ns is a time
 *
 * Nothing here locks: the caller makes one call at a time. Times of the calls
 * that concern a CPU do not run backwards.
 *
 * All calls return 0, or -EINVAL if there is no such CPU or task and -EBUSY if
 * the task runs elsewhere; nothing has changed then.
 */
struct walt {
	struct walt_config config;
	u32 nr_cpus;
	u32 nr_tasks;
	struct walt_cpu *cpus;
	struct walt_task *tasks;
	u64 window_start_ns;
	bool started;
};

int walt_init(struct walt *walt);
int walt_add_cpu(struct walt *walt, u32 cpu, u32 capacity, u32 max_freq_khz);
int walt_new_task(struct walt *walt, u32 task, u32 cpu, u32 load_pct);
int walt_start(struct walt *walt, u64 now_ns);

int walt_tick(struct walt *walt, u32 cpu, u64 now_ns);
int walt_wake(struct walt *walt, u32 task, u64 now_ns);
int walt_migrate(struct walt *walt, u32 task, u32 to, u64 now_ns);
int walt_enqueue(struct walt *walt, u32 task);
int walt_switch(struct walt *walt, u32 cpu, u32 next, bool sleeps, u64 now_ns);
int walt_irq(struct walt *walt, u32 cpu, u64 irq_ns, u64 now_ns);
int walt_freq(struct walt *walt, u32 cpu, u32 freq_khz, u64 now_ns);
int walt_io_wait(struct walt *walt, u32 cpu, bool waits);
int walt_exit(struct walt *walt, u32 task);
int walt_forget(struct walt *walt, u32 task);

#endif
