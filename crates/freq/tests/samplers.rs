// SPDX-License-Identifier: GPL-2.0-only
//! What do ondemand and conservative make of the share of time that was not idle? (signal-behaviour.md C7, C8)

use crate::common;

use common::{Cpu, I7, MS, Said, hook, idled, policy, settle, setup, slow};
use idlewise_freq::{Change, Limits, Policy};

/// A policy of one CPU that was started at 0, with a sampling period of two ticks, 8 ms.
fn started(governor: &str) -> Policy {
    let mut p = policy(setup(1, &I7, slow(10_000)), governor);
    let _ = p.start(0, &idled(0));
    p
}

/// Samples 8 ms apart, each with so much load in %; the clock after each, MHz.
fn clocks(p: &mut Policy, loads: &[u64]) -> Vec<u32> {
    let (mut t, mut idle) = (0, 0);
    let mut clocks = Vec::new();
    for load in loads {
        t += 8 * MS;
        idle += 8 * MS / 100 * (100 - load);
        let _ = hook(p, t, &idled(idle));
        clocks.push(settle(p, &idled(idle)) / 1000);
    }
    clocks
}

#[test]
fn ondemand_golden_number_comes_out() {
    // 1600000 + 60 * 1801000 / 100 = 2680600, nearer to 2600000 than to 2800000.
    assert_eq!(clocks(&mut started("ondemand"), &[60]), [2600]);
}

#[test]
fn ondemand_goes_to_the_top_above_95_and_in_proportion_up_to_it() {
    // At 95: 1600000 + 95 * 1801000 / 100 = 3310950.
    assert_eq!(clocks(&mut started("ondemand"), &[95, 96, 50, 0]), [3300, 3401, 2500, 1600]);
    assert_eq!(clocks(&mut started("ondemand:up_threshold=50"), &[50, 51]), [2500, 3401]);
}

#[test]
fn samples_keep_their_distance_and_none_is_taken_while_the_driver_is_at_work() {
    let mut p = started("ondemand");
    assert_eq!(hook(&mut p, 8 * MS - 1, &idled(0)), Change::None);
    assert!(matches!(hook(&mut p, 8 * MS, &idled(0)), Change::Start { khz: 3_401_000, .. }));
    // The driver is not back: no sample, however late.
    assert_eq!(hook(&mut p, 30 * MS, &idled(22 * MS)), Change::None);
    let _ = settle(&mut p, &idled(0));
    assert!(matches!(hook(&mut p, 31 * MS, &idled(0)), Change::None));
}

#[test]
fn after_a_long_idle_the_old_load_counts_once_more() {
    let mut p = started("ondemand");
    let _ = hook(&mut p, 8 * MS, &idled(2 * MS));
    // 75 %: 1600000 + 1350750.
    assert_eq!(settle(&mut p, &idled(0)), 3_000_000);
    // 100 ms idle, and awake again: as before.
    assert_eq!(hook(&mut p, 108 * MS, &idled(102 * MS)), Change::None);
    // Another long idle is taken for what it is.
    assert!(matches!(hook(&mut p, 208 * MS, &idled(202 * MS)), Change::Start { khz: 1_600_000, .. }));
}

#[test]
fn a_period_that_is_just_two_sampling_periods_of_idling_is_not_long() {
    let mut p = started("ondemand");
    let _ = hook(&mut p, 8 * MS, &idled(2 * MS));
    let _ = settle(&mut p, &idled(0));
    assert!(matches!(hook(&mut p, 24 * MS, &idled(18 * MS)), Change::Start { khz: 1_600_000, .. }));
}

#[test]
fn waiting_for_io_is_idle_unless_it_is_said_to_be_busy() {
    for (governor, khz) in [("ondemand", 1_600_000), ("ondemand:io_is_busy=1", 3_401_000)] {
        let mut p = started(governor);
        let said = Said(vec![Cpu { iowait_ns: 8 * MS, ..Cpu::default() }]);
        let _ = hook(&mut p, 8 * MS, &said);
        assert_eq!(settle(&mut p, &said), khz, "{governor}");
    }
}

#[test]
fn the_busiest_cpu_of_a_shared_clock_counts() {
    let mut p = policy(setup(2, &I7, slow(10_000)), "ondemand");
    let said = |one, two| Said([one, two].map(|idle_ns| Cpu { idle_ns, ..Cpu::default() }).to_vec());
    let _ = p.start(0, &said(0, 0));
    let _ = hook(&mut p, 8 * MS, &said(8 * MS, 3_200_000));
    assert_eq!(settle(&mut p, &said(0, 0)), 2_600_000);
}

