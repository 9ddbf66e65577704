/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_PRINTK_H
#define _LINUX_PRINTK_H

#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/types.h>

/*
 * Messages go into the log of the object, where the host finds them. As in a
 * kernel, pr_debug() is nothing unless DEBUG is defined: each governor is built
 * once without it, for speed, and once with it, to be able to explain itself.
 */
#pragma GCC visibility push(hidden)
__printf(1, 2) int idlewise_printk(const char *fmt, ...);
#pragma GCC visibility pop

/* The level is the first character of a message. */
#define KERN_EMERG		"0"
#define KERN_ALERT		"1"
#define KERN_CRIT		"2"
#define KERN_ERR		"3"
#define KERN_WARNING		"4"
#define KERN_NOTICE		"5"
#define KERN_INFO		"6"
#define KERN_DEBUG		"7"

#ifndef pr_fmt
#define pr_fmt(fmt)		fmt
#endif

#define printk(fmt, ...)	idlewise_printk(fmt, ##__VA_ARGS__)
/* Keeps the arguments' types checked and their variables used. */
#define no_printk(fmt, ...)	({ if (0) printk(fmt, ##__VA_ARGS__); 0; })

#define pr_emerg(fmt, ...)	printk(KERN_EMERG pr_fmt(fmt), ##__VA_ARGS__)
#define pr_alert(fmt, ...)	printk(KERN_ALERT pr_fmt(fmt), ##__VA_ARGS__)
#define pr_crit(fmt, ...)	printk(KERN_CRIT pr_fmt(fmt), ##__VA_ARGS__)
#define pr_err(fmt, ...)	printk(KERN_ERR pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...)	printk(KERN_WARNING pr_fmt(fmt), ##__VA_ARGS__)
#define pr_notice(fmt, ...)	printk(KERN_NOTICE pr_fmt(fmt), ##__VA_ARGS__)
#define pr_info(fmt, ...)	printk(KERN_INFO pr_fmt(fmt), ##__VA_ARGS__)

/* Once, or now and then, for a log that people read; ours is read by a program. */
#define printk_once(fmt, ...)	printk(fmt, ##__VA_ARGS__)
#define pr_err_once(fmt, ...)	pr_err(fmt, ##__VA_ARGS__)
#define pr_warn_once(fmt, ...)	pr_warn(fmt, ##__VA_ARGS__)
#define pr_info_once(fmt, ...)	pr_info(fmt, ##__VA_ARGS__)
#define pr_err_ratelimited(fmt, ...)	pr_err(fmt, ##__VA_ARGS__)
#define pr_warn_ratelimited(fmt, ...)	pr_warn(fmt, ##__VA_ARGS__)
#define pr_info_ratelimited(fmt, ...)	pr_info(fmt, ##__VA_ARGS__)

#ifdef DEBUG
#define pr_debug(fmt, ...)	printk(KERN_DEBUG pr_fmt(fmt), ##__VA_ARGS__)
#else
#define pr_debug(fmt, ...)	no_printk(KERN_DEBUG pr_fmt(fmt), ##__VA_ARGS__)
#endif

#endif
