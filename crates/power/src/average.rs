// SPDX-License-Identifier: GPL-2.0-only

/// An exponentially weighted average of power over time, as RAPL's limits bound it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningAverage {
    window_ns: u64,
    uw: f64,
}

impl RunningAverage {
    /// The average with the time constant `window_ns`, not 0, of a package that drew `start_uw` for ever.
    #[must_use]
    pub fn new(window_ns: u64, start_uw: u64) -> Self {
        assert!(window_ns > 0, "a window of 0 averages nothing");
        Self { window_ns, uw: start_uw as f64 }
    }

    /// `ns` have passed in which the package drew `power_uw`. Exact where that was the power all the time.
    pub fn advance(&mut self, power_uw: f64, ns: u64) {
        self.uw = power_uw + (self.uw - power_uw) * self.kept(ns);
    }

    /// The average now, uW.
    #[must_use]
    pub fn uw(&self) -> f64 {
        self.uw
    }

    /// The constant power that takes the average to `limit_uw` in `ns`, uW; negative where none is low enough.
    #[must_use]
    pub fn power_to_reach(&self, limit_uw: f64, ns: u64) -> f64 {
        self.uw + (limit_uw - self.uw) / (1.0 - self.kept(ns.max(1)))
    }

    /// The weight that the past has after `ns`.
    fn kept(&self, ns: u64) -> f64 {
        libm::exp(-(ns as f64) / self.window_ns as f64)
    }
}
