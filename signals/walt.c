// SPDX-License-Identifier: GPL-2.0-only
/*
 * WALT, window-assisted load tracking: what was used in whole windows of time.
 *
 * The idea: cut time into windows of some milliseconds, the same for all CPUs,
 * and add up. A CPU's utilisation is the time that it was busy in the last
 * complete window, nothing older. A task's demand is taken from the last five
 * windows in which it wanted to run at all, where waiting for a CPU counts like
 * running. Time is counted as it would have been on the biggest CPU at full
 * speed. What a task did in the open and in the last window moves with it to
 * another CPU. Time asleep leaves no trace: a task wakes up as large as it was.
 *
 * When it wins: bursts. One window after a task became busy its CPU is seen as
 * busy, and at the latest one window after it stopped the CPU is seen as idle,
 * where an average that decays by half in 32 ms takes 74 ms to come up to 80 %
 * and 213 ms to fade. A task that sleeps long, a frame or a touch, is not
 * forgotten.
 *
 * When it loses: loads that are short against a window, or that straddle one:
 * a burst of 10 ms in a window of 20 ms reads as one half or as two quarters,
 * as the phase has it. Nothing older than one window damps the clock, so it
 * follows every gap. A CPU that sleeps keeps the last busy window until its
 * next event; a single idle window says 0 of a CPU that was saturated before.
 *
 * Parameters: fields of struct walt_config. window_ns, 10 ms to 1 s, 20 ms in
 * Android, 10 ms in the RFC. policy, how demand follows from the history: the
 * latest window, the largest, the larger of latest and mean (default), the
 * mean. scaling, what a slow clock and a small CPU make of time.
 * init_load_pct, 15 % of a window for a new task. account_wait_time (on),
 * freq_account_wait_time and io_is_busy (off). task_demand and follow_tasks, on
 * in Android, off in the RFC. place_by_busy_time and exact_util, as before
 * demand was used to place tasks.
 *
 * Lineage: Qualcomm's kernels, then Android 3.18 and 4.4 (Pixel, Pixel 2), 4.9
 * and 4.14, posted for Linux 4.8 in an RFC of October 2016 that has the busy time
 * of CPUs only; never merged. Later vendor trees went on with cycle counters,
 * groups of tasks and predicted demand, which are not here. Rules: section B of
 * docs/reference/signal-behaviour.md.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "walt.h"

static u64 walt_sub(u64 from, u64 what)
{
	return from > what ? from - what : 0;
}

/**
 * walt_config_android - WALT as in Android 4.4
 * @config: is filled
 */
void walt_config_android(struct walt_config *config)
{
	*config = (struct walt_config) {
		.window_ns		= 20000000,
		.policy			= WALT_MAX_RECENT_AVG,
		.scaling		= WALT_BY_EFFICIENCY,
		.init_load_pct		= 15,
		.task_demand		= true,
		.follow_tasks		= true,
		.account_wait_time	= true,
	};
}

/**
 * walt_config_rfc - WALT as posted for Linux 4.8: busy time of CPUs only
 * @config: is filled
 */
void walt_config_rfc(struct walt_config *config)
{
	*config = (struct walt_config) {
		.window_ns		= 10000000,
		.policy			= WALT_RECENT,
		.scaling		= WALT_BY_FREQUENCY,
		.place_by_busy_time	= true,
		.exact_util		= true,
	};
}

/**
 * walt_config_check - whether the rest of this file can work with it
 * @config: settings
 *
 * Return: 0, or -EINVAL if a field is out of its range.
 */
int walt_config_check(const struct walt_config *config)
{
	if (config->window_ns < WALT_WINDOW_MIN_NS || config->window_ns > WALT_WINDOW_MAX_NS)
		return -EINVAL;
	if (config->policy > WALT_AVG || config->scaling > WALT_BY_CAPACITY)
		return -EINVAL;
	if (config->init_load_pct > 100)
		return -EINVAL;
	return 0;
}

/**
 * walt_window_in_ticks - a window of whole ticks, as Android 4.14 has it
 * @window_ns: wanted
 * @tick_ns: length of a tick
 *
 * Return: the longest such window that is no longer than @window_ns.
 */
u32 walt_window_in_ticks(u32 window_ns, u32 tick_ns)
{
	return tick_ns ? window_ns - window_ns % tick_ns : window_ns;
}

