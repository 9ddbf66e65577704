/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_FIND_H
#define _LINUX_FIND_H

#include <linux/bitops.h>

#endif
