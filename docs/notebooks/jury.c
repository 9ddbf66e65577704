// SPDX-License-Identifier: GPL-2.0-only
/*
 * jury: an example for docs/notebooks/idea-to-kernel.ipynb, which has the same in Python.
 *
 * The next idle period lasts as long as enough of the last eight did, and no longer than to the next timer. One that lasted to its timer,
 * or that the tick ended, was no surprise and counts as endless: the time to the next timer is known anyway.
 */
#include <linux/cpuidle.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/tick.h>

#define JURORS	8

struct jury {
	s64 recent_ns[JURORS];
	s64 timer_ns;
	unsigned int next;
};

static DEFINE_PER_CPU(struct jury, juries);

static uint needed = 4;
module_param(needed, uint, 0644);
MODULE_PARM_DESC(needed, "votes that a state needs, of eight");

/* How long an idle period will last: that long `needed` of the recent ones lasted, and no longer than to the next timer. */
static s64 jury_expected_ns(const struct jury *jury)
{
	s64 longest_ns = 0;
	int i, j;

	/* With the tick stopped nothing would end a stay in a shallow state. */
	if (tick_nohz_tick_stopped())
		return jury->timer_ns;
	for (i = 0; i < JURORS; i++) {
		unsigned int votes = 0;

		for (j = 0; j < JURORS; j++)
			votes += jury->recent_ns[j] >= jury->recent_ns[i];
		if (votes >= needed)
			longest_ns = max(longest_ns, jury->recent_ns[i]);
	}
	return min(longest_ns, jury->timer_ns);
}

static int jury_enable(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	struct jury *jury = per_cpu_ptr(&juries, dev->cpu);
	int i;

	for (i = 0; i < JURORS; i++)
		jury->recent_ns[i] = S64_MAX;
	return 0;
}

static int jury_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct jury *jury = per_cpu_ptr(&juries, dev->cpu);
	s64 latency_ns = cpuidle_governor_latency_req(dev->cpu);
	ktime_t delta_tick;
	s64 expected_ns;
	int idx = -1, i;

	jury->timer_ns = tick_nohz_get_sleep_length(&delta_tick);
	expected_ns = jury_expected_ns(jury);
	for (i = 0; i < drv->state_count; i++) {
		struct cpuidle_state *s = &drv->states[i];

		if (dev->states_usage[i].disable)
			continue;
		if (idx < 0 || (s->exit_latency_ns <= latency_ns && s->target_residency_ns <= expected_ns))
			idx = i;
	}
	idx = max(idx, 0);
	*stop_tick = expected_ns >= TICK_NSEC && !(drv->states[idx].flags & CPUIDLE_FLAG_POLLING);
	return idx;
}

static void jury_reflect(struct cpuidle_device *dev, int index)
{
	struct jury *jury = per_cpu_ptr(&juries, dev->cpu);
	s64 slept_ns = dev->last_residency_ns;
	bool expected = tick_nohz_idle_got_tick() || slept_ns >= jury->timer_ns - (jury->timer_ns >> 3);

	dev->last_state_idx = index;
	jury->recent_ns[jury->next] = expected ? S64_MAX : slept_ns;
	jury->next = (jury->next + 1) % JURORS;
}

static struct cpuidle_governor jury_governor = {
	.name		= "jury",
	.rating		= 5,
	.enable		= jury_enable,
	.select		= jury_select,
	.reflect	= jury_reflect,
};

static int __init jury_init(void)
{
	return cpuidle_register_governor(&jury_governor);
}
postcore_initcall(jury_init);
