// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a scheduler calls WALT, and which events follow from it.
 *
 * A wakeup comes in up to three calls, in the order in which a kernel tells
 * them: walt_wake() when the task is found to sleep, walt_migrate() if another
 * CPU was chosen for it, walt_enqueue() when it is on the run queue. A caller
 * that joins late or misses some is put right: a task that is switched in is on
 * the queue of that CPU, whatever was said before.
 */
#include <linux/errno.h>
#include <linux/types.h>

#include "walt-hooks.h"

static struct walt_task *walt_find(const struct walt *walt, u32 task)
{
	return task < walt->nr_tasks ? &walt->tasks[task] : NULL;
}

/* A task that can be queued: any but idle tasks. */
static struct walt_task *walt_find_real(const struct walt *walt, u32 task)
{
	return task < walt->nr_cpus ? NULL : walt_find(walt, task);
}

static struct walt_cpu *walt_cpu_of(const struct walt *walt, const struct walt_task *task)
{
	return &walt->cpus[task->cpu];
}

static bool walt_runs(const struct walt *walt, u32 task)
{
	return walt->cpus[walt->tasks[task].cpu].curr == task;
}

static void walt_update(struct walt *walt, struct walt_cpu *cpu, u64 now_ns)
{
	walt_account(&walt->config, cpu, &walt->tasks[cpu->curr], WALT_UPDATE, now_ns, 0, true);
}

/**
 * walt_init - a system on which nothing has happened
 * @walt: settings, numbers and memory are there; every CPU is still to be added
 *
 * Return: 0, or -EINVAL if a setting is out of range or there is no idle task
 * for a CPU.
 */
int walt_init(struct walt *walt)
{
	u32 i;

	if (walt_config_check(&walt->config) || !walt->nr_cpus || walt->nr_tasks < walt->nr_cpus)
		return -EINVAL;

	walt->started = false;
	for (i = 0; i < walt->nr_cpus; i++)
		walt_add_cpu(walt, i, WALT_SCALE, 0);
	for (i = walt->nr_cpus; i < walt->nr_tasks; i++)
		walt_task_init(&walt->tasks[i], &walt->config, 0);
	return 0;
}

/**
 * walt_add_cpu - a CPU, idle and at full speed
 * @walt: a system that has not started
 * @cpu: number
 * @capacity: at its highest frequency, 1 to WALT_SCALE
 * @max_freq_khz: that frequency, 0 if unknown
 *
 * Return: 0, or -EBUSY if the system has started.
 */
int walt_add_cpu(struct walt *walt, u32 cpu, u32 capacity, u32 max_freq_khz)
{
	if (cpu >= walt->nr_cpus)
		return -EINVAL;
	if (walt->started)
		return -EBUSY;

	walt_cpu_init(&walt->cpus[cpu], &walt->config, capacity, max_freq_khz);
	walt->cpus[cpu].curr = cpu;
	walt_idle_init(&walt->tasks[cpu]);
	walt->tasks[cpu].cpu = cpu;
	return 0;
}

/**
 * walt_forget - a task is gone, and its number is free
 * @walt: the system
 * @task: which
 *
 * Return: 0, or -EBUSY if it runs.
 */
int walt_forget(struct walt *walt, u32 task)
{
	struct walt_task *gone = walt_find_real(walt, task);
	u32 cpu;

	if (!gone)
		return -EINVAL;
	if (walt_runs(walt, task))
		return -EBUSY;

	if (gone->queued)
		walt_dequeue_task(walt_cpu_of(walt, gone), gone);
	cpu = gone->cpu;
	walt_task_init(gone, &walt->config, 0);
	gone->cpu = cpu;
	return 0;
}

/**
 * walt_new_task - a task that has never run
 * @walt: the system
 * @task: number; nothing is left of a task that had it
 * @cpu: where it will wake up unless it is migrated
 * @load_pct: its demand to begin with, per cent of a window, 0 for the setting
 *
 * Return: 0, or -EBUSY if a task of this number runs.
 */
int walt_new_task(struct walt *walt, u32 task, u32 cpu, u32 load_pct)
{
	int err;

	if (cpu >= walt->nr_cpus)
		return -EINVAL;
	err = walt_forget(walt, task);
	if (err)
		return err;

	walt_task_init(&walt->tasks[task], &walt->config, load_pct);
	walt->tasks[task].cpu = cpu;
	return 0;
}

/**
 * walt_start - the windows of all CPUs begin
 * @walt: a system; what was accounted stays
 * @now_ns: time
 *
 * Without it, each CPU starts with its first tick, and all with the phase of
 * the first of them.
 *
 * Return: 0, or -EBUSY if the system has started.
 */
int walt_start(struct walt *walt, u64 now_ns)
{
	u32 i;

	if (walt->started)
		return -EBUSY;

	walt->window_start_ns = now_ns;
	walt->started = true;
	for (i = 0; i < walt->nr_cpus; i++)
		walt_cpu_start(&walt->cpus[i], now_ns);
	return 0;
}

/**
 * walt_tick - time has passed for the task that runs
 * @walt: the system
 * @cpu: where
 * @now_ns: time
 *
 * Return: 0 or an error.
 */
int walt_tick(struct walt *walt, u32 cpu, u64 now_ns)
{
	if (cpu >= walt->nr_cpus)
		return -EINVAL;

	if (!walt->started) {
		walt->window_start_ns = now_ns;
		walt->started = true;
	}
	if (!walt->cpus[cpu].started)
		walt_cpu_start(&walt->cpus[cpu], walt->window_start_ns);
	walt_update(walt, &walt->cpus[cpu], now_ns);
	return 0;
}

/**
 * walt_wake - a task is about to be queued again
 * @walt: the system
 * @task: which; nothing happens if it did not sleep
 * @now_ns: time
 *
 * Return: 0 or an error.
 */
