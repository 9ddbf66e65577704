/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * WALT's accounting over a task and a CPU: what walt.c does, in terms of the
 * caller's memory. walt-hooks.h has the layer above it, with tables of both.
 */
#ifndef SIGNALS_WALT_H
#define SIGNALS_WALT_H

#include <linux/types.h>

/* Full scale of capacities and utilisations. */
#define WALT_SCALE		1024

/* Windows that a task's history holds. */
#define WALT_HISTORY		5

/* Windows outside of this are refused, as Android's kernels do. */
#define WALT_WINDOW_MIN_NS	10000000
#define WALT_WINDOW_MAX_NS	1000000000

/* From this on, ns a window, interrupts are a reason to keep tasks away. */
#define WALT_HIGH_IRQLOAD_NS	10000000

/**
 * enum walt_event - what happens to a task
 * @WALT_PUT_PREV: it is switched out
 * @WALT_PICK_NEXT: it is switched in
 * @WALT_WAKE: it is woken, and not yet on a run queue
 * @WALT_MIGRATE: it changes its CPU while it could run
 * @WALT_UPDATE: nothing: time has passed for the task that runs
 * @WALT_IRQ: an interrupt is over that came while the CPU was idle
 */
enum walt_event {
	WALT_PUT_PREV,
	WALT_PICK_NEXT,
	WALT_WAKE,
	WALT_MIGRATE,
	WALT_UPDATE,
	WALT_IRQ,
};

/**
 * enum walt_policy - how a task's demand follows from its windows
 * @WALT_RECENT: the latest one
 * @WALT_MAX: the largest of the history
 * @WALT_MAX_RECENT_AVG: the latest one or the mean, whichever is larger
 * @WALT_AVG: the mean of the history
 */
enum walt_policy {
	WALT_RECENT,
	WALT_MAX,
	WALT_MAX_RECENT_AVG,
	WALT_AVG,
};

/**
 * enum walt_scaling - what a nanosecond counts on a slow clock or a small CPU
 * @WALT_BY_FREQUENCY: frequency / highest frequency; all CPUs are alike (RFC)
 * @WALT_BY_EFFICIENCY: the same, rounded up, then times the CPU's capacity
 *   (Android 3.18 to 4.9)
 * @WALT_BY_CAPACITY: the CPU's capacity at its frequency, in one step (4.14)
 */
enum walt_scaling {
	WALT_BY_FREQUENCY,
	WALT_BY_EFFICIENCY,
	WALT_BY_CAPACITY,
};

/**
 * struct walt_config - which WALT this is
 * @window_ns: length of a window, WALT_WINDOW_MIN_NS to WALT_WINDOW_MAX_NS
 * @policy: enum walt_policy
 * @scaling: enum walt_scaling
 * @init_load_pct: demand of a new task, per cent of a window, 0 to 100
 * @task_demand: keep histories and demands of tasks; the RFC has none
 * @follow_tasks: a task takes its share of busy time along when it migrates
 * @account_wait_time: waiting for a CPU counts as demand
 * @freq_account_wait_time: waiting for a CPU counts as busy time
 * @io_is_busy: an idle CPU whose tasks wait for I/O counts as busy
 * @place_by_busy_time: utilisation for placement is busy time, not demand
 * @exact_util: divide by the window, not by the window >> 10
 */
struct walt_config {
	u32 window_ns;
	u32 policy;
	u32 scaling;
	u32 init_load_pct;
	bool task_demand;
	bool follow_tasks;
	bool account_wait_time;
	bool freq_account_wait_time;
	bool io_is_busy;
	bool place_by_busy_time;
	bool exact_util;
};

