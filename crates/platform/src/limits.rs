// SPDX-License-Identifier: GPL-2.0-only
use idlewise_power::Limits;

/// The limits of package power that the firmware of a machine sets, and how fast they act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerLimits {
    pub limits: Limits,
    /// The time from one step of a clock's ceiling to the next, ns.
    pub step_ns: u64,
    /// Where the numbers come from.
    pub source: String,
}

impl PowerLimits {
    /// The time of a step where nobody says one, ns: 25 steps in 10 ms, within which PL2 acts (docs/concepts/power-limits.md).
    pub const STEP_NS: u64 = 400_000;
}
