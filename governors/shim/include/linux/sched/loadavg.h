/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_SCHED_LOADAVG_H
#define _LINUX_SCHED_LOADAVG_H

/* The load of the whole machine is in no recording of its CPUs. */
#define FSHIFT		11
#define FIXED_1		(1 << FSHIFT)

#endif
