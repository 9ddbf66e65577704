// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recording what governors are told and choose; see in-governor.h.
 */
#include <linux/bits.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/stat.h>
#include <linux/sched/topology.h>
#include <linux/string.h>
#include <linux/tick.h>

#include "idlewise.h"

#define CREATE_TRACE_POINTS
#include "record-trace.h"

/* The answers to the governor that is running on this CPU. */
static DEFINE_PER_CPU(struct iw_told, iw_told);

#ifdef CONFIG_IDLEWISE_KUNIT_TEST
#define IW_HOOKS_MAX	32

static const struct iw_hooks *iw_all[IW_HOOKS_MAX];
static unsigned int iw_nr_all;

static DEFINE_STATIC_KEY_FALSE(iw_testing);
static struct task_struct *iw_tester;
static struct iw_told *iw_answers;

/**
 * iw_answer_with - answer the governors that this task calls
 * @answers: what to say instead of what the kernel would; it may change
 *   between two calls. NULL ends it.
 */
void iw_answer_with(struct iw_told *answers)
{
	if (answers) {
		iw_tester = current;
		iw_answers = answers;
		static_branch_enable(&iw_testing);
	} else {
		static_branch_disable(&iw_testing);
		iw_tester = NULL;
	}
}

/* What the last call of a governor on this CPU asked for. */
u32 iw_last_asked(void)
{
	return this_cpu_read(iw_told.asked);
}

/* Ours of that name: the kernel's own come before them. */
const struct iw_hooks *iw_find(const char *name)
{
	unsigned int i;

	for (i = iw_nr_all; i; i--) {
		if (!strcmp(iw_all[i - 1]->own.name, name))
			return iw_all[i - 1];
	}
	return NULL;
}

static void __init iw_remember(const struct iw_hooks *hooks)
{
	if (!WARN_ON(iw_nr_all == IW_HOOKS_MAX))
		iw_all[iw_nr_all++] = hooks;
}

static bool iw_tested(void)
{
	return static_branch_unlikely(&iw_testing) && current == iw_tester;
}

#else
static const struct iw_told *const iw_answers;

static void __init iw_remember(const struct iw_hooks *hooks) { }
static bool iw_tested(void) { return false; }
#endif

/* What a test wants to be said, or else what the kernel says. */
#define IW_ANSWER(answer, question)	(iw_tested() ? iw_answers->answer : (question))

static struct iw_told *iw_asked(u32 what)
{
	struct iw_told *told = this_cpu_ptr(&iw_told);

	told->asked |= what;
	return told;
}

ktime_t iw_sleep_length(ktime_t *delta_next)
{
	struct iw_told *told = iw_asked(IW_SLEEP_LENGTH);

	told->sleep_length_ns = IW_ANSWER(sleep_length_ns, tick_nohz_get_sleep_length(delta_next));
	if (iw_tested())
		*delta_next = IW_ANSWER(delta_tick_ns, 0);
	told->delta_tick_ns = *delta_next;
	return told->sleep_length_ns;
}

s64 iw_latency_req(unsigned int cpu)
{
	struct iw_told *told = iw_asked(IW_LATENCY);

	told->latency_limit_ns = IW_ANSWER(latency_limit_ns, cpuidle_governor_latency_req(cpu));
	return told->latency_limit_ns;
}

u64 iw_local_clock(void)
{
	u64 now_ns = IW_ANSWER(clock_ns, local_clock());
	struct iw_told *told = this_cpu_ptr(&iw_told);

	if (told->asked & IW_CLOCK) {
		told->asked |= IW_CLOCK_AGAIN;
	} else {
		told->asked |= IW_CLOCK;
		told->clock_ns = now_ns;
	}
	return now_ns;
}

bool iw_tick_stopped(void)
{
	struct iw_told *told = iw_asked(IW_TICK_STOPPED);

	told->tick_stopped = IW_ANSWER(tick_stopped, tick_nohz_tick_stopped());
	return told->tick_stopped;
}

bool iw_got_tick(void)
{
	struct iw_told *told = iw_asked(IW_GOT_TICK);

	told->got_tick = IW_ANSWER(got_tick, tick_nohz_idle_got_tick());
	return told->got_tick;
}

unsigned long iw_cpu_util(int cpu)
{
	unsigned long util = IW_ANSWER(util, sched_cpu_util(cpu));

	iw_asked(IW_UTIL)->util = util;
	return util;
}

unsigned int iw_iowait_cpu(int cpu)
{
	struct iw_told *told = iw_asked(IW_IOWAIT);

	told->iowait = IW_ANSWER(iowait, nr_iowait_cpu(cpu));
	return told->iowait;
}

unsigned long iw_capacity(int cpu)
{
	return IW_ANSWER(capacity, arch_scale_cpu_capacity(cpu));
}

u32 iw_random_u32(void)
{
	struct iw_told *told = iw_asked(IW_RANDOM);

	told->random = IW_ANSWER(random, get_random_u32());
	return told->random;
}

void iw_random_bytes(void *buf, size_t len)
{
	struct iw_told *told = iw_asked(IW_RANDOM);

	get_random_bytes(buf, len);
	if (iw_tested()) {
		told->random = IW_ANSWER(random, 0);
		memcpy(buf, &told->random, min(len, sizeof(told->random)));
	}
	memcpy(&told->random, buf, min(len, sizeof(told->random)));
}

static u32 iw_disabled(const struct cpuidle_driver *drv, const struct cpuidle_device *dev)
{
	u32 disabled = 0;
	int i;

	for (i = 0; i < drv->state_count; i++) {
		if (dev->states_usage[i].disable)
			disabled |= BIT(i);
	}
	return disabled;
}

int iw_enable(const struct iw_hooks *hooks, struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	trace_idle_enabled(hooks->registered->name, dev->cpu, arch_scale_cpu_capacity(dev->cpu),
			   drv->state_count);
	return hooks->own.enable ? hooks->own.enable(drv, dev) : 0;
}

int iw_select(const struct iw_hooks *hooks, struct cpuidle_driver *drv, struct cpuidle_device *dev,
	      bool *stop_tick)
{
	u64 residency_ns = dev->last_residency_ns;
	bool poll_time_limit = dev->poll_time_limit;
	struct iw_told *told = this_cpu_ptr(&iw_told);
	int state;

	memset(told, 0, sizeof(*told));
	state = hooks->own.select(drv, dev, stop_tick);
	if (trace_idle_chosen_enabled() && !iw_tested()) {
		/* Asking changes nothing, and a governor may not have asked. */
		told->tick_stopped = tick_nohz_tick_stopped();
		trace_idle_asked(dev->cpu, told);
		trace_idle_chosen(dev, told, residency_ns, poll_time_limit,
				  iw_disabled(drv, dev), state, *stop_tick);
	}
	return state;
}

void iw_reflect(const struct iw_hooks *hooks, struct cpuidle_device *dev, int index)
{
	bool poll_time_limit = dev->poll_time_limit;
	struct iw_told *told = this_cpu_ptr(&iw_told);

	memset(told, 0, sizeof(*told));
	if (hooks->own.reflect)
		hooks->own.reflect(dev, index);
	if (!iw_tested())
		trace_idle_reflected(dev, told, index, poll_time_limit);
}

int __init iw_register(struct cpuidle_governor *gov, struct iw_hooks *hooks)
{
	int ret;

	hooks->registered = gov;
	ret = iw_register_governor(gov);
	if (!ret)
		iw_remember(hooks);
	return ret;
}
