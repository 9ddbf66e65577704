/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an idle governor was told and what it chose. idlewise reads these events
 * and makes the same choices in user space.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM idlewise

#if !defined(IDLEWISE_RECORD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define IDLEWISE_RECORD_TRACE_H

#include <linux/cpuidle.h>
#include <linux/tracepoint.h>

struct iw_told;

/* A governor was put in charge of a CPU: its memory of that CPU is new. */
TRACE_EVENT(idle_enabled,
	TP_PROTO(const char *governor, unsigned int cpu, unsigned int capacity,
		 unsigned int states),
	TP_ARGS(governor, cpu, capacity, states),
	TP_STRUCT__entry(
		__array(char, governor, CPUIDLE_NAME_LEN)
		__field(u32, cpu)
		__field(u32, capacity)
		__field(u32, states)
	),
	TP_fast_assign(
		strscpy(__entry->governor, governor, CPUIDLE_NAME_LEN);
		__entry->cpu = cpu;
		__entry->capacity = capacity;
		__entry->states = states;
	),
	TP_printk("governor=%s cpu=%u capacity=%u states=%u", __entry->governor, __entry->cpu,
		  __entry->capacity, __entry->states)
);

/* What it asked for, and the answers: in select(), or in reflect(). */
TRACE_EVENT(idle_asked,
	TP_PROTO(unsigned int cpu, const struct iw_told *told),
	TP_ARGS(cpu, told),
	TP_STRUCT__entry(
		__field(s64, sleep_length)
		__field(s64, delta_tick)
		__field(s64, latency_limit)
		__field(u64, clock)
		__field(u32, cpu)
		__field(u32, asked)
	),
	TP_fast_assign(
		__entry->sleep_length = told->sleep_length_ns;
		__entry->delta_tick = told->delta_tick_ns;
		__entry->latency_limit = told->latency_limit_ns;
		__entry->clock = told->clock_ns;
		__entry->cpu = cpu;
		__entry->asked = told->asked;
	),
	TP_printk("cpu=%u asked=0x%x sleep_length=%lld delta_tick=%lld latency_limit=%lld clock=%llu",
		  __entry->cpu, __entry->asked, __entry->sleep_length, __entry->delta_tick,
		  __entry->latency_limit, __entry->clock)
);

/* The rest of what it knew, and what it chose. */
TRACE_EVENT(idle_chosen,
	TP_PROTO(const struct cpuidle_device *dev, const struct iw_told *told, u64 residency_ns,
		 bool poll_time_limit, u32 disabled, int state, bool stop_tick),
	TP_ARGS(dev, told, residency_ns, poll_time_limit, disabled, state, stop_tick),
	TP_STRUCT__entry(
		__field(u64, residency)
		__field(u64, poll_limit)
		__field(u32, cpu)
		__field(u32, util)
		__field(u32, iowait)
		__field(u32, random)
		__field(u16, disabled)
		__field(u8, state)
		__field(bool, stop_tick)
		__field(bool, tick_stopped)
		__field(bool, poll_time_limit)
	),
	TP_fast_assign(
		__entry->residency = residency_ns;
		__entry->poll_limit = dev->poll_limit_ns;
		__entry->cpu = dev->cpu;
		__entry->util = told->util;
		__entry->iowait = told->iowait;
		__entry->random = told->random;
		__entry->disabled = disabled;
		__entry->state = state;
		__entry->stop_tick = stop_tick;
		__entry->tick_stopped = told->tick_stopped;
		__entry->poll_time_limit = poll_time_limit;
	),
	TP_printk("cpu=%u state=%u stop_tick=%d tick_stopped=%d residency=%llu poll_time_limit=%d poll_limit=%llu util=%u iowait=%u random=%u disabled=0x%x",
		  __entry->cpu, __entry->state, __entry->stop_tick, __entry->tick_stopped,
		  __entry->residency, __entry->poll_time_limit, __entry->poll_limit, __entry->util,
		  __entry->iowait, __entry->random, __entry->disabled)
);

/* A stay ended, and the governor was told of it. */
TRACE_EVENT(idle_reflected,
	TP_PROTO(const struct cpuidle_device *dev, const struct iw_told *told, int state,
		 bool poll_time_limit),
	TP_ARGS(dev, told, state, poll_time_limit),
	TP_STRUCT__entry(
		__field(u64, residency)
		__field(u64, clock)
		__field(u32, cpu)
		__field(u32, asked)
		__field(u8, state)
		__field(bool, got_tick)
		__field(bool, poll_time_limit)
	),
	TP_fast_assign(
		__entry->residency = dev->last_residency_ns;
		__entry->clock = told->clock_ns;
		__entry->cpu = dev->cpu;
		__entry->asked = told->asked;
		__entry->state = state;
		__entry->got_tick = told->got_tick;
		__entry->poll_time_limit = poll_time_limit;
	),
	TP_printk("cpu=%u state=%u residency=%llu poll_time_limit=%d got_tick=%d clock=%llu asked=0x%x",
		  __entry->cpu, __entry->state, __entry->residency, __entry->poll_time_limit,
		  __entry->got_tick, __entry->clock, __entry->asked)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE record-trace
#include <trace/define_trace.h>
