// SPDX-License-Identifier: GPL-2.0-only
use serde::{Deserialize, Serialize};

/// What was seen of limits in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerRecord {
    /// Looks that were taken.
    pub samples: u64,
    /// Energy that was drawn up to the last sample, fJ: the sum of what each sample counted.
    pub drawn_fj: u128,
    pub limits: Vec<LimitRecord>,
    /// The ceiling by the number of active cores, where the machine has one.
    pub turbo: Option<HoldRecord>,
    /// Its temperature, where it is modelled.
    pub heat: Option<TemperatureRecord>,
    /// Time for which any ceiling held the clock of a domain with an active core below what was asked for, ns.
    pub held_ns: u64,
}

/// How a cause of ceilings held clocks back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRecord {
    /// Time for which its ceiling was the lowest of all, below what was asked for, ns.
    pub held_ns: u64,
    /// When that first was so, ns.
    pub first_ns: Option<u64>,
    /// When that ended last, ns.
    pub last_ns: Option<u64>,
}

/// The temperature at samples, thousandths of a degree C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemperatureRecord {
    pub now_mc: i64,
    pub peak_mc: i64,
}

/// What was seen of one limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitRecord {
    pub name: String,
    pub cause: HoldRecord,
    /// The running average at the last sample, uW, and the highest that a sample saw.
    pub average_uw: u64,
    pub peak_uw: u64,
    /// Time at samples that found the average above the limit, ns.
    pub above_ns: u64,
    /// Time for which it could lower the clocks no further, and the average was above, ns.
    pub helpless_ns: u64,
}
