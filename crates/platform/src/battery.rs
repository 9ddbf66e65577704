// SPDX-License-Identifier: GPL-2.0-only

/// A battery and its fuel gauge, for the totals that a phone would show of a simulated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Battery {
    /// Nominal voltage, mV; it stays the same.
    pub voltage_mv: u64,
    /// What is drawn beside the CPUs all the time (display, memory, radio), mW, where it is known.
    pub base_mw: Option<u64>,
    /// The gauge tells the mean current of so long, ms.
    pub sample_ms: u64,
    /// In steps of this, uA; at least 1.
    pub step_ua: u64,
    /// Where the numbers come from.
    pub source: String,
}

impl Battery {
    /// A common gauge's, MAX17047 and MAX17050: 175.8 ms (its data sheet, register Current).
    pub const SAMPLE_MS: u64 = 176;
    /// The same register: 1.5625 uV over a usual resistor of 10 mOhm.
    pub const STEP_UA: u64 = 156;
}
