/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_BITMAP_H
#define _LINUX_BITMAP_H

#include <linux/bitops.h>
#include <linux/math.h>

#define BITS_TO_LONGS(bits)		DIV_ROUND_UP(bits, BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits)	unsigned long name[BITS_TO_LONGS(bits)]

#endif