/**
 * walt_cpu_init - a CPU on which nothing has happened, at full speed
 * @cpu: is filled; accounting begins with walt_cpu_start()
 * @config: settings
 * @capacity: of the CPU at its highest frequency, 1 to WALT_SCALE
 * @max_freq_khz: that frequency, 0 if unknown
 */
void walt_cpu_init(struct walt_cpu *cpu, const struct walt_config *config, u32 capacity,
		   u32 max_freq_khz)
{
	memset(cpu, 0, sizeof(*cpu));
	/* The RFC knows no small CPUs. */
	cpu->capacity = config->scaling == WALT_BY_FREQUENCY ?
			WALT_SCALE : clamp_t(u32, capacity, 1, WALT_SCALE);
	cpu->max_freq_khz = max_freq_khz;
	walt_cpu_freq(cpu, max_freq_khz);
}

/**
 * walt_cpu_start - from now on account
 * @cpu: a CPU
 * @window_start_ns: when its open window began; the same phase on all CPUs
 */
void walt_cpu_start(struct walt_cpu *cpu, u64 window_start_ns)
{
	cpu->window_start_ns = window_start_ns;
	cpu->started = true;
}

/**
 * walt_cpu_freq - the clock has changed
 * @cpu: a CPU whose current task was brought up to now with WALT_UPDATE
 * @freq_khz: as the cpufreq core tells it; more than the highest is the highest
 */
void walt_cpu_freq(struct walt_cpu *cpu, u32 freq_khz)
{
	u32 scale = WALT_SCALE;

	cpu->freq_khz = min_t(u32, freq_khz, cpu->max_freq_khz);
	if (cpu->max_freq_khz)
		scale = div_u64((u64)cpu->freq_khz * WALT_SCALE, cpu->max_freq_khz);
	cpu->capacity_curr = cpu->capacity * scale / WALT_SCALE;
}

/* Remember @ns as each of the last windows. */
static void walt_task_expect(struct walt_task *task, u32 ns)
{
	int i;

	for (i = 0; i < WALT_HISTORY; i++)
		task->history_ns[i] = ns;
	task->demand_ns = ns;
}

/**
 * walt_task_init - a new task
 * @task: is filled
 * @config: settings
 * @load_pct: the demand to begin with, per cent of a window, 0 for the setting
 */
void walt_task_init(struct walt_task *task, const struct walt_config *config, u32 load_pct)
{
	u32 pct = min_t(u32, load_pct ? load_pct : config->init_load_pct, 100);

	memset(task, 0, sizeof(*task));
	if (config->task_demand)
		walt_task_expect(task, div_u64((u64)config->window_ns * pct, 100));
}

/**
 * walt_idle_init - the idle task of a CPU
 * @task: is filled
 */
void walt_idle_init(struct walt_task *task)
{
	memset(task, 0, sizeof(*task));
	task->idle = true;
}

/* What @ns on this CPU would have been on the biggest one at full speed. */
static u64 walt_scale(const struct walt_config *config, const struct walt_cpu *cpu, u64 ns)
{
	/* No piece is longer than a window, but a report of an interrupt may lie. */
	ns = min_t(u64, ns, U32_MAX);
	if (config->scaling == WALT_BY_CAPACITY)
		return ns * cpu->capacity_curr / WALT_SCALE;
	if (cpu->freq_khz < cpu->max_freq_khz)
		ns = div_u64(ns * cpu->freq_khz + cpu->max_freq_khz - 1, cpu->max_freq_khz);
	return ns * cpu->capacity / WALT_SCALE;
}

static bool walt_idles_for_io(const struct walt_config *config, const struct walt_cpu *cpu)
{
	return config->io_is_busy && cpu->io_wait;
}

static u32 walt_demand(const struct walt_config *config, const struct walt_task *task, u32 latest)
{
	u32 largest = 0, mean;
	u64 sum = 0;
	int i;

	for (i = 0; i < WALT_HISTORY; i++) {
		largest = max_t(u32, largest, task->history_ns[i]);
		sum += task->history_ns[i];
	}
	mean = div_u64(sum, WALT_HISTORY);

	switch (config->policy) {
	case WALT_RECENT:
		return latest;
	case WALT_MAX:
		return largest;
	case WALT_AVG:
		return mean;
	default:
		return max_t(u32, mean, latest);
	}
}

