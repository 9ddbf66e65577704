// SPDX-License-Identifier: GPL-2.0-only
//! RCU, as far as it keeps ticks: who waits for a grace period, and when one is over.
//!
//! A CPU whose callbacks wait needs its tick, in idle, too. Its next tick asks for a grace period, unless one has begun, which
//! came too late for them: then they wait for the next. The kernel's thread `rcu_preempt` begins it, and looks some jiffies
//! later at what the CPUs do. One that is idle has passed a quiescent state, so has one whose tick has noticed the grace period;
//! the one on which the thread runs is neither, unless it ticks, so that most grace periods need a second look. The tick after
//! the end invokes the callbacks. (Seen so in recordings of Linux 6.12; `docs/validation/simulation-against-real-runs.md`.)

use idlewise_model::TickGrid;

use crate::timers::{NEVER_NS, wheel_expiry_ns};

/// The kernel's grace periods, and each CPU's callbacks.
#[derive(Debug)]
pub struct Rcu {
    grid: TickGrid,
    cpus: Vec<Callbacks>,
    /// Grace periods that have begun; `runs`: the last of them is not over.
    begun: u64,
    runs: bool,
    /// One more is wanted.
    asked: bool,
    /// The thread has looked at the CPUs since it began.
    looked: bool,
    /// When the thread's timer of the wheel is due, ns.
    looks_at_ns: u64,
    thread_sleeps: bool,
}

/// What waits on a CPU: its newest callbacks, and those for which a grace period was asked.
#[derive(Clone, Copy, Debug, Default)]
struct Callbacks {
    /// No tick has seen the newest yet.
    new: bool,
    /// The grace period that the others wait for.
    wait_for: Option<u64>,
    /// The last grace period whose beginning a tick has noticed.
    noticed: u64,
}

/// What a tick has to do for RCU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickWork {
    /// The tick has raised RCU's softirq, which runs behind it.
    pub softirq: bool,
    /// It, or a timer that it has run, wakes the thread.
    pub wakes_thread: bool,
}

impl Rcu {
    /// No CPU of `cpus` has callbacks.
    #[must_use]
    pub fn new(cpus: usize, grid: TickGrid) -> Self {
        Self {
            grid,
            cpus: vec![Callbacks::default(); cpus],
            begun: 0,
            runs: false,
            asked: false,
            looked: false,
            looks_at_ns: NEVER_NS,
            thread_sleeps: false,
        }
    }

    /// What runs on CPU `c` leaves a callback (`call_rcu`).
    pub fn leave(&mut self, c: usize) {
        self.cpus[c].new = true;
    }

    /// Whether CPU `c` may not stop its tick.
    #[inline]
    #[must_use]
    pub fn needs_tick(&self, c: usize) -> bool {
        self.cpus[c].new || self.cpus[c].wait_for.is_some()
    }

    /// The tick of CPU `c` runs at `now_ns`.
    pub fn tick(&mut self, c: usize, now_ns: u64) -> TickWork {
        let over = self.begun - u64::from(self.runs);
        let cpu = &mut self.cpus[c];
        let done = cpu.wait_for.is_some_and(|n| n <= over);
        let begins = self.runs && cpu.noticed < self.begun;
        let asks = cpu.new && cpu.wait_for.is_none_or(|n| n <= over) && (done || begins || !self.runs);
        if done {
            cpu.wait_for = None;
        }
        if begins {
            cpu.noticed = self.begun;
        }
        if asks {
            cpu.new = false;
            cpu.wait_for = Some(self.begun + 1);
            self.asked = true;
        }
        // A timer that is nobody's own runs where a tick does: on the CPU that waits, which cannot stop its.
        let due = self.looks_at_ns <= now_ns && self.needs_tick(c);
        let wakes_thread = self.thread_sleeps && (due || (self.asked && !self.runs));
        if wakes_thread {
            self.thread_sleeps = false;
            self.looks_at_ns = NEVER_NS;
        }
        TickWork { softirq: done || begins || asks, wakes_thread }
    }

