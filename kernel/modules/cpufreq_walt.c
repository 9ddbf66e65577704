// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walt frequency governor: schedutil, asked by another signal.
 *
 * The idea: where schedutil takes a decaying average of what a CPU was used,
 * this takes its busy time in the last complete WALT window. The rest is as
 * there: a quarter more than was used, the largest of the CPUs that share a
 * clock, the lowest operating point that is enough, and a pause between
 * changes. It is asked at the same moments, too.
 *
 * When it wins: a load that begins at once is seen in full one window later.
 *
 * When it loses: it does not see what came after the last window. What
 * schedutil knows besides is not looked at: deadlines, waits for I/O, limits of
 * tasks, and that a CPU has not been idle since. With a clock that several CPUs
 * share, one that fell asleep after a busy window keeps it up until it wakes.
 *
 * Parameters: rate_limit_us, the pause; 0, the default, for the driver's own.
 *
 * Lineage: as the RFC of October 2016 and Android's trees feed schedutil with
 * WALT. Rules: docs/reference/signal-behaviour.md, B8, C1 and C2.
 */
#include <linux/cpufreq.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/cpufreq.h>
#include <linux/slab.h>

#include "walt_tracker.h"

static uint rate_limit_us;
module_param(rate_limit_us, uint, 0644);
MODULE_PARM_DESC(rate_limit_us, "pause between two changes of a clock (0: the driver's own)");

/**
 * struct walt_policy_data - a clock
 * @policy: of the cpufreq core
 * @lock: several CPUs may ask at a time
 * @next_khz: the frequency asked for last
 * @wanted_khz: what followed from the utilisation then, before the driver's steps
 * @changed_ns: when
 * @limits_changed: look again, whenever that was
 * @work_lock: of the thread, where the driver sleeps
 * @work_pending: a change is on its way there
 * @irq_work: gets out of the scheduler
 * @work: makes the change
 * @worker: runs @work
 */
struct walt_policy_data {
	struct cpufreq_policy *policy;
	raw_spinlock_t lock;
	unsigned int next_khz;
	unsigned int wanted_khz;
	u64 changed_ns;
	bool limits_changed;
	struct mutex work_lock; /* one change at a time */
	bool work_pending;
	struct irq_work irq_work;
	struct kthread_work work;
	struct kthread_worker *worker;
};

struct walt_hook {
	struct update_util_data hook;
	struct walt_policy_data *data;
};

static DEFINE_PER_CPU(struct walt_hook, walt_hooks);

static bool walt_may_change_here(const struct cpufreq_policy *policy)
{
	return policy->dvfs_possible_from_any_cpu ||
	       cpumask_test_cpu(raw_smp_processor_id(), policy->cpus);
}

static u64 walt_pause_ns(struct cpufreq_policy *policy)
{
	uint pause_us = READ_ONCE(rate_limit_us);

	return (u64)(pause_us ? pause_us : cpufreq_policy_transition_delay_us(policy)) *
	       NSEC_PER_USEC;
}

/* The frequency at which the busiest CPU of the clock would have had a fifth to spare. */
static unsigned int walt_wanted_khz(const struct cpufreq_policy *policy)
{
	unsigned int cpu, most_khz = 0;

	for_each_cpu(cpu, policy->cpus) {
		unsigned int capacity, util = walt_tracker_util(cpu, &capacity);
		u64 khz;

		util = min(util + (util >> 2), capacity);
		khz = (u64)policy->cpuinfo.max_freq * util;
		most_khz = max_t(unsigned int, most_khz, div_u64(khz, capacity));
	}
	return most_khz;
}

/* Whether there is a new frequency to set, in data->next_khz. */
static bool walt_choose(struct walt_policy_data *data, u64 now_ns)
{
	struct cpufreq_policy *policy = data->policy;
	bool look = READ_ONCE(data->limits_changed);
	unsigned int wanted_khz, next_khz;

	if (!look && (s64)(now_ns - data->changed_ns) < (s64)walt_pause_ns(policy))
		return false;
	if (look) {
		WRITE_ONCE(data->limits_changed, false);
		/* The limits are read after this. */
		smp_mb();
	}

	wanted_khz = walt_wanted_khz(policy);
	if (wanted_khz == data->wanted_khz && !look)
		return false;

	data->wanted_khz = wanted_khz;
	next_khz = cpufreq_driver_resolve_freq(policy, wanted_khz);
	if (next_khz == data->next_khz)
		return false;

	data->next_khz = next_khz;
	data->changed_ns = now_ns;
	return true;
}

