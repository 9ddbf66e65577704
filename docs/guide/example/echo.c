// SPDX-License-Identifier: GPL-2.0-only
/*
 * echo: an example for docs/guide/governor-in-python.md, which has the same in Python.
 *
 * The next idle period lasts as long as the last one, unless a timer ends it before. If the tick ended the last one, nobody knows
 * how long it would have lasted, and the timer alone counts.
 */
#include <linux/cpuidle.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/tick.h>

static DEFINE_PER_CPU(s64, echo_last_ns);

static int echo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	s64 latency_ns = cpuidle_governor_latency_req(dev->cpu);
	ktime_t delta_tick;
	s64 expected_ns = min(per_cpu(echo_last_ns, dev->cpu), tick_nohz_get_sleep_length(&delta_tick));
	int idx = 0, i;

	for (i = 0; i < drv->state_count; i++) {
		struct cpuidle_state *s = &drv->states[i];

		if (dev->states_usage[i].disable || s->exit_latency_ns > latency_ns)
			continue;
		if (s->target_residency_ns <= expected_ns)
			idx = i;
	}
	*stop_tick = expected_ns > TICK_NSEC;
	return idx;
}

static void echo_reflect(struct cpuidle_device *dev, int index)
{
	dev->last_state_idx = index;
	per_cpu(echo_last_ns, dev->cpu) = tick_nohz_idle_got_tick() ? S64_MAX : dev->last_residency_ns;
}

static struct cpuidle_governor echo_governor = {
	.name		= "echo",
	.rating		= 5,
	.select		= echo_select,
	.reflect	= echo_reflect,
};

static int __init echo_init(void)
{
	return cpuidle_register_governor(&echo_governor);
}
postcore_initcall(echo_init);
