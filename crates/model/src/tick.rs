// SPDX-License-Identifier: GPL-2.0-only
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Rates at which Linux can be built to tick, a second.
pub const HZ: RangeInclusive<u32> = 24..=1200;

/// Where the scheduler ticks of one CPU lie: all times `phase_ns + k * period_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickGrid {
    /// Distance of two ticks, ns; at least 1. `(10^9 + HZ/2) / HZ` in the kernel.
    pub period_ns: u64,
    /// A time on the grid, ns, below `period_ns`.
    pub phase_ns: u64,
}

impl TickGrid {
    /// The grid of a kernel built with `hz`, ticks at multiples of the period.
    #[must_use]
    pub fn from_hz(hz: u32) -> Self {
        Self { period_ns: Self::period_of(hz), phase_ns: 0 }
    }

    /// The kernel's `TICK_NSEC` for `hz`, ns (`governor-behaviour.md` 1.9). An `hz` of 0 counts as 1.
    #[must_use]
    pub fn period_of(hz: u32) -> u64 {
        let hz = u64::from(hz.max(1));
        (1_000_000_000 + hz / 2) / hz
    }

    /// The first grid time after `t_ns`, never `t_ns` itself.
    #[inline]
    #[must_use]
    pub fn after(&self, t_ns: u64) -> u64 {
        let since = t_ns.wrapping_sub(self.phase_ns) % self.period_ns;
        if t_ns < self.phase_ns {
            // Before the first grid time at or above the phase: walk down in whole periods.
            let below = (self.phase_ns - t_ns) % self.period_ns;
            return t_ns.saturating_add(if below == 0 { self.period_ns } else { below });
        }
        t_ns.saturating_add(self.period_ns - since)
    }

    /// The last grid time at or before `t_ns`; 0 where none is.
    #[inline]
    #[must_use]
    pub fn at_or_before(&self, t_ns: u64) -> u64 {
        self.after(t_ns).saturating_sub(self.period_ns)
    }
}
