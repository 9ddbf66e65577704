// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel's events mean: which fields of which event make which [`EventKind`]. Said once; each format says only
//! where it keeps a field ([`Layout`]) and how to get a value from there ([`Values`]).

use idlewise_model::{Asked, EventKind, GovernorName, HrtimerMode, Ipi, TimerFlags, Vector};

/// Where a format keeps the fields of one event.
pub(crate) trait Layout {
    /// A place of a field in an event of this format.
    type Field: Copy;

    /// The place of a number; `None` where the event has no such field.
    fn number(&mut self, name: &str) -> Option<Self::Field>;

    /// The place of a text; `None` where the event has no such field, or has it as something else.
    fn text(&mut self, name: &str) -> Option<Self::Field>;
}

/// The values of one event.
pub(crate) trait Values<F> {
    /// A number without sign.
    fn u64(&self, field: F) -> u64;

    /// A number, with sign if the format says so.
    fn i64(&self, field: F) -> i64;

    /// A text without the zero byte behind it.
    fn text(&self, field: F) -> &[u8];

    /// The id of a function: its address, or a number that stands for its name.
    #[inline(always)]
    fn function(&self, field: F) -> u64 {
        self.u64(field)
    }

    /// The inter-processor interrupt that a reason names by its address in the kernel.
    fn ipi_at(&self, _field: F) -> Ipi {
        Ipi::Other
    }

    #[inline(always)]
    fn u32(&self, field: F) -> u32 {
        self.u64(field) as u32
    }

    #[inline(always)]
    fn i32(&self, field: F) -> i32 {
        self.i64(field) as i32
    }

    #[inline(always)]
    fn bool(&self, field: F) -> bool {
        self.u64(field) != 0
    }
}

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

/// Looks up the fields of an event and remembers the first that is missing.
struct Needs<'a, L: Layout> {
    layout: &'a mut L,
    missing: Option<String>,
}

impl<L: Layout> Needs<'_, L> {
    fn number(&mut self, name: &str) -> Option<L::Field> {
        self.layout.number(name)
    }

    fn text(&mut self, name: &str) -> Option<L::Field> {
        self.layout.text(name)
    }

    /// Notes that `name` is missing.
    fn lack(&mut self, name: &str) -> Option<L::Field> {
        self.missing.get_or_insert_with(|| name.to_owned());
        None
    }

    /// The first of `names` that is there; a missing one is noted.
    fn any(&mut self, names: &[&str]) -> Option<L::Field> {
        let found = names.iter().find_map(|n| self.layout.number(n));
        found.or_else(|| self.lack(names.first().unwrap_or(&"")))
    }

    fn get(&mut self, name: &str) -> Option<L::Field> {
        self.any(&[name])
    }
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

