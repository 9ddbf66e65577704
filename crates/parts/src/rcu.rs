// SPDX-License-Identifier: GPL-2.0-only
//! RCU, as far as it keeps ticks: who waits for a grace period, and when one is over.
//!
//! A CPU with callbacks needs its tick, also in idle. Ticks do the work: one sees new callbacks and asks for a grace period, which
//! for those that come during one is the next. A tick notices that one has begun, the tick behind it reports that the CPU has
//! passed a quiescent state, and one notices the end and invokes what waited for it. The kernel's thread, `rcu_preempt`, begins a
//! grace period, and looks some jiffies later: a CPU that is idle is quiet, too, and at a second look one that was in between. The
//! last report wakes it at once. Where the thread's own CPU is idle before its next tick, that takes the second look.
//!
//! So it is with preemptible RCU in recordings of Linux 6.12 (`docs/validation/simulation-against-real-runs.md`). Not here:
//! callbacks that other threads take care of (`rcu_nocbs`, as phones often have: no tick is kept) or that are lazy, readers that
//! are preempted, grace periods that somebody waits for or hurries.

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

/// What a CPU has and knows; grace periods by number, from 1.
#[derive(Clone, Copy, Debug, Default)]
struct Callbacks {
    /// No tick has seen the newest yet.
    new: bool,
    /// The grace periods that the others wait for, the earlier first.
    wait_for: [Option<u64>; 2],
    /// The last one whose beginning, and whose end, it has noticed.
    noticed: u64,
    noticed_end: u64,
    /// The last one in which it is known to be quiet.
    quiet: u64,
}

/// What a tick has to do for RCU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickWork {
    /// The tick has raised RCU's softirq, which runs behind it.
    pub softirq: bool,
    /// The thread is to wake up.
    pub wakes_thread: bool,
    /// And its timer, which is set, is not needed any more.
    pub cancels_timer: bool,
}

impl Callbacks {
    /// Those that nobody has seen wait for grace period `n`.
    fn see(&mut self, n: u64) {
        self.new = false;
        let free = self.wait_for.iter().position(|w| w.is_none_or(|own| own == n)).unwrap_or(1);
        self.wait_for[free] = Some(n);
    }
}

