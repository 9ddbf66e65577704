// SPDX-License-Identifier: GPL-2.0-only
/*
 * walt_tracker: WALT of the running system, without a change of its kernel.
 *
 * The scheduler's tracepoints say all that WALT needs to hear: switches,
 * wakeups, migrations, ends of tasks, interrupts, frequencies. They are found
 * by name, since most are not exported to modules by theirs. There is no
 * tracepoint for the tick; it is told by the timer that drives it, so high
 * resolution timers must be on. A module can also be loaded late: a task is
 * known from the first event on that names it.
 *
 * Differences to a WALT inside the scheduler: I/O waiters are not known, so
 * io_is_busy is not offered; the highest frequency of a CPU is the one that its
 * cpufreq policy has when this is loaded, and without a policy CPUs count as
 * being at full speed; no call of the frequency governor follows when a window
 * ends.
 */
#include <linux/cpufreq.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/topology.h>
#include <linux/smp.h>
#include <linux/tracepoint.h>

#include "walt_tracker.h"

static bool rfc;
module_param(rfc, bool, 0444);
MODULE_PARM_DESC(rfc, "busy time of CPUs only, as posted for Linux 4.8, not Android's WALT");

static uint window_ns;
module_param(window_ns, uint, 0444);
MODULE_PARM_DESC(window_ns, "length of a window, 10 ms to 1 s (0: 20 ms, or 10 ms with rfc)");

static uint policy = WALT_MAX_RECENT_AVG;
module_param(policy, uint, 0444);
MODULE_PARM_DESC(policy,
		 "demand of a task: 0 latest, 1 largest, 2 larger of latest and mean, 3 mean");

static uint max_tasks = 4096;
module_param(max_tasks, uint, 0444);
MODULE_PARM_DESC(max_tasks, "tasks that can be tracked at a time");

static uint log_events;
module_param(log_events, uint, 0444);
MODULE_PARM_DESC(log_events, "calls to remember for debugfs walt/log, from loading on (0: none)");

/**
 * struct walt_irq_time - interrupts of a CPU
 * @depth: how many are running, one inside the other
 * @since_ns: when the outermost began
 */
struct walt_irq_time {
	int depth;
	u64 since_ns;
};

static DEFINE_PER_CPU(struct walt_irq_time, walt_irq_times);

static unsigned long walt_lock(void)
	__acquires(&walt_tracker.lock)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&walt_tracker.lock, flags);
	walt_books_time();
	return flags;
}

static void walt_unlock(unsigned long flags)
	__releases(&walt_tracker.lock)
{
	raw_spin_unlock_irqrestore(&walt_tracker.lock, flags);
}

/* Wherever the books think that a task is, it is on its CPU. */
static u32 walt_number_here(struct task_struct *p)
{
	u32 number = walt_books_number(p);

	if (number != U32_MAX && walt_tracker.walt.tasks[number].cpu != task_cpu(p))
		walt_books_call(WALT_CALL_MIGRATE, task_cpu(p), number, 0);
	return number;
}

/* Whether a task that is switched out no longer wants to run. */
static bool walt_left(const struct task_struct *p)
{
#ifdef WALT_DELAYED_DEQUEUE
	if (p->se.sched_delayed)
		return true;
#endif
	return !p->on_rq;
}

static void walt_on_switch(void *unused, bool preempt, struct task_struct *prev,
			   struct task_struct *next, unsigned int prev_state)
{
	/* A task that is about to sleep may have been given a reason not to. */
	bool sleeps = prev_state && !preempt && walt_left(prev);
	u32 cpu = raw_smp_processor_id();
	unsigned long flags = walt_lock();
	u32 out = walt_books_number(prev);

	if (out != U32_MAX && walt_tracker.walt.cpus[cpu].curr != out) {
		walt_tracker.surprises++;
		walt_books_call(WALT_CALL_SWITCH, cpu, out, 0);
	}
	walt_books_call(WALT_CALL_SWITCH, cpu, walt_books_number(next), sleeps);
	if (prev_state & TASK_DEAD)
		walt_books_call(WALT_CALL_FORGET, cpu, out, 0);
	walt_unlock(flags);
}

