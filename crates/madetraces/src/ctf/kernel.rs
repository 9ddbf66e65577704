// SPDX-License-Identifier: GPL-2.0-only
//! How LTTng describes the kernel's events and what is written of each.

use std::fmt::Write;

use idlewise_model::{EventKind, Ipi, Vector};

/// `prev_state` as LTTng records it: the task's own bits. The kernel's own event reports an idle kworker as 0x80 since 4.14;
/// the task itself sleeps uninterruptibly (2) and without load (0x400).
pub fn own_state(reported: u64) -> u64 {
    if reported == 0x80 { 0x402 } else { reported }
}

/// A field of an event: TSDL's type and name, and what is written.
pub(super) enum Value {
    Number(u64, usize),
    Text(String),
    Comm(String),
}

pub(super) type Field = (String, Value);

/// The description of an event in the metadata.
pub(super) fn declaration(name: &str, id: u64, fields: &[Field]) -> String {
    let mut text =
        format!("event {{\n\tname = \"{name}\";\n\tid = {id};\n\tstream_id = 0;\n\tfields := struct {{\n");
    for (name, value) in fields {
        let (kind, name) = name.split_once(' ').unwrap_or(("u", name));
        match value {
            Value::Number(_, size) => writeln!(
                text,
                "\t\tinteger {{ size = {size}; align = 8; signed = {}; encoding = none; base = {}; }} _{name};",
                u8::from(kind == "s"),
                if kind == "x" { 16 } else { 10 }
            ),
            Value::Text(_) => writeln!(text, "\t\tstring _{name};"),
            Value::Comm(_) => writeln!(
                text,
                "\t\tinteger {{ size = 8; align = 8; signed = 0; encoding = UTF8; base = 10; }} _{name}[16];"
            ),
        }
        .unwrap();
    }
    text.push_str("\t};\n};\n\n");
    text
}

