/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_GFP_H
#define _LINUX_GFP_H

#include <linux/types.h>

typedef unsigned int gfp_t;

#define GFP_KERNEL	((gfp_t)1)
#define GFP_ATOMIC	((gfp_t)2)
#define GFP_NOWAIT	((gfp_t)4)
#define __GFP_ZERO	((gfp_t)8)

#endif
