// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel's events mean: which fields of which event make which [`EventKind`]. Said once; each format says only
//! where it keeps a field ([`Layout`]) and how to get a value from there ([`Values`]).

mod compile;
mod layout;
mod vectors;

use idlewise_model::{Asked, EventKind, GovernorName, HrtimerMode, Ipi, TimerFlags, Vector};

use compile::{Needs, compile};
pub(crate) use layout::{Layout, Values};
use vectors::X86_VECTORS;
pub(crate) use vectors::ipi;

/// How the reason of an `ipi_entry` is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason<F> {
    /// As the address of a text in the kernel.
    Address(F),
    /// As a text in the event.
    Text(F),
}

/// What to make of an event, with the places of its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op<F> {
    Other,
    CpuIdle {
        cpu: F,
        state: F,
    },
    CpuIdleMiss {
        cpu: F,
        state: F,
        below: F,
    },
    CpuFrequency {
        cpu: F,
        khz: F,
    },
    /// Text that a program wrote to `trace_marker`.
    Marker {
        text: F,
    },
    PmQosUpdateTarget {
        curr_value: F,
    },
    GuestHaltPollNs {
        grow: F,
        new: F,
        old: F,
    },
    SchedSwitch {
        prev_pid: F,
        prev_prio: F,
        prev_state: F,
        next_pid: F,
        next_prio: F,
    },
    SchedWaking {
        pid: F,
        target_cpu: F,
    },
    SchedWakeup {
        pid: F,
        target_cpu: F,
        new: bool,
    },
    SchedBlockedReason {
        pid: F,
        io_wait: F,
    },
    PeltCfs {
        cpu: F,
        util: F,
        path: Option<F>,
    },
    SchedMigrateTask {
        pid: F,
        orig_cpu: F,
        dest_cpu: F,
    },
    SchedWakeIdleWithoutIpi {
        cpu: F,
    },
    IrqEntry {
        irq: F,
        name: Option<F>,
    },
    IrqExit {
        irq: F,
    },
    SoftirqEntry {
        vec: F,
    },
    SoftirqExit {
        vec: F,
    },
    SoftirqRaise {
        vec: F,
    },
    VectorEntry(Vector),
    VectorExit(Vector),
    IpiEntry(Reason<F>),
    IpiExit(Reason<F>),
    IpiSendCpu {
        cpu: F,
    },
    IpiSendCpumask {
        cpus: F,
    },
    IpiRaise {
        cpus: F,
        reason: Reason<F>,
    },
    HrtimerStart {
        hrtimer: F,
        function: F,
        expires: F,
        softexpires: F,
        mode: Option<F>,
        was_armed: Option<F>,
    },
    HrtimerCancel {
        hrtimer: F,
    },
    HrtimerExpireEntry {
        hrtimer: F,
        function: F,
        now: F,
    },
    HrtimerExpireExit {
        hrtimer: F,
    },
    TimerStart {
        timer: F,
        function: F,
        expires: F,
        bucket_expiry: Option<F>,
        now: F,
        flags: Option<F>,
    },
    TimerCancel {
        timer: F,
    },
    TimerExpireEntry {
        timer: F,
        function: F,
        now: F,
    },
    TimerExpireExit {
        timer: F,
    },
    TimerBaseIdle {
        is_idle: F,
        cpu: F,
    },
    TmigrCpuIdle {
        cpu: F,
        nextevt: F,
        wakeup: F,
    },
    TickStop {
        success: F,
        dependency: Option<F>,
    },
    IdleEnabled {
        cpu: F,
        capacity: F,
        states: F,
        governor: F,
    },
    IdleAsked {
        cpu: F,
        asked: F,
        sleep_length: F,
        delta_tick: F,
        latency_limit: F,
        clock: F,
    },
    IdleChosen {
        cpu: F,
        state: F,
        stop_tick: F,
        tick_stopped: F,
        poll_time_limit: F,
        disabled: F,
        residency: F,
        poll_limit: F,
        util: F,
        iowait: F,
        random: F,
    },
    IdleReflected {
        cpu: F,
        state: F,
        got_tick: F,
        poll_time_limit: F,
        asked: F,
        residency: F,
        clock: F,
    },
}

/// The system of the events that mean something here, for formats that do not name it.
pub(crate) fn system_of(name: &str) -> Option<&'static str> {
    let vector = name.strip_suffix("_entry").or_else(|| name.strip_suffix("_exit"));
    Some(match name {
        "cpu_idle" | "cpu_idle_miss" | "cpu_frequency" | "pm_qos_update_target" | "guest_halt_poll_ns" => {
            "power"
        }
        "irq_handler_entry" | "irq_handler_exit" => "irq",
        "softirq_entry" | "softirq_exit" | "softirq_raise" => "irq",
        "ipi_entry" | "ipi_exit" | "ipi_raise" | "ipi_send_cpu" | "ipi_send_cpumask" => "ipi",
        "tick_stop" => "timer",
        "idle_enabled" | "idle_asked" | "idle_chosen" | "idle_reflected" => "idlewise",
        "print" => "ftrace",
        "lisa__sched_pelt_cfs" => "lisa",
        _ if vector.is_some_and(|v| X86_VECTORS.contains(&v)) => "irq_vectors",
        _ if name.starts_with("sched_") => "sched",
        _ if name.starts_with("hrtimer_") || name.starts_with("timer_") => "timer",
        _ if name.starts_with("tmigr_") => "timer_migration",
        _ => return None,
    })
}