/// `None` with nothing missing: an event that has no meaning here.
fn compile<L: Layout>(system: &str, name: &str, n: &mut Needs<'_, L>) -> Option<Op<L::Field>> {
    Some(match (system, name) {
        ("power", "cpu_idle") => Op::CpuIdle { cpu: n.any(&["cpu_id", "cpu"])?, state: n.get("state")? },
        ("power", "cpu_idle_miss") => Op::CpuIdleMiss {
            cpu: n.any(&["cpu_id", "cpu"])?,
            state: n.get("state")?,
            below: n.get("below")?,
        },
        ("power", "cpu_frequency") => {
            Op::CpuFrequency { cpu: n.any(&["cpu_id", "cpu"])?, khz: n.any(&["state", "frequency"])? }
        }
        ("power", "pm_qos_update_target") => Op::PmQosUpdateTarget { curr_value: n.get("curr_value")? },
        ("power", "guest_halt_poll_ns") => {
            Op::GuestHaltPollNs { grow: n.get("grow")?, new: n.get("new")?, old: n.get("old")? }
        }
        ("sched", "sched_switch") => Op::SchedSwitch {
            prev_pid: n.get("prev_pid")?,
            prev_prio: n.get("prev_prio")?,
            prev_state: n.get("prev_state")?,
            next_pid: n.get("next_pid")?,
            next_prio: n.get("next_prio")?,
        },
        ("sched", "sched_waking") => Op::SchedWaking { pid: n.get("pid")?, target_cpu: n.get("target_cpu")? },
        ("sched", "sched_wakeup" | "sched_wakeup_new") => Op::SchedWakeup {
            pid: n.get("pid")?,
            target_cpu: n.any(&["target_cpu", "cpu"])?,
            new: name == "sched_wakeup_new",
        },
        // The reason of an uninterruptible sleep, until 5.10 a patch of Android's.
        ("sched", "sched_blocked_reason") => {
            Op::SchedBlockedReason { pid: n.get("pid")?, io_wait: n.any(&["io_wait", "iowait"])? }
        }
        ("sched", "sched_load_avg_cpu") => {
            Op::PeltCfs { cpu: n.get("cpu")?, util: n.any(&["util_avg", "util"])?, path: None }
        }
        // The tracepoint pelt_cfs_tp as modules make an event of it; it is said of every task group.
        ("sched" | "lisa", "sched_load_cfs_rq" | "sched_pelt_cfs" | "lisa__sched_pelt_cfs") => {
            let path = n.text("path").or_else(|| n.lack("path"))?;
            Op::PeltCfs { cpu: n.get("cpu")?, util: n.any(&["util", "util_avg"])?, path: Some(path) }
        }
        ("sched", "sched_migrate_task") => Op::SchedMigrateTask {
            pid: n.get("pid")?,
            orig_cpu: n.get("orig_cpu")?,
            dest_cpu: n.get("dest_cpu")?,
        },
        ("sched", "sched_wake_idle_without_ipi") => Op::SchedWakeIdleWithoutIpi { cpu: n.get("cpu")? },
        ("irq", "irq_handler_entry") => Op::IrqEntry { irq: n.get("irq")?, name: n.text("name") },
        ("irq", "irq_handler_exit") => Op::IrqExit { irq: n.get("irq")? },
        ("irq", "softirq_entry") => Op::SoftirqEntry { vec: n.get("vec")? },
        ("irq", "softirq_exit") => Op::SoftirqExit { vec: n.get("vec")? },
        ("irq", "softirq_raise") => Op::SoftirqRaise { vec: n.get("vec")? },
        ("irq_vectors", name) => match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
            (Some(what), _) => Op::VectorEntry(vector(what)),
            (_, Some(what)) => Op::VectorExit(vector(what)),
            _ => return None,
        },
        ("ipi", "ipi_entry") => Op::IpiEntry(reason(n)?),
        ("ipi", "ipi_exit") => Op::IpiExit(reason(n)?),
        ("ipi", "ipi_send_cpu") => Op::IpiSendCpu { cpu: n.any(&["cpu", "cpu_id"])? },
        ("timer_migration", "tmigr_cpu_idle" | "tmigr_cpu_new_timer_idle") => {
            Op::TmigrCpuIdle { cpu: n.get("cpu")?, nextevt: n.get("nextevt")?, wakeup: n.get("wakeup")? }
        }
        ("ftrace", "print") => Op::Marker { text: n.text("buf")? },
        ("timer", name) => return compile_timer(name, n),
        ("idlewise", name) => return compile_decision(name, n),
        _ => return None,
    })
}

