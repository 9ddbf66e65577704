// SPDX-License-Identifier: GPL-2.0-only
//! What do schedutil of 6.12 and of 6.1 ask for, and when? (signal-behaviour.md C2, C3)

use crate::common;

use common::{BIG, Cpu, I7, MS, Said, fast, hook, iowait_hook, policy, setup, slow};
use idlewise_freq::{Change, Driver, Hook, Limits, RateRule};

#[test]
fn pixel_6_golden_numbers_come_out() {
    let mut big = policy(setup(2, &BIG, fast()), "schedutil");
    // 300 and a quarter is 375; 2802000 * 375 / 1024 = 1026123.
    assert_eq!(hook(&mut big, 100 * MS, &Said::util(300)), Change::Now { khz: 1_106_000 });

    let khz = [300_000, 574_000, 738_000, 930_000, 1_803_000];
    let little = |util| {
        let mut p = policy(setup(4, &khz, fast()), "schedutil");
        let said = Said(vec![Cpu { util, capacity: 160, ..Cpu::default() }]);
        hook(&mut p, 100 * MS, &said)
    };
    assert_eq!(little(50), Change::Now { khz: 738_000 });
    // 187 is more than the CPU has.
    assert_eq!(little(150), Change::Now { khz: 1_803_000 });
}

#[test]
fn the_largest_cpu_of_a_shared_clock_decides() {
    let mut p = policy(setup(3, &BIG, fast()), "schedutil");
    assert_eq!(hook(&mut p, 100 * MS, &Said::utils(&[10, 300, 20])), Change::Now { khz: 1_106_000 });
}

#[test]
fn headroom_is_not_put_on_the_lower_limit_and_stops_at_the_upper() {
    let asks = |util, min, max| {
        let mut p = policy(setup(2, &BIG, fast()), "schedutil");
        let _ = hook(&mut p, 50 * MS, &Said::util(1024));
        hook(&mut p, 100 * MS, &Said(vec![Cpu { util, min, max, ..Cpu::default() }]))
    };
    // 2802000 * 404 / 1024 = 1105476: at 404 without headroom still 1106000.
    assert_eq!(asks(0, 404, 1024), Change::Now { khz: 1_106_000 });
    assert_eq!(asks(400, 0, 404), Change::Now { khz: 1_106_000 });
    // 400 with headroom is 500: the highest clock, which it has.
    assert_eq!(asks(400, 0, 1024), Change::None);
}

#[test]
fn a_request_that_stays_the_same_leaves_the_rate_limit_open() {
    // D is 15 us at a latency of 10 us (C1).
    let mut p = policy(setup(2, &BIG, fast()), "schedutil");
    let d = 15_000;
    assert!(matches!(hook(&mut p, MS, &Said::util(300)), Change::Now { .. }));
    assert_eq!(hook(&mut p, MS + d - 1, &Said::util(1024)), Change::None);
    assert_eq!(hook(&mut p, MS + d, &Said::util(300)), Change::None);
    // That evaluation changed nothing, so the next may come at once.
    assert_eq!(hook(&mut p, MS + d + 1, &Said::util(1024)), Change::Now { khz: 2_802_000 });
    assert_eq!(hook(&mut p, MS + d + 2, &Said::util(0)), Change::None);
}

#[test]
fn each_kernel_makes_its_own_rate_limit_of_the_latency() {
    let at = |ns| Driver { transition_latency_ns: ns, ..fast() };
    let limits = |ns| {
        [RateRule::Kernel6_12, RateRule::Kernel6_1, RateRule::Kernel4_7].map(|rule| rule.limit_us(&at(ns)))
    };
    assert_eq!(limits(10_000), [15, 10_000, 10_000]);
    assert_eq!(limits(0), [1000, 1000, 1000]);
    assert_eq!(limits(5_000), [7, 5_000, 5_000]);
    assert_eq!(limits(20_000), [30, 10_000, 20_000]);
    assert_eq!(limits(5_000_000), [7500, 10_000, 5_000_000]);
    let said = Driver { transition_delay_us: Some(500), ..fast() };
    assert_eq!(RateRule::Kernel4_7.limit_us(&said), 500);
}

#[test]
fn a_busy_cpu_with_a_clock_of_its_own_is_not_clocked_down() {
    let mut p = policy(setup(1, &BIG, fast()), "schedutil");
    let said = |util, idle_calls| Said(vec![Cpu { util, idle_calls, ..Cpu::default() }]);
    assert_eq!(hook(&mut p, 10 * MS, &said(1024, 1)), Change::Now { khz: 2_802_000 });
    assert_eq!(hook(&mut p, 20 * MS, &said(300, 1)), Change::None);
    // The raw number is as before the call that was held, so the same utilisation is looked at anew.
    assert_eq!(hook(&mut p, 30 * MS, &said(300, 2)), Change::Now { khz: 1_106_000 });
    // An upper clamp that holds the CPU back lets the clock fall nevertheless.
    let capped = Said(vec![Cpu { util: 100, idle_calls: 2, capped: true, ..Cpu::default() }]);
    assert_eq!(hook(&mut p, 40 * MS, &capped), Change::Now { khz: 500_000 });
    // A shared clock knows no such rule.
    let mut shared = policy(setup(2, &BIG, fast()), "schedutil");
    let _ = hook(&mut shared, 10 * MS, &said(1024, 1));
    assert_eq!(hook(&mut shared, 20 * MS, &said(300, 1)), Change::Now { khz: 1_106_000 });
}

