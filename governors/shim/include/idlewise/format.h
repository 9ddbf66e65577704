/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IDLEWISE_FORMAT_H
#define IDLEWISE_FORMAT_H

#include <linux/types.h>

#pragma GCC visibility push(hidden)
int idlewise_format(char *to, size_t room, const char *fmt, __builtin_va_list args);
#pragma GCC visibility pop

#endif
