// SPDX-License-Identifier: GPL-2.0-only
//! What do the schedutils before 4.14 ask for, and Android's? (signal-behaviour.md C4, C5)

use crate::common;

use common::{BIG, Cpu, I7, MS, Said, fast, hook, iowait_hook, policy, settle, setup, slow};
use idlewise_freq::{Change, Driver, Hook};

#[test]
fn evaluations_of_4_8_keep_their_distance_even_if_nothing_changes() {
    // A latency of 10 us makes a rate limit of 10 ms.
    let mut p = policy(setup(2, &BIG, fast()), "schedutil-4.8");
    assert_eq!(hook(&mut p, 10 * MS, &Said::util(0)), Change::None);
    assert_eq!(hook(&mut p, 20 * MS - 1, &Said::util(1024)), Change::None);
    assert_eq!(hook(&mut p, 20 * MS, &Said::util(0)), Change::None);
    assert_eq!(hook(&mut p, 24 * MS, &Said::util(1024)), Change::None);
    assert_eq!(hook(&mut p, 30 * MS, &Said::util(1024)), Change::Now { khz: 2_802_000 });
}

#[test]
fn with_ticks_of_4_ms_the_cadence_of_4_8_is_12_ms_and_the_climb_goes_by_quarters() {
    let driver = Driver { invariant: false, ..fast() };
    let mut p = policy(setup(1, &I7, driver), "schedutil-4.8");
    let mut changes = Vec::new();
    for tick in 3..20 {
        if let Change::Now { khz } = hook(&mut p, tick * 4 * MS, &Said::util(1024)) {
            changes.push((tick * 4, khz / 1000));
        }
    }
    // 1600 * 1.25 = 2000, 2500, 3125 -> 3300, 4125 -> 3401.
    assert_eq!(changes, [(12, 2000), (24, 2500), (36, 3300), (48, 3401)]);
}

#[test]
fn real_time_and_deadline_tasks_ask_4_8_for_everything() {
    for hook in [Hook { rt: true, ..Hook::fair(0, 20 * MS) }, Hook { dl: true, ..Hook::fair(0, 20 * MS) }] {
        let mut p = policy(setup(2, &BIG, fast()), "schedutil-4.8");
        assert_eq!(p.hook(&hook, &Said::util(0)).change, Change::Now { khz: 2_802_000 });
    }
}

#[test]
fn a_cpu_that_was_not_heard_of_for_a_tick_does_not_count() {
    let busy_then = |later| {
        let mut p = policy(setup(2, &BIG, fast()), "schedutil-4.8");
        let said = Said::utils(&[0, 300]);
        let _ = p.hook(&Hook::fair(1, MS), &said);
        let _ = p.hook(&Hook::fair(1, 20 * MS), &said);
        let _ = p.hook(&Hook::fair(1, 30 * MS - later), &said);
        let _ = p.hook(&Hook::fair(0, 30 * MS), &said);
        p.cur_khz()
    };
    // 2802000 * 1.25 * 300 / 1024 = 1026123.
    assert_eq!(busy_then(4 * MS), 1_106_000);
    assert_eq!(busy_then(4 * MS + 1), 500_000);
}

#[test]
fn while_a_slow_driver_is_at_work_4_8_does_not_evaluate() {
    let mut p = policy(setup(1, &BIG, slow(30 * MS)), "schedutil-4.8:rate_limit_us=1000");
    assert!(matches!(hook(&mut p, 10 * MS, &Said::util(300)), Change::Start { khz: 1_106_000, .. }));
    assert_eq!(hook(&mut p, 20 * MS, &Said::util(1024)), Change::None);
    let _ = settle(&mut p, &Said::util(0));
    assert!(matches!(hook(&mut p, 40 * MS, &Said::util(1024)), Change::Start { khz: 2_802_000, .. }));
}

#[test]
fn io_asks_4_9_for_everything_and_fades_by_halves() {
    let khz: Vec<u32> = [1, 300, 600, 1024].map(|k| k * 1000).to_vec();
    let mut p = policy(setup(2, &khz, fast()), "schedutil-4.8:iowait_boost=1,rate_limit_us=1000");
    let mut clocks = Vec::new();
    let idle = Said::util(0);
    for (i, woken) in [true, false, false, false, false].into_iter().enumerate() {
        let t = (10 + 2 * i as u64) * MS;
        let _ = if woken { iowait_hook(&mut p, t, &idle) } else { hook(&mut p, t, &idle) };
        clocks.push(p.cur_khz() / 1000);
    }
    // 1.25 * 1024 * {1, 1/2, 1/4, 1/8, 1/16}: 1280, 640, 320, 160, 80.
    assert_eq!(clocks, [1024, 1024, 600, 300, 300]);
    let mut deaf = policy(setup(2, &khz, fast()), "schedutil-4.8:rate_limit_us=1000");
    let _ = iowait_hook(&mut deaf, 10 * MS, &idle);
    assert_eq!(deaf.cur_khz(), 1000);
}

