// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run queues under PELT: which event of a scheduler ages which average, and how
 * a task becomes part of its queue's, moves, sleeps and wakes up. Before a call,
 * pelt_rq_pass() is to bring the queue's clocks up to now.
 *
 * Calls that return a bool say whether a scheduler would ask the frequency's
 * governor: a period of the queue has ended, or tasks came or went.
 */
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "pelt-rq.h"

static u64 pelt_sub(u64 from, u64 what)
{
	return from > what ? from - what : 0;
}

/**
 * pelt_rq_init - a CPU at full speed on which nothing has happened
 * @rq: is filled; its clocks begin at 0
 * @capacity: of the CPU at its highest frequency, 1 to PELT_SCALE
 */
void pelt_rq_init(struct pelt_rq *rq, u32 capacity)
{
	memset(rq, 0, sizeof(*rq));
	pelt_rq_speed(rq, capacity, PELT_SCALE);
}

/**
 * pelt_rq_speed - a CPU has changed its speed
 * @rq: the CPU; time since the last pelt_rq_pass() will count at the new speed
 * @capacity: as above
 * @freq: frequency, PELT_SCALE for the highest
 */
void pelt_rq_speed(struct pelt_rq *rq, u32 capacity, u32 freq)
{
	rq->speed.capacity = clamp_t(u32, capacity, 1, PELT_SCALE);
	rq->speed.freq = min_t(u32, freq, PELT_SCALE);
}

/* Brings @avg up to @now_ns, for which time @load was there. */
static bool pelt_account(const struct pelt_config *config, const struct pelt_rq *rq,
			 struct pelt_avg *avg, u64 now_ns, u64 load)
{
	bool crossed = pelt_update(config, &rq->speed, avg, now_ns, load, load, load);

	if (crossed)
		pelt_publish(config, avg, 1);
	return crossed;
}

/**
 * pelt_rq_pass - time has passed
 * @config: settings, checked
 * @rq: a CPU
 * @now_ns: the wall's time; if it runs backwards, none has passed
 * @irq_ns: of it, what interrupts took, taken as just over
 * @steal_ns: of the rest, what a hypervisor took
 */
void pelt_rq_pass(const struct pelt_config *config, struct pelt_rq *rq, u64 now_ns, u64 irq_ns,
		  u64 steal_ns)
{
	u64 taken_ns = pelt_clock_pass(config, &rq->speed, &rq->clock, now_ns, irq_ns, steal_ns,
				       rq->class == PELT_IDLE);
	u64 wall_ns = rq->clock.wall_ns;
	bool crossed;

	if (!taken_ns)
		return;
	/* The frequency first here, and the capacity first on the clock. */
	if (config->scale_clock) {
		taken_ns = mul_u64_u32_shr(taken_ns, rq->speed.freq, 10);
		taken_ns = mul_u64_u32_shr(taken_ns, rq->speed.capacity, 10);
	}
	crossed = pelt_update(config, &rq->speed, &rq->irq, wall_ns - taken_ns, 0, 0, false);
	crossed |= pelt_update(config, &rq->speed, &rq->irq, wall_ns, 1, 1, true);
	if (crossed)
		pelt_publish(config, &rq->irq, 1);
}

/* An average never says more than its sum, whatever was rounded when parts were subtracted. */
static u64 pelt_least_sum(const struct pelt_config *config, u64 sum, u64 avg)
{
	return max_t(u64, sum, avg * (config->sum_max - PELT_PERIOD));
}

/* Takes away what a part had of the averages and of the sums. */
static void pelt_take(const struct pelt_config *config, struct pelt_avg *from,
		      const struct pelt_avg *part, u64 load_sum)
{
	from->util = pelt_sub(from->util, part->util);
	from->util_sum = pelt_least_sum(config, pelt_sub(from->util_sum, part->util_sum),
					from->util);
	from->runnable = pelt_sub(from->runnable, part->runnable);
	from->runnable_sum = pelt_least_sum(config,
					    pelt_sub(from->runnable_sum, part->runnable_sum),
					    from->runnable);
	from->load = pelt_sub(from->load, part->load);
	from->load_sum = pelt_least_sum(config, pelt_sub(from->load_sum, load_sum), from->load);
}

/* Tasks that left while they slept. */
static void pelt_take_gone(const struct pelt_config *config, struct pelt_rq *rq)
{
	u32 divider = pelt_divider(config, &rq->fair);
	struct pelt_avg part = {
		.util		= rq->gone_util,
		.util_sum	= min_t(u64, rq->gone_util * divider, rq->fair.util_sum),
		.runnable	= rq->gone_runnable,
		.runnable_sum	= rq->gone_runnable * divider,
		.load		= rq->gone_load,
	};

	pelt_take(config, &rq->fair, &part, rq->gone_load * divider);
	rq->gone_util = 0;
	rq->gone_runnable = 0;
	rq->gone_load = 0;
	rq->gone = false;
}