/// Name and fields of an event, as LTTng has them where it has the event.
pub(super) fn fields_of(kind: &EventKind) -> (String, Vec<Field>) {
    let u32s = |all: &[(&str, u32)]| -> Vec<Field> {
        all.iter().map(|(name, n)| (format!("u {name}"), Value::Number((*n).into(), 32))).collect()
    };
    let u64s = |all: &[(&str, u64)]| -> Vec<Field> {
        all.iter().map(|(name, n)| (format!("x {name}"), Value::Number(*n, 64))).collect()
    };
    let signed = |name: &str, n: i64, bits: usize| (format!("s {name}"), Value::Number(n as u64, bits));
    let text = |name: &str, text: &str| (name.to_owned(), Value::Text(text.to_owned()));
    let task = |key: &str, pid: i32, name: &str| {
        let comm = Value::Comm(if pid == 0 { "swapper".to_owned() } else { format!("task-{pid}") });
        [(key.to_owned(), comm), signed(name, pid.into(), 32)]
    };
    let (name, fields) = match *kind {
        EventKind::CpuIdle { cpu, state } => {
            ("power_cpu_idle", u32s(&[("state", state.unwrap_or(u32::MAX)), ("cpu_id", cpu)]))
        }
        EventKind::CpuIdleMiss { cpu, state, below } => {
            ("power:cpu_idle_miss", u32s(&[("cpu_id", cpu), ("state", state), ("below", below.into())]))
        }
        EventKind::CpuFrequency { cpu, khz } => {
            ("power_cpu_frequency", u32s(&[("state", khz), ("cpu_id", cpu)]))
        }
        EventKind::PmQosUpdateTarget { prev_value, curr_value } => (
            "power:pm_qos_update_target",
            vec![signed("prev_value", prev_value.into(), 32), signed("curr_value", curr_value.into(), 32)],
        ),
        EventKind::PmQosRequest { value } => {
            ("power:dev_pm_qos_add_request", vec![signed("new_value", value.into(), 32)])
        }
        EventKind::SuspendResume { begins } => ("power:suspend_resume", u32s(&[("start", begins.into())])),
        EventKind::CpuHotplug { cpu } => ("cpuhp:cpuhp_enter", u32s(&[("cpu", cpu)])),
        EventKind::GuestHaltPollNs { grow, new, old } => {
            ("power:guest_halt_poll_ns", u32s(&[("grow", grow.into()), ("new", new), ("old", old)]))
        }
        EventKind::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio } => {
            let mut fields: Vec<Field> = task("prev_comm", prev_pid, "prev_tid").into();
            fields.push(signed("prev_prio", i64::from(prev_prio) - 100, 32));
            fields.push(signed("prev_state", own_state(prev_state) as i64, 64));
            fields.extend(task("next_comm", next_pid, "next_tid"));
            fields.push(signed("next_prio", i64::from(next_prio) - 100, 32));
            ("sched_switch", fields)
        }
        EventKind::SchedWaking { pid, target_cpu } | EventKind::SchedWakeup { pid, target_cpu, .. } => {
            let mut fields: Vec<Field> = task("comm", pid, "tid").into();
            fields.push(signed("prio", 20, 32));
            fields.push(signed("target_cpu", target_cpu.into(), 32));
            let name = match kind {
                EventKind::SchedWakeup { new: true, .. } => "sched_wakeup_new",
                EventKind::SchedWakeup { .. } => "sched_wakeup",
                _ => "sched_waking",
            };
            (name, fields)
        }
        EventKind::SchedMigrateTask { pid, orig_cpu, dest_cpu } => {
            let mut fields: Vec<Field> = task("comm", pid, "tid").into();
            fields.extend(u32s(&[("orig_cpu", orig_cpu), ("dest_cpu", dest_cpu)]));
            ("sched_migrate_task", fields)
        }
        EventKind::SchedBlockedReason { pid, io_wait } => {
            ("sched:sched_blocked_reason", u32s(&[("pid", pid as u32), ("io_wait", io_wait.into())]))
        }
        EventKind::SchedStat { pid, io_wait } => (
            if io_wait { "sched_stat_iowait" } else { "sched_stat_blocked" },
            task("comm", pid, "tid").into(),
        ),
        EventKind::BlockRqIssue { dev, sector, sectors }
        | EventKind::BlockRqComplete { dev, sector, sectors } => {
            let mut fields = u32s(&[("dev", dev)]);
            fields.extend(u64s(&[("sector", sector)]));
            fields.extend(u32s(&[("nr_sector", sectors)]));
            let issued = matches!(kind, EventKind::BlockRqIssue { .. });
            (if issued { "block_rq_issue" } else { "block_rq_complete" }, fields)
        }
        EventKind::PeltCfs { cpu, util } => {
            ("sched:sched_load_avg_cpu", u32s(&[("cpu", cpu), ("util_avg", util)]))
        }
        EventKind::SchedWakeIdleWithoutIpi { cpu } => {
            ("sched:sched_wake_idle_without_ipi", u32s(&[("cpu", cpu)]))
        }
        EventKind::IrqEntry { irq } => (
            "irq_handler_entry",
            vec![signed("irq", irq.into(), 32), text("name", &format!("handler-{irq}"))],
        ),
        EventKind::IrqExit { irq } => {
            ("irq_handler_exit", vec![signed("irq", irq.into(), 32), signed("ret", 1, 32)])
        }
        EventKind::SoftirqEntry { vec } => ("irq_softirq_entry", u32s(&[("vec", vec)])),
        EventKind::SoftirqExit { vec } => ("irq_softirq_exit", u32s(&[("vec", vec)])),
        EventKind::SoftirqRaise { vec } => ("irq_softirq_raise", u32s(&[("vec", vec)])),
        EventKind::VectorEntry { vector } | EventKind::VectorExit { vector } => {
            let end = if matches!(kind, EventKind::VectorEntry { .. }) { "entry" } else { "exit" };
            return (format!("x86_irq_vectors_{}_{end}", vector_name(vector)), u32s(&[("vector", 236)]));
        }
        EventKind::IpiEntry { ipi } => ("ipi:ipi_entry", vec![text("reason", ipi_name(ipi))]),
        EventKind::IpiExit { ipi } => ("ipi:ipi_exit", vec![text("reason", ipi_name(ipi))]),
        EventKind::IpiSendCpu { cpu } => ("ipi:ipi_send_cpu", u32s(&[("cpu", cpu)])),
        EventKind::IpiSendCpumask { cpus } => {
            ("ipi:ipi_send_cpumask", vec![text("cpumask", &cpus.to_string())])
        }
        EventKind::IpiRaise { cpus, ipi } => {
            ("ipi:ipi_raise", vec![text("target_cpus", &cpus.to_string()), text("reason", ipi_name(ipi))])
        }
        EventKind::HrtimerStart { hrtimer, function, expires, softexpires, mode, was_armed } => {
            let mut fields = u64s(&[("hrtimer", hrtimer), ("function", function)]);
            fields.extend([signed("expires", expires, 64), signed("softexpires", softexpires, 64)]);
            fields.extend(u32s(&[("mode", mode.0)]));
            if let Some(armed) = was_armed {
                fields.extend(u32s(&[("was_armed", armed.into())]));
            }
            ("timer_hrtimer_start", fields)
        }
        EventKind::HrtimerCancel { hrtimer } => ("timer_hrtimer_cancel", u64s(&[("hrtimer", hrtimer)])),
        EventKind::HrtimerExpireEntry { hrtimer, function, now } => {
            let mut fields = u64s(&[("hrtimer", hrtimer)]);
            fields.push(signed("now", now, 64));
            fields.extend(u64s(&[("function", function)]));
            ("timer_hrtimer_expire_entry", fields)
        }
        EventKind::HrtimerExpireExit { hrtimer } => {
            ("timer_hrtimer_expire_exit", u64s(&[("hrtimer", hrtimer)]))
        }
        EventKind::HrtimerRearm { next_event, deferred } => {
            let mut fields = vec![signed("next_event", next_event, 64)];
            fields.extend(u32s(&[("deferred", deferred.into())]));
            ("timer:hrtimer_rearm", fields)
        }
        EventKind::TimerStart { timer, function, expires, bucket_expiry, now, flags } => {
            let mut fields =
                u64s(&[("timer", timer), ("function", function), ("expires", expires), ("now", now)]);
            fields.extend(u32s(&[("flags", flags.0)]));
            if let Some(bucket) = bucket_expiry {
                fields.extend(u64s(&[("bucket_expiry", bucket)]));
            }
            ("timer_start", fields)
        }
        EventKind::TimerCancel { timer } => ("timer_cancel", u64s(&[("timer", timer)])),
        EventKind::TimerExpireEntry { timer, function, now } => {
            ("timer_expire_entry", u64s(&[("timer", timer), ("now", now), ("function", function)]))
        }
        EventKind::TimerExpireExit { timer } => ("timer_expire_exit", u64s(&[("timer", timer)])),
        EventKind::TimerBaseIdle { is_idle, cpu } => {
            ("timer:timer_base_idle", u32s(&[("is_idle", is_idle.into()), ("cpu", cpu)]))
        }
        EventKind::TmigrCpuIdle { cpu, nextevt, wakeup } => {
            let mut fields = u64s(&[("nextevt", nextevt), ("wakeup", wakeup)]);
            fields.extend(u32s(&[("cpu", cpu)]));
            ("timer_migration:tmigr_cpu_idle", fields)
        }
        EventKind::TickStop { success, dependency } => {
            ("timer:tick_stop", u32s(&[("success", success.into()), ("dependency", dependency)]))
        }
        EventKind::IdleEnabled { cpu, capacity, states, governor } => {
            let mut fields = vec![text("governor", governor.as_str())];
            fields.extend(u32s(&[("cpu", cpu), ("capacity", capacity), ("states", states)]));
            ("idlewise:idle_enabled", fields)
        }
        EventKind::IdleAsked { cpu, asked, sleep_length, delta_tick, latency_limit, clock } => {
            let mut fields = vec![
                signed("sleep_length", sleep_length, 64),
                signed("delta_tick", delta_tick, 64),
                signed("latency_limit", latency_limit, 64),
            ];
            fields.extend(u64s(&[("clock", clock)]));
            fields.extend(u32s(&[("cpu", cpu), ("asked", asked.0)]));
            ("idlewise:idle_asked", fields)
        }
        EventKind::IdleChosen {
            cpu,
            state,
            stop_tick,
            tick_stopped,
            poll_time_limit,
            disabled,
            residency,
            poll_limit,
            util,
            iowait,
            random,
        } => {
            let mut fields = u64s(&[("residency", residency), ("poll_limit", poll_limit)]);
            fields.extend(u32s(&[("cpu", cpu), ("util", util), ("iowait", iowait), ("random", random)]));
            fields.extend(u32s(&[("disabled", disabled.into()), ("state", state.into())]));
            fields.extend(u32s(&[("stop_tick", stop_tick.into()), ("tick_stopped", tick_stopped.into())]));
            fields.extend(u32s(&[("poll_time_limit", poll_time_limit.into())]));
            ("idlewise:idle_chosen", fields)
        }
        EventKind::IdleReflected { cpu, state, got_tick, poll_time_limit, asked, residency, clock } => {
            let mut fields = u64s(&[("residency", residency), ("clock", clock)]);
            fields.extend(u32s(&[("cpu", cpu), ("asked", asked.0), ("state", state.into())]));
            fields
                .extend(u32s(&[("got_tick", got_tick.into()), ("poll_time_limit", poll_time_limit.into())]));
            ("idlewise:idle_reflected", fields)
        }
        EventKind::Other { id } => return (format!("other_{id}"), Vec::new()),
        EventKind::Lost { .. } => unreachable!("lost events are no events"),
    };
    (name.to_owned(), fields)
}

fn vector_name(vector: Vector) -> &'static str {
    match vector {
        Vector::LocalTimer => "local_timer",
        Vector::Reschedule => "reschedule",
        Vector::CallFunction => "call_function",
        Vector::CallFunctionSingle => "call_function_single",
        Vector::IrqWork => "irq_work",
        Vector::Other => "thermal_apic",
    }
}

fn ipi_name(ipi: Ipi) -> &'static str {
    match ipi {
        Ipi::Reschedule => "Rescheduling interrupts",
        Ipi::CallFunction => "Function call interrupts",
        Ipi::TimerBroadcast => "Timer broadcast interrupts",
        Ipi::IrqWork => "IRQ work interrupts",
        Ipi::Other => "CPU stop interrupts",
    }
}
