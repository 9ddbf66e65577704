/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU's run queue and a task under PELT: what a scheduler tells pelt-rq.c, and
 * what pelt-util.c says of them.
 */
#ifndef SIGNALS_PELT_RQ_H
#define SIGNALS_PELT_RQ_H

#include <linux/types.h>

#include "pelt.h"

/**
 * enum pelt_class - what a CPU runs
 * @PELT_IDLE: its idle task
 * @PELT_FAIR: a fair task
 * @PELT_RT: a real-time task
 * @PELT_DL: a deadline task
 */
enum pelt_class {
	PELT_IDLE,
	PELT_FAIR,
	PELT_RT,
	PELT_DL,
};

/**
 * enum pelt_leave - why a task leaves its queue
 * @PELT_SLEEPS: it waits for something
 * @PELT_LAGS: the same, but it stays queued for a while, as from 6.12 on
 * @PELT_MIGRATES: it goes to another CPU, and takes its part of the sums along
 * @PELT_RETURNS: it will be queued here again at once
 */
enum pelt_leave {
	PELT_SLEEPS,
	PELT_LAGS,
	PELT_MIGRATES,
	PELT_RETURNS,
};

/**
 * struct pelt_task - a fair task
 * @avg: its own averages
 * @weight: 1024 for nice 0, at least 2
 * @est: utilisation when it last went to sleep or, with PELT_EST_ONE, the moving
 *   average of that; with est_flag in it
 * @est_avg: the moving average beside it
 * @attached: it is part of its queue's sums
 * @queued: it runs, waits or lags
 * @lags: it sleeps and is still queued
 * @running: its CPU runs it
 */
struct pelt_task {
	struct pelt_avg avg;
	u32 weight;
	u32 est;
	u32 est_avg;
	bool attached;
	bool queued;
	bool lags;
	bool running;
};

/**
 * struct pelt_rq - a CPU
 * @clock: its clocks
 * @speed: its capacity and frequency
 * @fair: of fair tasks, those included that sleep where they ran last
 * @rt: of real-time tasks
 * @dl: of deadline tasks
 * @irq: of interrupts and the hypervisor
 * @hw: of the capacity that heat or firmware took; its load is what is meant
 * @weight: of the tasks queued
 * @gone_load: of tasks that left while they slept, still to be subtracted
 * @gone_runnable: likewise
 * @gone_util: likewise
 * @hw_lost: capacity that is missing now
 * @nr_runnable: tasks that run or wait
 * @est: estimates of these, added up
 * @class: enum pelt_class
 * @gone: there is something to be subtracted
 */
struct pelt_rq {
	struct pelt_clock clock;
	struct pelt_speed speed;
	struct pelt_avg fair;
	struct pelt_avg rt;
	struct pelt_avg dl;
	struct pelt_avg irq;
	struct pelt_avg hw;
	u64 weight;
	u64 gone_load;
	u64 gone_runnable;
	u64 gone_util;
	u64 hw_lost;
	u32 nr_runnable;
	u32 est;
	u32 class;
	bool gone;
};

/**
 * struct pelt_limits - what else decides how fast a CPU has to be
 * @dl_bandwidth: that deadline tasks were promised, of PELT_SCALE
 * @clamp_min: least utilisation that a task on the queue asks for
 * @clamp_max: most that they are allowed together
 * @clamps: tasks have such limits at all
 * @rt_runnable: a real-time task runs or waits
 */
struct pelt_limits {
	u32 dl_bandwidth;
	u32 clamp_min;
	u32 clamp_max;
	bool clamps;
	bool rt_runnable;
};

/**
 * struct pelt_need - how fast a CPU has to be
 * @util: of the work that there is, 0 to its capacity
 * @min: but no less than this; 0 where limits are not told apart
 * @max: and no more than this; then the capacity
 */
struct pelt_need {
	u64 util;
	u64 min;
	u64 max;
};

void pelt_rq_init(struct pelt_rq *rq, u32 capacity);
void pelt_rq_speed(struct pelt_rq *rq, u32 capacity, u32 freq);
void pelt_rq_pass(const struct pelt_config *config, struct pelt_rq *rq, u64 now_ns, u64 irq_ns,
		  u64 steal_ns);
bool pelt_rq_age(const struct pelt_config *config, struct pelt_rq *rq);
bool pelt_rq_hw(const struct pelt_config *config, struct pelt_rq *rq, u64 lost);

void pelt_task_init(struct pelt_task *task, u32 weight);
void pelt_task_start(const struct pelt_rq *rq, struct pelt_task *task);
bool pelt_enqueue(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *task);
bool pelt_dequeue(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *task,
		  enum pelt_leave why);
bool pelt_switch(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *prev,
		 enum pelt_class next_class, struct pelt_task *next);
bool pelt_tick(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *curr);
void pelt_remove(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *task,
		 u64 wall_ns);
void pelt_task_sync(const struct pelt_config *config, const struct pelt_rq *rq,
		    struct pelt_task *task);

u32 pelt_est(const struct pelt_config *config, const struct pelt_task *task);
void pelt_est_sleep(const struct pelt_config *config, const struct pelt_rq *rq,
		    struct pelt_task *task);
u64 pelt_task_util(const struct pelt_config *config, const struct pelt_task *task);
u64 pelt_cpu_util(const struct pelt_config *config, const struct pelt_rq *rq,
		  const struct pelt_task *task, bool is_here, bool goes_here, bool boost);
u32 pelt_dl_bandwidth(u64 running_bw);
void pelt_need(const struct pelt_config *config, const struct pelt_rq *rq, u64 fair_util,
	       const struct pelt_limits *limits, struct pelt_need *need);
u64 pelt_busy(const struct pelt_config *config, const struct pelt_rq *rq);

#endif
