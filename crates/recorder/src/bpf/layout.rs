// SPDX-License-Identifier: GPL-2.0-only
//! Where a kernel keeps what the recorder reads, and where that stands in a record.

use super::btf::{Btf, BtfError, Field};

/// A part of a kernel struct that is copied into a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Where it begins in the struct.
    pub(super) from: u32,
    pub(super) len: u32,
    /// Where it begins in a record.
    pub(super) at: u32,
}

impl Window {
    /// What holds all of `fields`, with `at` as its place in a record.
    fn around(fields: &[Field], at: u32) -> Self {
        let from = fields.iter().map(|f| f.offset).min().unwrap_or(0) & !7;
        let to = fields.iter().map(|f| f.offset.saturating_add(f.size)).max().unwrap_or(from);
        Self { from, len: to.saturating_sub(from).checked_next_multiple_of(8).unwrap_or(u32::MAX), at }
    }

    /// `field`'s place in a record.
    fn place(self, field: Field) -> Place {
        Place(Field { offset: field.offset.saturating_sub(self.from).saturating_add(self.at), ..field })
    }

    pub(super) fn end(self) -> u32 {
        self.at.saturating_add(self.len)
    }
}

/// A value's place in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(Field);

impl Place {
    /// The value, without a sign.
    pub(super) fn read(self, record: &[u8]) -> Option<u64> {
        let Field { offset, size, bits } = self.0;
        let bytes = record.get(offset as usize..offset.checked_add(size)? as usize)?;
        let mut wide = [0; 8];
        if cfg!(target_endian = "little") {
            wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        } else {
            wide.get_mut(8_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
        }
        let value = u64::from_ne_bytes(wide);
        let Some((first, width)) = bits else { return Some(value) };
        let mask = u64::MAX.checked_shr(64 - u32::from(width.min(64)))?;
        let shift = if cfg!(target_endian = "little") {
            u32::from(first)
        } else {
            (8 * size).checked_sub(u32::from(first) + u32::from(width))?
        };
        Some(value.checked_shr(shift)? & mask)
    }

    fn nth(self, n: u32, stride: u32, size: u32) -> Self {
        Self(Field { offset: self.0.offset.saturating_add(n.saturating_mul(stride)), size, bits: None })
    }
}

/// Fields of the recorder's own at the start of every record.
pub(super) mod head {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub(in super::super) const TIME: i16 = 0;
    /// [`ENTERED`] or [`LEFT_IDLE`].
    pub(in super::super) const KIND: i16 = 8;
    pub(in super::super) const STATE: i16 = 12;
    /// When the stay before ended; 0 if none did since the record before.
    pub(in super::super) const EXIT: i16 = 16;
    /// How often the idle task gave way since the record before.
    pub(in super::super) const VISITS: i16 = 24;
    /// The global latency limit, us.
    pub(in super::super) const LIMIT: i16 = 28;
    /// The CPU's own latency limit, us.
    pub(in super::super) const OWN_LIMIT: i16 = 32;
    pub(in super::super) const CPU: i16 = 36;
    /// Records of this CPU that found no room, up to here.
    pub(in super::super) const DROPS: i16 = 40;
    /// Tasks of this CPU that wait for I/O; -1 where the kernel does not say where it counts them.
    pub(in super::super) const IOWAIT: i16 = 48;
    pub(in super::super) const LEN: u32 = 56;

