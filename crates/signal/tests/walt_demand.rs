// SPDX-License-Identifier: GPL-2.0-only
//! Demand of tasks, utilisations, settings: what is a task expected to need, and what is read from it?

use crate::common;

use common::{BIG, GHZ, MS, MS32, android, busy_us, cpu, history_us, running, share_us, started, task};
use idlewise_signal::walt::{Config, CpuSpec, Policy, Scaling, Walt, WaltError};

/// Runs `ms` of the window that begins at `start`, from its beginning.
fn burst(walt: &mut Walt, t: u32, start: u64, ms: u64) {
    walt.wake(t, 0, start * MS).unwrap();
    walt.switch(0, t, false, start * MS).unwrap();
    walt.switch_to_idle(0, true, (start + ms) * MS).unwrap();
}

#[test]
fn a_new_task_is_taken_for_fifteen_per_cent() {
    let mut walt = android(1);
    let t = walt.add_task(0, None).unwrap();
    assert_eq!(history_us(&walt, t), [3_000; 5]);
    assert_eq!((task(&walt, t).demand_ns, walt.task_util(t)), (3 * MS32, Some(153)));
    let own = walt.add_task(0, Some(100)).unwrap();
    assert_eq!((task(&walt, own).demand_ns, walt.task_util(own)), (20 * MS32, Some(1024)));
    let too_much = walt.add_task(0, Some(u32::MAX)).unwrap();
    assert_eq!(task(&walt, too_much).demand_ns, 20 * MS32);
}

#[test]
fn waiting_is_demand_unless_switched_off() {
    for (counts, demand) in [(true, 14_000), (false, 6_000)] {
        let mut walt = started(Config { account_wait_time: counts, ..Config::android() }, &[BIG]);
        let waiting = walt.add_task(0, None).unwrap();
        running(&mut walt, 1);
        walt.wake(waiting, 0, 6 * MS).unwrap();
        walt.switch(0, waiting, true, 14 * MS).unwrap();
        walt.tick(0, 20 * MS).unwrap();
        assert_eq!(history_us(&walt, waiting), [demand, 3_000, 3_000, 3_000, 3_000]);
    }
}

#[test]
fn waiting_that_does_not_count_still_closes_the_window() {
    let mut walt = started(Config { account_wait_time: false, ..Config::android() }, &[BIG]);
    let t = running(&mut walt, 12);
    let other = walt.add_task(0, None).unwrap();
    walt.wake(other, 0, 13 * MS).unwrap();
    walt.switch(0, other, false, 17 * MS).unwrap();
    walt.switch(0, t, false, 78 * MS).unwrap();
    assert_eq!(history_us(&walt, t), [5_000, 3_000, 3_000, 3_000, 3_000]);
    assert_eq!(task(&walt, t).sum_ns, 0);
}

#[test]
fn many_windows_of_running_are_remembered_as_full_ones() {
    for (until, history, sum) in [
        (47, [20_000, 8_000, 3_000, 3_000, 3_000], 7_000),
        (107, [20_000, 20_000, 20_000, 20_000, 8_000], 7_000),
        (987, [20_000; 5], 7_000),
    ] {
        let mut walt = android(1);
        let t = running(&mut walt, 12);
        walt.tick(0, until * MS).unwrap();
        assert_eq!(history_us(&walt, t), history, "until {until} ms");
        assert_eq!(task(&walt, t).sum_ns, sum * 1_000);
    }
}

#[test]
fn sleeping_leaves_no_trace() {
    let mut walt = android(1);
    let t = running(&mut walt, 2);
    walt.switch_to_idle(0, true, 14 * MS).unwrap();
    walt.wake(t, 0, 100_000 * MS).unwrap();
    assert_eq!(history_us(&walt, t), [12_000, 3_000, 3_000, 3_000, 3_000]);
    assert_eq!(task(&walt, t).demand_ns, 12 * MS32);
    // And a window without anything is not remembered at all.
    walt.switch(0, t, false, 100_000 * MS).unwrap();
    walt.switch_to_idle(0, true, 100_000 * MS).unwrap();
    walt.wake(t, 0, 200_000 * MS).unwrap();
    assert_eq!(history_us(&walt, t), [12_000, 3_000, 3_000, 3_000, 3_000]);
}

#[test]
fn demand_follows_from_the_history_as_the_policy_says() {
    // Windows of 16, 2 and 6 ms after two of 3 ms: mean (6 + 2 + 16 + 3 + 3) / 5.
    for (policy, demand) in [
        (Policy::Recent, 6_000_000),
        (Policy::Max, 16_000_000),
        (Policy::Avg, 6_000_000),
        (Policy::MaxRecentAvg, 6_000_000),
    ] {
        let mut walt = started(Config { policy, ..Config::android() }, &[BIG]);
        let t = walt.add_task(0, None).unwrap();
        for (start, ms) in [(0, 16), (20, 2), (40, 6)] {
            burst(&mut walt, t, start, ms);
        }
        walt.wake(t, 0, 60 * MS).unwrap();
        assert_eq!(history_us(&walt, t), [6_000, 2_000, 16_000, 3_000, 3_000]);
        assert_eq!(task(&walt, t).demand_ns, demand, "{policy:?}");
    }
}