/* @windows windows are over in which @task needed @ns each; empty ones are not remembered. */
static void walt_remember(const struct walt_config *config, struct walt_cpu *cpu,
			  struct walt_task *task, u32 ns, u64 windows)
{
	u32 demand;
	int i;

	if (!ns || !windows)
		return;

	windows = min_t(u64, windows, WALT_HISTORY);
	for (i = WALT_HISTORY - 1; i >= 0; i--)
		task->history_ns[i] = i < (int)windows ? ns : task->history_ns[i - windows];
	task->sum_ns = 0;

	demand = walt_demand(config, task, ns);
	if (task->queued)
		cpu->demand_sum_ns = walt_sub(cpu->demand_sum_ns + demand, task->demand_ns);
	task->demand_ns = demand;
}

static void walt_add_demand(const struct walt_config *config, const struct walt_cpu *cpu,
			    struct walt_task *task, u64 ns)
{
	task->sum_ns = min_t(u64, task->sum_ns + walt_scale(config, cpu, ns), config->window_ns);
}

/* Demand: the time since the last event, if the task ran or waited in it. */
static void walt_account_demand(const struct walt_config *config, struct walt_cpu *cpu,
				struct walt_task *task, enum walt_event event, u64 now_ns)
{
	u64 start_ns = cpu->window_start_ns;
	bool crossed = task->mark_ns < start_ns;
	bool waited = event == WALT_PICK_NEXT || event == WALT_MIGRATE;
	u64 windows, rest_ns;

	if (task->idle || task->exiting)
		return;

	if (event == WALT_WAKE || (waited && !config->account_wait_time)) {
		if (crossed)
			walt_remember(config, cpu, task, task->sum_ns, 1);
		return;
	}

	if (!crossed) {
		walt_add_demand(config, cpu, task, now_ns - task->mark_ns);
		return;
	}

	/* The rest of the window of the last event, whole windows, and what is open. */
	windows = div64_u64_rem(start_ns - task->mark_ns, config->window_ns, &rest_ns);
	walt_add_demand(config, cpu, task, rest_ns);
	walt_remember(config, cpu, task, task->sum_ns, 1);
	if (windows)
		walt_remember(config, cpu, task, walt_scale(config, cpu, config->window_ns),
			      windows);
	walt_add_demand(config, cpu, task, now_ns - start_ns);
}

static bool walt_is_busy(const struct walt_config *config, const struct walt_cpu *cpu,
			 const struct walt_task *task, enum walt_event event, u64 irq_ns)
{
	if (task->idle)
		return event != WALT_PICK_NEXT && (irq_ns || walt_idles_for_io(config, cpu));
	if (event == WALT_PICK_NEXT || event == WALT_MIGRATE)
		return config->freq_account_wait_time;
	return event != WALT_WAKE;
}

/* An interrupt came while the CPU was idle, and a window has ended since the last event. */
static void walt_account_idle_irq(const struct walt_config *config, struct walt_cpu *cpu,
				  u64 now_ns, u64 irq_ns)
{
	u64 start_ns = cpu->window_start_ns;
	u64 since_ns = walt_sub(now_ns, irq_ns);
	u64 before_ns = min_t(u64, walt_sub(start_ns, since_ns), config->window_ns);

	cpu->prev_sum_ns = cpu->curr_sum_ns;
	if (since_ns > start_ns) {
		cpu->curr_sum_ns = walt_scale(config, cpu, irq_ns);
		return;
	}
	cpu->prev_sum_ns += walt_scale(config, cpu, before_ns);
	cpu->curr_sum_ns = walt_scale(config, cpu, now_ns - start_ns);
}