    /// A state is about to be entered.
    pub(in super::super) const ENTERED: u32 = 1;
    /// The idle task gives way with no residency noted: its last choice was taken back.
    pub(in super::super) const LEFT_IDLE: u32 = 2;
}

/// What a CPU's programs keep from one run to the next, in words of eight bytes.
pub(super) mod kept {
    /// Where the CPU's own variables are; 0 until it is known.
    pub(in super::super) const BASE: i16 = 0;
    pub(in super::super) const EXIT: i16 = 8;
    pub(in super::super) const VISITS: i16 = 16;
    pub(in super::super) const DROPS: i16 = 24;
    /// The CPU's `struct device`.
    pub(in super::super) const DEVICE: i16 = 32;
    pub(in super::super) const LEN: u32 = 40;
}

/// Offsets in `struct cpuidle_device` of the running kernel.
pub(super) struct DeviceLayout {
    pub(super) window: Window,
    pub(super) poll_time_limit: Place,
    pub(super) last_state: Place,
    pub(super) last_residency: Place,
    pub(super) poll_limit: Place,
    pub(super) next_event: Place,
    pub(super) usage: Vec<UsageLayout>,
    /// `last_residency_ns` in the struct itself.
    pub(super) residency_offset: u32,
}

/// Offsets in `struct cpuidle_state_usage` of the running kernel.
pub(super) struct UsageLayout {
    pub(super) disable: Place,
    pub(super) usage: Place,
    pub(super) time: Place,
    pub(super) above: Place,
    pub(super) below: Place,
    /// Since 5.10.
    pub(super) rejected: Option<Place>,
}

/// Offsets in `struct tick_sched` of the running kernel.
pub(super) struct TickLayout {
    pub(super) window: Window,
    /// The word of flags, and the bit that says stopped; or the bit alone.
    stopped: (Place, u64),
    pub(super) got_tick: Place,
    pub(super) calls: Place,
    pub(super) entered: Place,
    pub(super) last_tick: Place,
    pub(super) restarted: Option<Place>,
}

impl TickLayout {
    pub(super) fn is_stopped(&self, record: &[u8]) -> Option<bool> {
        Some(self.stopped.0.read(record)? & self.stopped.1 != 0)
    }
}

/// What a governor remembers, as far as the recorder knows it.
pub(super) enum MemoryLayout {
    /// Nothing, or nothing that is known.
    None,
    Menu(MenuLayout),
    Ladder(LadderLayout),
}

/// Offsets in `struct menu_device` of the running kernel.
pub(super) struct MenuLayout {
    pub(super) window: Window,
    pub(super) variable: u32,
    pub(super) needs_update: Place,
    pub(super) tick_wakeup: Place,
    pub(super) next_timer: Place,
    pub(super) bucket: Place,
    pub(super) slot: Place,
    pub(super) factors: Vec<Place>,
    pub(super) intervals: Vec<Place>,
}

/// Offsets in `struct ladder_device` of the running kernel.
pub(super) struct LadderLayout {
    pub(super) window: Window,
    pub(super) variable: u32,
    /// Promotions and demotions counted in each state.
    pub(super) counts: Vec<(Place, Place)>,
}

/// Everything that is read of a kernel.
pub(super) struct Layout {
    pub(super) bases: u32,
    pub(super) devices: u32,
    pub(super) tick_variable: u32,
    /// The count of tasks that wait for I/O, in a CPU's variables.
    pub(super) iowait: Option<u32>,
    pub(super) device: DeviceLayout,
    pub(super) tick: TickLayout,
    pub(super) memory: MemoryLayout,
    /// Bytes of a record.
    pub(super) record: u32,
    /// From an hrtimer to the CPU that it is on.
    pub(super) timer: TimerPath,
    /// From a CPU's variables to its own latency limit.
    pub(super) own_limit: Option<OwnLimitPath>,
    /// From a task to the limit that an open file of it stands for.
    pub(super) limit: LimitPath,
}

/// Offsets from an hrtimer to the CPU that it is on.
pub(super) struct TimerPath {
    pub(super) base: u32,
    pub(super) cpu_base: u32,
    pub(super) cpu: u32,
}

/// Offsets from a CPU's variables to its own latency limit.
pub(super) struct OwnLimitPath {
    pub(super) devices: u32,
    pub(super) qos: u32,
    pub(super) target: u32,
}

/// Offsets from a task to the limit that an open file of it stands for.
pub(super) struct LimitPath {
    pub(super) files: u32,
    pub(super) table: u32,
    pub(super) array: u32,
    pub(super) private: u32,
    pub(super) qos: u32,
    pub(super) target: u32,
}

/// The member `of` of element `i` of `array`.
fn nested(array: Field, i: u32, stride: u32, of: Field) -> Field {
    Field { offset: array.offset.saturating_add(i.saturating_mul(stride)).saturating_add(of.offset), ..of }
}

/// More elements than any array of a governor has.
const ELEMENTS_MAX: u32 = 64;
/// A longer record than this means that something else was found than was looked for.
const RECORD_MAX: u32 = 4096;

impl Layout {
    /// Finds everything in `btf` for a driver of `states` states under `governor`.
    pub(super) fn of(btf: &Btf, governor: &str, states: u32) -> Result<Self, BtfError> {
        let offset = |of: &str, path: &str| btf.field(of, path).map(|f| f.offset);
        let device = DeviceLayout::of(btf, states, head::LEN)?;
        let tick = TickLayout::of(btf, device.window.end())?;
        let memory = MemoryLayout::of(btf, governor, states, tick.window.end())?;
        let record = memory.window().map_or(tick.window.end(), Window::end);
        if record > RECORD_MAX || !record.is_multiple_of(8) {
            return Err(BtfError::Malformed("structs of the idle loop are far larger than in any kernel"));
        }
        let iowait =
            || Ok::<_, BtfError>(btf.percpu("runqueues")?.saturating_add(offset("rq", "nr_iowait.counter")?));
        let own_limit = || {
            Ok::<_, BtfError>(OwnLimitPath {
                devices: btf.percpu("cpu_sys_devices")?,
                qos: offset("device", "power.qos")?,
                target: offset("dev_pm_qos", "resume_latency.target_value")?,
            })
        };
        Ok(Self {
            bases: btf.percpu("hrtimer_bases")?,
            devices: btf.percpu("cpuidle_devices")?,
            tick_variable: btf.percpu("tick_cpu_sched")?,
            iowait: iowait().ok(),
            device,
            tick,
            memory,
            record,
            timer: TimerPath {
                base: offset("hrtimer", "base")?,
                cpu_base: offset("hrtimer_clock_base", "cpu_base")?,
                cpu: offset("hrtimer_cpu_base", "cpu")?,
            },
            own_limit: own_limit().ok(),
            limit: LimitPath {
                files: offset("task_struct", "files")?,
                table: offset("files_struct", "fdt")?,
                array: offset("fdtable", "fd")?,
                private: offset("file", "private_data")?,
                qos: offset("pm_qos_request", "qos")?,
                target: offset("pm_qos_constraints", "target_value")?,
            },
        })
    }
}

impl DeviceLayout {
    fn of(btf: &Btf, states: u32, at: u32) -> Result<Self, BtfError> {
        let field = |name| btf.field("cpuidle_device", name);
        let of_state = |name| btf.field("cpuidle_state_usage", name);
        let (poll_time_limit, last_state) = (field("poll_time_limit")?, field("last_state_idx")?);
        let (residency, poll_limit) = (field("last_residency_ns")?, field("poll_limit_ns")?);
        let (next_event, array) = (field("next_hrtimer")?, field("states_usage")?);
        let (stride, room) = btf.array("cpuidle_device", "states_usage")?;
        if states > room {
            return Err(BtfError::Missing(format!("room for {states} idle states ({room})")));
        }
        let used = Field { size: stride.saturating_mul(states), ..array };
        let window =
            Window::around(&[poll_time_limit, last_state, residency, poll_limit, next_event, used], at);
        let (disable, usage, time) = (of_state("disable")?, of_state("usage")?, of_state("time_ns")?);
        let (above, below, rejected) = (of_state("above")?, of_state("below")?, of_state("rejected").ok());
        let of_state = |i: u32| {
            let place = |f: Field| window.place(nested(array, i, stride, f));
            UsageLayout {
                disable: place(disable),
                usage: place(usage),
                time: place(time),
                above: place(above),
                below: place(below),
                rejected: rejected.map(place),
            }
        };
        Ok(Self {
            window,
            poll_time_limit: window.place(poll_time_limit),
            last_state: window.place(last_state),
            last_residency: window.place(residency),
            poll_limit: window.place(poll_limit),
            next_event: window.place(next_event),
            usage: (0..states).map(of_state).collect(),
            residency_offset: residency.offset,
        })
    }
}

/// `TS_FLAG_STOPPED` of kernels since 6.9; before, it is a bit field of its own.
const STOPPED: u64 = 1 << 1;

impl TickLayout {
    fn of(btf: &Btf, at: u32) -> Result<Self, BtfError> {
        let field = |name| btf.field("tick_sched", name);
        let (stopped, mask) = match field("tick_stopped") {
            Ok(bit) => (bit, 1),
            Err(_) => (field("flags")?, STOPPED),
        };
        let (got_tick, calls) = (field("got_idle_tick")?, field("idle_calls")?);
        let (entered, last_tick) = (field("idle_entrytime")?, field("last_tick")?);
        let restarted = field("idle_exittime").ok();
        let mut all = vec![stopped, got_tick, calls, entered, last_tick];
        all.extend(restarted);
        let window = Window::around(&all, at);
        Ok(Self {
            window,
            stopped: (window.place(stopped), mask),
            got_tick: window.place(got_tick),
            calls: window.place(calls),
            entered: window.place(entered),
            last_tick: window.place(last_tick),
            restarted: restarted.map(|f| window.place(f)),
        })
    }
}

impl MemoryLayout {
    fn of(btf: &Btf, governor: &str, states: u32, at: u32) -> Result<Self, BtfError> {
        match governor {
            "menu" => MenuLayout::of(btf, at).map(Self::Menu),
            "ladder" => LadderLayout::of(btf, states, at).map(Self::Ladder),
            _ => Ok(Self::None),
        }
    }

