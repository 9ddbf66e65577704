// SPDX-License-Identifier: GPL-2.0-only
/*
 * The books of the running system: which task has which number, and every call
 * of walt-hooks.h with, if it is wanted, a record of it.
 *
 * All memory is taken when the books are opened, because most calls come from
 * inside the scheduler, where nothing can be allocated. One lock is over all of
 * it, since a wakeup or a migration concerns two CPUs; it also puts the records
 * in the order in which the calls were made. This is a laboratory's tracker for
 * a few CPUs, not one for a server.
 */
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "walt_tracker.h"

struct walt_tracker walt_tracker = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(walt_tracker.lock),
};

/**
 * walt_books_open - take memory and begin with an empty system
 * @config: settings
 * @max_tasks: tasks that can be tracked at a time
 * @log_size: calls to remember
 *
 * Return: 0 or an error.
 */
int walt_books_open(const struct walt_config *config, u32 max_tasks, u32 log_size)
{
	struct walt_tracker *tracker = &walt_tracker;
	struct walt *walt = &tracker->walt;
	u32 i;

	walt->config = *config;
	walt->nr_cpus = nr_cpu_ids;
	walt->nr_tasks = nr_cpu_ids + max_tasks;
	walt->cpus = vcalloc(walt->nr_cpus, sizeof(*walt->cpus));
	walt->tasks = vcalloc(walt->nr_tasks, sizeof(*walt->tasks));
	tracker->owners = vcalloc(max_tasks, sizeof(*tracker->owners));
	tracker->free = vcalloc(max_tasks, sizeof(*tracker->free));
	if (log_size)
		tracker->log = vcalloc(log_size, sizeof(*tracker->log));
	if (!walt->cpus || !walt->tasks || !tracker->owners || !tracker->free ||
	    (log_size && !tracker->log)) {
		walt_books_close();
		return -ENOMEM;
	}

	hash_init(tracker->table);
	for (i = 0; i < max_tasks; i++)
		tracker->free[i] = walt->nr_tasks - 1 - i;
	tracker->nr_free = max_tasks;
	tracker->log_size = log_size;
	return walt_init(walt);
}

/**
 * walt_books_close - give all memory back; nobody calls any more
 */
void walt_books_close(void)
{
	struct walt_tracker *tracker = &walt_tracker;

	vfree(tracker->walt.cpus);
	vfree(tracker->walt.tasks);
	vfree(tracker->owners);
	vfree(tracker->free);
	vfree(tracker->log);
}

/**
 * walt_books_time - the next calls are made now
 *
 * Called with the lock held, so that times are in the order of the calls.
 */
void walt_books_time(void)
{
	walt_tracker.now_ns = max_t(u64, walt_tracker.now_ns, ktime_get_mono_fast_ns());
}

static struct walt_owner *walt_books_find(const struct task_struct *p)
{
	struct walt_owner *owner;

	hash_for_each_possible(walt_tracker.table, owner, node, (unsigned long)p) {
		if (owner->task == p)
			return owner;
	}
	return NULL;
}

/**
 * walt_books_number - the number of a task, a new one if it is not known yet
 * @p: a task
 *
 * Return: the number, or U32_MAX if there are none left.
 */
u32 walt_books_number(struct task_struct *p)
{
	struct walt_tracker *tracker = &walt_tracker;
	struct walt_owner *owner;
	u32 number;

	if (is_idle_task(p))
		return task_cpu(p);

	owner = walt_books_find(p);
	if (owner)
		return owner - tracker->owners + tracker->walt.nr_cpus;
	if (!tracker->nr_free) {
		tracker->untracked++;
		return U32_MAX;
	}

	number = tracker->free[--tracker->nr_free];
	owner = &tracker->owners[number - tracker->walt.nr_cpus];
	owner->task = p;
	owner->pid = p->pid;
	hash_add(tracker->table, &owner->node, (unsigned long)p);
	walt_books_call(WALT_CALL_NEW, task_cpu(p), number, 0);
	return number;
}

static void walt_books_free(u32 number)
{
	struct walt_tracker *tracker = &walt_tracker;
	struct walt_owner *owner = &tracker->owners[number - tracker->walt.nr_cpus];

	hash_del(&owner->node);
	owner->task = NULL;
	tracker->free[tracker->nr_free++] = number;
}

