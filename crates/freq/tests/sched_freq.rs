// SPDX-License-Identifier: GPL-2.0-only
//! What does Android's governor before schedutil publish, and when does its thread act? (signal-behaviour.md C6)

use crate::common;

use common::{Cpu, MS, Said, fast, policy, setup, slow};
use idlewise_freq::{Change, Driver, Event, Policy};

/// 500 to 2000 MHz in steps of 1 MHz.
fn fine() -> Vec<u32> {
    (500..=2000).map(|mhz| mhz * 1000).collect()
}

fn one(cpu: Cpu) -> Said {
    Said(vec![cpu])
}

fn at(p: &mut Policy, t_ns: u64, event: Event, said: &Said) -> Change {
    p.event(0, t_ns, event, said).change
}

#[test]
fn walt_climbs_by_the_margin_twice_a_window() {
    for governor in ["sched-freq", "sched-freq-4.4"] {
        let mut p = policy(setup(1, &fine(), fast()), governor);
        let mut clocks = vec![p.cur_khz() / 1000];
        for window in 1..=4 {
            // Busy all the last window at this clock.
            let util = u64::from(p.cur_khz()) * 1024 / 2_000_000;
            let _ =
                at(&mut p, window * 20 * MS, Event::Tick, &one(Cpu { util, walt: true, ..Cpu::default() }));
            clocks.push(p.cur_khz() / 1000);
        }
        // 500 * 1.25 * 1.25 = 781.25 and so on.
        assert_eq!(clocks, [500, 782, 1221, 1907, 2000], "{governor}");
    }
}

#[test]
fn pelt_asks_in_the_tick_once_the_margin_is_used_up() {
    let mut p = policy(setup(1, &fine(), fast()), "sched-freq");
    // The clock is worth 256: 204 with margin is 255, 205 is 256.
    assert_eq!(at(&mut p, MS, Event::Tick, &one(Cpu { util: 204, ..Cpu::default() })), Change::None);
    // 205 * 1280 / 1024 = 256: 500 MHz, what it has.
    assert_eq!(at(&mut p, 2 * MS, Event::Tick, &one(Cpu { util: 205, ..Cpu::default() })), Change::None);
    // 256 -> 320 of 1024: 625 MHz.
    assert_eq!(
        at(&mut p, 3 * MS, Event::Tick, &one(Cpu { util: 256, ..Cpu::default() })),
        Change::Now { khz: 625_000 }
    );
}

#[test]
fn the_last_task_to_sleep_leaves_the_clock_as_it_is() {
    let mut p = policy(setup(2, &fine(), fast()), "sched-freq");
    let said = Said::utils(&[512, 0]);
    // 512 * 1.25 = 640 of 1024.
    assert_eq!(at(&mut p, MS, Event::Wake, &said), Change::Now { khz: 1_250_000 });
    assert_eq!(at(&mut p, 2 * MS, Event::LastSleep, &said), Change::None);
    // Somebody else evaluates: 160 * 1.25 = 200.
    let said = Said::utils(&[512, 480]);
    assert_eq!(p.event(1, 3 * MS, Event::Wake, &said).change, Change::Now { khz: 1_172_000 });
}

#[test]
fn classes_add_up_and_walt_is_not_counted_twice() {
    let asks = |governor: &str, walt| {
        let mut p = policy(setup(1, &fine(), fast()), governor);
        let said = one(Cpu { util: 500, rt: 200, dl: 100, walt, ..Cpu::default() });
        for event in [Event::Rt, Event::Dl, Event::Wake] {
            let _ = at(&mut p, MS, event, &said);
        }
        p.cur_khz() / 1000
    };
    // (500 + 200) * 1.25 + 100 = 975 of 1024.
    assert_eq!(asks("sched-freq", false), 1905);
    // 500 - 300 = 200; (200 + 200) * 1.25 + 100 = 600.
    assert_eq!(asks("sched-freq", true), 1172);
    // 4.4 takes the largest: 500 * 1.25 = 625.
    assert_eq!(asks("sched-freq-4.4", true), 1221);
}

