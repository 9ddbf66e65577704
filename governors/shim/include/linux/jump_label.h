/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_JUMP_LABEL_H
#define _LINUX_JUMP_LABEL_H

#include <linux/compiler.h>
#include <linux/types.h>

/* A static key is a switch in the code of a kernel; here it is a variable. */
struct static_key_true {
	bool on;
};

struct static_key_false {
	bool on;
};

#define STATIC_KEY_TRUE_INIT		{ .on = true }
#define STATIC_KEY_FALSE_INIT		{ .on = false }
#define DEFINE_STATIC_KEY_TRUE(name)	struct static_key_true name = STATIC_KEY_TRUE_INIT
#define DEFINE_STATIC_KEY_FALSE(name)	struct static_key_false name = STATIC_KEY_FALSE_INIT
#define DECLARE_STATIC_KEY_TRUE(name)	extern struct static_key_true name
#define DECLARE_STATIC_KEY_FALSE(name)	extern struct static_key_false name

#define static_branch_likely(key)	likely((key)->on)
#define static_branch_unlikely(key)	unlikely((key)->on)
#define static_branch_enable(key)	((void)((key)->on = true))
#define static_branch_disable(key)	((void)((key)->on = false))
#define static_key_enabled(key)		((key)->on)

#endif
