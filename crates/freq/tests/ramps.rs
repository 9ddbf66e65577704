// SPDX-License-Identifier: GPL-2.0-only
//! How long does a task that never sleeps need to the highest clock? The rows of signal-behaviour.md C11 with this
//! project's PELT and WALT, ticks and windows in all phases against each other.

use crate::common;

use common::{I7, MS, fast, policy, setup};
use idlewise_freq::{Change, Driver, Hook, Need, Policy, Setup, Signals};
use idlewise_signal::pelt::{Leave, Next, Pelt, Rq, Task};
use idlewise_signal::walt::{Config as WaltConfig, CpuSpec, Walt};

/// When the task starts, a while after boot.
const BEGIN: u64 = 1_000 * MS;

/// One number for all that a governor may ask.
struct Util(u64);

impl Signals for Util {
    fn capacity(&self, _: u32) -> u64 {
        1024
    }
    fn need(&self, _: u32) -> Need {
        Need { util: self.0, min: 0, max: 1024 }
    }
    fn freq_util(&self, _: u32) -> u64 {
        self.0
    }
    fn util(&self, _: u32) -> u64 {
        self.0
    }
    fn idle_calls(&self, _: u32) -> u64 {
        0
    }
    fn idle_ns(&self, _: u32, _: u64) -> u64 {
        0
    }
}

/// A signal and when it calls the governor: the utilisation, if it does.
trait Source {
    fn wake(&mut self, t_ns: u64) -> Option<u64>;
    fn tick(&mut self, t_ns: u64) -> Option<u64>;
    fn clock(&mut self, khz: u32, t_ns: u64);
}

/// PELT of 4.8 without scaling by the clock; it calls when a period of the queue has ended.
struct ByPelt {
    pelt: Pelt,
    rq: Rq,
    task: Task,
}

impl ByPelt {
    fn new() -> Self {
        Self { pelt: Pelt::kernel(4, 8).unwrap(), rq: Rq::new(1024), task: Task::new(1024) }
    }

    /// As new, half of what there is.
    fn forked() -> Self {
        let mut new = Self::new();
        new.pelt.start(&new.rq, &mut new.task);
        new
    }

    /// Ran before, and slept for no time: 150 to 200 are left.
    fn left_over(phase: u64) -> Self {
        let mut old = Self::new();
        let first = BEGIN - 8 * MS - phase * MS / 8;
        let _ = old.wake(first);
        for t in (first + MS..BEGIN).step_by(1_000_000) {
            let _ = old.tick(t);
        }
        old.pelt.pass(&mut old.rq, BEGIN - 1000, 0, 0);
        old.pelt.dequeue(&mut old.rq, &mut old.task, Leave::Sleeps);
        old.pelt.switch(&mut old.rq, Some(&mut old.task), Next::Idle);
        assert!((150..=200).contains(&old.rq.fair().util), "{}", old.rq.fair().util);
        old
    }

    fn asks(&self, asks: bool) -> Option<u64> {
        asks.then(|| self.rq.fair().util)
    }
}

impl Source for ByPelt {
    fn wake(&mut self, t_ns: u64) -> Option<u64> {
        self.pelt.pass(&mut self.rq, t_ns, 0, 0);
        let asks = self.pelt.enqueue(&mut self.rq, &mut self.task);
        self.pelt.switch(&mut self.rq, None, Next::Fair(&mut self.task));
        self.asks(asks)
    }

    fn tick(&mut self, t_ns: u64) -> Option<u64> {
        self.pelt.pass(&mut self.rq, t_ns, 0, 0);
        let asks = self.pelt.tick(&mut self.rq, Some(&mut self.task));
        self.asks(asks)
    }

    fn clock(&mut self, _: u32, _: u64) {}
}

/// WALT as in the RFC; it calls when a window has ended, or at every tick.
struct ByWalt {
    walt: Walt,
    task: u32,
    window: u64,
    every_tick: bool,
}

impl ByWalt {
    fn new(window_ns: u32, phase_ns: u64, every_tick: bool) -> Self {
        let spec = CpuSpec { capacity: 1024, max_freq_khz: 3_401_000 };
        let mut walt = Walt::new(WaltConfig { window_ns, ..WaltConfig::rfc() }, &[spec]).unwrap();
        walt.start(phase_ns).unwrap();
        walt.set_frequency(0, 1_600_000, phase_ns).unwrap();
        let task = walt.add_task(0, None).unwrap();
        Self { walt, task, window: 0, every_tick }
    }

    fn asks(&mut self) -> Option<u64> {
        let window = self.walt.cpus()[0].window_start_ns;
        let rolled = std::mem::replace(&mut self.window, window) != window;
        (rolled || self.every_tick).then(|| u64::from(self.walt.frequency_util(0).unwrap()))
    }
}

impl Source for ByWalt {
    fn wake(&mut self, t_ns: u64) -> Option<u64> {
        self.walt.wake(self.task, 0, t_ns).unwrap();
        self.walt.switch(0, self.task, false, t_ns).unwrap();
        // Of what is over; the governor is called with the next tick.
        self.window = self.walt.cpus()[0].window_start_ns;
        None
    }

    fn tick(&mut self, t_ns: u64) -> Option<u64> {
        self.walt.tick(0, t_ns).unwrap();
        self.asks()
    }

    fn clock(&mut self, khz: u32, t_ns: u64) {
        self.walt.set_frequency(0, khz, t_ns).unwrap();
    }
}