#[test]
fn a_down_factor_stretches_the_period_at_the_top() {
    let mut p = started("ondemand:sampling_down_factor=3");
    let _ = hook(&mut p, 8 * MS, &idled(0));
    assert_eq!(settle(&mut p, &idled(0)), 3_401_000);
    assert_eq!(hook(&mut p, 32 * MS - 1, &idled(20 * MS)), Change::None);
    assert!(matches!(hook(&mut p, 32 * MS, &idled(24 * MS)), Change::Start { khz: 1_600_000, .. }));
    // And no longer once it left the top.
    let _ = settle(&mut p, &idled(0));
    assert!(matches!(hook(&mut p, 40 * MS, &idled(24 * MS)), Change::Start { khz: 3_401_000, .. }));
}

#[test]
fn a_bias_lets_two_clocks_share_the_period() {
    // 10 % below 3401000 is 3060900: 4872 us at 3100000, 3128 us at 3000000.
    let mut p = started("ondemand:powersave_bias=100");
    let busy = idled(0);
    let _ = hook(&mut p, 8 * MS, &busy);
    assert_eq!(settle(&mut p, &busy), 3_100_000);
    assert_eq!(hook(&mut p, 8 * MS + 4_871_999, &busy), Change::None);
    let _ = hook(&mut p, 8 * MS + 4_872_000, &busy);
    assert_eq!(settle(&mut p, &busy), 3_000_000);
    assert_eq!(hook(&mut p, 16 * MS - 1, &busy), Change::None);
    let _ = hook(&mut p, 16 * MS, &busy);
    assert_eq!(settle(&mut p, &busy), 3_100_000);
}

#[test]
fn conservative_steps_by_five_per_cent_and_rounds_against_the_direction() {
    // Steps of 170050 from 1600000: 1770050, 1940100, 2110150, each down to an operating point; then back, each up to one.
    let mut p = started("conservative");
    assert_eq!(clocks(&mut p, &[100, 81, 100, 50, 19, 0, 0]), [1700, 1900, 2100, 2100, 2000, 1900, 1600]);
    // On the thresholds nothing happens.
    assert_eq!(clocks(&mut started("conservative"), &[80, 100, 20]), [1600, 1700, 1700]);
}

#[test]
fn conservative_needs_several_quiet_samples_to_step_down_if_told() {
    let mut p = started("conservative:sampling_down_factor=3");
    assert_eq!(clocks(&mut p, &[100, 100, 0, 0, 0, 0]), [1700, 1900, 1900, 1900, 1900, 1900]);
    let mut p = started("conservative:sampling_down_factor=2,freq_step=10");
    // Steps of 340100: 1940100, 2280200; two quiet samples take one back.
    assert_eq!(clocks(&mut p, &[100, 100, 0, 0, 0, 0]), [1900, 2200, 2200, 2000, 2000, 1600]);
}

#[test]
fn conservative_takes_back_a_step_for_each_period_slept() {
    let mut p = started("conservative");
    assert_eq!(clocks(&mut p, &[100, 100, 100, 100, 100]), [1700, 1900, 2100, 2200, 2400]);
    // Awake after 24 ms, three periods: three steps of the request, 2450250, taken back; then the old load, 100, steps up.
    let _ = hook(&mut p, 64 * MS, &idled(24 * MS));
    // 2450250 - 3 * 170050 + 170050 = 2110150.
    assert_eq!(settle(&mut p, &idled(0)), 2_100_000);
}

#[test]
fn a_step_that_is_too_small_to_be_one_is_5_khz() {
    let mut p = policy(setup(1, &[9, 14, 19], slow(10_000)), "conservative");
    let _ = p.start(0, &idled(0));
    let mut clocks = Vec::new();
    for i in 1..4 {
        let _ = hook(&mut p, i * 8 * MS, &idled(0));
        clocks.push(settle(&mut p, &idled(0)));
    }
    assert_eq!(clocks, [14, 19, 19]);
}

#[test]
fn a_step_of_nothing_leaves_the_clock_alone() {
    assert_eq!(clocks(&mut started("conservative:freq_step=0"), &[100, 100]), [1600, 1600]);
}

#[test]
fn new_limits_move_the_clock_and_bring_the_next_sample_forward() {
    let mut p = started("ondemand");
    let _ = hook(&mut p, 8 * MS, &idled(0));
    let _ = settle(&mut p, &idled(0));
    let answer = p.set_limits(Limits { min_khz: 0, max_khz: 2_450_000 }, 9 * MS);
    assert!(matches!(answer.change, Change::Start { khz: 2_400_000, .. }));
    let _ = settle(&mut p, &idled(0));
    assert!(matches!(hook(&mut p, 9 * MS + 20_000, &idled(1_020_000)), Change::Start { khz: 1_600_000, .. }));
}
