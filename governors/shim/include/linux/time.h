/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_TIME_H
#define _LINUX_TIME_H

#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/types.h>

#endif
