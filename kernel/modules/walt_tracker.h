/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of walt_tracker, and what it offers to others.
 */
#ifndef WALT_TRACKER_H
#define WALT_TRACKER_H

#include <linux/hashtable.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "walt-hooks.h"

struct task_struct;

/**
 * enum walt_call - the calls of walt-hooks.h that a scheduler causes
 * @WALT_CALL_CPU: walt_add_cpu(), the highest frequency in place of a task
 * @WALT_CALL_START: walt_start()
 * @WALT_CALL_NEW: walt_new_task()
 * @WALT_CALL_TICK: walt_tick()
 * @WALT_CALL_WAKE: walt_wake()
 * @WALT_CALL_MIGRATE: walt_migrate()
 * @WALT_CALL_ENQUEUE: walt_enqueue()
 * @WALT_CALL_SWITCH: walt_switch()
 * @WALT_CALL_IRQ: walt_irq()
 * @WALT_CALL_FREQ: walt_freq()
 * @WALT_CALL_EXIT: walt_exit()
 * @WALT_CALL_FORGET: walt_forget()
 */
enum walt_call {
	WALT_CALL_CPU,
	WALT_CALL_START,
	WALT_CALL_NEW,
	WALT_CALL_TICK,
	WALT_CALL_WAKE,
	WALT_CALL_MIGRATE,
	WALT_CALL_ENQUEUE,
	WALT_CALL_SWITCH,
	WALT_CALL_IRQ,
	WALT_CALL_FREQ,
	WALT_CALL_EXIT,
	WALT_CALL_FORGET,
	WALT_CALLS,
};

/**
 * struct walt_record - a call and what the books said after it
 * @now_ns: time of the call
 * @arg: capacity, sleeps, time of an interrupt or frequency
 * @cpu: CPU of the call, or where its task is
 * @task: task of the call, or what its CPU runs
 * @call: enum walt_call
 * @refused: the call returned an error
 * @window_start_ns: of @cpu, as are the next three
 * @prev_sum_ns: busy time in the last complete window
 * @curr_sum_ns: busy time in the open one
 * @demand_sum_ns: demand of the queue
 * @sum_ns: of @task, as are the next three
 * @demand_ns: demand
 * @task_prev_ns: share in the last complete window
 * @task_curr_ns: share in the open one
 */
struct walt_record {
	u64 now_ns;
	u64 arg;
	u32 cpu;
	u32 task;
	u16 call;
	u16 refused;
	u32 sum_ns;
	u64 window_start_ns;
	u64 prev_sum_ns;
	u64 curr_sum_ns;
	u64 demand_sum_ns;
	u32 demand_ns;
	u32 task_prev_ns;
	u32 task_curr_ns;
};

/**
 * struct walt_owner - whose a number of a task is
 * @node: in the table of all tasks
 * @task: the task, while it lives; its address is all that is used of it
 * @pid: of the task
 */
struct walt_owner {
	struct hlist_node node;
	const struct task_struct *task;
	pid_t pid;
};

#define WALT_TABLE_BITS		10

/**
 * struct walt_tracker - the system that this kernel runs
 * @lock: over all of it; nothing else is taken inside
 * @walt: the accounts
 * @now_ns: time of the last call
 * @owners: whose the numbers are, those of idle tasks left out
 * @table: owners by task
 * @free: numbers that nobody has
 * @nr_free: how many
 * @calls: how often each was made
 * @refused: calls that returned an error
 * @untracked: times that a task was met for which there was no number
 * @surprises: times that a CPU ran something else than was thought
 * @log: what is remembered of calls
 * @log_size: room in it
 * @log_used: used of it
 * @log_lost: calls for which there was no room
 */
struct walt_tracker {
	raw_spinlock_t lock;
	struct walt walt;
	u64 now_ns;
	struct walt_owner *owners;
	DECLARE_HASHTABLE(table, WALT_TABLE_BITS);
	u32 *free;
	u32 nr_free;
	u64 calls[WALT_CALLS];
	u64 refused;
	u64 untracked;
	u64 surprises;
	struct walt_record *log;
	u32 log_size;
	u32 log_used;
	u64 log_lost;
};

extern struct walt_tracker walt_tracker;

/* walt_books.c */
int walt_books_open(const struct walt_config *config, u32 max_tasks, u32 log_size);
void walt_books_close(void);
void walt_books_time(void);
u32 walt_books_number(struct task_struct *p);
void walt_books_call(enum walt_call call, u32 cpu, u32 task, u64 arg);

/* walt_show.c */
void walt_show_open(void);
void walt_show_close(void);

/* For governors. */
unsigned int walt_tracker_util(unsigned int cpu, unsigned int *capacity);

#endif
