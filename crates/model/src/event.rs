// SPDX-License-Identifier: GPL-2.0-only
use crate::{CpuMask, HIGHEST_CPU, LATEST_NS, NEVER_NS};

/// One event of a trace, as far as idlewise understands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time on the trace's clock, ns.
    pub ts_ns: u64,
    /// CPU whose buffer holds it.
    pub cpu: u32,
    /// Task that was current; 0 is the idle task, -1 one that is not in the recording.
    pub pid: i32,
    pub kind: EventKind,
}

impl Event {
    /// Whether a kernel can have recorded it: its time is before [`LATEST_NS`], its CPUs are up to [`HIGHEST_CPU`], and its
    /// timers are of a clock that a machine can have.
    #[inline]
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.ts_ns < LATEST_NS
            && self.cpu <= HIGHEST_CPU
            && self.kind.cpu().is_none_or(|cpu| cpu <= HIGHEST_CPU)
            && self.kind.timer_out_of_reach().is_none()
    }
}

/// Makes [`EventKind`] of the declarations of events.
macro_rules! event_kind {
    ($(
        $(#[$doc:meta])* $kind:ident [$($system:literal $name:literal),+]
        { $($field:ident: $type:ty as $stored:ident [$($key:literal),+],)+ }
        $(only $decides:ident as $guard:ident [$its_key:literal])?;
    )+) => {
        /// What happened. Field names are those of the kernel's event formats, which document them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventKind {
            $($(#[$doc])* $kind { $($field: $type),+ },)+
            /// Made by the reader, not by the kernel: events of this CPU were lost just before this time; `count` is 0
            /// where the kernel does not say how many.
            Lost { count: u64 },
            /// Anything else; `id` is the event's id in the file.
            Other { id: u16 },
        }
    };
}

crate::kernel_events!(event_kind);

/// No machine's count of ticks has come this far: at 1,000 ticks a second that is in 8,900 years.
const LATEST_JIFFY: u64 = 1 << 48;
/// So far from now the wheel keeps a timer at most: 2^30 ticks by its levels, 2^32 where the count of a 32-bit kernel has just
/// begun again.
const FARTHEST_BUCKET: u64 = 1 << 33;

impl EventKind {
    /// The field of a timer's event whose time no clock of a machine can have: before the clock began or from [`LATEST_NS`] on,
    /// and not [`NEVER_NS`] where a kernel writes that; a count of ticks that takes thousands of years.
    #[inline]
    #[must_use]
    pub fn timer_out_of_reach(&self) -> Option<&'static str> {
        let latest_ns = LATEST_NS.cast_signed();
        match *self {
            Self::HrtimerStart { expires, .. }
                if !(0..latest_ns).contains(&expires) && expires != NEVER_NS =>
            {
                Some("expires")
            }
            Self::HrtimerRearm { next_event, .. }
                if !(0..latest_ns).contains(&next_event) && next_event != NEVER_NS =>
            {
                Some("next_event")
            }
            Self::HrtimerExpireEntry { now, .. } if !(0..latest_ns).contains(&now) => Some("now"),
            Self::TimerStart { now, .. } | Self::TimerExpireEntry { now, .. } if now >= LATEST_JIFFY => {
                Some("now")
            }
            // How far a caller asks for is the caller's; a kernel compares both as signed numbers, and its own longest time is
            // half of those.
            Self::TimerStart { expires, now, .. }
                if expires.wrapping_sub(now).cast_signed().unsigned_abs() > 1 << 62 =>
            {
                Some("expires")
            }
            Self::TimerStart { bucket_expiry: Some(at), now, .. } if at.abs_diff(now) > FARTHEST_BUCKET => {
                Some("bucket_expiry")
            }
            Self::TmigrCpuIdle { nextevt, .. }
                if nextevt >= LATEST_NS && nextevt != NEVER_NS.cast_unsigned() && nextevt != u64::MAX =>
            {
                Some("nextevt")
            }
            _ => None,
        }
    }

    /// The CPU that it is about, where its fields name one; of a task that moves, the one that it moves to.
    #[inline]
    #[must_use]
    pub fn cpu(&self) -> Option<u32> {
        match *self {
            Self::CpuIdle { cpu, .. }
            | Self::CpuIdleMiss { cpu, .. }
            | Self::CpuFrequency { cpu, .. }
            | Self::SchedWaking { target_cpu: cpu, .. }
            | Self::SchedWakeup { target_cpu: cpu, .. }
            | Self::SchedMigrateTask { dest_cpu: cpu, .. }
            | Self::PeltCfs { cpu, .. }
            | Self::SchedWakeIdleWithoutIpi { cpu }
            | Self::IpiSendCpu { cpu }
            | Self::TimerBaseIdle { cpu, .. }
            | Self::TmigrCpuIdle { cpu, .. }
            | Self::IdleEnabled { cpu, .. }
            | Self::IdleAsked { cpu, .. }
            | Self::IdleChosen { cpu, .. }
            | Self::IdleReflected { cpu, .. } => Some(cpu),
            _ => None,
        }
    }
}

/// The x86 vectors that can end an idle period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vector {
    /// `local_timer`.
    LocalTimer,
    /// `reschedule`.
    Reschedule,
    /// `call_function`.
    CallFunction,
    /// `call_function_single`.
    CallFunctionSingle,
    /// `irq_work`.
    IrqWork,
    Other,
}