static bool pelt_update_fair(const struct pelt_config *config, struct pelt_rq *rq)
{
	bool changed = rq->gone;

	if (rq->gone)
		pelt_take_gone(config, rq);
	if (pelt_update(config, &rq->speed, &rq->fair, pelt_clock_now(&rq->clock), rq->weight,
			rq->nr_runnable, rq->class == PELT_FAIR)) {
		pelt_publish(config, &rq->fair, 1);
		changed = true;
	}
	return changed;
}

/* The task becomes part of its queue's sums, with its averages as they are. */
static void pelt_attach(const struct pelt_config *config, struct pelt_rq *rq,
			struct pelt_task *task)
{
	u32 divider = pelt_divider(config, &rq->fair);
	struct pelt_avg *avg = &task->avg;
	u64 load_sum = avg->load * divider;

	avg->last_ns = rq->fair.last_ns;
	avg->frac = rq->fair.frac;
	avg->util_sum = avg->util * divider;
	avg->runnable_sum = avg->runnable * divider;
	avg->load_sum = task->weight < load_sum ? div_u64(load_sum, task->weight) : 1;

	rq->fair.util += avg->util;
	rq->fair.util_sum += avg->util_sum;
	rq->fair.runnable += avg->runnable;
	rq->fair.runnable_sum += avg->runnable_sum;
	rq->fair.load += avg->load;
	rq->fair.load_sum += avg->load_sum * task->weight;
	task->attached = true;
}

/* Brings the task and its queue up to now. */
static bool pelt_touch(const struct pelt_config *config, struct pelt_rq *rq,
		       struct pelt_task *task)
{
	if (task->attached &&
	    pelt_update(config, &rq->speed, &task->avg, pelt_clock_now(&rq->clock), task->queued,
			task->queued && !task->lags, task->running)) {
		pelt_publish(config, &task->avg, task->weight);
		task->est &= ~config->est_flag;
	}
	return pelt_update_fair(config, rq);
}

/**
 * pelt_rq_age - what others do for a CPU that idles
 * @config: settings
 * @rq: the CPU
 *
 * Return: see above; any average counts.
 */
bool pelt_rq_age(const struct pelt_config *config, struct pelt_rq *rq)
{
	u64 now_ns = pelt_clock_now(&rq->clock);
	bool changed = pelt_update_fair(config, rq);

	changed |= pelt_account(config, rq, &rq->rt, now_ns, rq->class == PELT_RT);
	changed |= pelt_account(config, rq, &rq->dl, now_ns, rq->class == PELT_DL);
	changed |= pelt_account(config, rq, &rq->hw, rq->clock.task_ns, rq->hw_lost);
	changed |= pelt_account(config, rq, &rq->irq, rq->clock.wall_ns, 0);
	return changed;
}

/**
 * pelt_rq_hw - capacity that heat or firmware takes, told with every tick
 * @config: settings
 * @rq: the CPU
 * @lost: capacity missing since the last call, of PELT_SCALE
 *
 * Return: true if the average is new.
 */
bool pelt_rq_hw(const struct pelt_config *config, struct pelt_rq *rq, u64 lost)
{
	rq->hw_lost = lost;
	return pelt_account(config, rq, &rq->hw, rq->clock.task_ns, lost);
}

/**
 * pelt_task_init - a task that was made and has not been woken up yet
 * @task: is filled
 * @weight: 1024 for nice 0; less than 2 is 2
 */
void pelt_task_init(struct pelt_task *task, u32 weight)
{
	memset(task, 0, sizeof(*task));
	task->weight = max_t(u32, weight, 2);
	task->avg.load = task->weight;
}

/**
 * pelt_task_start - what is expected of a task that will be queued for the first
 *   time: half of what is left of the CPU, but no more than others of its weight
 * @rq: the CPU
 * @task: the task
 */
void pelt_task_start(const struct pelt_rq *rq, struct pelt_task *task)
{
	u64 left = pelt_sub(rq->speed.capacity, rq->fair.util) / 2;
	u64 others = div64_u64(rq->fair.util * task->weight, rq->fair.load + 1);

	if (left)
		task->avg.util = rq->fair.util ? min_t(u64, left, others) : left;
	task->avg.runnable = task->avg.util;
}

/**
 * pelt_enqueue - a task is woken up, new, comes from another CPU or back
 * @config: settings
 * @rq: the CPU
 * @task: a task that is not queued or lags here
 *
 * Return: see above.
 */
bool pelt_enqueue(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *task)
{
	bool changed;

	if (task->queued && !task->lags)
		return false;
	rq->est += pelt_est(config, task);
	changed = pelt_touch(config, rq, task);
	if (!task->attached) {
		pelt_attach(config, rq, task);
		changed = true;
	}
	if (!task->queued)
		rq->weight += task->weight;
	rq->nr_runnable++;
	task->queued = true;
	task->lags = false;
	return changed;
}

/**
 * pelt_dequeue - a task leaves its queue; pelt_switch() follows if it ran
 * @config: settings
 * @rq: the CPU
 * @task: a task that is queued here
 * @why: one that lags can still migrate, or sleep for good
 *
 * Return: see above.
 */
