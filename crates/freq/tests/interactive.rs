// SPDX-License-Identifier: GPL-2.0-only
//! When does interactive look, and where does it go? Worked out by hand from signal-behaviour.md C9.

use crate::common;

use common::{Cpu, MS, Said, idled, policy, settle, setup, slow};
use idlewise_freq::{Change, Limits, Policy};

const KHZ: [u32; 5] = [300_000, 600_000, 900_000, 1_050_000, 1_200_000];

fn started(cpus: u32, governor: &str) -> Policy {
    let mut p = policy(setup(cpus, &KHZ, slow(0)), governor);
    let _ = p.start(0, &idled(0));
    p
}

/// One CPU that is awake all the time: looks at each timer, with so much load in %; the clock after each, MHz.
struct Awake {
    policy: Policy,
    t: u64,
    idle: u64,
}

impl Awake {
    fn new(governor: &str) -> Self {
        Self { policy: started(1, governor), t: 0, idle: 0 }
    }

    fn look(&mut self, load: u64) -> u32 {
        let at = self.policy.next_timer(0, false).unwrap_or(self.t);
        self.idle += (at - self.t) / 100 * (100 - load);
        self.t = at;
        let _ = self.policy.timer(0, at, &idled(self.idle));
        settle(&mut self.policy, &idled(self.idle)) / 1000
    }

    fn looks(&mut self, loads: &[u64]) -> Vec<u32> {
        loads.iter().map(|load| self.look(*load)).collect()
    }
}

#[test]
fn a_load_below_its_target_leaves_the_lowest_clock() {
    assert_eq!(Awake::new("interactive").looks(&[0, 50, 90]), [300, 300, 300]);
}

#[test]
fn the_clock_is_the_lowest_at_which_the_load_stays_below_90() {
    // 95 % of 300 MHz are 285, which is 90 % of 317.
    let mut a = Awake::new("interactive");
    assert_eq!(a.look(95), 600);
    // 95 % of 600 are 570: 633.
    assert_eq!(a.look(95), 900);
}

#[test]
fn a_full_load_goes_to_hispeed_first_and_beyond_after_the_delay() {
    // The hispeed time is that of the look that went there, 20 ms; 20 ms later it may go on.
    assert_eq!(Awake::new("interactive:hispeed_freq=900000").looks(&[100, 100]), [900, 1050]);
    let mut a = Awake::new("interactive:hispeed_freq=900000,above_hispeed_delay=50000");
    assert_eq!(a.looks(&[100, 100, 100, 100]), [900, 900, 900, 1050]);
    // By default hispeed is the highest.
    assert_eq!(Awake::new("interactive").looks(&[100]), [1200]);
}

#[test]
fn a_load_that_needs_more_than_hispeed_stops_there_first() {
    let mut a = Awake::new("interactive:hispeed_freq=600000,above_hispeed_delay=0,target_loads=20");
    // 60 % of 300 are 180; 20 % of 900.
    assert_eq!(a.looks(&[60, 60]), [600, 1200]);
}

#[test]
fn a_clock_stays_80_ms_before_it_falls() {
    let mut a = Awake::new("interactive");
    assert_eq!(a.look(100), 1200);
    // Looks at 40, 60, 80 are less than 80 ms after the one at 20; at 100 it falls: 10 % of 1200 are 120.
    assert_eq!(a.looks(&[10, 10, 10, 10]), [1200, 1200, 1200, 300]);
    // A look that needs the clock begins the time anew.
    let mut a = Awake::new("interactive");
    assert_eq!(a.looks(&[100, 10, 10, 95, 10, 10, 10, 10]), [1200, 1200, 1200, 1200, 1200, 1200, 1200, 300]);
    let mut a = Awake::new("interactive:min_sample_time=0");
    assert_eq!(a.looks(&[100, 10]), [1200, 300]);
}

#[test]
fn time_before_a_change_of_clock_counts_at_the_old_clock() {
    let mut p = started(2, "interactive");
    let said = |one, two| Said([one, two].map(|idle_ns| Cpu { idle_ns, ..Cpu::default() }).to_vec());
    // CPU 1 looks 10 ms after CPU 0: it was woken up late.
    let _ = p.timer(0, 20 * MS, &said(20 * MS, 0));
    let _ = p.timer(1, 30 * MS, &said(30 * MS, 0));
    // CPU 1 was busy all the time.
    assert_eq!(settle(&mut p, &said(30 * MS, 0)), 1_200_000);
    // CPU 0 was busy from 20 to 30 at 300 MHz, idle since: 150 MHz on average, 12 % of 1200; its own target stays, and
    // what CPU 1 wants decides.
    let _ = p.timer(0, 40 * MS, &said(30 * MS, 0));
    assert_eq!(settle(&mut p, &said(30 * MS, 0)), 1_200_000);
}

