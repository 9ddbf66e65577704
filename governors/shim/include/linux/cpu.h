/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_CPU_H
#define _LINUX_CPU_H

#include <linux/cpumask.h>
#include <linux/smp.h>

#endif