static void walt_on_waking(void *unused, struct task_struct *p)
{
	unsigned long flags = walt_lock();
	u32 number = walt_books_number(p);

	if (number != U32_MAX && !walt_tracker.walt.tasks[number].queued)
		walt_books_call(WALT_CALL_WAKE, task_cpu(p), number, 0);
	walt_unlock(flags);
}

static void walt_on_wakeup(void *unused, struct task_struct *p)
{
	unsigned long flags = walt_lock();
	u32 number = walt_number_here(p);
	const struct walt_task *task = &walt_tracker.walt.tasks[number];

	if (number != U32_MAX && !task->queued) {
		/* It was found to be waking while it was not asleep yet. */
		if (!task->waking)
			walt_books_call(WALT_CALL_WAKE, task_cpu(p), number, 0);
		walt_books_call(WALT_CALL_ENQUEUE, task_cpu(p), number, 0);
	}
	walt_unlock(flags);
}

static void walt_on_wakeup_new(void *unused, struct task_struct *p)
{
	unsigned long flags = walt_lock();
	u32 number = walt_number_here(p);

	walt_books_call(WALT_CALL_WAKE, task_cpu(p), number, 0);
	walt_books_call(WALT_CALL_ENQUEUE, task_cpu(p), number, 0);
	walt_unlock(flags);
}

static void walt_on_migrate(void *unused, struct task_struct *p, int dest_cpu)
{
	unsigned long flags = walt_lock();

	walt_books_call(WALT_CALL_MIGRATE, dest_cpu, walt_books_number(p), 0);
	walt_unlock(flags);
}

static void walt_on_exit(void *unused, struct task_struct *p)
{
	unsigned long flags = walt_lock();

	walt_books_call(WALT_CALL_EXIT, task_cpu(p), walt_number_here(p), 0);
	walt_unlock(flags);
}

static void walt_on_frequency(void *unused, unsigned int frequency, unsigned int cpu)
{
	unsigned long flags = walt_lock();

	walt_books_call(WALT_CALL_FREQ, cpu, 0, frequency);
	walt_unlock(flags);
}

static void walt_irq_begins(void)
{
	struct walt_irq_time *time = this_cpu_ptr(&walt_irq_times);

	if (time->depth++ == 0)
		time->since_ns = ktime_get_mono_fast_ns();
}

static void walt_irq_ends(void)
{
	struct walt_irq_time *time = this_cpu_ptr(&walt_irq_times);
	unsigned long flags;

	/* Below 0 if the first that is heard of an interrupt is its end. */
	if (time->depth <= 0 || --time->depth > 0 || !is_idle_task(current))
		return;

	flags = walt_lock();
	walt_books_call(WALT_CALL_IRQ, raw_smp_processor_id(), 0,
			walt_tracker.now_ns - min(walt_tracker.now_ns, time->since_ns));
	walt_unlock(flags);
}

static void walt_on_irq_entry(void *unused, int irq, struct irqaction *action)
{
	walt_irq_begins();
}

static void walt_on_irq_exit(void *unused, int irq, struct irqaction *action, int ret)
{
	walt_irq_ends();
}

static void walt_on_softirq_entry(void *unused, unsigned int vec_nr)
{
	walt_irq_begins();
}

static void walt_on_softirq_exit(void *unused, unsigned int vec_nr)
{
	walt_irq_ends();
}

/* The tick's timer is known by the name of its function, which is looked up once. */
static bool walt_is_tick(const struct hrtimer *timer)
{
	static const void *tick, *other;
	const void *function = timer->function;
	char name[KSYM_SYMBOL_LEN];

	if (READ_ONCE(tick))
		return function == READ_ONCE(tick);
	if (function == READ_ONCE(other))
		return false;

	sprint_symbol(name, (unsigned long)function);
	if (str_has_prefix(name, "tick_nohz_handler+") ||
	    str_has_prefix(name, "tick_sched_timer+")) {
		WRITE_ONCE(tick, function);
		return true;
	}
	WRITE_ONCE(other, function);
	return false;
}

