// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;

use serde::{Deserialize, Serialize};

/// What ended one idle period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum WakeCause {
    /// The scheduler tick, and no other timer in the same interrupt.
    Tick = 0,
    /// A high-resolution timer other than the tick's own.
    Hrtimer = 1,
    /// A timer of the timer wheel; it is run from the tick's handler.
    Wheel = 2,
    /// A timer interrupt whose timer the trace does not name.
    Timer = 3,
    Irq = 4,
    /// An inter-processor interrupt, or a remote CPU that set the reschedule flag of a polling CPU.
    Ipi = 5,
    /// The polling state ran into its time limit.
    PollLimit = 6,
    /// The trace shows no cause.
    Unknown = 7,
}

impl WakeCause {
    /// All causes, in the order of the tables.
    pub const ALL: [Self; 8] = [
        Self::Tick,
        Self::Hrtimer,
        Self::Wheel,
        Self::Timer,
        Self::Irq,
        Self::Ipi,
        Self::PollLimit,
        Self::Unknown,
    ];

    /// The word that tables and JSON use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tick => "tick",
            Self::Hrtimer => "hrtimer",
            Self::Wheel => "wheel",
            Self::Timer => "timer",
            Self::Irq => "irq",
            Self::Ipi => "ipi",
            Self::PollLimit => "poll-limit",
            Self::Unknown => "unknown",
        }
    }

    /// The cause stored as `bits`; anything unknown reads as [`WakeCause::Unknown`].
    #[must_use]
    pub fn from_bits(bits: u8) -> Self {
        Self::ALL.get(usize::from(bits)).copied().unwrap_or(Self::Unknown)
    }

    /// Whether a timer of any kind ended the idle period.
    #[must_use]
    pub fn is_timer(self) -> bool {
        matches!(self, Self::Tick | Self::Hrtimer | Self::Wheel | Self::Timer)
    }
}

impl fmt::Display for WakeCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
