// SPDX-License-Identifier: GPL-2.0-only
use crate::{Confidence, WakeCause};

/// One recorded idle period: the governor was asked, the CPU slept, something woke it.
///
/// All `_ns` fields but `start_ns` count from `start_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When the state was entered, ns on the trace's clock; the governor was asked just before.
    pub start_ns: u64,
    pub wake_ns: u64,
    /// Earliest pending hrtimer but the tick's, or [`crate::NEVER_NS`]. May be negative.
    pub hrtimer_ns: i64,
    /// Next expiry of the timer wheel, or [`crate::NEVER_NS`]. May be negative.
    pub wheel_ns: i64,
    /// The clock event is still programmed for this, though the timer behind it was cancelled (since 7.0), or
    /// [`crate::NEVER_NS`]. The CPU wakes up for it; a sleep length does not count it.
    pub stale_event_ns: i64,
    /// From the wake event to the exit from the state: the exit latency as recorded.
    pub exit_lag_ns: u32,
    /// From the wake event to its handler's first instruction: what a waiter notices. Less than `exit_lag_ns` where
    /// handlers run before the recorded exit (HLT), equal to it elsewhere.
    pub response_ns: u32,
    /// From the exit to the end of the interrupt handlers that ran then.
    pub handler_ns: u32,
    /// From the time that the kernel took for "now" to the entry (`idle_entrytime`, `governor-behaviour.md` 1.8).
    pub entry_lag_ns: u32,
    /// Share of time that the CPU was busy, by PELT, 0..=1024; times the capacity it is the utilisation.
    pub util: u16,
    /// Tasks that wait for I/O on this CPU.
    pub iowait: u16,
    /// The state that the kernel chose; [`Piece::NO_STATE`] if the recording does not tell, [`Piece::NO_GOVERNOR`] if no
    /// governor was asked.
    pub state: u8,
    /// What woke the CPU.
    pub cause: WakeCause,
    /// Facts about the idle period.
    pub flags: PieceFlags,
}

impl Piece {
    /// [`Piece::state`] where the recording does not tell the state.
    pub const NO_STATE: u8 = 255;
    /// [`Piece::state`] where no governor was asked: the kernel's default idle routine, while no governor is in charge, or an
    /// idle period that something forces.
    pub const NO_GOVERNOR: u8 = 254;

    /// The state that the kernel's governor chose, where one was asked and the recording tells.
    #[must_use]
    pub fn chosen(&self) -> Option<usize> {
        (!matches!(self.state, Self::NO_STATE | Self::NO_GOVERNOR)).then_some(self.state.into())
    }

    /// From entry to exit, ns: what the trace shows of the residency.
    #[must_use]
    pub fn stay_ns(&self) -> u64 {
        self.wake_ns.saturating_add(self.exit_lag_ns.into())
    }

    /// When the CPU left the state, ns on the trace's clock.
    #[must_use]
    pub fn exit_at_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.stay_ns())
    }

    /// How well the two timer fields are known.
    #[must_use]
    pub fn timer_confidence(&self) -> Confidence {
        Confidence::from_bits(self.flags.0 >> PieceFlags::TIMER_SHIFT & 3)
    }
}

/// Facts about a [`Piece`], one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PieceFlags(pub u16);

impl PieceFlags {
    /// First idle period of a visit: the CPU came from another task.
    pub const VISIT_START: u16 = 1 << 0;
    /// Last idle period of a visit: the CPU went to another task.
    pub const VISIT_END: u16 = 1 << 1;
    /// The tick was stopped when the governor was asked.
    pub const STOPPED_BEFORE: u16 = 1 << 2;
    /// The tick was stopped during the idle period.
    pub const STOPPED_AFTER: u16 = 1 << 3;
    /// The tick's handler ran at the wake.
    pub const TICK_RAN: u16 = 1 << 4;
    /// The driver refused the state.
    pub const REJECTED: u16 = 1 << 5;
    /// The recording holds `cpu_idle_miss` "above" for this idle period.
    pub const MISS_ABOVE: u16 = 1 << 6;
    /// The recording holds `cpu_idle_miss` "below" for this idle period.
    pub const MISS_BELOW: u16 = 1 << 7;
    /// The kernel needed the tick for reasons of its own.
    pub const TICK_NEEDED: u16 = 1 << 8;
    /// The keep-or-stop of the tick in this piece is known from the recording.
    pub const TICK_KNOWN: u16 = 1 << 9;
    /// Events were lost during the idle period, or between the one before and this.
    pub const AFTER_GAP: u16 = 1 << 10;
    /// The next timer is only known to be no later than the timer fields say.
    pub const TIMER_AT_MOST: u16 = 1 << 11;
    /// An interrupt of another CPU was on its way to this one when it entered the state, and ended the idle period: the sleep was
    /// none.
    pub const DOOMED: u16 = 1 << 12;
    /// The tick ended the idle period, and in the same wake something else came after it: the wait was over.
    pub const MORE_CAME: u16 = 1 << 13;
    const TIMER_SHIFT: u16 = 14;

    /// Whether all of `bits` are set.
    #[inline]
    #[must_use]
    pub fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }

    /// Sets or clears `bits`.
    pub fn set(&mut self, bits: u16, on: bool) {
        if on { self.0 |= bits } else { self.0 &= !bits }
    }

    /// Stores how well the timer fields are known.
    pub fn set_timer_confidence(&mut self, c: Confidence) {
        self.0 = self.0 & !(3 << Self::TIMER_SHIFT) | (c as u16) << Self::TIMER_SHIFT;
    }
}
