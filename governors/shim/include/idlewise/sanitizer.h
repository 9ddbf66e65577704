/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before everything else of a governor that "idlewise check" compiles
 * with sanitizers: its calls and its copies go through sanitizer.c.
 */
#ifndef IDLEWISE_SANITIZER_H
#define IDLEWISE_SANITIZER_H

#ifdef __clang__
#error "the sanitizers of idlewise check need gcc: name one in CC"
#endif

#include <linux/cpuidle.h>
#include <linux/string.h>

#pragma GCC visibility push(hidden)
int idlewise_register_checked(struct cpuidle_governor *gov);
void *idlewise_checked_memset(void *to, int byte, size_t size);
void *idlewise_checked_memcpy(void *to, const void *from, size_t size);
void *idlewise_checked_memmove(void *to, const void *from, size_t size);
#pragma GCC visibility pop

#define cpuidle_register_governor(gov)	idlewise_register_checked(gov)
#define memset(to, byte, size)		idlewise_checked_memset(to, byte, size)
#define memcpy(to, from, size)		idlewise_checked_memcpy(to, from, size)
#define memmove(to, from, size)		idlewise_checked_memmove(to, from, size)

#endif
