/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _TRACE_EVENTS_POWER_H
#define _TRACE_EVENTS_POWER_H

#include <linux/types.h>

/* Events that nobody listens to. */
static inline void trace_cpu_idle(unsigned int state, unsigned int cpu)
{
	(void)state;
	(void)cpu;
}

static inline void trace_cpu_idle_miss(unsigned int cpu, unsigned int state, bool below)
{
	(void)cpu;
	(void)state;
	(void)below;
}

static inline void trace_guest_halt_poll_ns(bool grow, unsigned int now, unsigned int before)
{
	(void)grow;
	(void)now;
	(void)before;
}

static inline void trace_guest_halt_poll_ns_grow(unsigned int now, unsigned int before)
{
	trace_guest_halt_poll_ns(true, now, before);
}

static inline void trace_guest_halt_poll_ns_shrink(unsigned int now, unsigned int before)
{
	trace_guest_halt_poll_ns(false, now, before);
}

#endif
