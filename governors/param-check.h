/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Refusing parameters with which a governor would make no sense. An initcall
 * asks for each before it registers.
 */
#ifndef PARAM_CHECK_H
#define PARAM_CHECK_H

#include <linux/errno.h>
#include <linux/init.h>
#include <linux/printk.h>
#include <linux/types.h>

/**
 * check_param - hold a parameter against its range
 * @name: its name, for the user
 * @value: what it is
 * @lowest: the smallest value that works
 * @highest: the largest one
 *
 * Return: 0, or -EINVAL after a message if it is outside.
 */
static inline int __init check_param(const char *name, uint value, uint lowest, uint highest)
{
	if (value >= lowest && value <= highest)
		return 0;

	pr_err("%s=%u is out of range: it must be from %u to %u\n", name, value, lowest, highest);
	return -EINVAL;
}

#endif