/// ns from the task's start to the first rise and to this clock or above.
fn ramp(policy: &mut Policy, source: &mut impl Source, to: u32, tick_ns: u64, first_tick: u64) -> (u64, u64) {
    let (mut t, mut first) = (BEGIN, None);
    let mut asked = source.wake(t);
    for k in 0..1000 {
        if let Some(util) = asked
            && let Change::Now { khz } = policy.hook(&Hook::fair(0, t), &Util(util)).change
        {
            source.clock(khz, t);
            let risen = *first.get_or_insert(t);
            if khz >= to {
                return (risen - BEGIN, t - BEGIN);
            }
        }
        t = BEGIN + first_tick + k * tick_ns;
        asked = source.tick(t);
    }
    panic!("never there");
}

fn governor(invariant: bool, limit_us: u64) -> Policy {
    let driver = Driver { invariant, ..fast() };
    let s = Setup { tick_ns: MS, ..setup(1, &I7, driver) };
    policy(s, &format!("schedutil-4.8:rate_limit_us={limit_us}"))
}

/// Least and most of all phases, us: start to the highest clock, first rise to the highest clock.
#[derive(Debug)]
struct Band {
    total: (u64, u64),
    climb: (u64, u64),
}

fn band<S: Source>(hz: u64, invariant: bool, limit_us: u64, source: impl Fn(u64) -> S) -> Band {
    band_to(3_401_000, hz, invariant, limit_us, source)
}

fn band_to<S: Source>(to: u32, hz: u64, invariant: bool, limit_us: u64, source: impl Fn(u64) -> S) -> Band {
    let tick_ns = 1000 * MS / hz;
    let mut b = Band { total: (u64::MAX, 0), climb: (u64::MAX, 0) };
    for tick_phase in 0..20 {
        for phase in 0..20 {
            let mut p = governor(invariant, limit_us);
            let first_tick = tick_ns * (2 * tick_phase + 1) / 40;
            let (first, last) = ramp(&mut p, &mut source(phase), to, tick_ns, first_tick);
            let (total, climb) = (last / 1000, (last - first) / 1000);
            b.total = (b.total.0.min(total), b.total.1.max(total));
            b.climb = (b.climb.0.min(climb), b.climb.1.max(climb));
        }
    }
    b
}

/// The band of C11, ms, and what a first or last evaluation may lie beside it: those were 400 random phases.
fn within(row: &str, b: &Band, total: (u64, u64), climb: (u64, u64), spare_ms: u64) {
    let text = format!("{row}: {b:?} us; C11 has {total:?} and {climb:?} ms");
    println!("{text}");
    for (found, told) in [(b.total, total), (b.climb, climb)] {
        assert!(
            found.0 + spare_ms * 1000 >= told.0 * 1000 && found.1 <= (told.1 + spare_ms) * 1000,
            "{text}"
        );
    }
}

fn windows(ms: u64, every_tick: bool) -> impl Fn(u64) -> ByWalt {
    move |phase| {
        let window = ms * MS;
        ByWalt::new(
            u32::try_from(window).unwrap(),
            BEGIN - 50 * window + window * (2 * phase + 1) / 40,
            every_tick,
        )
    }
}

#[test]
fn pelt_with_the_highest_clock_as_base_takes_80_to_92_ms() {
    within("P1, HZ 1000", &band(1000, true, 10_000, |_| ByPelt::new()), (80, 92), (50, 62), 2);
    within("P1, HZ 250", &band(250, true, 10_000, |_| ByPelt::new()), (82, 94), (48, 60), 2);
}

#[test]
fn pelt_with_the_present_clock_as_base_takes_140_to_158_ms() {
    within("P2, HZ 1000", &band(1000, false, 10_000, |_| ByPelt::new()), (140, 152), (50, 63), 2);
    within("P2, HZ 250", &band(250, false, 10_000, |_| ByPelt::new()), (142, 158), (60, 72), 2);
}

/// C11 says of the first row the time to 3400 MHz or more, and nothing of the climb.
#[test]
fn pelt_that_has_something_left_over_is_faster() {
    let to = 3_400_000;
    let any = (0, 100);
    within("P1', HZ 1000", &band_to(to, 1000, true, 10_000, ByPelt::left_over), (63, 75), any, 2);
    within("P1', HZ 250", &band_to(to, 250, true, 10_000, ByPelt::left_over), (62, 77), any, 2);
    within("P2', HZ 1000", &band(1000, false, 10_000, |_| ByPelt::forked()), (104, 115), (52, 63), 2);
    within("P2', HZ 250", &band(250, false, 10_000, |_| ByPelt::forked()), (109, 125), (60, 72), 2);
}

/// A first window that is busy to four fifths is enough to leave the lowest clock: a fifth of a window less than C11's.
#[test]
fn walt_takes_three_windows_after_the_first_rise() {
    within("W1, HZ 1000", &band(1000, true, 10_000, windows(10, false)), (40, 50), (30, 30), 2);
    within("W1, HZ 250", &band(250, true, 10_000, windows(10, false)), (62, 92), (52, 60), 2);
    within("W3, HZ 1000", &band(1000, true, 20_000, windows(20, false)), (80, 100), (60, 60), 4);
    within("W3, HZ 250", &band(250, true, 20_000, windows(20, false)), (80, 100), (60, 80), 4);
}

#[test]
fn walt_looked_at_with_every_tick_that_the_rate_limit_lets_through_takes_40_to_81_ms() {
    within("W1b, HZ 1000", &band(1000, true, 10_000, windows(10, true)), (40, 81), (30, 60), 2);
    within("W1b, HZ 250", &band(250, true, 10_000, windows(10, true)), (46, 74), (36, 48), 2);
}