#[test]
fn the_highest_target_of_a_shared_clock_counts() {
    let mut p = started(2, "interactive:min_sample_time=0");
    let said = |one, two| Said([one, two].map(|idle_ns| Cpu { idle_ns, ..Cpu::default() }).to_vec());
    let _ = p.timer(0, 20 * MS, &said(0, 20 * MS));
    assert_eq!(settle(&mut p, &said(0, 20 * MS)), 1_200_000);
    let _ = p.timer(1, 20 * MS, &said(0, 20 * MS));
    assert_eq!(settle(&mut p, &said(0, 20 * MS)), 1_200_000);
    // CPU 0 rests, and nothing else holds the clock.
    let _ = p.timer(0, 40 * MS, &said(20 * MS, 40 * MS));
    assert_eq!(settle(&mut p, &said(20 * MS, 40 * MS)), 300_000);
}

#[test]
fn an_idle_cpu_does_not_look_but_above_the_lowest_clock_it_is_woken_up_for_it() {
    let mut p = started(1, "interactive:min_sample_time=0");
    assert_eq!((p.next_timer(0, false), p.next_timer(0, true)), (Some(20 * MS), None));
    let _ = p.timer(0, 20 * MS, &idled(0));
    assert_eq!(settle(&mut p, &idled(0)), 1_200_000);
    assert_eq!((p.next_timer(0, false), p.next_timer(0, true)), (Some(40 * MS), Some(120 * MS)));
    // Idle from 20 on; the slack timer's wake-up finds the look overdue.
    let answer = p.timer(0, 120 * MS, &idled(100 * MS));
    assert_eq!((answer.change, answer.timers), (Change::Start { khz: 300_000, ends_ns: 120 * MS }, true));
    let _ = settle(&mut p, &idled(100 * MS));
    assert_eq!((p.next_timer(0, false), p.next_timer(0, true)), (Some(140 * MS), None));
}

#[test]
fn the_end_of_idling_makes_up_for_a_look_that_is_overdue() {
    let mut p = started(1, "interactive");
    assert_eq!(p.idle_end(0, 19 * MS, &idled(19 * MS)), Default::default());
    assert_eq!(p.next_timer(0, false), Some(20 * MS));
    let answer = p.idle_end(0, 50 * MS, &idled(0));
    assert_eq!(answer.change, Change::Start { khz: 1_200_000, ends_ns: 50 * MS });
    assert_eq!(p.next_timer(0, false), Some(70 * MS));
}

#[test]
fn target_loads_may_differ_from_clock_to_clock() {
    // 60 % up to 900 MHz, 95 % from there. 70 % of 300 are 210: 60 % of 350.
    let loads = "interactive:target_loads=60 900000:95,hispeed_freq=1200000";
    assert_eq!(Awake::new(loads).look(70), 600);
    // 98 % of 600 are 588: at 600 that asks for 980, at 1050 for 619; between the two lies 900, where 619 is enough
    // and below which is nothing that is.
    let mut a = Awake::new(loads);
    assert_eq!(a.looks(&[70, 98]), [600, 900]);
    // Targets that fall: at 300 a load of 90 is fine, and above it none is, so the climb ends at the top.
    let mut a = Awake::new("interactive:target_loads=90 600000:10");
    assert_eq!(a.look(90), 300);
    assert_eq!(a.look(91), 1200);
}

#[test]
fn the_delay_above_hispeed_may_differ_from_clock_to_clock() {
    let mut a = Awake::new("interactive:hispeed_freq=600000,above_hispeed_delay=0 900000:60000");
    // 600 -> 667 -> 900 at once; at 900 for 60 ms.
    assert_eq!(a.looks(&[100, 100, 100, 100, 100]), [600, 900, 900, 900, 1050]);
}

#[test]
fn a_boost_keeps_hispeed_whatever_the_load() {
    let mut a = Awake::new("interactive:boost=1,hispeed_freq=900000");
    assert_eq!(a.looks(&[0, 0, 0]), [900, 900, 900]);
    let mut a = Awake::new("interactive:hispeed_freq=900000");
    let _ = a.policy.boost_pulse(0);
    assert_eq!(settle(&mut a.policy, &idled(0)), 900_000);
    // The touch and the time that a clock stays both end at 80.
    let clocks = a.looks(&[0; 8]);
    assert_eq!(clocks, [900, 900, 900, 300, 300, 300, 300, 300]);
}

#[test]
fn new_limits_take_targets_along() {
    let mut p = started(1, "interactive");
    let _ = p.timer(0, 20 * MS, &idled(0));
    let _ = settle(&mut p, &idled(0));
    let answer = p.set_limits(Limits { min_khz: 0, max_khz: 700_000 }, 21 * MS);
    assert_eq!(answer.change, Change::Start { khz: 600_000, ends_ns: 21 * MS });
    let _ = settle(&mut p, &idled(0));
    let answer = p.set_limits(Limits { min_khz: 800_000, max_khz: 2_000_000 }, 22 * MS);
    assert_eq!(answer.change, Change::Start { khz: 900_000, ends_ns: 22 * MS });
}

#[test]
fn a_pulse_is_nothing_to_other_governors() {
    let mut p = policy(setup(1, &KHZ, slow(0)), "ondemand");
    assert_eq!(p.boost_pulse(5), Default::default());
    assert_eq!((p.next_timer(0, false), p.next_timer(0, true)), (None, None));
}
