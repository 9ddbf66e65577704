// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock};
use crate::governor::{Answer, Governor, GovernorInfo};
use crate::params::{Default, khz};
use crate::{Relation, Signals};

pub(super) const PERFORMANCE: GovernorInfo = GovernorInfo {
    id: "performance",
    summary: "the highest clock allowed",
    kernel: "all",
    fed_by: "nothing",
    evaluates: "when limits change",
    notes: "",
    follows_scheduler: false,
    params: &[],
    contradiction: None,
    new: |_, _| Box::new(Steady::Highest),
};

pub(super) const POWERSAVE: GovernorInfo = GovernorInfo {
    id: "powersave",
    summary: "the lowest clock allowed",
    new: |_, _| Box::new(Steady::Lowest),
    ..PERFORMANCE
};

pub(super) const FIXED: GovernorInfo = GovernorInfo {
    id: "fixed",
    summary: "one clock, the kernel's userspace",
    params: &[khz("khz", Default::Required, "the clock; the next operating point at or above it")],
    new: |params, _| {
        let Some(khz) = params.khz_if_known("khz") else { unreachable!("khz is required") };
        Box::new(Steady::At(khz))
    },
    ..PERFORMANCE
};

/// The governors that read nothing (signal-behaviour.md C10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steady {
    /// `performance`: the highest clock allowed.
    Highest,
    /// `powersave`: the lowest.
    Lowest,
    /// `fixed`, the kernel's userspace: what was last asked for.
    At(u32),
}

impl Governor for Steady {
    fn start(&mut self, clock: &mut Clock, t_ns: u64, _: &dyn Signals) -> Answer {
        self.limits(clock, t_ns).into()
    }

    fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        let limits = clock.limits;
        let (khz, relation) = match *self {
            Self::Highest => (limits.max_khz, Relation::High),
            Self::Lowest => (limits.min_khz, Relation::Low),
            Self::At(khz) if khz > limits.max_khz => (limits.max_khz, Relation::High),
            Self::At(khz) => (khz.max(limits.min_khz), Relation::Low),
        };
        clock.drive(t_ns, khz, relation)
    }

    fn set_speed(&mut self, clock: &mut Clock, khz: u32, t_ns: u64) -> Change {
        let Self::At(at) = self else { return Change::None };
        *at = khz;
        self.limits(clock, t_ns)
    }
}
