/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KERNEL_H
#define _LINUX_KERNEL_H

#include <linux/types.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kconfig.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/printk.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

#define might_sleep()		do { } while (0)
#define trace_printk(fmt, ...)	pr_debug(fmt, ##__VA_ARGS__)

#endif
