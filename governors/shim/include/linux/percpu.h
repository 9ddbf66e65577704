/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_PERCPU_H
#define _LINUX_PERCPU_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <idlewise/env.h>

/*
 * A per-CPU variable is one object in a section of its own. That section is
 * only the image of a fresh CPU: the host gives every CPU a copy, and an
 * address is moved from the image into the copy.
 */
#define __percpu
#define DECLARE_PER_CPU(type, name)	extern __section("idlewise_percpu") typeof(type) name
#define DEFINE_PER_CPU(type, name)	__section("idlewise_percpu") typeof(type) name
#define DEFINE_PER_CPU_ALIGNED(type, name)	DEFINE_PER_CPU(type, name) __aligned(64)
#define DEFINE_PER_CPU_SHARED_ALIGNED(type, name) DEFINE_PER_CPU_ALIGNED(type, name)
#define DEFINE_PER_CPU_READ_MOSTLY(type, name)	DEFINE_PER_CPU(type, name)

/*
 * The empty asm hides where the pointer came from. Without it the compiler may
 * take the result for a pointer into the image, see that nobody writes there,
 * and replace reads by the initial values.
 */
#define IDLEWISE_MOVE(ptr, offset) ({						\
	unsigned long moved_;							\
	__asm__("" : "=r" (moved_) : "0" (ptr));				\
	(typeof(ptr))(moved_ + (offset)); })

/* Before there is a CPU, an initcall writes to the image, which every CPU starts from. */
#define per_cpu_ptr(ptr, cpu)							\
	IDLEWISE_MOVE(ptr, idlewise_env.device ? idlewise_env.per_cpu_offset[cpu] : 0)
#define this_cpu_ptr(ptr)	IDLEWISE_MOVE(ptr, idlewise_this_cpu_offset())
#define raw_cpu_ptr(ptr)	this_cpu_ptr(ptr)
#define per_cpu(var, cpu)	(*per_cpu_ptr(&(var), cpu))
#define this_cpu_read(var)	(*this_cpu_ptr(&(var)))
#define this_cpu_add(var, val)	(*this_cpu_ptr(&(var)) += (val))
#define this_cpu_sub(var, val)	(*this_cpu_ptr(&(var)) -= (val))
#define this_cpu_inc(var)	this_cpu_add(var, 1)
#define this_cpu_dec(var)	this_cpu_sub(var, 1)
#define __this_cpu_read(var)	this_cpu_read(var)
#define __this_cpu_write(var, val) this_cpu_write(var, val)
#define __this_cpu_inc(var)	this_cpu_inc(var)
#define __this_cpu_add(var, val) this_cpu_add(var, val)
#define get_cpu_ptr(ptr)	this_cpu_ptr(ptr)
#define put_cpu_ptr(ptr)	((void)(ptr))
#define get_cpu_var(var)	(*this_cpu_ptr(&(var)))
#define put_cpu_var(var)	((void)&(var))
#define this_cpu_write(var, val) do { *this_cpu_ptr(&(var)) = (val); } while (0)

#pragma GCC visibility push(hidden)
DECLARE_PER_CPU(struct cpuidle_device, idlewise_device);
#pragma GCC visibility pop

static inline unsigned long idlewise_this_cpu_offset(void)
{
	return (unsigned long)idlewise_env.device - (unsigned long)&idlewise_device;
}

#endif