/* Busy time: what the CPU executed since the last event, and whose it was. */
static void walt_account_busy(const struct walt_config *config, struct walt_cpu *cpu,
			      struct walt_task *task, enum walt_event event, u64 now_ns,
			      u64 irq_ns, bool current_task)
{
	u64 start_ns = cpu->window_start_ns;
	bool crossed = task->mark_ns < start_ns;
	bool owns = !task->idle && !task->exiting;
	bool only_irq = task->idle && irq_ns && !walt_idles_for_io(config, cpu);
	u64 windows = crossed ? div_u64(start_ns - task->mark_ns, config->window_ns) : 0;
	u64 before_ns, after_ns;

	if (crossed && owns) {
		task->prev_ns = windows ? 0 : task->curr_ns;
		task->curr_ns = 0;
	}

	if (!walt_is_busy(config, cpu, task, event, irq_ns)) {
		if (crossed && current_task) {
			cpu->prev_sum_ns = windows ? 0 : cpu->curr_sum_ns;
			cpu->curr_sum_ns = 0;
		}
		return;
	}

	if (!crossed) {
		after_ns = walt_scale(config, cpu, only_irq ? irq_ns : now_ns - task->mark_ns);
		cpu->curr_sum_ns += after_ns;
		if (owns)
			task->curr_ns += after_ns;
		return;
	}

	if (current_task && only_irq) {
		walt_account_idle_irq(config, cpu, now_ns, irq_ns);
		return;
	}

	before_ns = walt_scale(config, cpu, windows ? config->window_ns : start_ns - task->mark_ns);
	after_ns = walt_scale(config, cpu, now_ns - start_ns);
	if (owns) {
		task->prev_ns = windows ? before_ns : task->prev_ns + before_ns;
		task->curr_ns = after_ns;
	}
	if (current_task) {
		cpu->prev_sum_ns = before_ns + (windows ? 0 : cpu->curr_sum_ns);
		cpu->curr_sum_ns = after_ns;
	} else {
		/* The window was closed with the current task's last event. */
		cpu->prev_sum_ns += before_ns;
		cpu->curr_sum_ns += after_ns;
	}
}

/**
 * walt_account - bring a task and its CPU up to now
 * @config: settings, checked
 * @cpu: where the task runs or waits or, for WALT_WAKE, ran last
 * @task: the task
 * @event: why
 * @now_ns: time; time that runs backwards is taken as not having passed
 * @irq_ns: for WALT_IRQ, how long the interrupt took
 * @current_task: the CPU runs it, which is still so in WALT_PUT_PREV and not
 *   yet so in WALT_PICK_NEXT; events of others come after one of the current
 *   task at the same time
 */
void walt_account(const struct walt_config *config, struct walt_cpu *cpu, struct walt_task *task,
		  enum walt_event event, u64 now_ns, u64 irq_ns, bool current_task)
{
	u64 passed_ns, rest_ns;

	if (!cpu->started)
		return;

	now_ns = max_t(u64, now_ns, cpu->window_start_ns);
	if (task->seen)
		now_ns = max_t(u64, now_ns, task->mark_ns);
	passed_ns = now_ns - cpu->window_start_ns;
	if (passed_ns >= config->window_ns) {
		div64_u64_rem(passed_ns, config->window_ns, &rest_ns);
		cpu->window_start_ns = now_ns - rest_ns;
	}

	if (task->seen) {
		if (config->task_demand)
			walt_account_demand(config, cpu, task, event, now_ns);
		walt_account_busy(config, cpu, task, event, now_ns, irq_ns, current_task);
	}
	task->mark_ns = now_ns;
	task->seen = true;
}

/**
 * walt_enqueue_task - from now on the task runs or waits on this CPU
 * @cpu: a CPU
 * @task: a task that is on no run queue
 */
void walt_enqueue_task(struct walt_cpu *cpu, struct walt_task *task)
{
	cpu->demand_sum_ns += task->demand_ns;
	task->queued = true;
}

/**
 * walt_dequeue_task - it no longer does
 * @cpu: where it was queued
 * @task: the task
 */
void walt_dequeue_task(struct walt_cpu *cpu, struct walt_task *task)
{
	cpu->demand_sum_ns = walt_sub(cpu->demand_sum_ns, task->demand_ns);
	task->queued = false;
}

/**
 * walt_move_busy_time - a task takes its share of busy time along
 * @from: the CPU that it leaves
 * @to: the CPU that it goes to, brought up to the same time
 * @task: the task, brought up to that time, too
 */
void walt_move_busy_time(struct walt_cpu *from, struct walt_cpu *to, const struct walt_task *task)
{
	from->curr_sum_ns = walt_sub(from->curr_sum_ns, task->curr_ns);
	to->curr_sum_ns += task->curr_ns;
	from->prev_sum_ns = walt_sub(from->prev_sum_ns, task->prev_ns);
	to->prev_sum_ns += task->prev_ns;
}