/**
 * struct walt_task - a task, as WALT sees it
 * @mark_ns: time of its last event
 * @sum_ns: demand in the open window
 * @demand_ns: what its next window is expected to need
 * @history_ns: demand in the last windows that had any, the latest first
 * @curr_ns: its share of the CPU's busy time in the open window
 * @prev_ns: its share in the window before
 * @cpu: where it runs, waits or ran last; kept by walt-hooks.c
 * @seen: @mark_ns is a time
 * @idle: this is a CPU's idle task
 * @exiting: it is on its way out and counts for nothing but busy time
 * @queued: it runs or waits for a CPU
 * @waking: between waking up and being queued; kept by walt-hooks.c
 *
 * Times of demand and busy time are in nanoseconds at full speed of the
 * biggest CPU, none above a window.
 */
struct walt_task {
	u64 mark_ns;
	u32 sum_ns;
	u32 demand_ns;
	u32 history_ns[WALT_HISTORY];
	u32 curr_ns;
	u32 prev_ns;
	u32 cpu;
	bool seen;
	bool idle;
	bool exiting;
	bool queued;
	bool waking;
};

/**
 * struct walt_irqload - time that interrupts took from a CPU
 * @avg_ns: of the time before the last jiffy
 * @curr_ns: in that jiffy
 * @jiffy: of the last report
 */
struct walt_irqload {
	u64 avg_ns;
	u64 curr_ns;
	u64 jiffy;
};

/**
 * struct walt_cpu - a CPU, as WALT sees it
 * @window_start_ns: start of the open window, as of the last event
 * @curr_sum_ns: busy time in the open window
 * @prev_sum_ns: busy time in the last complete one
 * @demand_sum_ns: demand of the tasks that run or wait here
 * @irqload: time that interrupts took
 * @freq_khz: what it runs at
 * @max_freq_khz: the most that it can run at, 0 if unknown: always full speed
 * @capacity: at that, 1 to WALT_SCALE
 * @capacity_curr: at @freq_khz
 * @curr: task that it runs; kept by walt-hooks.c
 * @started: @window_start_ns is a time; before, nothing is accounted
 * @io_wait: tasks that ran here wait for I/O
 */
struct walt_cpu {
	u64 window_start_ns;
	u64 curr_sum_ns;
	u64 prev_sum_ns;
	u64 demand_sum_ns;
	struct walt_irqload irqload;
	u32 freq_khz;
	u32 max_freq_khz;
	u32 capacity;
	u32 capacity_curr;
	u32 curr;
	bool started;
	bool io_wait;
};

void walt_config_android(struct walt_config *config);
void walt_config_rfc(struct walt_config *config);
int walt_config_check(const struct walt_config *config);
u32 walt_window_in_ticks(u32 window_ns, u32 tick_ns);

void walt_cpu_init(struct walt_cpu *cpu, const struct walt_config *config, u32 capacity,
		   u32 max_freq_khz);
void walt_cpu_start(struct walt_cpu *cpu, u64 window_start_ns);
void walt_cpu_freq(struct walt_cpu *cpu, u32 freq_khz);
void walt_task_init(struct walt_task *task, const struct walt_config *config, u32 load_pct);
void walt_idle_init(struct walt_task *task);

void walt_account(const struct walt_config *config, struct walt_cpu *cpu, struct walt_task *task,
		  enum walt_event event, u64 now_ns, u64 irq_ns, bool current_task);
void walt_enqueue_task(struct walt_cpu *cpu, struct walt_task *task);
void walt_dequeue_task(struct walt_cpu *cpu, struct walt_task *task);
void walt_move_busy_time(struct walt_cpu *from, struct walt_cpu *to, const struct walt_task *task);

u32 walt_task_util(const struct walt_config *config, const struct walt_task *task);
u32 walt_cpu_util(const struct walt_config *config, const struct walt_cpu *cpu);
u32 walt_cpu_util_freq(const struct walt_config *config, const struct walt_cpu *cpu);

void walt_irqload_add(struct walt_irqload *irqload, u64 irq_ns, u64 jiffy);
u64 walt_irqload(const struct walt_irqload *irqload, u64 jiffy);
bool walt_irqload_high(const struct walt_irqload *irqload, u64 jiffy);

#endif
