// SPDX-License-Identifier: GPL-2.0-only
//! From the bytes of an event to its meaning. Each format of the file is compiled once into a [`Decoder`]; offsets
//! and sizes come from the format, the kernel has moved fields more than once.

use std::collections::BTreeMap;

use idlewise_model::{Event, EventKind, HrtimerMode, Ipi, TimerFlags, Vector};

use super::format::{Format, FormatField};

/// Bytes that must be readable behind every event, so that a field of any size can be loaded in one go.
pub(crate) const PAD: usize = 8;

/// Where an integer lies in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    offset: u16,
    /// 64 minus the field's bits.
    shift: u8,
    signed: bool,
}

impl Field {
    fn of(field: &FormatField<'_>) -> Option<Self> {
        matches!(field.size, 1 | 2 | 4 | 8).then(|| Self {
            offset: field.offset,
            shift: 64 - 8 * field.size as u8,
            signed: field.signed,
        })
    }

    fn end(self) -> usize {
        usize::from(self.offset) + usize::from((64 - self.shift) / 8)
    }

    #[inline(always)]
    fn word(self, data: &[u8]) -> u64 {
        let at = usize::from(self.offset);
        let bytes = data.get(at..).and_then(|d| d.first_chunk::<8>());
        bytes.map_or(0, |b| u64::from_le_bytes(*b)) << self.shift
    }

    /// The value without sign.
    #[inline(always)]
    fn u64(self, data: &[u8]) -> u64 {
        self.word(data) >> self.shift
    }

    #[inline(always)]
    fn u32(self, data: &[u8]) -> u32 {
        self.u64(data) as u32
    }

    /// The value, with sign if the format says so.
    #[inline(always)]
    fn i64(self, data: &[u8]) -> i64 {
        if self.signed { (self.word(data) as i64) >> self.shift } else { self.u64(data) as i64 }
    }

    #[inline(always)]
    fn i32(self, data: &[u8]) -> i32 {
        self.i64(data) as i32
    }

    #[inline(always)]
    fn bool(self, data: &[u8]) -> bool {
        self.word(data) != 0
    }
}

/// How the reason of an `ipi_entry` is stored.
#[derive(Clone, Copy, Debug)]
enum Reason {
    /// As the address of a text in the kernel.
    Address(Field),
    /// As a text in the event.
    Text(Field),
}

/// What to make of an event, with the places of its fields.
#[derive(Clone, Copy, Debug)]
enum Op {
    Other,
    CpuIdle {
        cpu: Field,
        state: Field,
    },
    CpuIdleMiss {
        cpu: Field,
        state: Field,
        below: Field,
    },
    CpuFrequency {
        cpu: Field,
        khz: Field,
    },
    PmQosUpdateTarget {
        curr_value: Field,
    },
    GuestHaltPollNs {
        grow: Field,
        new: Field,
        old: Field,
    },
    SchedSwitch {
        prev_pid: Field,
        prev_prio: Field,
        prev_state: Field,
        next_pid: Field,
        next_prio: Field,
    },
    SchedWaking {
        pid: Field,
        target_cpu: Field,
    },
    SchedWakeup {
        pid: Field,
        target_cpu: Field,
        new: bool,
    },
    SchedMigrateTask {
        pid: Field,
        orig_cpu: Field,
        dest_cpu: Field,
    },
    SchedWakeIdleWithoutIpi {
        cpu: Field,
    },
    IrqEntry {
        irq: Field,
        name: Option<Field>,
    },
    IrqExit {
        irq: Field,
    },
    SoftirqEntry {
        vec: Field,
    },
    SoftirqExit {
        vec: Field,
    },
    SoftirqRaise {
        vec: Field,
    },
    VectorEntry(Vector),
    VectorExit(Vector),
    IpiEntry(Reason),
    IpiExit(Reason),
    IpiSendCpu {
        cpu: Field,
    },
    HrtimerStart {
        hrtimer: Field,
        function: Field,
        expires: Field,
        softexpires: Field,
        mode: Option<Field>,
        was_armed: Option<Field>,
    },
    HrtimerCancel {
        hrtimer: Field,
    },
    HrtimerExpireEntry {
        hrtimer: Field,
        function: Field,
        now: Field,
    },
    HrtimerExpireExit {
        hrtimer: Field,
    },
    TimerStart {
        timer: Field,
        function: Field,
        expires: Field,
        bucket_expiry: Option<Field>,
        now: Field,
        flags: Option<Field>,
    },
    TimerCancel {
        timer: Field,
    },
    TimerExpireEntry {
        timer: Field,
        function: Field,
        now: Field,
    },
    TimerExpireExit {
        timer: Field,
    },
    TimerBaseIdle {
        is_idle: Field,
        cpu: Field,
    },
    TickStop {
        success: Field,
        dependency: Option<Field>,
    },
}

