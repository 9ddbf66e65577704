/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SLAB_H
#define _LINUX_SLAB_H

#include <linux/gfp.h>
#include <linux/types.h>

/*
 * Memory comes from an array of the object's own: so it is private to a run,
 * and what explain shows. Governors allocate when they are enabled; what they
 * free is not used again.
 */
#define IDLEWISE_SLAB		(1UL << 20)

struct idlewise_slab {
	_Alignas(64) char bytes[IDLEWISE_SLAB];
	size_t used;
};

#pragma GCC visibility push(hidden)
__attribute__((weak)) struct idlewise_slab idlewise_slab;
#pragma GCC visibility pop

static inline void *kmalloc(size_t size, gfp_t flags)
{
	size_t from = (idlewise_slab.used + 15) & ~(size_t)15;

	(void)flags;
	if (size > IDLEWISE_SLAB || from > IDLEWISE_SLAB - size)
		return NULL;
	idlewise_slab.used = from + size;
	return idlewise_slab.bytes + from;
}

static inline void *kmalloc_array(size_t n, size_t size, gfp_t flags)
{
	size_t all;

	return __builtin_mul_overflow(n, size, &all) ? NULL : kmalloc(all, flags);
}

/* Nothing was written to it before: all of it is zero. */
#define kzalloc(size, flags)		kmalloc(size, flags)
#define kcalloc(n, size, flags)		kmalloc_array(n, size, flags)
#define kmalloc_node(size, flags, node)	((void)(node), kmalloc(size, flags))
#define kzalloc_node(size, flags, node)	kmalloc_node(size, flags, node)

static inline void kfree(const void *memory)
{
	(void)memory;
}

#endif
