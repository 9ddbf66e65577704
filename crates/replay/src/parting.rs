// SPDX-License-Identifier: GPL-2.0-only
//! Why a replayed choice and the kernel's part, as far as the recording tells.

use idlewise_model::{Confidence, CpuTape, Piece, PieceFlags};
use serde::{Deserialize, Serialize};

/// Stays that a governor remembers: what came before them does not count any more.
const REMEMBERED: u32 = 8;

/// Why a replayed choice and the recorded one part, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PartingKind {
    /// Events were lost just before: timers, the tick and the governor's memory may be others.
    EventsLost,
    /// The timers behind the sleep length are only bounded or assumed.
    UnsureTimers,
    /// Replay chooses a state that the kernel never entered.
    NeverEntered,
    /// The kernel kept the tick where the timers would let it go: it had reasons that no event tells (RCU, irq_work,
    /// duties of the last CPU awake), or the sleep length is wrong.
    KeptForOtherReasons,
    /// The kernel stopped the tick, the replayed governor would have kept it.
    StoppedByKernel,
    /// The kernel chose a shallower state although the timers are known.
    Shallower,
    /// The kernel chose a deeper state although the timers are known.
    Deeper,
}

impl PartingKind {
    /// In words, for a table.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::EventsLost => {
                "events were lost up to 8 idle periods before: timers, tick or the governor's state may differ"
            }
            Self::UnsureTimers => "the next timer is known from one side only, or not at all",
            Self::NeverEntered => {
                "replay takes a state that the kernel never entered: disabled, or a latency limit from before"
            }
            Self::KeptForOtherReasons => {
                "the kernel kept the tick where replay stops it: RCU, irq_work or the like, which no event shows"
            }
            Self::StoppedByKernel => {
                "the kernel stopped the tick where replay keeps it: another timer, or another state of the governor"
            }
            Self::Shallower => {
                "the kernel took a shallower state, timers known: a latency limit, the governor's state, or another version"
            }
            Self::Deeper => {
                "the kernel took a deeper state, timers known: the governor's state, or another version"
            }
        }
    }
}

/// What the stays so far tell about the one that is compared.
pub(crate) struct Circumstances {
    /// States that the kernel entered anywhere in the recording, bit i for state i.
    entered: u64,
    since_gap: u32,
}

impl Circumstances {
    pub(crate) fn new(tape: &CpuTape) -> Self {
        let entered = tape.pieces.iter().filter(|p| p.state < 64).fold(0, |bits, p| bits | 1 << p.state);
        Self { entered, since_gap: u32::MAX }
    }

    /// The next stay is `piece`.
    pub(crate) fn stay(&mut self, piece: &Piece) {
        let gap = piece.flags.has(PieceFlags::AFTER_GAP);
        self.since_gap = if gap { 0 } else { self.since_gap.saturating_add(1) };
    }

    /// Why `state`, the replayed choice at `piece`, is not the kernel's; or the tick's fate, where the state is.
    pub(crate) fn why(&self, piece: &Piece, state: usize) -> PartingKind {
        let entered = state < 64 && self.entered >> state & 1 == 1;
        if self.since_gap <= REMEMBERED {
            PartingKind::EventsLost
        } else if !entered {
            PartingKind::NeverEntered
        } else if piece.timer_confidence() >= Confidence::Bounded {
            PartingKind::UnsureTimers
        } else if usize::from(piece.state) < state {
            PartingKind::Shallower
        } else if usize::from(piece.state) > state {
            PartingKind::Deeper
        } else if piece.flags.has(PieceFlags::STOPPED_AFTER) {
            PartingKind::StoppedByKernel
        } else {
            PartingKind::KeptForOtherReasons
        }
    }
}
