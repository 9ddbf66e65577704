// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::TickGrid;

use crate::{NEVER_AT_NS, Timers};

/// Above this a period is no kernel's, and a time lies further from the phase than a recording reaches, ns.
const LONGEST_PERIOD_NS: u64 = 1 << 40;
const FARTHEST_NS: u64 = 1 << 62;

/// What the sleep length query answers (`governor-behaviour.md` 1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepQuery {
    /// Time to the next event if the tick is stopped, ns.
    pub sleep_length_ns: i64,
    /// Time to the next event if the tick is kept, ns.
    pub delta_tick_ns: i64,
    /// When the next tick is due unless it is stopped, ns.
    pub tick_at_ns: u64,
    /// Whether the core would stop it if asked (`governor-behaviour.md` 1.3).
    pub may_stop: bool,
}

/// A grid of ticks that finds the tick after a time without a division: the loop looks for one at every decision.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    grid: TickGrid,
    /// 2^64 divided by the period, rounded down; for a period of 1 ns the largest number.
    inverse: u64,
    /// Times less than this after the phase need no division, ns.
    reach_ns: u64,
    /// When the CPU's clock shows `KTIME_MAX`, ns.
    end_ns: u64,
}

impl Ticks {
    /// The ticks of `grid`.
    #[must_use]
    pub fn new(grid: TickGrid) -> Self {
        let reach_ns = if grid.period_ns <= LONGEST_PERIOD_NS { FARTHEST_NS } else { 0 };
        Self { grid, inverse: u64::MAX / grid.period_ns, reach_ns, end_ns: NEVER_AT_NS }
    }

    /// The same on a CPU whose clock shows `KTIME_MAX` at `end_ns`.
    pub(crate) fn ending_at(self, end_ns: u64) -> Self {
        Self { end_ns, ..self }
    }

    /// Distance of two ticks, ns.
    #[inline]
    pub(crate) fn period_ns(&self) -> u64 {
        self.grid.period_ns
    }

    /// The same as [`TickGrid::after`].
    #[inline]
    pub(crate) fn after(&self, t_ns: u64) -> u64 {
        let TickGrid { period_ns, phase_ns } = self.grid;
        // A time before the phase wraps to one that is far after it.
        let since_ns = t_ns.wrapping_sub(phase_ns);
        if since_ns >= self.reach_ns {
            return self.divided(t_ns);
        }
        // As many periods as fit, or one fewer: the inverse is at most 1 too small, which is less than one part in `since_ns`.
        let periods = ((u128::from(since_ns) * u128::from(self.inverse)) >> 64) as u64;
        let early_ns = phase_ns + (periods + 1) * period_ns;
        early_ns + if early_ns <= t_ns { period_ns } else { 0 }
    }

    /// What the sleep length query answers to a CPU that knows `timers`, at `now_ns` on its clock.
    #[inline]
    #[must_use]
    pub fn query(&self, now_ns: u64, tick_stopped: bool, timers: &Timers) -> SleepQuery {
        match *timers {
            Timers::Known { sleep_length_ns, delta_tick_ns } => {
                SleepQuery { sleep_length_ns, delta_tick_ns, tick_at_ns: self.after(now_ns), may_stop: true }
            }
            Timers::Pending { hrtimer_at_ns, wheel_at_ns, stale_event_at_ns, tick_needed } => {
                let tick_at_ns = self.after(now_ns);
                // No timer lies beyond the end of time.
                let hrtimer_at_ns = hrtimer_at_ns.min(self.end_ns);
                let until = |at_ns: u64| at_ns.min(hrtimer_at_ns).wrapping_sub(now_ns) as i64;
                let programmed = |at_ns: u64| until(at_ns.min(stale_event_at_ns));
                // The next tick is one period after the last jiffies update.
                let expiry_ns = if tick_needed { tick_at_ns } else { wheel_at_ns };
                if tick_stopped {
                    let (sleep_length_ns, delta_tick_ns) = (until(expiry_ns), programmed(wheel_at_ns));
                    return SleepQuery { sleep_length_ns, delta_tick_ns, tick_at_ns, may_stop: true };
                }
                let delta_tick_ns = programmed(tick_at_ns);
                SleepQuery {
                    // Where the tick must be kept, it is what the clock event is programmed for.
                    sleep_length_ns: if expiry_ns > tick_at_ns { until(expiry_ns) } else { delta_tick_ns },
                    delta_tick_ns,
                    tick_at_ns,
                    may_stop: expiry_ns > tick_at_ns,
                }
            }
        }
    }

    #[cold]
    fn divided(&self, t_ns: u64) -> u64 {
        self.grid.after(t_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(grid: TickGrid, t_ns: u64) {
        assert_eq!(Ticks::new(grid).after(t_ns), grid.after(t_ns), "{grid:?} {t_ns}");
    }

    #[test]
    fn on_the_grid_and_at_the_ends_of_time() {
        for period_ns in
            [1, 2, 3, 1_000_000, 3_333_333, 4_000_000, LONGEST_PERIOD_NS, LONGEST_PERIOD_NS + 1, u64::MAX]
        {
            for phase_ns in [0, 1, period_ns / 2, period_ns - 1] {
                let grid = TickGrid { period_ns, phase_ns };
                for at_ns in [
                    0,
                    phase_ns,
                    period_ns,
                    1 << 40,
                    FARTHEST_NS,
                    FARTHEST_NS.saturating_add(phase_ns),
                    i64::MAX as u64,
                ] {
                    let tick_ns = grid.at_or_before(at_ns);
                    for t_ns in [at_ns, tick_ns] {
                        (0..3).for_each(|by| same(grid, t_ns.saturating_add(by).saturating_sub(1)));
                    }
                }
                same(grid, u64::MAX);
            }
        }
    }

    proptest! {
        #[test]
        fn anywhere(bits in 0..41u32, period in any::<u64>(), phase in any::<u64>(), t_ns in any::<u64>(), less in 0..64u32) {
            let period_ns = (period >> (64 - bits.max(1))).max(1);
            same(TickGrid { period_ns, phase_ns: phase % period_ns }, t_ns >> less);
        }
    }
}
