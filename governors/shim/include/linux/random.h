/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_RANDOM_H
#define _LINUX_RANDOM_H

#include <linux/string.h>
#include <linux/types.h>
#include <idlewise/env.h>

/*
 * One number belongs to each decision: the host draws it from the seed of a
 * run, or has it from a recording. Who asks again gets the same.
 */
static inline u32 get_random_u32(void)
{
	return idlewise_env.in.random;
}

static inline void get_random_bytes(void *buf, size_t len)
{
	char *to = buf;
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = ((const char *)&idlewise_env.in.random)[i % sizeof(u32)];
}

#endif