static void walt_on_util(struct update_util_data *hook, u64 now_ns, unsigned int flags)
{
	struct walt_policy_data *data = container_of(hook, struct walt_hook, hook)->data;
	struct cpufreq_policy *policy = data->policy;

	if (!walt_may_change_here(policy))
		return;

	raw_spin_lock(&data->lock);
	if (walt_choose(data, now_ns)) {
		if (policy->fast_switch_enabled) {
			cpufreq_driver_fast_switch(policy, data->next_khz);
		} else if (!data->work_pending) {
			data->work_pending = true;
			irq_work_queue(&data->irq_work);
		}
	}
	raw_spin_unlock(&data->lock);
}

static void walt_on_irq_work(struct irq_work *irq_work)
{
	struct walt_policy_data *data = container_of(irq_work, struct walt_policy_data, irq_work);

	kthread_queue_work(data->worker, &data->work);
}

static void walt_work(struct kthread_work *work)
{
	struct walt_policy_data *data = container_of(work, struct walt_policy_data, work);
	unsigned int khz;
	unsigned long flags;

	raw_spin_lock_irqsave(&data->lock, flags);
	khz = data->next_khz;
	data->work_pending = false;
	raw_spin_unlock_irqrestore(&data->lock, flags);

	mutex_lock(&data->work_lock);
	__cpufreq_driver_target(data->policy, khz, CPUFREQ_RELATION_L);
	mutex_unlock(&data->work_lock);
}

static int walt_gov_init(struct cpufreq_policy *policy)
{
	struct walt_policy_data *data;

	if (policy->governor_data)
		return -EBUSY;

	data = kzalloc(sizeof(*data), GFP_KERNEL);
	if (!data)
		return -ENOMEM;

	data->policy = policy;
	raw_spin_lock_init(&data->lock);
	mutex_init(&data->work_lock);
	init_irq_work(&data->irq_work, walt_on_irq_work);
	kthread_init_work(&data->work, walt_work);

	cpufreq_enable_fast_switch(policy);
	if (!policy->fast_switch_enabled) {
		data->worker = kthread_create_worker(0, "walt:%u", policy->cpu);
		if (IS_ERR(data->worker)) {
			int err = PTR_ERR(data->worker);

			kfree(data);
			return err;
		}
		sched_set_fifo(data->worker->task);
	}
	policy->governor_data = data;
	return 0;
}

static void walt_gov_exit(struct cpufreq_policy *policy)
{
	struct walt_policy_data *data = policy->governor_data;

	if (data->worker)
		kthread_destroy_worker(data->worker);
	policy->governor_data = NULL;
	cpufreq_disable_fast_switch(policy);
	kfree(data);
}

static int walt_gov_start(struct cpufreq_policy *policy)
{
	struct walt_policy_data *data = policy->governor_data;
	unsigned int cpu;

	data->next_khz = 0;
	data->wanted_khz = 0;
	data->changed_ns = 0;
	data->work_pending = false;
	data->limits_changed = true;

	for_each_cpu(cpu, policy->cpus) {
		struct walt_hook *hook = &per_cpu(walt_hooks, cpu);

		hook->data = data;
		cpufreq_add_update_util_hook(cpu, &hook->hook, walt_on_util);
	}
	return 0;
}

static void walt_gov_stop(struct cpufreq_policy *policy)
{
	struct walt_policy_data *data = policy->governor_data;
	unsigned int cpu;

	for_each_cpu(cpu, policy->cpus)
		cpufreq_remove_update_util_hook(cpu);
	synchronize_rcu();

	if (data->worker) {
		irq_work_sync(&data->irq_work);
		kthread_flush_worker(data->worker);
	}
}

static void walt_gov_limits(struct cpufreq_policy *policy)
{
	struct walt_policy_data *data = policy->governor_data;

	if (!policy->fast_switch_enabled) {
		mutex_lock(&data->work_lock);
		cpufreq_policy_apply_limits(policy);
		mutex_unlock(&data->work_lock);
	}
	/* The limits are written before this. */
	smp_wmb();
	WRITE_ONCE(data->limits_changed, true);
}

static struct cpufreq_governor walt_gov = {
	.name		= "walt",
	.owner		= THIS_MODULE,
	.flags		= CPUFREQ_GOV_DYNAMIC_SWITCHING,
	.init		= walt_gov_init,
	.exit		= walt_gov_exit,
	.start		= walt_gov_start,
	.stop		= walt_gov_stop,
	.limits		= walt_gov_limits,
};

static int __init cpufreq_walt_init(void)
{
	return cpufreq_register_governor(&walt_gov);
}
module_init(cpufreq_walt_init);

static void __exit cpufreq_walt_exit(void)
{
	cpufreq_unregister_governor(&walt_gov);
}
module_exit(cpufreq_walt_exit);

MODULE_DESCRIPTION("walt frequency governor: schedutil by WALT's busy time");
MODULE_AUTHOR("The idlewise project");
MODULE_LICENSE("GPL");