fn compile_timer<L: Layout>(name: &str, n: &mut Needs<'_, L>) -> Option<Op<L::Field>> {
    Some(match name {
        "hrtimer_start" => Op::HrtimerStart {
            hrtimer: n.get("hrtimer")?,
            function: n.get("function")?,
            expires: n.get("expires")?,
            softexpires: n.get("softexpires")?,
            mode: n.number("mode"),
            was_armed: n.number("was_armed"),
        },
        "hrtimer_cancel" => Op::HrtimerCancel { hrtimer: n.get("hrtimer")? },
        "hrtimer_expire_entry" => Op::HrtimerExpireEntry {
            hrtimer: n.get("hrtimer")?,
            function: n.get("function")?,
            now: n.get("now")?,
        },
        "hrtimer_expire_exit" => Op::HrtimerExpireExit { hrtimer: n.get("hrtimer")? },
        "timer_start" => Op::TimerStart {
            timer: n.get("timer")?,
            function: n.get("function")?,
            expires: n.get("expires")?,
            bucket_expiry: n.number("bucket_expiry"),
            now: n.get("now")?,
            flags: n.number("flags"),
        },
        "timer_cancel" => Op::TimerCancel { timer: n.get("timer")? },
        "timer_expire_entry" => {
            Op::TimerExpireEntry { timer: n.get("timer")?, function: n.get("function")?, now: n.get("now")? }
        }
        "timer_expire_exit" => Op::TimerExpireExit { timer: n.get("timer")? },
        "timer_base_idle" => Op::TimerBaseIdle { is_idle: n.get("is_idle")?, cpu: n.get("cpu")? },
        // Before 4.5 the reason was a text.
        "tick_stop" => Op::TickStop { success: n.get("success")?, dependency: n.number("dependency") },
        _ => return None,
    })
}

/// The events of the kernel overlay: what a governor was told, and what it chose.
fn compile_decision<L: Layout>(name: &str, n: &mut Needs<'_, L>) -> Option<Op<L::Field>> {
    Some(match name {
        "idle_enabled" => Op::IdleEnabled {
            cpu: n.get("cpu")?,
            capacity: n.get("capacity")?,
            states: n.get("states")?,
            governor: n.text("governor").or_else(|| n.lack("governor"))?,
        },
        "idle_asked" => Op::IdleAsked {
            cpu: n.get("cpu")?,
            asked: n.get("asked")?,
            sleep_length: n.get("sleep_length")?,
            delta_tick: n.get("delta_tick")?,
            latency_limit: n.get("latency_limit")?,
            clock: n.get("clock")?,
        },
        "idle_chosen" => Op::IdleChosen {
            cpu: n.get("cpu")?,
            state: n.get("state")?,
            stop_tick: n.get("stop_tick")?,
            tick_stopped: n.get("tick_stopped")?,
            poll_time_limit: n.get("poll_time_limit")?,
            disabled: n.get("disabled")?,
            residency: n.get("residency")?,
            poll_limit: n.get("poll_limit")?,
            util: n.get("util")?,
            iowait: n.get("iowait")?,
            random: n.get("random")?,
        },
        "idle_reflected" => Op::IdleReflected {
            cpu: n.get("cpu")?,
            state: n.get("state")?,
            got_tick: n.get("got_tick")?,
            poll_time_limit: n.get("poll_time_limit")?,
            asked: n.get("asked")?,
            residency: n.get("residency")?,
            clock: n.get("clock")?,
        },
        _ => return None,
    })
}

fn reason<L: Layout>(n: &mut Needs<'_, L>) -> Option<Reason<L::Field>> {
    n.text("reason").map(Reason::Text).or_else(|| n.get("reason").map(Reason::Address))
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

fn vector(name: &str) -> Vector {
    match name {
        "local_timer" => Vector::LocalTimer,
        "reschedule" => Vector::Reschedule,
        "call_function" => Vector::CallFunction,
        "call_function_single" => Vector::CallFunctionSingle,
        "irq_work" => Vector::IrqWork,
        _ => Vector::Other,
    }
}

/// The inter-processor interrupt of that name.
pub(crate) fn ipi(reason: &str) -> Ipi {
    match reason {
        "Rescheduling interrupts" => Ipi::Reschedule,
        "Function call interrupts" | "Single function call interrupts" => Ipi::CallFunction,
        "Timer broadcast interrupts" => Ipi::TimerBroadcast,
        "IRQ work interrupts" => Ipi::IrqWork,
        _ => Ipi::Other,
    }
}

/// The vectors that x86 traces, by their events in `irq_vectors`.
const X86_VECTORS: [&str; 11] = [
    "call_function",
    "call_function_single",
    "deferred_error_apic",
    "error_apic",
    "irq_work",
    "local_timer",
    "reschedule",
    "spurious_apic",
    "thermal_apic",
    "threshold_apic",
    "x86_platform_ipi",
];