#[test]
fn a_boost_is_a_part_of_what_is_missing() {
    let mut p = policy(setup(1, &fine(), fast()), "sched-freq:boost=50");
    // 400 + 312 = 712, with margin 890.
    assert_eq!(at(&mut p, MS, Event::Wake, &Said::util(400)), Change::Now { khz: 1_739_000 });
}

#[test]
fn in_the_tick_3_18_asks_too_little_of_a_small_cpu() {
    let asks = |governor: &str| {
        let driver = Driver { transition_latency_ns: 0, ..fast() };
        let mut p = policy(setup(1, &fine(), driver), governor);
        // The clock is worth 128 of 512; 110 with margin is 137, which is 274 on the CPU's own scale.
        let said = one(Cpu { capacity: 512, util: 110, walt: true, ..Cpu::default() });
        let _ = at(&mut p, MS, Event::Tick, &said);
        p.cur_khz() / 1000
    };
    // 137 * 1.25 = 171 is less than the lowest clock; 274 * 1.25 = 342.
    assert_eq!([asks("sched-freq"), asks("sched-freq-4.4")], [500, 668]);
}

#[test]
fn a_wake_up_asks_on_the_cpus_own_scale() {
    let mut p = policy(setup(1, &fine(), fast()), "sched-freq");
    let said = one(Cpu { capacity: 512, util: 256, ..Cpu::default() });
    // Half the CPU: 640 of 1024.
    assert_eq!(at(&mut p, MS, Event::Wake, &said), Change::Now { khz: 1_250_000 });
}

#[test]
fn the_thread_sleeps_its_throttles_off_and_then_reads_the_request_anew() {
    let mut p = policy(setup(1, &fine(), slow(MS)), "sched-freq");
    let said = Said::util;
    assert_eq!(
        at(&mut p, 10 * MS, Event::Wake, &said(512)),
        Change::Start { khz: 1_250_000, ends_ns: 11 * MS }
    );
    let _ = p.transition_done(11 * MS, &said(512));
    // Up: as long as a switch takes, from its end.
    let answer = p.event(0, 11 * MS + 500, Event::Wake, &said(700));
    assert_eq!((answer.change, answer.timers), (Change::None, true));
    assert_eq!(p.next_timer(0, true), Some(12 * MS + 1));
    // Nothing wakes it before.
    assert_eq!(at(&mut p, 11 * MS + 900, Event::Wake, &said(1024)), Change::None);
    assert_eq!(p.timer(0, 12 * MS, &said(1024)).change, Change::None);
    let answer = p.timer(0, 12 * MS + 1, &said(1024));
    assert_eq!(answer.change, Change::Start { khz: 2_000_000, ends_ns: 13 * MS + 1 });
    assert_eq!(p.next_timer(0, true), None);
    let _ = p.transition_done(13 * MS + 1, &said(0));
    // Down: 50 ms, and by then the request is what is set.
    assert_eq!(at(&mut p, 20 * MS, Event::Sleep, &said(300)), Change::None);
    assert_eq!(p.next_timer(0, false), Some(63 * MS + 2));
    assert_eq!(at(&mut p, 30 * MS, Event::Wake, &said(1024)), Change::None);
    assert_eq!(p.timer(0, 63 * MS + 2, &said(0)).change, Change::None);
    // Later at once.
    assert!(matches!(at(&mut p, 70 * MS, Event::Sleep, &said(300)), Change::Start { khz: 733_000, .. }));
}

#[test]
fn other_cpus_and_governors_are_not_asked() {
    let mut p = policy(setup(1, &fine(), fast()), "sched-freq");
    assert_eq!(p.event(3, MS, Event::Wake, &Said::util(1024)).change, Change::None);
    let mut p = policy(setup(1, &fine(), fast()), "schedutil");
    assert_eq!(at(&mut p, MS, Event::Wake, &Said::util(1024)), Change::None);
}