#[test]
fn android_drops_a_change_that_comes_too_early_up_or_down() {
    let mut p = policy(
        setup(2, &BIG, fast()),
        "schedutil-android-4.4:up_rate_limit_us=1000,down_rate_limit_us=20000",
    );
    assert_eq!(hook(&mut p, 50 * MS, &Said::util(300)), Change::Now { khz: 1_106_000 });
    assert_eq!(hook(&mut p, 51 * MS - 1, &Said::util(1024)), Change::None);
    assert_eq!(hook(&mut p, 51 * MS, &Said::util(1024)), Change::Now { khz: 2_802_000 });
    assert_eq!(hook(&mut p, 71 * MS - 1, &Said::util(0)), Change::None);
    assert_eq!(hook(&mut p, 71 * MS, &Said::util(0)), Change::Now { khz: 500_000 });
}

#[test]
fn android_adds_boost_and_with_pelt_the_real_time_class() {
    let asks = |governor: &str, cpu: Cpu| {
        let mut p = policy(setup(1, &BIG, fast()), governor);
        let _ = hook(&mut p, 100_000 * MS, &Said(vec![cpu]));
        p.cur_khz()
    };
    let cpu = Cpu { util: 100, rt: 200, ..Cpu::default() };
    assert_eq!(asks("schedutil-android-4.4", cpu.clone()), 1_106_000);
    // WALT has counted it.
    assert_eq!(asks("schedutil-android-4.4", Cpu { walt: true, ..cpu.clone() }), 500_000);
    // 100 + 25 % of 924 = 331: 2802000 * 1.25 * 331 / 1024 = 1132156.
    assert_eq!(asks("schedutil-android-4.4:boost=25", Cpu { walt: true, ..cpu }), 1_277_000);
}

#[test]
fn androids_boost_for_io_begins_at_the_lowest_clock_and_doubles() {
    let khz: Vec<u32> = [100, 200, 250, 400, 500, 800, 1000].map(|k| k * 1000).to_vec();
    let mut p =
        policy(setup(1, &khz, fast()), "schedutil-android-4.4:up_rate_limit_us=0,down_rate_limit_us=0");
    let idle = Said::util(0);
    let mut clocks = Vec::new();
    for (i, woken) in [true, true, true, true, false, false, false, false].into_iter().enumerate() {
        let t = (10 + i as u64) * MS;
        let _ = if woken { iowait_hook(&mut p, t, &idle) } else { hook(&mut p, t, &idle) };
        clocks.push(p.cur_khz() / 1000);
    }
    // Boosts of 100, 200, 400, 800, 400, 200, 100, none, each with a quarter on top.
    assert_eq!(clocks, [200, 250, 500, 1000, 500, 250, 200, 100]);
}

#[test]
fn pixels_margin_takes_the_place_of_the_quarter() {
    let asks = |margin: u32| {
        let mut p = policy(setup(2, &BIG, fast()), &format!("sched-pixel:capacity_margin={margin}"));
        let _ = hook(&mut p, 100 * MS, &Said::util(350));
        p.cur_khz()
    };
    // 2802000 / 1024 * {350, 437, 525}: 957714, 1195775, 1436572.
    assert_eq!([asks(1024), asks(1280), asks(1536)], [984_000, 1_277_000, 2_802_000]);
}

#[test]
fn pixel_waits_half_a_millisecond_up_and_20_down() {
    let mut p = policy(setup(2, &BIG, fast()), "sched-pixel");
    assert_eq!(hook(&mut p, 50 * MS, &Said::util(300)), Change::Now { khz: 1_106_000 });
    assert_eq!(hook(&mut p, 50 * MS + 499_999, &Said::util(1024)), Change::None);
    assert_eq!(hook(&mut p, 50 * MS + 500_000, &Said::util(1024)), Change::Now { khz: 2_802_000 });
    // The same utilisation is looked at again although it was dropped before.
    assert_eq!(hook(&mut p, 60 * MS, &Said::util(300)), Change::None);
    assert_eq!(hook(&mut p, 70 * MS + 499_999, &Said::util(300)), Change::None);
    assert_eq!(hook(&mut p, 70 * MS + 500_000, &Said::util(300)), Change::Now { khz: 1_106_000 });
}

#[test]
fn pixels_way_down_grows_with_the_ratio_of_clocks() {
    let khz = [1_000_000, 2_000_000];
    let mut p = policy(setup(2, &khz, fast()), "sched-pixel:down_rate_limit_us=5000,down_scale_pow=2");
    let _ = hook(&mut p, 50 * MS, &Said::util(1024));
    // Half the clock: four times 5 ms.
    assert_eq!(hook(&mut p, 70 * MS - 1, &Said::util(0)), Change::None);
    assert_eq!(hook(&mut p, 70 * MS, &Said::util(0)), Change::Now { khz: 1_000_000 });
}
