/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_BUG_H
#define _LINUX_BUG_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/printk.h>

/* BUG() ends the run; the host tells where. */
#define BUG()			__builtin_trap()
#define BUG_ON(lie)		do { if (unlikely(lie)) BUG(); } while (0)

#define WARN(lie, fmt, ...)	({					\
	bool warn_ = !!(lie);						\
	if (unlikely(warn_))						\
		pr_warn(fmt, ##__VA_ARGS__);				\
	unlikely(warn_); })
#define WARN_ONCE(lie, fmt, ...) ({					\
	static bool warned_;						\
	bool warn_ = !!(lie);						\
	if (unlikely(warn_ && !warned_)) {				\
		warned_ = true;						\
		pr_warn(fmt, ##__VA_ARGS__);				\
	}								\
	unlikely(warn_); })
#define WARN_ON(lie)		WARN(lie, "%s:%d: %s\n", __FILE__, __LINE__, #lie)
#define WARN_ON_ONCE(lie)	WARN_ONCE(lie, "%s:%d: %s\n", __FILE__, __LINE__, #lie)

#endif
