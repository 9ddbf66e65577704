// SPDX-License-Identifier: GPL-2.0-only
use idlewise_power::Heat;

/// How the machine warms up, and what that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thermal {
    pub heat: Heat,
    /// Its thermal capacity, mJ/K.
    pub capacity_mj_per_k: u64,
    /// Where the numbers come from.
    pub source: String,
}
