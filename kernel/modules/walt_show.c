// SPDX-License-Identifier: GPL-2.0-only
/*
 * The books as text, in debugfs: walt/cpus, walt/tasks, walt/health, and
 * walt/log, which holds every call from the first on and can be played again
 * in user space.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "walt_tracker.h"

static const char * const walt_call_names[WALT_CALLS] = {
	[WALT_CALL_CPU]		= "cpu",
	[WALT_CALL_START]	= "start",
	[WALT_CALL_NEW]		= "new",
	[WALT_CALL_TICK]	= "tick",
	[WALT_CALL_WAKE]	= "wake",
	[WALT_CALL_MIGRATE]	= "migrate",
	[WALT_CALL_ENQUEUE]	= "enqueue",
	[WALT_CALL_SWITCH]	= "switch",
	[WALT_CALL_IRQ]		= "irq",
	[WALT_CALL_FREQ]	= "freq",
	[WALT_CALL_EXIT]	= "exit",
	[WALT_CALL_FORGET]	= "forget",
};

static struct dentry *walt_folder;

static int cpus_show(struct seq_file *file, void *unused)
{
	struct walt_tracker *tracker = &walt_tracker;
	const struct walt *walt = &tracker->walt;
	u32 i;

	seq_puts(file, "cpu window_start_ns prev_sum_ns curr_sum_ns demand_sum_ns ");
	seq_puts(file, "util util_freq freq_khz max_freq_khz capacity\n");
	for (i = 0; i < walt->nr_cpus; i++) {
		struct walt_cpu cpu;

		raw_spin_lock_irq(&tracker->lock);
		cpu = walt->cpus[i];
		raw_spin_unlock_irq(&tracker->lock);
		seq_printf(file, "%u %llu %llu %llu %llu %u %u %u %u %u\n", i, cpu.window_start_ns,
			   cpu.prev_sum_ns, cpu.curr_sum_ns, cpu.demand_sum_ns,
			   walt_cpu_util(&walt->config, &cpu),
			   walt_cpu_util_freq(&walt->config, &cpu),
			   cpu.freq_khz, cpu.max_freq_khz, cpu.capacity);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cpus);

static int tasks_show(struct seq_file *file, void *unused)
{
	struct walt_tracker *tracker = &walt_tracker;
	const struct walt *walt = &tracker->walt;
	u32 i;

	seq_puts(file, "pid cpu queued demand_ns sum_ns prev_ns curr_ns history_ns\n");
	for (i = walt->nr_cpus; i < walt->nr_tasks; i++) {
		struct walt_owner owner;
		struct walt_task task;

		raw_spin_lock_irq(&tracker->lock);
		owner = tracker->owners[i - walt->nr_cpus];
		task = walt->tasks[i];
		raw_spin_unlock_irq(&tracker->lock);
		if (!owner.task)
			continue;
		seq_printf(file, "%d %u %d %u %u %u %u %u,%u,%u,%u,%u\n", owner.pid, task.cpu,
			   task.queued, task.demand_ns, task.sum_ns, task.prev_ns, task.curr_ns,
			   task.history_ns[0], task.history_ns[1], task.history_ns[2],
			   task.history_ns[3], task.history_ns[4]);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tasks);

static int health_show(struct seq_file *file, void *unused)
{
	const struct walt_tracker *tracker = &walt_tracker;
	int i;

	for (i = 0; i < WALT_CALLS; i++)
		seq_printf(file, "%s %llu\n", walt_call_names[i], tracker->calls[i]);
	seq_printf(file, "refused %llu\n", tracker->refused);
	seq_printf(file, "untracked %llu\n", tracker->untracked);
	seq_printf(file, "surprises %llu\n", tracker->surprises);
	seq_printf(file, "logged %u\n", tracker->log_used);
	seq_printf(file, "not_logged %llu\n", tracker->log_lost);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(health);

/* Records that are there stay as they are, so they are read without the lock. */
static void *log_at(loff_t pos)
{
	u32 used = READ_ONCE(walt_tracker.log_used);

	if (pos == 0)
		return SEQ_START_TOKEN;
	return pos <= used ? &walt_tracker.log[pos - 1] : NULL;
}

static void *log_start(struct seq_file *file, loff_t *pos)
{
	return log_at(*pos);
}

static void *log_next(struct seq_file *file, void *at, loff_t *pos)
{
	return log_at(++*pos);
}

static void log_stop(struct seq_file *file, void *at)
{
}

static int log_show(struct seq_file *file, void *at)
{
	const struct walt_config *config = &walt_tracker.walt.config;
	const struct walt_record *r = at;

	if (at == SEQ_START_TOKEN) {
		seq_printf(file, "walt %u cpus\n", walt_tracker.walt.nr_cpus);
		seq_printf(file, "config %u %u %u %u %d %d %d %d %d %d %d\n", config->window_ns,
			   config->policy, config->scaling, config->init_load_pct,
			   config->task_demand, config->follow_tasks, config->account_wait_time,
			   config->freq_account_wait_time, config->io_is_busy,
			   config->place_by_busy_time, config->exact_util);
		seq_puts(file, "call now_ns cpu task arg refused window_start_ns prev_sum_ns ");
		seq_puts(file, "curr_sum_ns demand_sum_ns sum_ns demand_ns prev_ns curr_ns\n");
		return 0;
	}
	seq_printf(file, "%s %llu %u %u %llu %u %llu %llu %llu %llu %u %u %u %u\n",
		   walt_call_names[r->call], r->now_ns, r->cpu, r->task, r->arg, r->refused,
		   r->window_start_ns, r->prev_sum_ns, r->curr_sum_ns, r->demand_sum_ns, r->sum_ns,
		   r->demand_ns, r->task_prev_ns, r->task_curr_ns);
	return 0;
}

static const struct seq_operations log_sops = {
	.start	= log_start,
	.next	= log_next,
	.stop	= log_stop,
	.show	= log_show,
};
DEFINE_SEQ_ATTRIBUTE(log);

/**
 * walt_show_open - the files appear
 */
void walt_show_open(void)
{
	walt_folder = debugfs_create_dir("walt", NULL);
	debugfs_create_file("cpus", 0400, walt_folder, NULL, &cpus_fops);
	debugfs_create_file("tasks", 0400, walt_folder, NULL, &tasks_fops);
	debugfs_create_file("health", 0400, walt_folder, NULL, &health_fops);
	debugfs_create_file("log", 0400, walt_folder, NULL, &log_fops);
}

/**
 * walt_show_close - the files are gone, and nobody reads them any more
 */
void walt_show_close(void)
{
	debugfs_remove(walt_folder);
}
