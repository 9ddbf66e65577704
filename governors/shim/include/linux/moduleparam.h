/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_MODULEPARAM_H
#define _LINUX_MODULEPARAM_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <idlewise/param.h>

/*
 * The type names of module_param() and the C types that go with them. A wrong
 * pair is a compile error, as in a kernel.
 */
#define idlewise_type_bool	bool
#define idlewise_type_invbool	bool
#define idlewise_type_byte	u8
#define idlewise_type_short	short
#define idlewise_type_ushort	ushort
#define idlewise_type_int	int
#define idlewise_type_uint	uint
#define idlewise_type_long	long
#define idlewise_type_ulong	ulong
#define idlewise_type_ullong	ullong
#define idlewise_type_hexint	uint
#define idlewise_type_charp	char *

#define IDLEWISE_PARAM(name, value, c_type, type_name, perm)				\
	_Static_assert(__builtin_types_compatible_p(typeof(value), c_type),		\
		       "module_param: " #value " is no " type_name);			\
	_Static_assert(((perm) & ~0777) == 0, "module_param: bad permissions");		\
	static const struct idlewise_param idlewise_param_##name			\
		__used __section("idlewise_params") __aligned(sizeof(void *)) = {	\
			#name, type_name, &(value), sizeof(value), __LINE__ }

/* Each takes the type's name itself: handed on, bool would become _Bool. */
#define module_param_named(name, value, type, perm)					\
	IDLEWISE_PARAM(name, value, idlewise_type_##type, #type, perm)
#define module_param(name, type, perm)							\
	IDLEWISE_PARAM(name, name, idlewise_type_##type, #type, perm)

#define module_param_unsafe(name, type, perm)	module_param(name, type, perm)
#define core_param(name, value, type, perm)	module_param_named(name, value, type, perm)

/*
 * A parameter that functions of the file read and write: it is listed, but the
 * host cannot set it.
 */
struct kernel_param {
	const char *name;
	void *arg;
};

struct kernel_param_ops {
	int (*set)(const char *val, const struct kernel_param *kp);
	int (*get)(char *buffer, const struct kernel_param *kp);
};

#define module_param_cb(name, ops, value, perm)						\
	static const struct kernel_param_ops *const idlewise_param_ops_##name __used = ops;	\
	static const struct idlewise_param idlewise_param_##name			\
		__used __section("idlewise_params") __aligned(sizeof(void *)) = {		\
			#name, "callback", value, 0, __LINE__ }

#define MODULE_PARM_DESC(name, text)							\
	static const struct idlewise_param_desc idlewise_param_desc_##name		\
		__used __section("idlewise_param_descs") __aligned(sizeof(void *)) = {		\
			#name, text }

#endif