impl Rcu {
    /// No CPU of `cpus` has callbacks, and the thread sleeps.
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
            thread_sleeps: true,
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
        self.cpus[c].new || self.cpus[c].wait_for[0].is_some()
    }

    /// Whether a tick at `now_ns` finds the thread's timer due, which then is set no more: it is nobody's own, and runs where a
    /// tick does.
    pub fn timer_expires(&mut self, now_ns: u64) -> bool {
        let due = self.looks_at_ns <= now_ns;
        if due {
            self.looks_at_ns = NEVER_NS;
            self.thread_sleeps = false;
        }
        due
    }

    /// The tick of CPU `c` runs.
    pub fn tick(&mut self, c: usize) -> TickWork {
        let over = self.begun - u64::from(self.runs);
        let cpu = &mut self.cpus[c];
        let reports = self.runs && cpu.noticed == self.begun && cpu.quiet < self.begun;
        if reports {
            cpu.quiet = self.begun;
        }
        let ends = cpu.noticed_end < over;
        let begins = self.runs && cpu.noticed < self.begun;
        (cpu.noticed, cpu.noticed_end) = (self.begun, over);
        let done = cpu.wait_for[0].is_some_and(|n| n <= over);
        if done {
            cpu.wait_for = [cpu.wait_for[1].filter(|n| *n > over), None];
        }
        let asks = cpu.new && (ends || begins || !self.runs);
        if asks {
            cpu.see(self.begun + 1);
            self.asked = true;
        }
        let wakes_thread =
            self.thread_sleeps && if self.runs { reports && self.all_quiet() } else { self.asked };
        let cancels_timer = wakes_thread && self.looks_at_ns != NEVER_NS;
        if wakes_thread {
            (self.thread_sleeps, self.looks_at_ns) = (false, NEVER_NS);
        }
        TickWork { softirq: reports || ends || begins || done || asks, wakes_thread, cancels_timer }
    }

    fn all_quiet(&self) -> bool {
        self.cpus.iter().all(|cpu| cpu.quiet == self.begun)
    }

    /// The thread runs on CPU `c` at `now_ns`, does what there is to do, and sleeps: until the time that is given, if it is one, ns.
    /// `is_idle` says it of a CPU.
    pub fn thread_runs(&mut self, c: usize, now_ns: u64, is_idle: impl Fn(usize) -> bool) -> Option<u64> {
        self.thread_sleeps = true;
        self.looks_at_ns = NEVER_NS;
        if self.runs && !self.all_quiet() {
            for (number, cpu) in self.cpus.iter_mut().enumerate() {
                if self.looked || is_idle(number) {
                    cpu.quiet = self.begun;
                }
            }
            self.looked = true;
        }
        if self.runs && self.all_quiet() {
            self.runs = false;
            if self.cpus[c].new {
                self.cpus[c].see(self.begun + 1);
                self.asked = true;
            }
        }
        if !self.runs && self.asked {
            self.asked = false;
            self.begun += 1;
            (self.runs, self.looked) = (true, false);
            self.cpus[c].noticed = self.begun;
        }
        self.runs.then(|| {
            let wait_ns = jiffies_to_look(self.grid) * self.grid.period_ns;
            self.looks_at_ns = wheel_expiry_ns(now_ns, wait_ns, self.grid);
            self.looks_at_ns
        })
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
    const NOTHING: TickWork = TickWork { softirq: false, wakes_thread: false, cancels_timer: false };
    const WORK: TickWork = TickWork { softirq: true, ..NOTHING };
    const WAKES: TickWork = TickWork { wakes_thread: true, ..WORK };

    #[test]
    fn a_callback_keeps_the_tick_until_a_grace_period_has_passed() {
        let mut rcu = Rcu::new(2, TickGrid::from_hz(1000));
        assert_eq!(rcu.tick(0), NOTHING);
        rcu.leave(0);
        assert!(rcu.needs_tick(0) && !rcu.needs_tick(1));
        assert_eq!(rcu.tick(0), WAKES);
        // Three jiffies from the one after: the wheel never is early.
        assert_eq!(rcu.thread_runs(1, 2 * MS + 600_000, |c| c == 0), Some(6 * MS));
        // It notices the beginning, and reports; CPU 1, which runs the thread, does not tick.
        assert_eq!([rcu.tick(0), rcu.tick(0), rcu.tick(0)], [WORK, WORK, NOTHING]);
        assert!(!rcu.timer_expires(5 * MS) && rcu.timer_expires(6 * MS) && !rcu.timer_expires(6 * MS));
        assert_eq!(rcu.thread_runs(1, 6 * MS + 600_000, |c| c == 0), Some(10 * MS));
        assert!(rcu.timer_expires(10 * MS));
        assert_eq!(rcu.thread_runs(1, 10 * MS + 500_000, |c| c == 0), None);
        assert!(rcu.needs_tick(0));
        assert_eq!(rcu.tick(0), WORK);
        assert!(!rcu.needs_tick(0));
        assert_eq!(rcu.tick(0), NOTHING);
    }

    #[test]
    fn the_last_report_ends_it_at_once() {
        let mut rcu = Rcu::new(1, TickGrid::from_hz(1000));
        rcu.leave(0);
        assert_eq!(rcu.tick(0), WAKES);
        assert_eq!(rcu.thread_runs(0, MS, |_| false), Some(5 * MS));
        // Its own CPU has noticed the beginning.
        assert_eq!(rcu.tick(0), TickWork { cancels_timer: true, ..WAKES });
        assert_eq!(rcu.thread_runs(0, 2 * MS, |_| false), None);
        assert!(!rcu.timer_expires(9 * MS) && rcu.needs_tick(0));
        assert_eq!(rcu.tick(0), WORK);
        assert!(!rcu.needs_tick(0));
    }

    #[test]
    fn a_callback_that_comes_too_late_waits_for_the_next_grace_period() {
        let mut rcu = Rcu::new(2, TickGrid::from_hz(250));
        rcu.leave(0);
        assert_eq!(rcu.tick(0), WAKES);
        rcu.thread_runs(1, 5 * MS, |_| true);
        rcu.leave(0);
        rcu.leave(1);
        // CPU 0's are seen with the beginning; CPU 1, which runs the thread, has noticed that before.
        assert_eq!([rcu.tick(0), rcu.tick(1)], [WORK, WORK]);
        assert!(rcu.timer_expires(12 * MS));
        // All are quiet at the first look; the second grace period begins at once, for both.
        assert_eq!(rcu.thread_runs(1, 13 * MS, |_| true), Some(20 * MS));
        assert_eq!([rcu.tick(0), rcu.tick(1)], [WORK, WORK]);
        assert!(rcu.needs_tick(0) && rcu.needs_tick(1));
        assert!(rcu.timer_expires(20 * MS));
        assert_eq!(rcu.thread_runs(1, 21 * MS, |_| true), None);
        assert_eq!([rcu.tick(0), rcu.tick(1)], [WORK, WORK]);
        assert!(!rcu.needs_tick(0) && !rcu.needs_tick(1));
    }
}