#[test]
fn waiting_for_io_doubles_the_boost_and_halves_it_without() {
    // C2: 128, 256, 512, 1024, then 512, 256, 128, 0; clocks are chosen so that each shows. Headroom makes 160 of 128.
    let khz: Vec<u32> = [1, 160, 320, 640, 1024].map(|k| k * 1000).to_vec();
    let mut p = policy(setup(2, &khz, fast()), "schedutil");
    let idle = Said::util(0);
    let mut t = 10 * MS;
    let mut clocks = Vec::new();
    for woken in [true, true, true, true, false, false, false, false] {
        let _ = if woken { iowait_hook(&mut p, t, &idle) } else { hook(&mut p, t, &idle) };
        clocks.push(p.cur_khz() / 1000);
        t += MS;
    }
    assert_eq!(clocks, [160, 320, 640, 1024, 640, 320, 160, 1]);
}

#[test]
fn the_boost_for_io_is_gone_after_more_than_a_tick() {
    let khz: Vec<u32> = [1, 160, 320, 640, 1024].map(|k| k * 1000).to_vec();
    let mut p = policy(setup(2, &khz, fast()), "schedutil");
    let idle = Said::util(0);
    for t in 10..13 {
        let _ = iowait_hook(&mut p, t * MS, &idle);
    }
    assert_eq!(p.cur_khz(), 640_000);
    // One tick is 4 ms: a little more, and a new wake-up begins at the first step.
    let _ = iowait_hook(&mut p, 16 * MS + 1, &idle);
    assert_eq!(p.cur_khz(), 160_000);
    let _ = hook(&mut p, 21 * MS, &idle);
    assert_eq!(p.cur_khz(), 1000);
}

#[test]
fn a_rise_of_deadline_bandwidth_passes_by_the_rate_limit() {
    let mut p = policy(setup(2, &BIG, fast()), "schedutil:rate_limit_us=100000");
    assert!(matches!(hook(&mut p, 200 * MS, &Said::util(300)), Change::Now { .. }));
    assert_eq!(hook(&mut p, 201 * MS, &Said::util(1024)), Change::None);
    let dl = Said(vec![Cpu { util: 300, min: 1000, dl: 1000, ..Cpu::default() }]);
    assert_eq!(hook(&mut p, 202 * MS, &dl), Change::Now { khz: 2_802_000 });
}

#[test]
fn a_call_from_elsewhere_is_heard_only_if_the_driver_allows_it() {
    let far = Hook { from: 9, ..Hook::fair(0, 10 * MS) };
    let mut deaf = policy(setup(2, &BIG, fast()), "schedutil");
    assert_eq!(deaf.hook(&far, &Said::util(300)).change, Change::None);
    let mut hears = policy(setup(2, &BIG, Driver { any_cpu: true, ..fast() }), "schedutil");
    assert_eq!(hears.hook(&far, &Said::util(300)).change, Change::Now { khz: 1_106_000 });
    assert_eq!(hears.hook(&Hook::fair(5, 20 * MS), &Said::util(0)).change, Change::None);
}

#[test]
fn a_slow_driver_is_told_the_latest_request_once_it_is_back() {
    let mut p = policy(setup(2, &BIG, slow(5 * MS)), "schedutil:rate_limit_us=1000");
    assert_eq!(hook(&mut p, 10 * MS, &Said::util(300)), Change::Start { khz: 1_106_000, ends_ns: 15 * MS });
    assert_eq!(p.cur_khz(), 500_000);
    assert_eq!(hook(&mut p, 12 * MS, &Said::util(0)), Change::None);
    assert_eq!(hook(&mut p, 14 * MS, &Said::util(1024)), Change::None);
    let said = Said::util(1024);
    assert_eq!(p.transition_done(15 * MS, &said).change, Change::Start { khz: 2_802_000, ends_ns: 20 * MS });
    assert_eq!(p.cur_khz(), 1_106_000);
    assert_eq!(p.transition_done(20 * MS, &said).change, Change::None);
    assert_eq!((p.cur_khz(), p.moving()), (2_802_000, None));
}

#[test]
fn new_limits_count_at_the_next_hook_or_at_once_with_a_slow_driver() {
    let limits = Limits { min_khz: 0, max_khz: 1_106_000 };
    let full = Said::util(1024);
    let mut p = policy(setup(2, &BIG, fast()), "schedutil:rate_limit_us=100000");
    let _ = hook(&mut p, 200 * MS, &full);
    assert_eq!(p.set_limits(limits, 201 * MS).change, Change::None);
    assert_eq!(hook(&mut p, 202 * MS, &full), Change::Now { khz: 1_106_000 });

    let mut p = policy(setup(2, &BIG, slow(MS)), "schedutil:rate_limit_us=100000");
    let _ = hook(&mut p, 200 * MS, &full);
    let _ = p.transition_done(201 * MS, &full);
    assert_eq!(p.set_limits(limits, 202 * MS).change, Change::Start { khz: 1_106_000, ends_ns: 203 * MS });
}

