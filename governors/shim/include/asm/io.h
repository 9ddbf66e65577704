/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_IO_H
#define _ASM_IO_H

/* No governor talks to a device. */
#include <linux/types.h>

#endif
