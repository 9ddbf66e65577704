/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_PM_QOS_H
#define _LINUX_PM_QOS_H

#include <linux/limits.h>
#include <linux/time64.h>
#include <linux/types.h>

#define PM_QOS_CPU_LATENCY_DEFAULT_VALUE	(2000 * USEC_PER_SEC)
#define PM_QOS_RESUME_LATENCY_NO_CONSTRAINT	S32_MAX
#define PM_QOS_RESUME_LATENCY_NO_CONSTRAINT_NS	\
	((s64)PM_QOS_RESUME_LATENCY_NO_CONSTRAINT * NSEC_PER_USEC)
#define PM_QOS_LATENCY_ANY			S32_MAX
#define PM_QOS_LATENCY_ANY_NS			((s64)PM_QOS_LATENCY_ANY * NSEC_PER_USEC)

#endif