#[test]
fn the_larger_of_latest_and_mean() {
    // 16 ms, then 1 ms: mean (1 + 16 + 3 + 3 + 3) / 5 = 5.2 ms.
    for (policy, small, large) in [
        (Policy::MaxRecentAvg, 5_200_000, 16_000_000),
        (Policy::Avg, 5_200_000, 5_600_000),
        (Policy::Recent, 1_000_000, 16_000_000),
    ] {
        let mut walt = started(Config { policy, ..Config::android() }, &[BIG]);
        let t = walt.add_task(0, None).unwrap();
        burst(&mut walt, t, 0, 16);
        burst(&mut walt, t, 20, 1);
        assert_eq!(task(&walt, t).demand_ns, large, "{policy:?}");
        walt.wake(t, 0, 40 * MS).unwrap();
        assert_eq!(task(&walt, t).demand_ns, small, "{policy:?}");
    }
}

#[test]
fn demand_of_a_queue_is_that_of_its_tasks() {
    let mut walt = android(2);
    let a = walt.add_task(0, None).unwrap();
    let b = walt.add_task(0, Some(50)).unwrap();
    walt.wake(a, 0, 0).unwrap();
    walt.wake(b, 0, 0).unwrap();
    assert_eq!(cpu(&walt, 0).demand_sum_ns, 13 * MS);
    assert_eq!((walt.placement_util(0), walt.placement_util(1)), (Some(665), Some(0)));
    walt.switch(0, a, false, 0).unwrap();
    // Both wanted the whole window: one ran, one waited.
    walt.tick(0, 20 * MS).unwrap();
    assert_eq!(cpu(&walt, 0).demand_sum_ns, 30 * MS);
    walt.migrate(b, 1, 20 * MS).unwrap();
    assert_eq!(task(&walt, b).demand_ns, 20 * MS32);
    assert_eq!((cpu(&walt, 0).demand_sum_ns, cpu(&walt, 1).demand_sum_ns), (20 * MS, 20 * MS));
    walt.switch_to_idle(0, true, 30 * MS).unwrap();
    assert_eq!((cpu(&walt, 0).demand_sum_ns, cpu(&walt, 1).demand_sum_ns), (0, 20 * MS));
    walt.forget(b).unwrap();
    assert_eq!(cpu(&walt, 1).demand_sum_ns, 0);
}

#[test]
fn demand_of_a_slow_clock_is_smaller() {
    let mut walt = android(1);
    let t = running(&mut walt, 0);
    walt.set_frequency(0, GHZ / 2, 0).unwrap();
    walt.tick(0, 60 * MS).unwrap();
    assert_eq!(history_us(&walt, t), [10_000, 10_000, 10_000, 3_000, 3_000]);
}

#[test]
fn a_task_that_exits_has_no_demand_but_keeps_the_cpu_busy() {
    let mut walt = android(1);
    let t = running(&mut walt, 2);
    walt.tick(0, 6 * MS).unwrap();
    walt.exit(t).unwrap();
    walt.switch_to_idle(0, true, 26 * MS).unwrap();
    assert_eq!(history_us(&walt, t), [3_000; 5]);
    assert_eq!(share_us(&walt, t), (0, 4_000));
    assert_eq!(busy_us(&walt, 0), (18_000, 6_000));
}

#[test]
fn a_task_that_is_found_running_is_queued_and_counts_from_then_on() {
    let mut walt = android(2);
    let t = walt.add_task(1, None).unwrap();
    walt.switch(0, t, false, 8 * MS).unwrap();
    assert_eq!((task(&walt, t).cpu, cpu(&walt, 0).demand_sum_ns), (0, 3 * MS));
    walt.tick(0, 10 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 2_000));
}

#[test]
fn a_full_window_reads_as_full_by_both_divisions() {
    for window_ms in [10, 20] {
        for exact_util in [false, true] {
            let config = Config { window_ns: window_ms * MS32, exact_util, ..Config::android() };
            let mut walt = started(config, &[BIG]);
            running(&mut walt, 0);
            walt.tick(0, u64::from(window_ms) * MS).unwrap();
            assert_eq!(walt.frequency_util(0), Some(1024));
        }
    }
}

