// SPDX-License-Identifier: GPL-2.0-only
/*
 * What PELT's averages are read as: the estimate of a task that slept, and the
 * utilisations that place tasks and choose frequencies.
 */
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "pelt-rq.h"

/* Smaller changes of a task's utilisation are not worth remembering: 1 %. */
#define PELT_EST_MARGIN		(PELT_SCALE / 100)

/* A quarter of the moving average is new. */
#define PELT_EST_SHIFT		2

static u64 pelt_above(u64 value, u64 what)
{
	return value > what ? value - what : 0;
}

/**
 * pelt_est - what a task is expected to use when it runs again
 * @config: settings
 * @task: the task
 *
 * Return: a utilisation.
 */
u32 pelt_est(const struct pelt_config *config, const struct pelt_task *task)
{
	u32 est = task->est & ~config->est_flag;

	return config->est == PELT_EST_ONE ? est : max_t(u32, est, task->est_avg);
}

static void pelt_est_sleep_one(const struct pelt_config *config, const struct pelt_rq *rq,
			       struct pelt_task *task)
{
	u32 util = task->avg.util;
	u32 est = task->est;
	u32 fell;

	if (est <= util) {
		est = util;
	} else {
		fell = est - util;
		if (fell >= PELT_EST_MARGIN) {
			/* More than a CPU can do is no measure of the task. */
			if (util > rq->speed.capacity)
				return;
			/* What waited would have used more. */
			if (util + PELT_EST_MARGIN >= task->avg.runnable)
				est = ((est << PELT_EST_SHIFT) - fell) >> PELT_EST_SHIFT;
		}
	}
	task->est = est | config->est_flag;
}

static bool pelt_est_near(s64 diff)
{
	return diff < PELT_EST_MARGIN && diff > -PELT_EST_MARGIN;
}

static void pelt_est_sleep_two(const struct pelt_config *config, const struct pelt_rq *rq,
			       struct pelt_task *task)
{
	s64 util = task->avg.util;
	s64 from_avg = util - task->est_avg;
	s64 from_last = (s64)task->est - util;

	if (config->est == PELT_EST_TWO_UP && from_avg > 0) {
		task->est_avg = util;
	} else if (pelt_est_near(from_avg)) {
		if (pelt_est_near(from_last))
			return;
	} else {
		if (util > rq->speed.capacity)
			return;
		task->est_avg = (((s64)task->est_avg << PELT_EST_SHIFT) + from_avg) >>
				PELT_EST_SHIFT;
	}
	task->est = util | config->est_flag;
}

/**
 * pelt_est_sleep - a task goes to sleep: renew its estimate
 * @config: settings
 * @rq: the CPU where it ran
 * @task: the task; nothing happens if its utilisation is as old as its estimate
 */
void pelt_est_sleep(const struct pelt_config *config, const struct pelt_rq *rq,
		    struct pelt_task *task)
{
	if (config->est == PELT_EST_NONE || (task->est & config->est_flag))
		return;
	if (config->est == PELT_EST_ONE)
		pelt_est_sleep_one(config, rq, task);
	else
		pelt_est_sleep_two(config, rq, task);
}

/**
 * pelt_task_util - how large a task is
 * @config: settings
 * @task: the task
 *
 * Return: its utilisation or its estimate, whichever is larger.
 */
u64 pelt_task_util(const struct pelt_config *config, const struct pelt_task *task)
{
	return max_t(u64, task->avg.util, pelt_est(config, task));
}

/**
 * pelt_cpu_util - how full a CPU is of fair tasks
 * @config: settings
 * @rq: the CPU
 * @task: a task that may go elsewhere, or NULL
 * @is_here: it runs, waits or ran last on this CPU
 * @goes_here: it will
 * @boost: tasks that wait count as if they ran (6.5)
 *
 * Return: 0 to the CPU's capacity.
 */
