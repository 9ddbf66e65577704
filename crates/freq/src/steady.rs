// SPDX-License-Identifier: GPL-2.0-only
use crate::Relation;
use crate::clock::{Change, Clock};

/// The governors that read nothing (signal-behaviour.md C10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steady {
    /// `performance`: the highest clock allowed.
    Highest,
    /// `powersave`: the lowest.
    Lowest,
    /// `fixed`, the kernel's userspace: what was last asked for.
    At(u32),
}

impl Steady {
    /// At the start, and whenever limits change.
    pub(crate) fn limits(self, clock: &mut Clock, t_ns: u64) -> Change {
        let limits = clock.limits;
        let (khz, relation) = match self {
            Self::Highest => (limits.max_khz, Relation::High),
            Self::Lowest => (limits.min_khz, Relation::Low),
            Self::At(khz) if khz > limits.max_khz => (limits.max_khz, Relation::High),
            Self::At(khz) => (khz.max(limits.min_khz), Relation::Low),
        };
        clock.drive(t_ns, khz, relation)
    }
}
