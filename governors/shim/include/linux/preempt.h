/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_PREEMPT_H
#define _LINUX_PREEMPT_H

#include <linux/types.h>

#define preempt_disable()	do { } while (0)
#define preempt_enable()	do { } while (0)
#define preemptible()		false
#define in_interrupt()		false
#define in_task()		true

#endif
