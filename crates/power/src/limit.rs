// SPDX-License-Identifier: GPL-2.0-only
use serde::{Deserialize, Serialize};

/// A bound of the running average of package power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    pub power_uw: u64,
    /// The average's time constant, ns.
    pub window_ns: u64,
    /// It may lower the clock below the base clock, down to the lowest (the clamp bit of MSR_PKG_POWER_LIMIT).
    pub clamp: bool,
    /// The average at the start, uW; that of the idle package where nothing is given.
    pub start_uw: Option<u64>,
}

/// The limits of a package: PL1 and PL2, those that are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub pl1: Option<Limit>,
    pub pl2: Option<Limit>,
}

impl Limits {
    /// Those that are on, with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Limit)> {
        [("pl1", self.pl1), ("pl2", self.pl2)].into_iter().filter_map(|(name, limit)| Some((name, limit?)))
    }
}
