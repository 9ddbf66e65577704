// SPDX-License-Identifier: GPL-2.0-only
/*
 * The example of docs/guide/your-own-governor.md: the deepest state that the
 * next timer allows, but one shallower after each wakeup that came early.
 */
#include <linux/cpuidle.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/tick.h>

static unsigned int patience = 3;
module_param(patience, uint, 0644);
MODULE_PARM_DESC(patience, "early wakeups that make a CPU one state shallower");

struct patient_cpu {
	s64 sleep_length_ns;
	unsigned int early;
};

static DEFINE_PER_CPU(struct patient_cpu, patient_cpus);

static int patient_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct patient_cpu *cpu = per_cpu_ptr(&patient_cpus, dev->cpu);
	s64 latency_ns = cpuidle_governor_latency_req(dev->cpu);
	ktime_t delta_tick;
	int idx = 0, i;

	cpu->sleep_length_ns = tick_nohz_get_sleep_length(&delta_tick);
	for (i = 0; i < drv->state_count; i++) {
		struct cpuidle_state *s = &drv->states[i];

		if (dev->states_usage[i].disable)
			continue;
		if (s->exit_latency_ns > latency_ns || s->target_residency_ns > cpu->sleep_length_ns)
			break;
		idx = i;
	}
	if (idx > 0 && cpu->early >= patience)
		idx--;
	if (drv->states[idx].target_residency_ns < TICK_NSEC && delta_tick > 0)
		*stop_tick = cpu->early == 0;
	return idx;
}

static void patient_reflect(struct cpuidle_device *dev, int index)
{
	struct patient_cpu *cpu = per_cpu_ptr(&patient_cpus, dev->cpu);

	dev->last_state_idx = index;
	if ((s64)dev->last_residency_ns * 2 < cpu->sleep_length_ns)
		cpu->early++;
	else
		cpu->early = 0;
}

static struct cpuidle_governor patient_governor = {
	.name		= "patient",
	.rating		= 5,
	.select		= patient_select,
	.reflect	= patient_reflect,
};

static int __init patient_init(void)
{
	return cpuidle_register_governor(&patient_governor);
}
postcore_initcall(patient_init);
