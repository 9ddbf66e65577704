/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parameters that a governor can only work with inside a range: outside of it,
 * it refuses to start, and says why.
 */
#ifndef IDLE_PARAM_RANGE_H
#define IDLE_PARAM_RANGE_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/types.h>

/**
 * struct param_range - a parameter and what it may be
 * @name: name for the user
 * @value: what it is
 * @lowest: the smallest value that works
 * @highest: the largest one
 */
struct param_range {
	const char *name;
	uint value;
	uint lowest;
	uint highest;
};

/**
 * check_params - hold parameters against their ranges
 * @params: the parameters
 * @count: how many
 *
 * Return: 0, or -EINVAL after a message if one is outside.
 */
static int __init __maybe_unused check_params(const struct param_range *params, int count)
{
	int err = 0;
	int i;

	for (i = 0; i < count; i++) {
		const struct param_range *p = &params[i];

		if (p->value >= p->lowest && p->value <= p->highest)
			continue;

		pr_err("parameter %s is %u, but must be from %u to %u\n", p->name, p->value,
		       p->lowest, p->highest);
		err = -EINVAL;
	}
	return err;
}

#endif
