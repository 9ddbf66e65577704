// SPDX-License-Identifier: GPL-2.0-only
//! How long a CPU might have slept, where the recording does not tell for certain.

use idlewise_idle::NEVER_AT_NS;
use serde::{Deserialize, Serialize};

use crate::event::WorkloadEvent;

/// A choice among the sleep lengths that are compatible with a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SleepLengths {
    /// As the tape has them.
    #[default]
    Taped,
    /// A timer was due just when something else woke the CPU.
    Least,
    /// No timer was pending; or where the tape gives an upper limit, that.
    Most,
}

impl SleepLengths {
    /// The choices that bound all others.
    pub const BOUNDS: [Self; 2] = [Self::Least, Self::Most];

    /// Gives an uncertain wait this sleep length; `at_most`: its timers are upper limits.
    pub(crate) fn apply(self, event: &mut WorkloadEvent, at_most: bool) {
        match self {
            Self::Taped => {}
            Self::Least => event.hrtimer_at_ns = event.at_ns,
            Self::Most if at_most => {}
            Self::Most => {
                event.hrtimer_at_ns = NEVER_AT_NS;
                event.wheel_at_ns = NEVER_AT_NS;
            }
        }
    }
}
