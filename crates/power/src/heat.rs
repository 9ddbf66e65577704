// SPDX-License-Identifier: GPL-2.0-only
use crate::{Limit, RunningAverage};

/// How a package warms up: one thermal resistance to its surroundings, one capacity. Temperatures are thousandths of a degree C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heat {
    /// The temperature that it has without any power.
    pub ambient_mc: i64,
    pub mk_per_w: u64,
    /// The thermal resistance times the capacity, ns, not 0.
    pub window_ns: u64,
    /// The passive trip: above it clocks are lowered.
    pub trip_mc: Option<i64>,
    pub leakage: Option<Leakage>,
}

/// Power that rises with temperature while the package is awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leakage {
    /// The part of the powers of cores and package that leaks at `at_mc`, uW.
    pub uw: u64,
    pub at_mc: i64,
    /// It doubles with so much more temperature, mK, not 0.
    pub doubles_mk: u64,
}

/// A package draws no more because it leaks: beyond this, it has burnt out. uW.
const MOST_UW: f64 = 1e9;

impl Heat {
    /// The temperature of a package whose power, averaged over the time constant, is `uw`.
    #[must_use]
    pub fn temperature_mc(&self, uw: f64) -> f64 {
        // mK/W times uW are 10^-9 K.
        self.ambient_mc as f64 + self.mk_per_w as f64 * uw / 1e6
    }

    /// The trip as a limit: with one resistance and one capacity, temperature is a running average of power.
    #[must_use]
    pub fn trip(&self) -> Option<Limit> {
        let above_mk = u64::try_from(self.trip_mc? - self.ambient_mc).ok()?;
        let power_uw = above_mk.saturating_mul(1_000_000) / self.mk_per_w.max(1);
        Some(Limit { power_uw, window_ns: self.window_ns, clamp: true, start_uw: None })
    }

    /// What leaks more than at the temperature for which the powers are, uW.
    #[must_use]
    pub fn more_leakage_uw(&self, average: &RunningAverage) -> i64 {
        let Some(leakage) = self.leakage else { return 0 };
        let warmer_mk = self.temperature_mc(average.uw()) - leakage.at_mc as f64;
        let factor = libm::exp2(warmer_mk / leakage.doubles_mk as f64);
        let uw = leakage.uw as f64;
        ((uw * factor).min(MOST_UW.max(uw)) - uw).round() as i64
    }
}
