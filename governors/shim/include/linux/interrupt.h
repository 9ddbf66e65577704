/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_INTERRUPT_H
#define _LINUX_INTERRUPT_H

/* No interrupt reaches a governor: there is none to ask for here. */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/types.h>

#endif
