/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_BITS_H
#define _LINUX_BITS_H

#define BITS_PER_LONG		__LONG_WIDTH__
#define BIT(nr)			(1UL << (nr))

#endif
