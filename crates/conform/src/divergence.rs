// SPDX-License-Identifier: GPL-2.0-only
//! Why a choice here and the kernel's diverge, as far as a tape tells.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::decision::{Answer, Decision};

/// Why a choice here diverges from one that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DivergenceKind {
    /// Events were lost just before: timers, the tick and the governor's state may differ.
    EventsLost,
    /// The timers behind the sleep length are only bounded or assumed.
    UnsureTimers,
    /// Replay chooses a state that the kernel never entered.
    NeverEntered,
    /// The kernel kept the tick where the timers would let it go: it had reasons that no event shows (RCU, irq_work,
    /// duties of the last CPU awake), or the sleep length is wrong.
    KeptForOtherReasons,
    /// The kernel stopped the tick, the replayed governor would have kept it.
    StoppedByKernel,
    /// The kernel chose a shallower state although the timers are known.
    Shallower,
    /// The kernel chose a deeper state although the timers are known.
    Deeper,
}

impl DivergenceKind {
    /// Why the answer `here` is not the kernel's at `decision`, of a tape; by the tick, where the state is the same.
    #[must_use]
    pub fn of(decision: &Decision, here: &Answer) -> Self {
        let doubts = &decision.doubts;
        let never_entered = !(0..64).contains(&here.state) || doubts.entered >> here.state & 1 == 0;
        let depth = decision.kernel.state.map(|kernels| kernels.cmp(&here.state));
        match depth {
            _ if doubts.events_lost => Self::EventsLost,
            _ if never_entered => Self::NeverEntered,
            _ if doubts.unsure_timers => Self::UnsureTimers,
            Some(Ordering::Less) => Self::Shallower,
            Some(Ordering::Greater) => Self::Deeper,
            _ if decision.kernel.stop_tick == Some(true) => Self::StoppedByKernel,
            _ => Self::KeptForOtherReasons,
        }
    }

    /// In words, for a table.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::EventsLost => {
                "events were lost up to 8 idle periods before: timers, tick or the governor's state may differ"
            }
            Self::UnsureTimers => "the recording bounds the next timer on one side only, or does not show it",
            Self::NeverEntered => {
                "replay chooses a state that the kernel never entered: it was disabled, or a latency limit \
                 was set before the recording"
            }
            Self::KeptForOtherReasons => {
                "the kernel kept the tick where replay stops it: RCU, irq_work or the like, which no event shows"
            }
            Self::StoppedByKernel => {
                "the kernel stopped the tick where replay keeps it: another timer, or another state of the governor"
            }
            Self::Shallower => {
                "the kernel took a shallower state, timers known: a latency limit, utilisation, the governor's state, or \
                 another version"
            }
            Self::Deeper => {
                "the kernel took a deeper state, timers known: utilisation, the governor's state, or another version"
            }
        }
    }
}