static void walt_on_hrtimer(void *unused, struct hrtimer *timer, ktime_t *now)
{
	unsigned long flags;

	if (!walt_is_tick(timer))
		return;

	flags = walt_lock();
	walt_books_call(WALT_CALL_TICK, raw_smp_processor_id(), 0, 0);
	walt_unlock(flags);
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
	bool registered;
} walt_probes[] = {
	{ "sched_switch", walt_on_switch },
	{ "sched_waking", walt_on_waking },
	{ "sched_wakeup", walt_on_wakeup },
	{ "sched_wakeup_new", walt_on_wakeup_new },
	{ "sched_migrate_task", walt_on_migrate },
	{ "sched_process_exit", walt_on_exit },
	{ "cpu_frequency", walt_on_frequency },
	{ "irq_handler_entry", walt_on_irq_entry },
	{ "irq_handler_exit", walt_on_irq_exit },
	{ "softirq_entry", walt_on_softirq_entry },
	{ "softirq_exit", walt_on_softirq_exit },
	{ "hrtimer_expire_entry", walt_on_hrtimer },
};

static void walt_match(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(walt_probes); i++) {
		if (!strcmp(tp->name, walt_probes[i].name))
			walt_probes[i].tp = tp;
	}
}

static void walt_stop_listening(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(walt_probes); i++) {
		if (walt_probes[i].registered)
			tracepoint_probe_unregister(walt_probes[i].tp, walt_probes[i].probe, NULL);
	}
	tracepoint_synchronize_unregister();
}

static int walt_listen(void)
{
	int i, err;

	for_each_kernel_tracepoint(walt_match, NULL);
	for (i = 0; i < ARRAY_SIZE(walt_probes); i++) {
		err = walt_probes[i].tp ? tracepoint_probe_register(walt_probes[i].tp,
								    walt_probes[i].probe, NULL) :
					  -ENOENT;
		if (err) {
			pr_err("walt: cannot listen to %s: %d\n", walt_probes[i].name, err);
			walt_stop_listening();
			return err;
		}
		walt_probes[i].registered = true;
	}
	return 0;
}

/* The frequencies that CPUs can have. */
static void walt_add_cpus(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct cpufreq_policy *freq = cpufreq_cpu_get(cpu);
		unsigned int max_khz = freq ? freq->cpuinfo.max_freq : 0;

		walt_books_call(WALT_CALL_CPU, cpu, max_khz, arch_scale_cpu_capacity(cpu));
		if (!freq) {
			pr_info_once("walt: no cpufreq policy: full speed is assumed\n");
			continue;
		}
		walt_books_call(WALT_CALL_FREQ, cpu, 0, freq->cur);
		cpufreq_cpu_put(freq);
	}
}

/* On each CPU: what it runs now has never been switched in. */
static void walt_join(void *unused)
{
	unsigned long flags = walt_lock();

	walt_books_call(WALT_CALL_SWITCH, raw_smp_processor_id(), walt_books_number(current), 0);
	walt_unlock(flags);
}

static int __init walt_tracker_init(void)
{
	struct walt_config config;
	int err;

	if (rfc) {
		walt_config_rfc(&config);
	} else {
		walt_config_android(&config);
		config.policy = policy;
	}
	if (window_ns)
		config.window_ns = window_ns;
	err = walt_config_check(&config);
	if (err) {
		pr_err("walt: a window of 10 ms to 1 s and a policy of 0 to 3 are needed\n");
		return err;
	}

	err = walt_books_open(&config, clamp(max_tasks, 1U, 1U << 20), log_events);
	if (err)
		return err;

	/* Nobody else calls yet. */
	walt_books_time();
	walt_add_cpus();
	walt_books_call(WALT_CALL_START, 0, 0, 0);

	err = walt_listen();
	if (err) {
		walt_books_close();
		return err;
	}
	on_each_cpu(walt_join, NULL, true);
	walt_show_open();
	return 0;
}
module_init(walt_tracker_init);

static void __exit walt_tracker_exit(void)
{
	walt_show_close();
	walt_stop_listening();
	walt_books_close();
}
module_exit(walt_tracker_exit);

MODULE_DESCRIPTION("WALT, window-assisted load tracking, fed from tracepoints");
MODULE_AUTHOR("The idlewise project");
MODULE_LICENSE("GPL");