    /// The thread runs at `now_ns`, does what there is to do, and sleeps. `is_idle` says it of a CPU.
    pub fn thread_runs(&mut self, now_ns: u64, is_idle: impl Fn(usize) -> bool) {
        self.thread_sleeps = true;
        if self.runs {
            let quiet = |c: usize, cpu: &Callbacks| cpu.noticed == self.begun || is_idle(c);
            self.runs = !(self.looked || self.cpus.iter().enumerate().all(|(c, cpu)| quiet(c, cpu)));
            self.looked = true;
        }
        if !self.runs && self.asked {
            self.asked = false;
            self.begun += 1;
            (self.runs, self.looked) = (true, false);
        }
        if self.runs {
            let wait_ns = jiffies_to_look(self.grid) * self.grid.period_ns;
            self.looks_at_ns = wheel_expiry_ns(now_ns, wait_ns, self.grid);
        }
    }
}

/// How long the thread waits before it looks, jiffies: the kernel's default by its HZ (`rcutree.jiffies_till_first_fqs`), for less
/// than 256 CPUs.
fn jiffies_to_look(grid: TickGrid) -> u64 {
    let faster = |hz| u64::from(grid.period_ns < TickGrid::period_of(hz));
    1 + faster(250) + faster(500)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_callback_keeps_the_tick_until_a_grace_period_has_passed() {
        let mut rcu = Rcu::new(2, TickGrid::from_hz(1000));
        rcu.thread_runs(0, |_| true);
        assert_eq!(rcu.tick(0, MS), TickWork::default());
        rcu.leave(0);
        assert!(rcu.needs_tick(0) && !rcu.needs_tick(1));
        assert_eq!(rcu.tick(0, 2 * MS), TickWork { softirq: true, wakes_thread: true });
        rcu.thread_runs(2 * MS + 600_000, |c| c == 0);
        assert_eq!(rcu.tick(0, 3 * MS), TickWork { softirq: true, wakes_thread: false });
        assert_eq!(rcu.tick(0, 5 * MS), TickWork::default());
        // Three jiffies from the one after: the wheel never is early.
        assert_eq!(rcu.tick(0, 6 * MS), TickWork { softirq: false, wakes_thread: true });
        // CPU 1 runs the thread, and does not tick.
        rcu.thread_runs(6 * MS + 600_000, |c| c == 0);
        assert_eq!(rcu.tick(0, 10 * MS), TickWork { softirq: false, wakes_thread: true });
        rcu.thread_runs(10 * MS + 500_000, |c| c == 0);
        assert!(rcu.needs_tick(0));
        assert_eq!(rcu.tick(0, 11 * MS), TickWork { softirq: true, wakes_thread: false });
        assert!(!rcu.needs_tick(0));
    }

    #[test]
    fn a_callback_that_comes_too_late_waits_for_the_next_grace_period() {
        let mut rcu = Rcu::new(2, TickGrid::from_hz(250));
        rcu.thread_runs(0, |_| true);
        rcu.leave(0);
        assert!(rcu.tick(0, 4 * MS).wakes_thread);
        rcu.thread_runs(5 * MS, |_| true);
        rcu.leave(1);
        assert_eq!(rcu.tick(1, 8 * MS), TickWork { softirq: true, wakes_thread: false });
        assert!(rcu.tick(0, 12 * MS).wakes_thread);
        // All are quiet at the first look; the second grace period begins at once.
        rcu.thread_runs(13 * MS, |_| true);
        assert!(rcu.tick(0, 16 * MS).softirq && !rcu.needs_tick(0));
        assert!(rcu.tick(1, 16 * MS).softirq && rcu.needs_tick(1));
        assert!(rcu.tick(1, 20 * MS).wakes_thread);
        rcu.thread_runs(21 * MS, |_| true);
        assert!(rcu.tick(1, 24 * MS).softirq && !rcu.needs_tick(1));
    }
}