impl<F: Copy> Op<F> {
    /// What to make of the event `system:name`. An event without a meaning here is [`Op::Other`].
    ///
    /// # Errors
    /// The name of a field that it needs and does not have.
    pub(crate) fn compile<L: Layout<Field = F>>(
        system: &str,
        name: &str,
        layout: &mut L,
    ) -> Result<Self, String> {
        let mut needs = Needs { layout, missing: None };
        match (compile(system, name, &mut needs), needs.missing) {
            (Some(op), _) => Ok(op),
            (None, None) => Ok(Self::Other),
            (None, Some(field)) => Err(field),
        }
    }

    /// What happened, of an event with id `id` and the values `v`.
    #[inline(always)]
    pub(crate) fn kind(&self, id: u16, v: &impl Values<F>) -> EventKind {
        match *self {
            Op::Other => EventKind::Other { id },
            Op::CpuIdle { cpu, state } => {
                let state = v.u32(state);
                EventKind::CpuIdle { cpu: v.u32(cpu), state: (state != u32::MAX).then_some(state) }
            }
            Op::CpuIdleMiss { cpu, state, below } => {
                EventKind::CpuIdleMiss { cpu: v.u32(cpu), state: v.u32(state), below: v.bool(below) }
            }
            Op::CpuFrequency { cpu, khz } => EventKind::CpuFrequency { cpu: v.u32(cpu), khz: v.u32(khz) },
            Op::Marker { text } => marker(v.text(text)).unwrap_or(EventKind::Other { id }),
            Op::PmQosUpdateTarget { curr_value } => {
                EventKind::PmQosUpdateTarget { curr_value: v.i32(curr_value) }
            }
            Op::GuestHaltPollNs { grow, new, old } => {
                EventKind::GuestHaltPollNs { grow: v.bool(grow), new: v.u32(new), old: v.u32(old) }
            }
            Op::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio } => {
                EventKind::SchedSwitch {
                    prev_pid: v.i32(prev_pid),
                    prev_prio: v.i32(prev_prio),
                    prev_state: v.u64(prev_state),
                    next_pid: v.i32(next_pid),
                    next_prio: v.i32(next_prio),
                }
            }
            Op::SchedWaking { pid, target_cpu } => {
                EventKind::SchedWaking { pid: v.i32(pid), target_cpu: v.u32(target_cpu) }
            }
            Op::SchedWakeup { pid, target_cpu, new } => {
                EventKind::SchedWakeup { pid: v.i32(pid), target_cpu: v.u32(target_cpu), new }
            }
            Op::SchedBlockedReason { pid, io_wait } => {
                EventKind::SchedBlockedReason { pid: v.i32(pid), io_wait: v.bool(io_wait) }
            }
            Op::PeltCfs { path: Some(path), .. } if v.text(path) != b"/" => EventKind::Other { id },
            Op::PeltCfs { cpu, util, .. } => EventKind::PeltCfs { cpu: v.u32(cpu), util: v.u32(util) },
            Op::SchedMigrateTask { pid, orig_cpu, dest_cpu } => EventKind::SchedMigrateTask {
                pid: v.i32(pid),
                orig_cpu: v.u32(orig_cpu),
                dest_cpu: v.u32(dest_cpu),
            },
            Op::SchedWakeIdleWithoutIpi { cpu } => EventKind::SchedWakeIdleWithoutIpi { cpu: v.u32(cpu) },
            Op::IrqEntry { irq, .. } => EventKind::IrqEntry { irq: v.i32(irq) },
            Op::IrqExit { irq } => EventKind::IrqExit { irq: v.i32(irq) },
            Op::SoftirqEntry { vec } => EventKind::SoftirqEntry { vec: v.u32(vec) },
            Op::SoftirqExit { vec } => EventKind::SoftirqExit { vec: v.u32(vec) },
            Op::SoftirqRaise { vec } => EventKind::SoftirqRaise { vec: v.u32(vec) },
            Op::VectorEntry(vector) => EventKind::VectorEntry { vector },
            Op::VectorExit(vector) => EventKind::VectorExit { vector },
            Op::IpiEntry(reason) => EventKind::IpiEntry { ipi: ipi_of(reason, v) },
            Op::IpiExit(reason) => EventKind::IpiExit { ipi: ipi_of(reason, v) },
            Op::IpiSendCpu { cpu } => EventKind::IpiSendCpu { cpu: v.u32(cpu) },
            Op::IpiSendCpumask { cpus } => EventKind::IpiSendCpumask { cpus: v.cpus(cpus) },
            Op::IpiRaise { cpus, reason } => {
                EventKind::IpiRaise { cpus: v.cpus(cpus), ipi: ipi_of(reason, v) }
            }
            Op::HrtimerStart { hrtimer, function, expires, softexpires, mode, was_armed } => {
                EventKind::HrtimerStart {
                    hrtimer: v.u64(hrtimer),
                    function: v.function(function),
                    expires: v.i64(expires),
                    softexpires: v.i64(softexpires),
                    mode: HrtimerMode(mode.map_or(0, |f| v.u32(f))),
                    was_armed: was_armed.map(|f| v.bool(f)),
                }
            }
            Op::HrtimerCancel { hrtimer } => EventKind::HrtimerCancel { hrtimer: v.u64(hrtimer) },
            Op::HrtimerExpireEntry { hrtimer, function, now } => EventKind::HrtimerExpireEntry {
                hrtimer: v.u64(hrtimer),
                function: v.function(function),
                now: v.i64(now),
            },
            Op::HrtimerExpireExit { hrtimer } => EventKind::HrtimerExpireExit { hrtimer: v.u64(hrtimer) },
            Op::TimerStart { timer, function, expires, bucket_expiry, now, flags } => EventKind::TimerStart {
                timer: v.u64(timer),
                function: v.function(function),
                expires: v.u64(expires),
                bucket_expiry: bucket_expiry.map(|f| v.u64(f)),
                now: v.u64(now),
                flags: TimerFlags(flags.map_or(0, |f| v.u32(f))),
            },
            Op::TimerCancel { timer } => EventKind::TimerCancel { timer: v.u64(timer) },
            Op::TimerExpireEntry { timer, function, now } => EventKind::TimerExpireEntry {
                timer: v.u64(timer),
                function: v.function(function),
                now: v.u64(now),
            },
            Op::TimerExpireExit { timer } => EventKind::TimerExpireExit { timer: v.u64(timer) },
            Op::TimerBaseIdle { is_idle, cpu } => {
                EventKind::TimerBaseIdle { is_idle: v.bool(is_idle), cpu: v.u32(cpu) }
            }
            Op::TmigrCpuIdle { cpu, nextevt, wakeup } => {
                EventKind::TmigrCpuIdle { cpu: v.u32(cpu), nextevt: v.u64(nextevt), wakeup: v.u64(wakeup) }
            }
            Op::TickStop { success, dependency } => EventKind::TickStop {
                success: v.bool(success),
                dependency: dependency.map_or(0, |f| v.u32(f)),
            },
            Op::IdleEnabled { cpu, capacity, states, governor } => EventKind::IdleEnabled {
                cpu: v.u32(cpu),
                capacity: v.u32(capacity),
                states: v.u32(states),
                governor: GovernorName::new(v.text(governor)),
            },
            Op::IdleAsked { cpu, asked, sleep_length, delta_tick, latency_limit, clock } => {
                EventKind::IdleAsked {
                    cpu: v.u32(cpu),
                    asked: Asked(v.u32(asked)),
                    sleep_length: v.i64(sleep_length),
                    delta_tick: v.i64(delta_tick),
                    latency_limit: v.i64(latency_limit),
                    clock: v.u64(clock),
                }
            }
            Op::IdleChosen {
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
            } => EventKind::IdleChosen {
                cpu: v.u32(cpu),
                state: v.u64(state) as u8,
                stop_tick: v.bool(stop_tick),
                tick_stopped: v.bool(tick_stopped),
                poll_time_limit: v.bool(poll_time_limit),
                disabled: v.u64(disabled) as u16,
                residency: v.u64(residency),
                poll_limit: v.u64(poll_limit),
                util: v.u32(util),
                iowait: v.u32(iowait),
                random: v.u32(random),
            },
            Op::IdleReflected { cpu, state, got_tick, poll_time_limit, asked, residency, clock } => {
                EventKind::IdleReflected {
                    cpu: v.u32(cpu),
                    state: v.u64(state) as u8,
                    got_tick: v.bool(got_tick),
                    poll_time_limit: v.bool(poll_time_limit),
                    asked: Asked(v.u32(asked)),
                    residency: v.u64(residency),
                    clock: v.u64(clock),
                }
            }
        }
    }
}

#[inline(never)]
fn ipi_of<F: Copy>(reason: Reason<F>, v: &impl Values<F>) -> Ipi {
    match reason {
        Reason::Address(field) => v.ipi_at(field),
        Reason::Text(field) => ipi(&String::from_utf8_lossy(v.text(field))),
    }
}

/// Frequencies that user space writes to the trace itself: `cpu_frequency_devlib: state=450000 cpu_id=5` (devlib, for
/// machines whose driver has no event).
#[cold]
fn marker(text: &[u8]) -> Option<EventKind> {
    let fields = text.strip_prefix(b"cpu_frequency")?;
    let fields = String::from_utf8_lossy(fields);
    let value = |key: &str| {
        fields.split_ascii_whitespace().find_map(|w| w.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
    };
    Some(EventKind::CpuFrequency { cpu: value("cpu_id")?, khz: value("state")? })
}
