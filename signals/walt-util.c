// SPDX-License-Identifier: GPL-2.0-only
/*
 * What WALT's sums are read as: utilisations on the scale of capacities, and
 * the time that interrupts took, which keeps tasks away from a CPU.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "walt.h"

/* The mean of before is forgotten when the last report is this old, jiffies. */
#define WALT_IRQLOAD_KEEP	10

/* A reader believes the mean while the last report is younger than this. */
#define WALT_IRQLOAD_FRESH	3

static u32 walt_util(const struct walt_config *config, u64 ns, u32 limit)
{
	u64 util = config->exact_util ? div_u64(min_t(u64, ns, U32_MAX) << 10, config->window_ns) :
					div_u64(ns, config->window_ns >> 10);

	return min_t(u64, util, limit);
}

/**
 * walt_task_util - a task's demand as a utilisation
 * @config: settings
 * @task: a task
 *
 * Return: 0 to WALT_SCALE.
 */
u32 walt_task_util(const struct walt_config *config, const struct walt_task *task)
{
	return div_u64((u64)task->demand_ns << 10, config->window_ns);
}

/**
 * walt_cpu_util - how full a CPU is, to place tasks
 * @config: settings
 * @cpu: a CPU
 *
 * Return: 0 to the CPU's capacity.
 */
u32 walt_cpu_util(const struct walt_config *config, const struct walt_cpu *cpu)
{
	u64 ns = config->place_by_busy_time ? cpu->prev_sum_ns : cpu->demand_sum_ns;

	return walt_util(config, ns, cpu->capacity);
}

/**
 * walt_cpu_util_freq - how busy a CPU was, to choose its frequency
 * @config: settings
 * @cpu: a CPU; the reader ends no window, only events do
 *
 * Return: 0 to the CPU's capacity.
 */
u32 walt_cpu_util_freq(const struct walt_config *config, const struct walt_cpu *cpu)
{
	return walt_util(config, cpu->prev_sum_ns, cpu->capacity);
}

/**
 * walt_irqload_add - an interrupt took time
 * @irqload: of the CPU
 * @irq_ns: how much
 * @jiffy: now
 */
void walt_irqload_add(struct walt_irqload *irqload, u64 irq_ns, u64 jiffy)
{
	irq_ns = min_t(u64, irq_ns, U32_MAX);
	if (jiffy != irqload->jiffy) {
		/* Once three quarters, however many jiffies have gone by. */
		if (jiffy - irqload->jiffy < WALT_IRQLOAD_KEEP)
			irqload->avg_ns = irqload->avg_ns * 3 / 4;
		else
			irqload->avg_ns = 0;
		irqload->avg_ns += irqload->curr_ns;
		irqload->curr_ns = 0;
	}
	irqload->curr_ns += irq_ns;
	irqload->jiffy = jiffy;
}

/**
 * walt_irqload - time that interrupts took lately
 * @irqload: of the CPU
 * @jiffy: now
 *
 * Return: ns; 0 if the last report is old.
 */
u64 walt_irqload(const struct walt_irqload *irqload, u64 jiffy)
{
	return jiffy - irqload->jiffy < WALT_IRQLOAD_FRESH ? irqload->avg_ns : 0;
}

/**
 * walt_irqload_high - whether interrupts are a reason to keep tasks away
 * @irqload: of the CPU
 * @jiffy: now
 *
 * Return: true if so.
 */
bool walt_irqload_high(const struct walt_irqload *irqload, u64 jiffy)
{
	return walt_irqload(irqload, jiffy) >= WALT_HIGH_IRQLOAD_NS;
}
