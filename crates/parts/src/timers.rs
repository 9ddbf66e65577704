// SPDX-License-Identifier: GPL-2.0-only
//! The timers of one CPU: those of high resolution, which come as an interrupt of their own, and those of the wheel,
//! which the tick's handler runs.

use idlewise_model::TickGrid;

/// Time that never comes, ns.
pub const NEVER_NS: u64 = idlewise_idle::NEVER_AT_NS;

/// Who waits for a timer. CPUs, tasks, clocks and sources are indices; `turn` counts how often it was set anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiter {
    /// A task that sleeps; nothing if `turn` is over.
    Task { task: u32, turn: u32 },
    /// A deadline task whose time for this period is used up.
    Budget { task: u32, turn: u32 },
    /// A device that answers by a timer.
    Device { device: u32, task: u32 },
    /// The CPU's fair server.
    FairServer,
    /// The CPU's lockup detector.
    Watchdog,
    /// RCU's thread. Its timer is no CPU's own.
    Rcu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hrtimer {
    /// When the hardware fires at the latest, ns.
    hard_ns: u64,
    /// From when on an interrupt that comes anyway takes it along, ns.
    soft_ns: u64,
    waiter: Waiter,
}

/// A CPU's timers, each list with the earliest last.
#[derive(Debug, Default)]
pub struct Timers {
    high: Vec<Hrtimer>,
    wheel: Vec<(u64, Waiter)>,
}

impl Timers {
    /// Expires between `at_ns` and `at_ns + slack_ns`.
    pub fn add(&mut self, at_ns: u64, slack_ns: u64, waiter: Waiter) {
        let timer = Hrtimer { hard_ns: at_ns.saturating_add(slack_ns), soft_ns: at_ns, waiter };
        let place = self.high.partition_point(|t| t.hard_ns > timer.hard_ns);
        self.high.insert(place, timer);
    }

    /// That of `waiter` does not expire.
    pub fn cancel(&mut self, waiter: Waiter) {
        self.high.retain(|t| t.waiter != waiter);
    }

    /// Expires with the tick at or after `at_ns` that the wheel makes of it.
    pub fn add_to_wheel(&mut self, now_ns: u64, delay_ns: u64, grid: TickGrid, waiter: Waiter) -> u64 {
        let at_ns = wheel_expiry_ns(now_ns, delay_ns, grid);
        let place = self.wheel.partition_point(|(t, _)| *t > at_ns);
        self.wheel.insert(place, (at_ns, waiter));
        at_ns
    }

    /// When the hardware must fire for the earliest of high resolution, ns.
    #[inline]
    pub fn high_at_ns(&self) -> u64 {
        self.high.last().map_or(NEVER_NS, |t| t.hard_ns)
    }

    /// When the tick must run for the earliest of the wheel, ns.
    #[inline]
    pub fn wheel_at_ns(&self) -> u64 {
        self.wheel.last().map_or(NEVER_NS, |(t, _)| *t)
    }

    /// The next one that an interrupt at `now_ns` takes along: they are looked at in the order of their latest times,
    /// until one may still wait.
    #[inline]
    pub fn expired(&mut self, now_ns: u64) -> Option<Waiter> {
        self.high.pop_if(|t| t.soft_ns <= now_ns).map(|t| t.waiter)
    }

    /// How many an interrupt at `now_ns` takes along.
    #[inline]
    pub fn due(&self, now_ns: u64) -> u32 {
        self.high.iter().rev().take_while(|t| t.soft_ns <= now_ns).count() as u32
    }

    /// The next one of the wheel that a tick at `now_ns` runs.
    #[inline]
    pub fn expired_of_wheel(&mut self, now_ns: u64) -> Option<Waiter> {
        self.wheel.pop_if(|(t, _)| *t <= now_ns).map(|(_, waiter)| waiter)
    }
}

/// When a wheel timer of `delay_ns` that is armed at `now_ns` runs. It never is early: it counts from the next jiffy,
/// and each level of the wheel, with eight times the granularity of the one below and 64 slots, rounds up.
pub(crate) fn wheel_expiry_ns(now_ns: u64, delay_ns: u64, grid: TickGrid) -> u64 {
    let jiffies = delay_ns.div_ceil(grid.period_ns);
    let armed = grid.at_or_before(now_ns).saturating_sub(grid.phase_ns) / grid.period_ns;
    let mut shift = 0;
    while jiffies >> shift >= 64 && shift < 24 {
        shift += 3;
    }
    let slot = ((armed + jiffies) >> shift) + 1;
    grid.phase_ns.saturating_add((slot << shift).saturating_mul(grid.period_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(task: u32) -> Waiter {
        Waiter::Task { task, turn: 0 }
    }

    #[test]
    fn an_interrupt_takes_along_what_may_expire() {
        let mut t = Timers::default();
        t.add(1000, 50, task(1));
        t.add(1010, 0, task(2));
        t.add(1045, 50, task(3));
        assert_eq!(t.high_at_ns(), 1010);
        assert_eq!(t.due(1010), 2);
        assert_eq!((t.expired(1010), t.expired(1010), t.expired(1010)), (Some(task(2)), Some(task(1)), None));
        assert_eq!(t.high_at_ns(), 1095);
    }

    #[test]
    fn the_wheel_rounds_up_by_level() {
        let grid = TickGrid { period_ns: 10, phase_ns: 5 };
        assert_eq!(wheel_expiry_ns(5, 10, grid), 25);
        assert_eq!(wheel_expiry_ns(14, 50, grid), 65);
        // 100 jiffies are on the second level: granularity 8.
        assert_eq!(wheel_expiry_ns(5, 1000, grid), 5 + 104 * 10);
        let mut t = Timers::default();
        assert_eq!(t.add_to_wheel(5, 10, grid, task(1)), 25);
        assert_eq!((t.expired_of_wheel(24), t.expired_of_wheel(25)), (None, Some(task(1))));
        assert_eq!(t.wheel_at_ns(), NEVER_NS);
    }
}