/// The compiled format of one event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoder {
    op: Op,
    pid: Field,
    /// Shorter events of this kind are broken.
    min_len: u32,
}

/// Looks up the fields of a format and keeps the length that they need.
struct Needs<'a> {
    format: &'a Format<'a>,
    len: usize,
    missing: Option<String>,
}

impl Needs<'_> {
    fn opt(&mut self, name: &str) -> Option<Field> {
        let field = self.format.field(name).and_then(Field::of)?;
        self.len = self.len.max(field.end());
        Some(field)
    }

    /// The first of `names` that is there; a missing one is noted.
    fn any(&mut self, names: &[&str]) -> Option<Field> {
        let found = names.iter().find_map(|n| self.opt(n));
        if found.is_none() && self.missing.is_none() {
            self.missing = names.first().map(|n| (*n).to_owned());
        }
        found
    }

    fn get(&mut self, name: &str) -> Option<Field> {
        self.any(&[name])
    }
}

impl Decoder {
    /// Compiles `format` of `system`. The second value is a remark, when fields are missing or odd.
    pub(crate) fn compile(system: &str, format: &Format<'_>) -> (Option<Self>, Option<String>) {
        let mut needs = Needs { format, len: 2, missing: None };
        let Some(pid) = needs.get("common_pid") else {
            let note = format!(
                "{system}:{} has no usable field common_pid: its events are not understood",
                format.name
            );
            return (None, Some(note));
        };
        let op = compile_op(system, &mut needs);
        let note = needs.missing.take().filter(|_| op.is_none()).map(|field| {
            format!("{system}:{} has no usable field {field}: its events count as other events", format.name)
        });
        if op.is_none() {
            needs.len = 2.max(pid.end());
        }
        (Some(Self { op: op.unwrap_or(Op::Other), pid, min_len: needs.len as u32 }), note)
    }
}

/// `None` with nothing missing: an event that has no meaning here.
fn compile_op(system: &str, n: &mut Needs<'_>) -> Option<Op> {
    let name = n.format.name;
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
        ("sched", "sched_migrate_task") => Op::SchedMigrateTask {
            pid: n.get("pid")?,
            orig_cpu: n.get("orig_cpu")?,
            dest_cpu: n.get("dest_cpu")?,
        },
        ("sched", "sched_wake_idle_without_ipi") => Op::SchedWakeIdleWithoutIpi { cpu: n.get("cpu")? },
        ("irq", "irq_handler_entry") => {
            let located = n.format.field("name").is_some_and(|f| f.located && f.size == 4);
            Op::IrqEntry { irq: n.get("irq")?, name: if located { n.opt("name") } else { None } }
        }
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
        ("timer", name) => return compile_timer(name, n),
        _ => return None,
    })
}

fn compile_timer(name: &str, n: &mut Needs<'_>) -> Option<Op> {
    Some(match name {
        "hrtimer_start" => Op::HrtimerStart {
            hrtimer: n.get("hrtimer")?,
            function: n.get("function")?,
            expires: n.get("expires")?,
            softexpires: n.get("softexpires")?,
            mode: n.opt("mode"),
            was_armed: n.opt("was_armed"),
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
            bucket_expiry: n.opt("bucket_expiry"),
            now: n.get("now")?,
            flags: n.opt("flags"),
        },
        "timer_cancel" => Op::TimerCancel { timer: n.get("timer")? },
        "timer_expire_entry" => {
            Op::TimerExpireEntry { timer: n.get("timer")?, function: n.get("function")?, now: n.get("now")? }
        }
        "timer_expire_exit" => Op::TimerExpireExit { timer: n.get("timer")? },
        "timer_base_idle" => Op::TimerBaseIdle { is_idle: n.get("is_idle")?, cpu: n.get("cpu")? },
        // Before 4.5 the reason was a text.
        "tick_stop" => Op::TickStop { success: n.get("success")?, dependency: n.opt("dependency") },
        _ => return None,
    })
}