#[test]
fn the_two_divisions_differ_by_less_than_one_in_a_thousand() {
    // 5,000,000 / 19,531 = 256.003; 9,999,999 * 1024 / 20,000,000 = 511.99, 9,999,999 / 19,531 = 512.006.
    for (busy, exact, early) in [(5_000_000, 256, 256), (9_999_999, 511, 512)] {
        for (exact_util, util) in [(true, exact), (false, early)] {
            let mut walt = started(Config { exact_util, ..Config::android() }, &[BIG]);
            let t = walt.add_task(0, None).unwrap();
            walt.wake(t, 0, 0).unwrap();
            walt.switch(0, t, false, 0).unwrap();
            walt.switch_to_idle(0, true, busy).unwrap();
            walt.tick(0, 20 * MS).unwrap();
            assert_eq!(walt.frequency_util(0), Some(util));
        }
    }
}

#[test]
fn utilisation_ends_at_the_capacity() {
    let little = CpuSpec { capacity: 160, max_freq_khz: GHZ };
    let mut walt = started(Config::android(), &[little, BIG]);
    let t = running(&mut walt, 0);
    walt.tick(0, 20 * MS).unwrap();
    // 20 ms * 160 / 1024 = 3.125 ms.
    assert_eq!((cpu(&walt, 0).prev_sum_ns, walt.frequency_util(0)), (3_125_000, Some(160)));
    let other = walt.add_task(0, Some(100)).unwrap();
    walt.wake(other, 0, 20 * MS).unwrap();
    assert_eq!(walt.placement_util(0), Some(160));
    assert_eq!(walt.task_util(t), Some(160));
}

#[test]
fn the_first_form_places_by_busy_time() {
    let config = Config { place_by_busy_time: true, exact_util: true, ..Config::android() };
    let mut walt = started(config, &[BIG]);
    running(&mut walt, 12);
    assert_eq!(walt.placement_util(0), Some(0));
    walt.tick(0, 20 * MS).unwrap();
    assert_eq!(walt.placement_util(0), Some(409));
}

#[test]
fn the_rfc_has_busy_time_of_cpus_and_nothing_else() {
    let config = Config::rfc();
    assert_eq!((config.window_ns, config.scaling), (10 * MS32, Scaling::Frequency));
    // Small CPUs are unknown to it.
    let mut walt = started(config, &[CpuSpec { capacity: 160, max_freq_khz: GHZ }, BIG]);
    assert_eq!(cpu(&walt, 0).capacity, 1024);
    let t = running(&mut walt, 2);
    assert_eq!((task(&walt, t).demand_ns, cpu(&walt, 0).demand_sum_ns), (0, 0));
    let large = walt.add_task(0, Some(50)).unwrap();
    assert_eq!(task(&walt, large).demand_ns, 0);
    walt.set_frequency(0, GHZ / 2, 4 * MS).unwrap();
    walt.tick(0, 12 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (5_000, 1_000));
    assert_eq!(history_us(&walt, t), [0; 5]);
    assert_eq!((walt.frequency_util(0), walt.placement_util(0)), (Some(512), Some(512)));
    // Busy time stays where it was spent.
    walt.switch_to_idle(0, true, 14 * MS).unwrap();
    walt.wake(t, 1, 15 * MS).unwrap();
    assert_eq!((busy_us(&walt, 0), busy_us(&walt, 1)), ((5_000, 2_000), (0, 0)));
}

#[test]
fn one_window_of_the_rfc_reads_what_androids_reads_after_two() {
    for (config, after) in [(Config::rfc(), 10), (Config::android(), 20)] {
        let mut walt = started(config, &[BIG]);
        running(&mut walt, 0);
        walt.tick(0, (after - 1) * MS).unwrap();
        assert_eq!(walt.frequency_util(0), Some(0));
        walt.tick(0, after * MS).unwrap();
        assert_eq!(walt.frequency_util(0), Some(1024));
    }
}

#[test]
fn windows_outside_the_limits_are_refused() {
    for (window_ns, valid) in [
        (0, false),
        (9_999_999, false),
        (10_000_000, true),
        (1_000_000_000, true),
        (1_000_000_001, false),
        (u32::MAX, false),
    ] {
        let config = Config { window_ns, ..Config::android() };
        assert_eq!(config.is_valid(), valid, "{window_ns}");
        assert_eq!(Walt::new(config, &[BIG]).is_ok(), valid, "{window_ns}");
    }
    assert!(!Config { init_load_pct: 101, ..Config::android() }.is_valid());
    assert_eq!(Walt::new(Config::android(), &[]).unwrap_err(), WaltError::Config);
}

#[test]
fn a_window_of_whole_ticks() {
    for (hz, window_ns) in [(100, 20_000_000), (250, 20_000_000), (300, 19_999_998), (1000, 20_000_000)] {
        assert_eq!(Config::android().in_ticks(hz).window_ns, window_ns, "HZ={hz}");
    }
    assert_eq!(Config::android().in_ticks(0).window_ns, 20_000_000);
}