bool pelt_dequeue(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *task,
		  enum pelt_leave why)
{
	bool sleeps = (why == PELT_SLEEPS || why == PELT_LAGS) && !task->lags;
	bool changed;

	if (!task->queued || (why == PELT_LAGS && task->lags))
		return false;
	if (!task->lags)
		rq->est = pelt_sub(rq->est, pelt_est(config, task));
	if (sleeps && config->est_first)
		pelt_est_sleep(config, rq, task);

	changed = pelt_touch(config, rq, task);
	if (why == PELT_MIGRATES && task->attached) {
		pelt_take(config, &rq->fair, &task->avg, task->avg.load_sum * task->weight);
		task->attached = false;
		changed = true;
	}
	if (!task->lags)
		rq->nr_runnable = pelt_sub(rq->nr_runnable, 1);
	task->lags = why == PELT_LAGS;
	if (!task->lags) {
		task->queued = false;
		rq->weight = pelt_sub(rq->weight, task->weight);
	}
	if (sleeps && !config->est_first)
		pelt_est_sleep(config, rq, task);
	return changed;
}

/* The average of a class of its own; nothing for the others. */
static struct pelt_avg *pelt_class_avg(struct pelt_rq *rq, u32 class)
{
	if (class == PELT_RT)
		return &rq->rt;
	return class == PELT_DL ? &rq->dl : NULL;
}

/**
 * pelt_switch - a CPU makes one task give way to another
 * @config: settings
 * @rq: the CPU
 * @prev: what ran, if that is a fair task
 * @next_class: class of what runs from now on
 * @next: that, if it is a fair task
 *
 * Return: see above.
 */
bool pelt_switch(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *prev,
		 enum pelt_class next_class, struct pelt_task *next)
{
	struct pelt_avg *own = pelt_class_avg(rq, rq->class);
	struct pelt_avg *others = pelt_class_avg(rq, next_class);
	bool changed = false;

	if (prev) {
		changed = pelt_touch(config, rq, prev);
		prev->running = false;
	} else if (rq->class == PELT_FAIR) {
		changed = pelt_update_fair(config, rq);
	}
	if (own)
		pelt_account(config, rq, own, pelt_clock_now(&rq->clock), true);
	if (others && others != own)
		pelt_account(config, rq, others, pelt_clock_now(&rq->clock), false);
	if (next_class == PELT_IDLE && rq->class != PELT_IDLE)
		pelt_clock_idle(config, &rq->clock,
				(u64)rq->fair.util_sum + rq->rt.util_sum + rq->dl.util_sum);
	/* The queue had nothing to run until now. */
	if (rq->class == PELT_FAIR)
		rq->class = PELT_IDLE;
	if (next) {
		changed |= pelt_touch(config, rq, next);
		next->running = true;
	}
	rq->class = next_class;
	return changed;
}

/**
 * pelt_tick - time has passed for what a CPU runs
 * @config: settings
 * @rq: the CPU
 * @curr: what it runs, if that is a fair task
 *
 * Return: see above.
 */
bool pelt_tick(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *curr)
{
	struct pelt_avg *own = pelt_class_avg(rq, rq->class);

	if (own)
		return pelt_account(config, rq, own, pelt_clock_now(&rq->clock), true);
	if (curr)
		return pelt_touch(config, rq, curr);
	return rq->class == PELT_FAIR && pelt_update_fair(config, rq);
}

static void pelt_age_asleep(const struct pelt_config *config, const struct pelt_rq *rq,
			    struct pelt_task *task, u64 now_ns)
{
	if (pelt_update(config, &rq->speed, &task->avg, now_ns, 0, 0, false))
		pelt_publish(config, &task->avg, task->weight);
}

/**
 * pelt_remove - a task that sleeps leaves its CPU, for another one or for good
 * @config: settings
 * @rq: the CPU that it leaves; its clocks need not be up to now
 * @task: the task; one that is queued is left alone
 * @wall_ns: the wall's time, for a CPU that idles and does not know it
 */
void pelt_remove(const struct pelt_config *config, struct pelt_rq *rq, struct pelt_task *task,
		 u64 wall_ns)
{
	if (!task->attached || task->queued)
		return;
	pelt_task_sync(config, rq, task);
	rq->gone_util += task->avg.util;
	rq->gone_runnable += task->avg.runnable;
	rq->gone_load += task->avg.load;
	rq->gone = true;
	if (rq->class == PELT_IDLE)
		pelt_age_asleep(config, rq, task, pelt_clock_guess(config, &rq->clock, wall_ns));
	task->attached = false;
}

/**
 * pelt_task_sync - a task that sleeps is looked at
 * @config: settings
 * @rq: the CPU where it ran last
 * @task: is aged as far as its queue's averages are
 */
void pelt_task_sync(const struct pelt_config *config, const struct pelt_rq *rq,
		    struct pelt_task *task)
{
	if (task->attached && !task->queued)
		pelt_age_asleep(config, rq, task, rq->fair.last_ns);
}