fn reason(n: &mut Needs<'_>) -> Option<Reason> {
    let located = n.format.field("reason").is_some_and(|f| f.located && f.size == 4);
    let field = n.get("reason")?;
    Some(if located { Reason::Text(field) } else { Reason::Address(field) })
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

fn ipi(reason: &str) -> Ipi {
    match reason {
        "Rescheduling interrupts" => Ipi::Reschedule,
        "Function call interrupts" | "Single function call interrupts" => Ipi::CallFunction,
        "Timer broadcast interrupts" => Ipi::TimerBroadcast,
        "IRQ work interrupts" => Ipi::IrqWork,
        _ => Ipi::Other,
    }
}

/// The text that a `__data_loc` field of an event points to.
fn located_text(field: Field, payload: &[u8]) -> Option<&[u8]> {
    let word = field.u32(payload);
    let (at, len) = ((word & 0xffff) as usize, (word >> 16) as usize);
    let bytes = payload.get(at..at.checked_add(len)?)?;
    bytes.split(|b| *b == 0).next()
}

/// All decoders of a file, by event id.
#[derive(Debug, Default)]
pub(crate) struct Decoders {
    by_id: Vec<Option<Decoder>>,
    /// Where the id lies in every event.
    id_at: usize,
    /// The places in the kernel of the texts that name inter-processor interrupts.
    ipis: BTreeMap<u64, Ipi>,
}

/// What came out of the bytes of one event.
pub(crate) enum Decoded {
    /// An event.
    Event(Event),
    /// An event whose id no format describes.
    Unknown(Event),
    /// An event shorter than its format.
    Short(Event),
    /// Too short even for an id.
    Broken,
}

impl Decoders {
    pub(crate) fn set(&mut self, format: &Format<'_>, decoder: Decoder) {
        let at = usize::from(format.id);
        if self.by_id.len() <= at {
            self.by_id.resize(at + 1, None);
        }
        if let Some(place) = self.by_id.get_mut(at) {
            *place = Some(decoder);
        }
    }

    /// Takes over the place of the id field from a format that has it.
    pub(crate) fn learn_id_place(&mut self, format: &Format<'_>) {
        if let Some(field) = format.field("common_type").filter(|f| f.size == 2) {
            self.id_at = usize::from(field.offset);
        }
    }

    /// Reads the lines of `printk_formats`: `0xffffff8008d21393 : "Rescheduling interrupts"`.
    pub(crate) fn learn_texts(&mut self, printk_formats: &str) {
        for line in printk_formats.lines() {
            let Some((address, text)) = line.split_once(':') else { continue };
            let address = address.trim().trim_start_matches("0x");
            let text = text.trim().trim_matches('"');
            match (u64::from_str_radix(address, 16), ipi(text)) {
                (Err(_), _) | (_, Ipi::Other) => {}
                (Ok(address), ipi) => {
                    self.ipis.insert(address, ipi);
                }
            }
        }
    }

    fn reason(&self, reason: Reason, data: &[u8], payload_len: usize) -> Ipi {
        match reason {
            Reason::Address(f) => self.ipis.get(&f.u64(data)).copied().unwrap_or(Ipi::Other),
            Reason::Text(f) => {
                let text = data.get(..payload_len).and_then(|p| located_text(f, p)).unwrap_or_default();
                ipi(&String::from_utf8_lossy(text))
            }
        }
    }

    /// The name in an `irq_handler_entry`.
    pub(crate) fn irq_name<'d>(&self, id: u16, payload: &'d [u8]) -> Option<&'d [u8]> {
        match self.by_id.get(usize::from(id))?.as_ref()?.op {
            Op::IrqEntry { name: Some(field), .. } => located_text(field, payload),
            _ => None,
        }
    }

    /// The id of an event; its place is the same in all formats of a kernel.
    #[inline(always)]
    pub(crate) fn id(&self, data: &[u8]) -> Option<u16> {
        data.get(self.id_at..)?.first_chunk::<2>().map(|b| u16::from_le_bytes(*b))
    }

    /// Decodes the event of `len` bytes at the start of `data`, behind which [`PAD`] more bytes can be read.
    #[inline(always)]
    pub(crate) fn decode(&self, ts_ns: u64, cpu: u32, id: u16, data: &[u8], len: usize) -> Decoded {
        let other = |pid| Event { ts_ns, cpu, pid, kind: EventKind::Other { id } };
        let Some(Some(decoder)) = self.by_id.get(usize::from(id)) else {
            return if len < self.id_at + 2 { Decoded::Broken } else { Decoded::Unknown(other(0)) };
        };
        if len < decoder.min_len as usize {
            return if len < self.id_at + 2 { Decoded::Broken } else { Decoded::Short(other(0)) };
        }
        let kind = match decoder.op {
            Op::Other => EventKind::Other { id },
            Op::CpuIdle { cpu, state } => {
                let state = state.u32(data);
                EventKind::CpuIdle { cpu: cpu.u32(data), state: (state != u32::MAX).then_some(state) }
            }
            Op::CpuIdleMiss { cpu, state, below } => {
                EventKind::CpuIdleMiss { cpu: cpu.u32(data), state: state.u32(data), below: below.bool(data) }
            }
            Op::CpuFrequency { cpu, khz } => {
                EventKind::CpuFrequency { cpu: cpu.u32(data), khz: khz.u32(data) }
            }
            Op::PmQosUpdateTarget { curr_value } => {
                EventKind::PmQosUpdateTarget { curr_value: curr_value.i32(data) }
            }
            Op::GuestHaltPollNs { grow, new, old } => {
                EventKind::GuestHaltPollNs { grow: grow.bool(data), new: new.u32(data), old: old.u32(data) }
            }
            Op::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio } => {
                EventKind::SchedSwitch {
                    prev_pid: prev_pid.i32(data),
                    prev_prio: prev_prio.i32(data),
                    prev_state: prev_state.u64(data),
                    next_pid: next_pid.i32(data),
                    next_prio: next_prio.i32(data),
                }
            }
            Op::SchedWaking { pid, target_cpu } => {
                EventKind::SchedWaking { pid: pid.i32(data), target_cpu: target_cpu.u32(data) }
            }
            Op::SchedWakeup { pid, target_cpu, new } => {
                EventKind::SchedWakeup { pid: pid.i32(data), target_cpu: target_cpu.u32(data), new }
            }
            Op::SchedMigrateTask { pid, orig_cpu, dest_cpu } => EventKind::SchedMigrateTask {
                pid: pid.i32(data),
                orig_cpu: orig_cpu.u32(data),
                dest_cpu: dest_cpu.u32(data),
            },
            Op::SchedWakeIdleWithoutIpi { cpu } => EventKind::SchedWakeIdleWithoutIpi { cpu: cpu.u32(data) },
            Op::IrqEntry { irq, .. } => EventKind::IrqEntry { irq: irq.i32(data) },
            Op::IrqExit { irq } => EventKind::IrqExit { irq: irq.i32(data) },
            Op::SoftirqEntry { vec } => EventKind::SoftirqEntry { vec: vec.u32(data) },
            Op::SoftirqExit { vec } => EventKind::SoftirqExit { vec: vec.u32(data) },
            Op::SoftirqRaise { vec } => EventKind::SoftirqRaise { vec: vec.u32(data) },
            Op::VectorEntry(vector) => EventKind::VectorEntry { vector },
            Op::VectorExit(vector) => EventKind::VectorExit { vector },
            Op::IpiEntry(reason) => EventKind::IpiEntry { ipi: self.reason(reason, data, len) },
            Op::IpiExit(reason) => EventKind::IpiExit { ipi: self.reason(reason, data, len) },
            Op::IpiSendCpu { cpu } => EventKind::IpiSendCpu { cpu: cpu.u32(data) },
            Op::HrtimerStart { hrtimer, function, expires, softexpires, mode, was_armed } => {
                EventKind::HrtimerStart {
                    hrtimer: hrtimer.u64(data),
                    function: function.u64(data),
                    expires: expires.i64(data),
                    softexpires: softexpires.i64(data),
                    mode: HrtimerMode(mode.map_or(0, |f| f.u32(data))),
                    was_armed: was_armed.map(|f| f.bool(data)),
                }
            }
            Op::HrtimerCancel { hrtimer } => EventKind::HrtimerCancel { hrtimer: hrtimer.u64(data) },
            Op::HrtimerExpireEntry { hrtimer, function, now } => EventKind::HrtimerExpireEntry {
                hrtimer: hrtimer.u64(data),
                function: function.u64(data),
                now: now.i64(data),
            },
            Op::HrtimerExpireExit { hrtimer } => EventKind::HrtimerExpireExit { hrtimer: hrtimer.u64(data) },
            Op::TimerStart { timer, function, expires, bucket_expiry, now, flags } => EventKind::TimerStart {
                timer: timer.u64(data),
                function: function.u64(data),
                expires: expires.u64(data),
                bucket_expiry: bucket_expiry.map(|f| f.u64(data)),
                now: now.u64(data),
                flags: TimerFlags(flags.map_or(0, |f| f.u32(data))),
            },
            Op::TimerCancel { timer } => EventKind::TimerCancel { timer: timer.u64(data) },
            Op::TimerExpireEntry { timer, function, now } => EventKind::TimerExpireEntry {
                timer: timer.u64(data),
                function: function.u64(data),
                now: now.u64(data),
            },
            Op::TimerExpireExit { timer } => EventKind::TimerExpireExit { timer: timer.u64(data) },
            Op::TimerBaseIdle { is_idle, cpu } => {
                EventKind::TimerBaseIdle { is_idle: is_idle.bool(data), cpu: cpu.u32(data) }
            }
            Op::TickStop { success, dependency } => EventKind::TickStop {
                success: success.bool(data),
                dependency: dependency.map_or(0, |f| f.u32(data)),
            },
        };
        Decoded::Event(Event { ts_ns, cpu, pid: decoder.pid.i32(data), kind })
    }
}