/// The inter-processor interrupts of arm, arm64 and riscv, by the reason that the event prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ipi {
    Reschedule,
    /// "Function call interrupts" and "Single function call interrupts".
    CallFunction,
    /// "Timer broadcast interrupts": a timer of this CPU that another CPU's timer stands in for.
    TimerBroadcast,
    IrqWork,
    /// Any other, or a reason that the file does not spell out.
    Other,
}

/// The name under which a governor is registered: at most 15 bytes of it, as the kernel keeps it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GovernorName([u8; 15]);

impl GovernorName {
    /// The name in `text`, up to its first zero byte; what is longer than a kernel can hold is cut off.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        let mut name = [0; 15];
        name.iter_mut()
            .zip(text.split(|b| *b == 0).next().unwrap_or_default())
            .for_each(|(to, from)| *to = *from);
        Self(name)
    }

    /// The name; empty if it is not UTF-8.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        self.0.get(..len).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or("")
    }
}

impl std::fmt::Debug for GovernorName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Which answers a governor got: `enum iw_asked` of the kernel overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Asked(pub u32);

impl Asked {
    /// The governor asked for the sleep length.
    pub const SLEEP_LENGTH: u32 = 1 << 0;
    /// The governor asked for the latency limit.
    pub const LATENCY: u32 = 1 << 1;
    /// The governor asked for the CPU's clock.
    pub const CLOCK: u32 = 1 << 2;
    /// The CPU's clock a second time; recorded is the first answer.
    pub const CLOCK_AGAIN: u32 = 1 << 3;
    /// Whether the tick was stopped.
    pub const TICK_STOPPED: u32 = 1 << 4;
    /// Whether the tick had run.
    pub const GOT_TICK: u32 = 1 << 5;
    /// The governor asked for the utilisation.
    pub const UTIL: u32 = 1 << 6;
    /// How many tasks wait for I/O.
    pub const IOWAIT: u32 = 1 << 7;
    /// The governor asked for a random number.
    pub const RANDOM: u32 = 1 << 8;

    /// Whether any of `what` was asked for.
    #[must_use]
    pub fn has(self, what: u32) -> bool {
        self.0 & what != 0
    }
}

/// The `mode` of an hrtimer; 0 where the kernel does not record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HrtimerMode(pub u32);

/// The `flags` of a wheel timer: CPU in the low 18 bits, then single bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TimerFlags(pub u32);

impl TimerFlags {
    /// Flags of a timer that stays on its CPU, without the number of that CPU.
    pub const PINNED: Self = Self(0x10_0000);

    /// The CPU whose base holds the timer.
    #[must_use]
    pub fn cpu(self) -> u32 {
        self.0 & 0x3_ffff
    }

    /// A deferrable timer does not wake an idle CPU.
    #[must_use]
    pub fn deferrable(self) -> bool {
        self.0 & 0x8_0000 != 0
    }

    /// A pinned timer stays on its CPU; since 6.9 the others may be run by another CPU.
    #[must_use]
    pub fn pinned(self) -> bool {
        self.0 & Self::PINNED.0 != 0
    }

    /// Whether a CPU waits for timers of the two in the same way.
    #[must_use]
    pub fn same_kind(self, other: Self) -> bool {
        (self.deferrable(), self.pinned()) == (other.deferrable(), other.pinned())
    }
}