u64 pelt_cpu_util(const struct pelt_config *config, const struct pelt_rq *rq,
		  const struct pelt_task *task, bool is_here, bool goes_here, bool boost)
{
	u64 util = rq->fair.util, runnable = rq->fair.runnable, est = rq->est;

	if (task && goes_here && !is_here) {
		util += task->avg.util;
		runnable += task->avg.runnable;
	} else if (task && is_here && !goes_here) {
		util = pelt_above(util, task->avg.util);
		runnable = pelt_above(runnable, task->avg.runnable);
	}
	if (boost)
		util = max_t(u64, util, runnable);

	if (task && goes_here)
		est += pelt_est(config, task);
	else if (task && (task->queued || task->running))
		est = pelt_above(est, pelt_est(config, task));
	util = max_t(u64, util, est);
	return min_t(u64, util, rq->speed.capacity);
}

/**
 * pelt_dl_bandwidth - what deadline tasks were promised
 * @running_bw: sum of run time by period of those that are active, times 2^20
 *
 * Return: the same, times PELT_SCALE.
 */
u32 pelt_dl_bandwidth(u64 running_bw)
{
	return running_bw * PELT_SCALE >> 20;
}

/* What interrupts leave of a CPU is all that tasks can use, and theirs comes on top. */
static u64 pelt_with_irq(const struct pelt_rq *rq, u64 util)
{
	u64 capacity = rq->speed.capacity, irq = rq->irq.util;

	return div64_u64(util * (capacity - irq), capacity) + irq;
}

/* Limits within the utilisation, as before limits_apart. */
static u64 pelt_freq_util(const struct pelt_rq *rq, u64 fair_util, const struct pelt_limits *limits)
{
	u64 capacity = rq->speed.capacity;
	u64 util = fair_util + rq->rt.util;

	if (rq->irq.util >= capacity || (!limits->clamps && limits->rt_runnable))
		return capacity;
	if (limits->clamps)
		util = min_t(u64, max_t(u64, util, limits->clamp_min), limits->clamp_max);
	if (util + rq->dl.util >= capacity)
		return capacity;
	return min_t(u64, capacity, pelt_with_irq(rq, util) + limits->dl_bandwidth);
}

/* All classes and interrupts, no limits. */
static u64 pelt_all_util(const struct pelt_rq *rq, u64 fair_util)
{
	u64 capacity = rq->speed.capacity;
	u64 util = fair_util + rq->rt.util + rq->dl.util;

	if (rq->irq.util >= capacity || util >= capacity)
		return capacity;
	return min_t(u64, capacity, pelt_with_irq(rq, util));
}

/**
 * pelt_need - how fast a CPU has to be
 * @config: settings
 * @rq: the CPU
 * @fair_util: of fair tasks, from pelt_cpu_util()
 * @limits: what else decides
 * @need: is filled
 */
void pelt_need(const struct pelt_config *config, const struct pelt_rq *rq, u64 fair_util,
	       const struct pelt_limits *limits, struct pelt_need *need)
{
	u64 capacity = rq->speed.capacity;

	if (!config->limits_apart) {
		need->util = pelt_freq_util(rq, fair_util, limits);
		need->min = 0;
		need->max = capacity;
		return;
	}
	need->util = pelt_all_util(rq, fair_util);
	if (rq->irq.util >= capacity) {
		need->min = capacity;
		need->max = capacity;
		return;
	}
	need->min = max_t(u64, rq->irq.util + limits->dl_bandwidth,
			  limits->clamps ? limits->clamp_min : 0);
	if (!limits->clamps && limits->rt_runnable)
		need->min = max_t(u64, need->min, capacity);
	need->max = limits->clamps ? min_t(u64, capacity, limits->clamp_max) : capacity;
}

/**
 * pelt_busy - how busy a CPU is, as governors of idle states and others ask it
 * @config: settings
 * @rq: the CPU
 *
 * Return: 0 to the CPU's capacity.
 */
u64 pelt_busy(const struct pelt_config *config, const struct pelt_rq *rq)
{
	return pelt_all_util(rq, pelt_cpu_util(config, rq, NULL, false, false, false));
}