    pub(super) fn window(&self) -> Option<Window> {
        match self {
            Self::None => None,
            Self::Menu(menu) => Some(menu.window),
            Self::Ladder(ladder) => Some(ladder.window),
        }
    }

    /// Where the per-CPU variable lies.
    pub(super) fn variable(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Menu(menu) => menu.variable,
            Self::Ladder(ladder) => ladder.variable,
        }
    }
}

impl MenuLayout {
    fn of(btf: &Btf, at: u32) -> Result<Self, BtfError> {
        let field = |name| btf.field("menu_device", name);
        let (needs_update, tick_wakeup, slot) =
            (field("needs_update")?, field("tick_wakeup")?, field("interval_ptr")?);
        let (next_timer, bucket) = (field("next_timer_ns")?, field("bucket")?);
        let (factors, intervals) = (field("correction_factor")?, field("intervals")?);
        let all = [needs_update, tick_wakeup, slot, next_timer, bucket, factors, intervals];
        let window = Window::around(&all, at);
        let array = |name, field| {
            let (size, n) = btf.array("menu_device", name)?;
            Ok::<_, BtfError>(
                (0..n.min(ELEMENTS_MAX)).map(|i| window.place(field).nth(i, size, size)).collect(),
            )
        };
        Ok(Self {
            window,
            variable: btf.percpu("menu_devices")?,
            needs_update: window.place(needs_update),
            tick_wakeup: window.place(tick_wakeup),
            next_timer: window.place(next_timer),
            bucket: window.place(bucket),
            slot: window.place(slot),
            factors: array("correction_factor", factors)?,
            intervals: array("intervals", intervals)?,
        })
    }
}

impl LadderLayout {
    fn of(btf: &Btf, states: u32, at: u32) -> Result<Self, BtfError> {
        let (stride, _) = btf.array("ladder_device", "states")?;
        let all = Field { size: stride.saturating_mul(states), ..btf.field("ladder_device", "states")? };
        let up = btf.field("ladder_device_state", "stats.promotion_count")?;
        let down = btf.field("ladder_device_state", "stats.demotion_count")?;
        let window = Window::around(&[all], at);
        let of_state = |i: u32| {
            let place = |f: Field| window.place(nested(all, i, stride, f));
            (place(up), place(down))
        };
        Ok(Self {
            window,
            variable: btf.percpu("ladder_devices")?,
            counts: (0..states).map(of_state).collect(),
        })
    }
}
