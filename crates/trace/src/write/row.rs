// SPDX-License-Identifier: GPL-2.0-only
//! An understood event as the kernel's own event again: system, name, fields.

use idlewise_model::{CpuMask, Event, EventKind, Ipi, Vector};

use super::Names;

/// No event has more fields that mean something.
pub(super) const MOST_FIELDS: usize = 11;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Val<'a> {
    Number(i128),
    /// A set of bits.
    Bits(u32),
    /// A set of CPUs.
    Cpus(CpuMask),
    /// An address that is no function's.
    Pointer(u64),
    Function(u64, Option<&'a str>),
    /// The name of a task, where it is known.
    Comm(i32, Option<&'a str>),
    Text(&'a str),
    /// Why a CPU interrupts another.
    Reason(&'static str),
    PrevState(u64),
    Mode(u32),
    /// Flags of a wheel timer.
    Flags(u32),
    Dependency(u32),
    /// The verdict of a `cpu_idle_miss`.
    Below(bool),
    /// The jiffies at which a wheel timer that expires at the first of them was armed.
    ArmedAt(u64, u64),
    /// A softirq.
    Softirq(u32),
}

impl Val<'_> {
    /// What the field holds in a recording of the kernel; `None` for a text.
    pub(super) fn number(self) -> Option<u64> {
        Some(match self {
            // Negative ones as the kernel's 64 bits.
            Val::Number(n) => n as u64,
            Val::Pointer(n) | Val::Function(n, _) | Val::PrevState(n) | Val::ArmedAt(_, n) => n,
            Val::Bits(n) | Val::Mode(n) | Val::Flags(n) | Val::Dependency(n) | Val::Softirq(n) => n.into(),
            Val::Below(below) => below.into(),
            Val::Comm(..) | Val::Text(_) | Val::Reason(_) | Val::Cpus(_) => return None,
        })
    }
}

/// An event as the kernel would describe it.
pub(super) struct Row<'a> {
    /// Empty where nobody knows.
    pub(super) system: &'a str,
    pub(super) name: &'a str,
    fields: [(&'static str, Val<'a>); MOST_FIELDS],
    n: usize,
    /// Whether idlewise understands it: then these are all fields that it needs.
    pub(super) understood: bool,
}

impl<'a> Row<'a> {
    /// `None` for events that the reader made.
    pub(super) fn of(event: &'a Event, names: &'a impl Names) -> Option<Self> {
        let n = |n: u32| Val::Number(n.into());
        let wide = |n: u64| Val::Number(n.into());
        let signed = |n: i32| Val::Number(n.into());
        let comm = |pid: i32| Val::Comm(pid, names.comm(pid));
        let function = |at: u64| Val::Function(at, names.symbol(at));
        Some(match event.kind {
            EventKind::Lost { .. } => return None,
            EventKind::Other { id } => {
                let full = names.event_name(id).unwrap_or("unknown");
                let (system, name) = full.split_once(':').unwrap_or(("", full));
                Self { understood: false, ..Self::new(system, name, []) }
            }
            EventKind::CpuIdle { cpu, state } => {
                Self::new("power", "cpu_idle", [("state", n(state.unwrap_or(u32::MAX))), ("cpu_id", n(cpu))])
            }
            EventKind::CpuIdleMiss { cpu, state, below } => Self::new(
                "power",
                "cpu_idle_miss",
                [("cpu_id", n(cpu)), ("state", n(state)), ("below", Val::Below(below))],
            ),
            EventKind::CpuFrequency { cpu, khz } => {
                Self::new("power", "cpu_frequency", [("state", n(khz)), ("cpu_id", n(cpu))])
            }
            EventKind::PmQosUpdateTarget { curr_value } => {
                Self::new("power", "pm_qos_update_target", [("curr_value", signed(curr_value))])
            }
            EventKind::GuestHaltPollNs { grow, new, old } => Self::new(
                "power",
                "guest_halt_poll_ns",
                [("grow", n(grow.into())), ("new", n(new)), ("old", n(old))],
            ),
            EventKind::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio } => Self::new(
                "sched",
                "sched_switch",
                [
                    ("prev_comm", comm(prev_pid)),
                    ("prev_pid", signed(prev_pid)),
                    ("prev_prio", signed(prev_prio)),
                    ("prev_state", Val::PrevState(prev_state)),
                    ("next_comm", comm(next_pid)),
                    ("next_pid", signed(next_pid)),
                    ("next_prio", signed(next_prio)),
                ],
            ),
            EventKind::SchedWaking { pid, target_cpu } => {
                Self::woken("sched_waking", comm(pid), pid, target_cpu)
            }
            EventKind::SchedWakeup { pid, target_cpu, new } => {
                let name = if new { "sched_wakeup_new" } else { "sched_wakeup" };
                Self::woken(name, comm(pid), pid, target_cpu)
            }
            EventKind::SchedMigrateTask { pid, orig_cpu, dest_cpu } => Self::new(
                "sched",
                "sched_migrate_task",
                [
                    ("comm", comm(pid)),
                    ("pid", signed(pid)),
                    ("orig_cpu", n(orig_cpu)),
                    ("dest_cpu", n(dest_cpu)),
                ],
            ),
            EventKind::SchedBlockedReason { pid, io_wait } => Self::new(
                "sched",
                "sched_blocked_reason",
                [("pid", signed(pid)), ("io_wait", n(io_wait.into()))],
            ),
            EventKind::PeltCfs { cpu, util } => {
                Self::new("sched", "sched_load_avg_cpu", [("cpu", n(cpu)), ("util_avg", n(util))])
            }
            EventKind::SchedWakeIdleWithoutIpi { cpu } => {
                Self::new("sched", "sched_wake_idle_without_ipi", [("cpu", n(cpu))])
            }
            EventKind::IrqEntry { irq } => {
                let name = Val::Text(names.irq_name(irq).unwrap_or(""));
                Self::new("irq", "irq_handler_entry", [("irq", signed(irq)), ("name", name)])
            }
            EventKind::IrqExit { irq } => Self::new("irq", "irq_handler_exit", [("irq", signed(irq))]),
            EventKind::SoftirqEntry { vec } => {
                Self::new("irq", "softirq_entry", [("vec", Val::Softirq(vec))])
            }
            EventKind::SoftirqExit { vec } => Self::new("irq", "softirq_exit", [("vec", Val::Softirq(vec))]),
            EventKind::SoftirqRaise { vec } => {
                Self::new("irq", "softirq_raise", [("vec", Val::Softirq(vec))])
            }
            EventKind::VectorEntry { vector } => Self::new("irq_vectors", entry_and_exit(vector).0, []),
            EventKind::VectorExit { vector } => Self::new("irq_vectors", entry_and_exit(vector).1, []),
            EventKind::IpiEntry { ipi } => {
                Self::new("ipi", "ipi_entry", [("reason", Val::Reason(reason(ipi)))])
            }
            EventKind::IpiExit { ipi } => {
                Self::new("ipi", "ipi_exit", [("reason", Val::Reason(reason(ipi)))])
            }
            EventKind::IpiSendCpu { cpu } => Self::new("ipi", "ipi_send_cpu", [("cpu", n(cpu))]),
            EventKind::IpiSendCpumask { cpus } => {
                Self::new("ipi", "ipi_send_cpumask", [("cpumask", Val::Cpus(cpus))])
            }
            EventKind::IpiRaise { cpus, ipi } => Self::new(
                "ipi",
                "ipi_raise",
                [("target_mask", Val::Cpus(cpus)), ("reason", Val::Reason(reason(ipi)))],
            ),
            EventKind::HrtimerStart { hrtimer, function: at, expires, softexpires, mode, was_armed } => {
                let row = Self::new(
                    "timer",
                    "hrtimer_start",
                    [
                        ("hrtimer", Val::Pointer(hrtimer)),
                        ("function", function(at)),
                        ("expires", Val::Number(expires.into())),
                        ("softexpires", Val::Number(softexpires.into())),
                        ("mode", Val::Mode(mode.0)),
                    ],
                );
                row.and("was_armed", was_armed.map(|armed| n(armed.into())))
            }
            EventKind::HrtimerCancel { hrtimer } => {
                Self::new("timer", "hrtimer_cancel", [("hrtimer", Val::Pointer(hrtimer))])
            }
            EventKind::HrtimerExpireEntry { hrtimer, function: at, now } => Self::new(
                "timer",
                "hrtimer_expire_entry",
                [
                    ("hrtimer", Val::Pointer(hrtimer)),
                    ("function", function(at)),
                    ("now", Val::Number(now.into())),
                ],
            ),
            EventKind::HrtimerExpireExit { hrtimer } => {
                Self::new("timer", "hrtimer_expire_exit", [("hrtimer", Val::Pointer(hrtimer))])
            }
            EventKind::TimerStart { timer, function: at, expires, bucket_expiry, now, flags } => {
                let row = Self::new(
                    "timer",
                    "timer_start",
                    [
                        ("timer", Val::Pointer(timer)),
                        ("function", function(at)),
                        ("expires", wide(expires)),
                        ("now", Val::ArmedAt(expires, now)),
                    ],
                );
                row.and("bucket_expiry", bucket_expiry.map(wide)).and("flags", Some(Val::Flags(flags.0)))
            }
            EventKind::TimerCancel { timer } => {
                Self::new("timer", "timer_cancel", [("timer", Val::Pointer(timer))])
            }
            EventKind::TimerExpireEntry { timer, function: at, now } => Self::new(
                "timer",
                "timer_expire_entry",
                [("timer", Val::Pointer(timer)), ("function", function(at)), ("now", wide(now))],
            ),
            EventKind::TimerExpireExit { timer } => {
                Self::new("timer", "timer_expire_exit", [("timer", Val::Pointer(timer))])
            }
            EventKind::TimerBaseIdle { is_idle, cpu } => {
                Self::new("timer", "timer_base_idle", [("is_idle", n(is_idle.into())), ("cpu", n(cpu))])
            }
            EventKind::TmigrCpuIdle { cpu, nextevt, wakeup } => Self::new(
                "timer_migration",
                "tmigr_cpu_idle",
                [("cpu", n(cpu)), ("nextevt", wide(nextevt)), ("wakeup", wide(wakeup))],
            ),
            EventKind::TickStop { success, dependency } => Self::new(
                "timer",
                "tick_stop",
                [("success", n(success.into())), ("dependency", Val::Dependency(dependency))],
            ),
            EventKind::IdleEnabled { .. }
            | EventKind::IdleAsked { .. }
            | EventKind::IdleChosen { .. }
            | EventKind::IdleReflected { .. } => return Self::of_decision(&event.kind),
        })
    }

    /// An event of the kernel overlay, in the order of its format; the times are the kernel's, ns.
    fn of_decision(kind: &'a EventKind) -> Option<Self> {
        let n = |n: u32| Val::Number(n.into());
        let wide = |n: u64| Val::Number(n.into());
        let long = |n: i64| Val::Number(n.into());
        let yes = |yes: bool| Val::Number(yes.into());
        Some(match *kind {
            EventKind::IdleEnabled { cpu, capacity, states, ref governor } => Self::new(
                "idlewise",
                "idle_enabled",
                [
                    ("governor", Val::Text(governor.as_str())),
                    ("cpu", n(cpu)),
                    ("capacity", n(capacity)),
                    ("states", n(states)),
                ],
            ),
            EventKind::IdleAsked { cpu, asked, sleep_length, delta_tick, latency_limit, clock } => Self::new(
                "idlewise",
                "idle_asked",
                [
                    ("cpu", n(cpu)),
                    ("asked", Val::Bits(asked.0)),
                    ("sleep_length", long(sleep_length)),
                    ("delta_tick", long(delta_tick)),
                    ("latency_limit", long(latency_limit)),
                    ("clock", wide(clock)),
                ],
            ),
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
            } => Self::new(
                "idlewise",
                "idle_chosen",
                [
                    ("cpu", n(cpu)),
                    ("state", n(state.into())),
                    ("stop_tick", yes(stop_tick)),
                    ("tick_stopped", yes(tick_stopped)),
                    ("residency", wide(residency)),
                    ("poll_time_limit", yes(poll_time_limit)),
                    ("poll_limit", wide(poll_limit)),
                    ("util", n(util)),
                    ("iowait", n(iowait)),
                    ("random", n(random)),
                    ("disabled", Val::Bits(disabled.into())),
                ],
            ),
            EventKind::IdleReflected { cpu, state, got_tick, poll_time_limit, asked, residency, clock } => {
                Self::new(
                    "idlewise",
                    "idle_reflected",
                    [
                        ("cpu", n(cpu)),
                        ("state", n(state.into())),
                        ("residency", wide(residency)),
                        ("poll_time_limit", yes(poll_time_limit)),
                        ("got_tick", yes(got_tick)),
                        ("clock", wide(clock)),
                        ("asked", Val::Bits(asked.0)),
                    ],
                )
            }
            _ => return None,
        })
    }

    fn new<const N: usize>(system: &'a str, name: &'a str, fields: [(&'static str, Val<'a>); N]) -> Self {
        let mut row =
            Self { system, name, fields: [("", Val::Number(0)); MOST_FIELDS], n: N, understood: true };
        for (to, from) in row.fields.iter_mut().zip(fields) {
            *to = from;
        }
        row
    }

    fn woken(name: &'static str, comm: Val<'a>, pid: i32, target_cpu: u32) -> Self {
        let (pid, cpu) = (Val::Number(pid.into()), Val::Number(target_cpu.into()));
        Self::new("sched", name, [("comm", comm), ("pid", pid), ("target_cpu", cpu)])
    }

    /// Adds a field that not every kernel has.
    fn and(mut self, key: &'static str, value: Option<Val<'a>>) -> Self {
        if let (Some(value), Some(place)) = (value, self.fields.get_mut(self.n)) {
            *place = (key, value);
            self.n += 1;
        }
        self
    }

    pub(super) fn fields(&self) -> &[(&'static str, Val<'a>)] {
        self.fields.get(..self.n).unwrap_or_default()
    }
}

fn entry_and_exit(vector: Vector) -> (&'static str, &'static str) {
    match vector {
        Vector::LocalTimer => ("local_timer_entry", "local_timer_exit"),
        Vector::Reschedule => ("reschedule_entry", "reschedule_exit"),
        Vector::CallFunction => ("call_function_entry", "call_function_exit"),
        Vector::CallFunctionSingle => ("call_function_single_entry", "call_function_single_exit"),
        Vector::IrqWork => ("irq_work_entry", "irq_work_exit"),
        Vector::Other => ("other_entry", "other_exit"),
    }
}

fn reason(ipi: Ipi) -> &'static str {
    match ipi {
        Ipi::Reschedule => "Rescheduling interrupts",
        Ipi::CallFunction => "Function call interrupts",
        Ipi::TimerBroadcast => "Timer broadcast interrupts",
        Ipi::IrqWork => "IRQ work interrupts",
        Ipi::Other => "other",
    }
}