static int walt_books_do(struct walt *walt, const struct walt_record *record)
{
	u64 now_ns = record->now_ns;
	u32 cpu = record->cpu, task = record->task;

	switch ((enum walt_call)record->call) {
	case WALT_CALL_CPU:
		return walt_add_cpu(walt, cpu, record->arg, task);
	case WALT_CALL_START:
		return walt_start(walt, now_ns);
	case WALT_CALL_NEW:
		return walt_new_task(walt, task, cpu, 0);
	case WALT_CALL_TICK:
		return walt_tick(walt, cpu, now_ns);
	case WALT_CALL_WAKE:
		return walt_wake(walt, task, now_ns);
	case WALT_CALL_MIGRATE:
		return walt_migrate(walt, task, cpu, now_ns);
	case WALT_CALL_ENQUEUE:
		return walt_enqueue(walt, task);
	case WALT_CALL_SWITCH:
		return walt_switch(walt, cpu, task, record->arg, now_ns);
	case WALT_CALL_IRQ:
		return walt_irq(walt, cpu, record->arg, now_ns);
	case WALT_CALL_FREQ:
		return walt_freq(walt, cpu, record->arg, now_ns);
	case WALT_CALL_EXIT:
		return walt_exit(walt, task);
	case WALT_CALL_FORGET:
		return walt_forget(walt, task);
	case WALT_CALLS:
		break;
	}
	return -EINVAL;
}

/* What the books say of the CPU and the task of a call. */
static void walt_books_tell(const struct walt *walt, struct walt_record *record)
{
	const struct walt_cpu *cpu = &walt->cpus[record->cpu];
	const struct walt_task *task;

	switch ((enum walt_call)record->call) {
	case WALT_CALL_CPU:
	case WALT_CALL_START:
	case WALT_CALL_TICK:
	case WALT_CALL_IRQ:
	case WALT_CALL_FREQ:
		task = &walt->tasks[cpu->curr];
		break;
	default:
		task = &walt->tasks[record->task];
	}
	record->window_start_ns = cpu->window_start_ns;
	record->prev_sum_ns = cpu->prev_sum_ns;
	record->curr_sum_ns = cpu->curr_sum_ns;
	record->demand_sum_ns = cpu->demand_sum_ns;
	record->sum_ns = task->sum_ns;
	record->demand_ns = task->demand_ns;
	record->task_prev_ns = task->prev_ns;
	record->task_curr_ns = task->curr_ns;
}

/**
 * walt_books_call - make a call, and remember it if there is a log
 * @call: which
 * @cpu: its CPU, or where its task is; not compared with the books
 * @task: its task; nothing happens if that has no number
 * @arg: its other argument
 */
void walt_books_call(enum walt_call call, u32 cpu, u32 task, u64 arg)
{
	struct walt_tracker *tracker = &walt_tracker;
	struct walt_record record = {
		.now_ns = tracker->now_ns,
		.arg = arg,
		.cpu = cpu,
		.task = task,
		.call = call,
	};

	if (task == U32_MAX || cpu >= tracker->walt.nr_cpus)
		return;

	tracker->calls[call]++;
	record.refused = walt_books_do(&tracker->walt, &record) != 0;
	tracker->refused += record.refused;
	if (call == WALT_CALL_FORGET && !record.refused)
		walt_books_free(task);
	if (!tracker->log_size)
		return;
	if (tracker->log_used == tracker->log_size) {
		tracker->log_lost++;
		return;
	}
	walt_books_tell(&tracker->walt, &record);
	tracker->log[tracker->log_used++] = record;
}

/**
 * walt_tracker_util - how busy a CPU was in its last complete window
 * @cpu: a CPU; a window of an idle one ends with its next event only
 * @capacity: is filled with what a CPU that is always busy would have
 *
 * Return: 0 to @capacity.
 */
unsigned int walt_tracker_util(unsigned int cpu, unsigned int *capacity)
{
	struct walt_tracker *tracker = &walt_tracker;
	unsigned long flags;
	unsigned int util;

	raw_spin_lock_irqsave(&tracker->lock, flags);
	util = walt_cpu_util_freq(&tracker->walt.config, &tracker->walt.cpus[cpu]);
	*capacity = tracker->walt.cpus[cpu].capacity;
	raw_spin_unlock_irqrestore(&tracker->lock, flags);
	return util;
}
EXPORT_SYMBOL_GPL(walt_tracker_util);
