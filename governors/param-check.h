/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Refusing parameters with which a governor would make no sense. An initcall
 * asks for each, before it registers:
 *
 *	err = check_param(decay_shift, 0, 10) ?: check_param(nr_recent, 1, 32);
 */
#ifndef PARAM_CHECK_H
#define PARAM_CHECK_H

#include <linux/errno.h>
#include <linux/printk.h>

/* 0, or -EINVAL after a message if @param is not from @lowest to @highest. */
#define check_param(param, lowest, highest) \
	check_param_range(#param, (param), (lowest), (highest))

static inline int check_param_range(const char *name, unsigned int value,
				    unsigned int lowest, unsigned int highest)
{
	if (value >= lowest && value <= highest)
		return 0;

	pr_err("%s=%u is out of range: it must be from %u to %u\n", name, value, lowest, highest);
	return -EINVAL;
}

#endif