#[test]
fn without_invariance_the_clock_climbs_from_where_it_is() {
    let driver = Driver { invariant: false, ..fast() };
    // 6.12 has a quarter twice: 1600000 * 1.25 * 600 * 1.25 / 1024 = 1464843 for 600.
    let after = |governor: &str, util| {
        let mut p = policy(setup(1, &I7, driver.clone()), governor);
        let _ = hook(&mut p, 100 * MS, &Said::util(util));
        p.cur_khz()
    };
    assert_eq!(after("schedutil", 600), 1_600_000);
    assert_eq!(after("schedutil", 1024), 2_000_000);
    // 2000000 * 700 * 1.25 / 1024 = 1708984.
    assert_eq!(after("schedutil", 700), 1_900_000);
    // 6.1 once: 1600000 * 1.25 = 2000000 at 1024, 1367187 at 700.
    assert_eq!(after("schedutil-6.1", 1024), 2_000_000);
    assert_eq!(after("schedutil-6.1", 700), 1_600_000);
}

#[test]
fn a_reference_clock_stands_for_the_whole_capacity() {
    let driver = Driver { reference_khz: Some(2_000_000), ..fast() };
    let mut p = policy(setup(2, &BIG, driver), "schedutil");
    // 2000000 * 375 / 1024 = 732421.
    assert_eq!(hook(&mut p, 10 * MS, &Said::util(300)), Change::Now { khz: 984_000 });
}

#[test]
fn before_6_8_headroom_is_on_the_frequency_and_the_boost_for_io_is_clamped() {
    let mut p = policy(setup(2, &BIG, fast()), "schedutil-6.1");
    assert_eq!(hook(&mut p, 100 * MS, &Said::util(300)), Change::Now { khz: 1_106_000 });
    // The first boost, 128, held to 60: 2802000 * 75 / 1024 = 205224.
    let said = Said(vec![Cpu { util: 10, max: 60, ..Cpu::default() }]);
    let _ = iowait_hook(&mut p, 200 * MS, &said);
    assert_eq!(p.cur_khz(), 500_000);
    // And up to 340: 2802000 * 425 / 1024 = 1162939.
    let said = Said(vec![Cpu { util: 10, min: 340, ..Cpu::default() }]);
    let _ = iowait_hook(&mut p, 300 * MS, &said);
    assert_eq!(p.cur_khz(), 1_277_000);
}

#[test]
fn the_rate_limit_may_be_given() {
    let mut p = policy(setup(2, &BIG, fast()), "schedutil-6.1:rate_limit_us=2000");
    let _ = hook(&mut p, 10 * MS, &Said::util(300));
    assert_eq!(hook(&mut p, 12 * MS - 1, &Said::util(1024)), Change::None);
    assert_eq!(hook(&mut p, 12 * MS, &Said::util(1024)), Change::Now { khz: 2_802_000 });
    assert!(
        "schedutil:rate_limit_us=2000".parse::<idlewise_freq::Config>().unwrap().info().id == "schedutil"
    );
}

#[test]
fn a_driver_that_is_told_the_utilisation_is_told_always() {
    let driver = Driver { adjust_perf: true, ..fast() };
    let said = |util, idle_calls| Said(vec![Cpu { util, idle_calls, ..Cpu::default() }]);
    let mut p = policy(setup(1, &BIG, driver.clone()), "schedutil:rate_limit_us=1000");
    assert_eq!(hook(&mut p, 10 * MS, &said(300, 1)), Change::Now { khz: 1_106_000 });
    // Unlike a clock, the same utilisation starts the rate limit.
    assert_eq!(hook(&mut p, 11 * MS, &said(300, 1)), Change::None);
    assert_eq!(hook(&mut p, 12 * MS - 1, &said(1024, 1)), Change::None);
    assert_eq!(hook(&mut p, 12 * MS, &said(1024, 1)), Change::Now { khz: 2_802_000 });
    // Busy ever since: no less.
    assert_eq!(hook(&mut p, 13 * MS, &said(0, 1)), Change::None);
    assert_eq!(hook(&mut p, 14 * MS, &said(0, 2)), Change::Now { khz: 500_000 });
    // Clocks that are shared are set.
    let mut p = policy(setup(2, &BIG, driver), "schedutil:rate_limit_us=1000");
    let _ = hook(&mut p, 10 * MS, &said(300, 1));
    let _ = hook(&mut p, 11 * MS, &said(300, 1));
    assert_eq!(hook(&mut p, 12 * MS - 1, &said(1024, 1)), Change::Now { khz: 2_802_000 });
}