int walt_wake(struct walt *walt, u32 task, u64 now_ns)
{
	struct walt_task *woken = walt_find_real(walt, task);
	struct walt_cpu *cpu;

	if (!woken)
		return -EINVAL;
	if (woken->queued)
		return 0;

	cpu = walt_cpu_of(walt, woken);
	walt_update(walt, cpu, now_ns);
	walt_account(&walt->config, cpu, woken, WALT_WAKE, now_ns, 0, false);
	woken->waking = true;
	return 0;
}

/**
 * walt_migrate - a task changes its CPU
 * @walt: the system
 * @task: which; if it sleeps, it leaves its busy time behind
 * @to: its next CPU
 * @now_ns: time
 *
 * Return: 0, or -EBUSY if it runs.
 */
int walt_migrate(struct walt *walt, u32 task, u32 to, u64 now_ns)
{
	struct walt_task *moved = walt_find_real(walt, task);
	struct walt_cpu *from, *dest;
	bool queued;

	if (!moved || to >= walt->nr_cpus)
		return -EINVAL;
	if (moved->cpu == to)
		return 0;
	if (walt_runs(walt, task))
		return -EBUSY;

	from = walt_cpu_of(walt, moved);
	dest = &walt->cpus[to];
	queued = moved->queued;
	if ((queued || moved->waking) && !moved->exiting) {
		walt_update(walt, from, now_ns);
		walt_update(walt, dest, now_ns);
		walt_account(&walt->config, from, moved, WALT_MIGRATE, now_ns, 0, false);
		if (walt->config.follow_tasks)
			walt_move_busy_time(from, dest, moved);
	}
	if (queued) {
		walt_dequeue_task(from, moved);
		walt_enqueue_task(dest, moved);
	}
	moved->cpu = to;
	return 0;
}

/**
 * walt_enqueue - a task is on the run queue of its CPU
 * @walt: the system
 * @task: which; nothing happens if it was already
 *
 * Return: 0 or an error.
 */
int walt_enqueue(struct walt *walt, u32 task)
{
	struct walt_task *queued = walt_find_real(walt, task);

	if (!queued)
		return -EINVAL;

	queued->waking = false;
	if (!queued->queued)
		walt_enqueue_task(walt_cpu_of(walt, queued), queued);
	return 0;
}

/**
 * walt_switch - a CPU runs another task
 * @walt: the system
 * @cpu: where
 * @next: the task that runs now; the idle task has the CPU's number
 * @sleeps: the task that ran does not wait to run again
 * @now_ns: time
 *
 * Return: 0, -EINVAL for the idle task of another CPU, or -EBUSY if the next
 * task runs on another CPU.
 */
int walt_switch(struct walt *walt, u32 cpu, u32 next, bool sleeps, u64 now_ns)
{
	struct walt_task *out, *in = walt_find(walt, next);
	struct walt_cpu *here;

	if (cpu >= walt->nr_cpus || !in || (next < walt->nr_cpus && next != cpu))
		return -EINVAL;
	if (in->cpu != cpu && walt_migrate(walt, next, cpu, now_ns))
		return -EBUSY;
	if (!in->idle && !in->queued)
		walt_enqueue(walt, next);

	here = &walt->cpus[cpu];
	out = &walt->tasks[here->curr];
	walt_account(&walt->config, here, out, WALT_PUT_PREV, now_ns, 0, true);
	walt_account(&walt->config, here, in, WALT_PICK_NEXT, now_ns, 0, false);
	if (sleeps && out->queued && out != in)
		walt_dequeue_task(here, out);
	here->curr = next;
	return 0;
}

/**
 * walt_irq - an interrupt is over
 * @walt: the system
 * @cpu: where; nothing happens unless it is idle, since time of a task in
 *   which an interrupt came is the task's
 * @irq_ns: how long it took
 * @now_ns: time
 *
 * Return: 0 or an error.
 */
int walt_irq(struct walt *walt, u32 cpu, u64 irq_ns, u64 now_ns)
{
	if (cpu >= walt->nr_cpus)
		return -EINVAL;

	if (walt->cpus[cpu].curr == cpu)
		walt_account(&walt->config, &walt->cpus[cpu], &walt->tasks[cpu], WALT_IRQ, now_ns,
			     irq_ns, true);
	return 0;
}

/**
 * walt_freq - a CPU has changed its clock
 * @walt: the system
 * @cpu: which, once for each CPU of the clock
 * @freq_khz: the frequency from now on
 * @now_ns: time; until then the old one counts
 *
 * Return: 0 or an error.
 */
int walt_freq(struct walt *walt, u32 cpu, u32 freq_khz, u64 now_ns)
{
	if (cpu >= walt->nr_cpus)
		return -EINVAL;

	walt_update(walt, &walt->cpus[cpu], now_ns);
	walt_cpu_freq(&walt->cpus[cpu], freq_khz);
	return 0;
}

/**
 * walt_io_wait - whether tasks that ran on a CPU wait for I/O
 * @walt: the system
 * @cpu: where
 * @waits: at least one does; matters with io_is_busy only
 *
 * Return: 0 or an error.
 */
int walt_io_wait(struct walt *walt, u32 cpu, bool waits)
{
	if (cpu >= walt->nr_cpus)
		return -EINVAL;

	walt->cpus[cpu].io_wait = waits;
	return 0;
}

/**
 * walt_exit - a task is on its way out: from now on it has no demand
 * @walt: the system
 * @task: which
 *
 * Return: 0 or an error.
 */
int walt_exit(struct walt *walt, u32 task)
{
	struct walt_task *exiting = walt_find_real(walt, task);

	if (!exiting)
		return -EINVAL;

	exiting->exiting = true;
	return 0;
}
