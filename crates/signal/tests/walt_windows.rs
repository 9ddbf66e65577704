// SPDX-License-Identifier: GPL-2.0-only
//! Busy time: what of a CPU's time is counted, in which window, at which speed, and where it goes when a task does?

use crate::common;

use common::{BIG, GHZ, MS, android, busy_us, cpu, running, share_us, started, task};
use idlewise_signal::walt::{Config, CpuSpec, Scaling, Walt};

#[test]
fn inside_a_window_time_adds_up() {
    let mut walt = android(1);
    let t = running(&mut walt, 3);
    walt.tick(0, 7 * MS).unwrap();
    walt.tick(0, 11 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 8_000));
    assert_eq!(share_us(&walt, t), (0, 8_000));
    assert_eq!(cpu(&walt, 0).window_start_ns, 0);
}

#[test]
fn one_boundary_splits_the_time_at_it() {
    let mut walt = android(1);
    let t = running(&mut walt, 3);
    walt.tick(0, 26 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (17_000, 6_000));
    assert_eq!(share_us(&walt, t), (17_000, 6_000));
    assert_eq!(cpu(&walt, 0).window_start_ns, 20 * MS);
}

#[test]
fn after_many_boundaries_the_last_whole_window_was_full() {
    let mut walt = android(1);
    let t = running(&mut walt, 3);
    walt.tick(0, 107 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (20_000, 7_000));
    assert_eq!(share_us(&walt, t), (20_000, 7_000));
    assert_eq!(cpu(&walt, 0).window_start_ns, 100 * MS);
}

#[test]
fn an_event_on_the_boundary_opens_the_window() {
    let mut walt = android(1);
    running(&mut walt, 3);
    walt.tick(0, 20 * MS - 1).unwrap();
    assert_eq!(cpu(&walt, 0).window_start_ns, 0);
    walt.tick(0, 20 * MS).unwrap();
    assert_eq!((cpu(&walt, 0).window_start_ns, busy_us(&walt, 0)), (20 * MS, (17_000, 0)));
}

#[test]
fn idling_over_one_boundary_keeps_what_was_busy_before_it() {
    let mut walt = android(1);
    running(&mut walt, 3);
    walt.switch_to_idle(0, true, 9 * MS).unwrap();
    walt.tick(0, 33 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (6_000, 0));
}

#[test]
fn an_idle_window_is_the_last_window() {
    let mut walt = android(1);
    running(&mut walt, 3);
    walt.switch_to_idle(0, true, 9 * MS).unwrap();
    walt.tick(0, 49 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 0));
}

#[test]
fn a_sleeping_cpu_keeps_its_last_window_until_its_next_event() {
    let mut walt = android(2);
    running(&mut walt, 0);
    walt.tick(0, 20 * MS).unwrap();
    walt.switch_to_idle(0, true, 20 * MS).unwrap();
    walt.tick(1, 500 * MS).unwrap();
    assert_eq!(walt.frequency_util(0), Some(1024));
    walt.tick(0, 500 * MS).unwrap();
    assert_eq!(walt.frequency_util(0), Some(0));
}

#[test]
fn waiting_for_a_cpu_is_not_busy_time_unless_asked_for() {
    for (asked, own, all) in [(false, 0, 14_000), (true, 8_000, 22_000)] {
        let config = Config { freq_account_wait_time: asked, ..Config::android() };
        let mut walt = started(config, &[BIG]);
        running(&mut walt, 1);
        let waiting = walt.add_task(0, None).unwrap();
        walt.wake(waiting, 0, 7 * MS).unwrap();
        walt.switch(0, waiting, false, 15 * MS).unwrap();
        assert_eq!(busy_us(&walt, 0), (0, all));
        assert_eq!(share_us(&walt, waiting), (0, own));
    }
}

#[test]
fn waiting_over_boundaries_that_is_asked_for_is_split_at_them() {
    let config = Config { freq_account_wait_time: true, ..Config::android() };
    for (until, prev, curr) in [(24, 12_000, 4_000), (67, 20_000, 7_000)] {
        let mut walt = started(config, &[BIG]);
        let waiting = walt.add_task(0, None).unwrap();
        running(&mut walt, 1);
        walt.wake(waiting, 0, 8 * MS).unwrap();
        walt.switch(0, waiting, true, until * MS).unwrap();
        // The task that ran: 19 ms of the first window or, later, a full window, and the rest.
        let ran = if until == 24 { 19_000 } else { 20_000 };
        assert_eq!(share_us(&walt, waiting), (prev, curr));
        assert_eq!(busy_us(&walt, 0), (u64::from(prev) + ran, 2 * u64::from(curr)));
    }
}

#[test]
fn a_share_of_a_window_long_ago_is_none() {
    let mut walt = android(1);
    let t = running(&mut walt, 3);
    walt.switch_to_idle(0, true, 9 * MS).unwrap();
    walt.wake(t, 0, 33 * MS).unwrap();
    assert_eq!(share_us(&walt, t), (6_000, 0));
    let mut walt = android(1);
    let t = running(&mut walt, 3);
    walt.switch_to_idle(0, true, 9 * MS).unwrap();
    walt.wake(t, 0, 45 * MS).unwrap();
    assert_eq!(share_us(&walt, t), (0, 0));
}

#[test]
fn half_the_frequency_counts_half_and_rounds_up() {
    let mut walt = android(1);
    running(&mut walt, 0);
    walt.set_frequency(0, GHZ / 2, 0).unwrap();
    walt.tick(0, 4 * MS).unwrap();
    assert_eq!(cpu(&walt, 0).curr_sum_ns, 2 * MS);
    walt.tick(0, 4 * MS + 3).unwrap();
    assert_eq!(cpu(&walt, 0).curr_sum_ns, 2 * MS + 2);
}

#[test]
fn time_before_a_frequency_change_counts_at_the_old_frequency() {
    let mut walt = android(1);
    running(&mut walt, 0);
    walt.set_frequency(0, GHZ / 4, 6 * MS).unwrap();
    walt.tick(0, 10 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 7_000));
}

#[test]
fn more_than_the_highest_frequency_is_the_highest() {
    let mut walt = android(1);
    running(&mut walt, 0);
    walt.set_frequency(0, 4 * GHZ, 0).unwrap();
    walt.tick(0, 4 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 4_000));
    assert_eq!(cpu(&walt, 0).freq_khz, GHZ);
}

#[test]
fn an_unknown_highest_frequency_is_full_speed() {
    let mut walt = started(Config::android(), &[CpuSpec { capacity: 1024, max_freq_khz: 0 }]);
    running(&mut walt, 0);
    walt.set_frequency(0, GHZ, 0).unwrap();
    walt.tick(0, 4 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 4_000));
}

/// 1,000,001 ns at 1/3 of the speed of a CPU of capacity 160.
fn slow_and_small(scaling: Scaling) -> u64 {
    let little = CpuSpec { capacity: 160, max_freq_khz: 900_000 };
    let mut walt = started(Config { scaling, ..Config::android() }, &[little]);
    running(&mut walt, 0);
    walt.set_frequency(0, 300_000, 0).unwrap();
    walt.tick(0, 1_000_001).unwrap();
    cpu(&walt, 0).curr_sum_ns
}

#[test]
fn the_three_ways_to_scale_differ_in_their_rounding() {
    // ceil(1000001 / 3) = 333334.
    assert_eq!(slow_and_small(Scaling::Frequency), 333_334);
    // 333334 * 160 / 1024 = 52083.4.
    assert_eq!(slow_and_small(Scaling::Efficiency), 52_083);
    // Capacity at 341/1024 of the speed: 160 * 341 / 1024 = 53; 1000001 * 53 / 1024 = 51757.8.
    assert_eq!(slow_and_small(Scaling::Capacity), 51_757);
}

#[test]
fn an_interrupt_of_an_idle_cpu_is_busy_time() {
    let mut walt = android(1);
    walt.tick(0, 2 * MS).unwrap();
    walt.irq(0, 3 * MS, 9 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 3_000));
}

#[test]
fn an_interrupt_of_a_task_is_the_tasks_time() {
    let mut walt = android(1);
    let t = running(&mut walt, 1);
    walt.irq(0, 3 * MS, 9 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 0));
    walt.tick(0, 10 * MS).unwrap();
    assert_eq!((busy_us(&walt, 0), share_us(&walt, t)), ((0, 9_000), (0, 9_000)));
}

#[test]
fn an_interrupt_is_split_at_the_boundary_in_it() {
    // 6 ms of a task, then idle; the interrupt takes 19 to 22 ms.
    let mut walt = android(1);
    running(&mut walt, 0);
    walt.switch_to_idle(0, true, 6 * MS).unwrap();
    walt.irq(0, 3 * MS, 22 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (7_000, 2_000));
}

#[test]
fn an_interrupt_after_a_boundary_belongs_to_the_open_window() {
    let mut walt = android(1);
    running(&mut walt, 0);
    walt.switch_to_idle(0, true, 6 * MS).unwrap();
    walt.irq(0, 3 * MS, 26 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (6_000, 3_000));
}

#[test]
fn of_an_interrupt_longer_than_a_window_one_window_is_before_the_boundary() {
    let mut walt = android(1);
    walt.tick(0, 1).unwrap();
    walt.irq(0, 70 * MS, 90 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (20_000, 10_000));
}

#[test]
fn an_idle_cpu_that_waits_for_io_is_busy_only_if_asked_for() {
    for (asked, waits, busy) in [(false, true, 0), (true, false, 0), (true, true, 5_000)] {
        let mut walt = started(Config { io_is_busy: asked, ..Config::android() }, &[BIG]);
        walt.tick(0, MS).unwrap();
        walt.set_io_wait(0, waits).unwrap();
        walt.tick(0, 6 * MS).unwrap();
        assert_eq!(busy_us(&walt, 0), (0, busy));
    }
}

#[test]
fn an_idle_cpu_that_waits_for_io_counts_an_interrupt_once() {
    let mut walt = started(Config { io_is_busy: true, ..Config::android() }, &[BIG]);
    walt.tick(0, MS).unwrap();
    walt.set_io_wait(0, true).unwrap();
    walt.irq(0, 3 * MS, 6 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 5_000));
}

#[test]
fn a_cpu_that_begins_to_idle_has_not_waited_for_io_before() {
    let mut walt = started(Config { io_is_busy: true, ..Config::android() }, &[BIG]);
    walt.tick(0, MS).unwrap();
    walt.set_io_wait(0, true).unwrap();
    running(&mut walt, 1);
    walt.switch_to_idle(0, true, 6 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 5_000));
}

#[test]
fn a_report_of_an_endless_interrupt_does_no_harm() {
    let mut walt = android(1);
    walt.set_frequency(0, GHZ / 2, MS).unwrap();
    walt.irq(0, u64::MAX, 2 * MS).unwrap();
    // 4.29 s, the longest that is believed, at half the speed.
    assert_eq!(cpu(&walt, 0).curr_sum_ns, (1 << 32) / 2);
}

#[test]
fn busy_time_goes_with_a_task_that_wakes_up_elsewhere() {
    let mut walt = android(2);
    let t = running(&mut walt, 12);
    walt.switch_to_idle(0, true, 26 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (8_000, 6_000));
    walt.wake(t, 1, 28 * MS).unwrap();
    assert_eq!((busy_us(&walt, 0), busy_us(&walt, 1)), ((0, 0), (8_000, 6_000)));
}

#[test]
fn busy_time_goes_with_a_task_that_waits() {
    let mut walt = android(2);
    let t = running(&mut walt, 12);
    let other = walt.add_task(0, None).unwrap();
    walt.wake(other, 0, 13 * MS).unwrap();
    walt.switch(0, other, false, 24 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (8_000, 4_000));
    walt.migrate(t, 1, 25 * MS).unwrap();
    // What the other task did since, 1 ms, stays.
    assert_eq!((busy_us(&walt, 0), busy_us(&walt, 1)), ((0, 1_000), (8_000, 4_000)));
}

#[test]
fn a_task_that_sleeps_leaves_its_busy_time_behind() {
    let mut walt = android(2);
    let t = running(&mut walt, 12);
    walt.switch_to_idle(0, true, 26 * MS).unwrap();
    walt.migrate(t, 1, 28 * MS).unwrap();
    assert_eq!((busy_us(&walt, 0), busy_us(&walt, 1)), ((8_000, 6_000), (0, 0)));
    assert_eq!(task(&walt, t).cpu, 1);
}

#[test]
fn migration_never_takes_more_than_there_is() {
    // The share is of time at full speed on a CPU whose own account has been emptied by a whole idle window.
    let mut walt = android(2);
    let t = running(&mut walt, 12);
    let other = walt.add_task(0, None).unwrap();
    walt.wake(other, 0, 13 * MS).unwrap();
    walt.switch(0, other, false, 18 * MS).unwrap();
    walt.switch_to_idle(0, true, 19 * MS).unwrap();
    walt.tick(0, 65 * MS).unwrap();
    walt.migrate(t, 1, 65 * MS).unwrap();
    assert_eq!((busy_us(&walt, 0), busy_us(&walt, 1)), ((0, 0), (0, 0)));
}

#[test]
fn a_share_that_was_left_behind_cannot_be_taken_from_another_cpu() {
    // It goes to CPU 1 asleep, and its time stays with CPU 0; from CPU 1, which was idle, it wakes up on CPU 2.
    let mut walt = android(3);
    let t = running(&mut walt, 2);
    walt.switch_to_idle(0, true, 8 * MS).unwrap();
    walt.migrate(t, 1, 9 * MS).unwrap();
    walt.wake(t, 2, 10 * MS).unwrap();
    assert_eq!([0, 1, 2].map(|c| busy_us(&walt, c)), [(0, 6_000), (0, 0), (0, 6_000)]);
}

#[test]
fn a_task_that_exits_leaves_its_busy_time_behind() {
    let mut walt = android(2);
    let t = running(&mut walt, 2);
    let other = walt.add_task(0, None).unwrap();
    walt.wake(other, 0, 3 * MS).unwrap();
    walt.switch(0, other, false, 8 * MS).unwrap();
    walt.exit(t).unwrap();
    walt.migrate(t, 1, 8 * MS).unwrap();
    assert_eq!((busy_us(&walt, 0), busy_us(&walt, 1)), ((0, 6_000), (0, 0)));
}

#[test]
fn staying_is_no_migration() {
    let mut walt = android(1);
    let t = running(&mut walt, 2);
    let before = (cpu(&walt, 0), task(&walt, t));
    walt.migrate(t, 0, 8 * MS).unwrap();
    assert_eq!((cpu(&walt, 0), task(&walt, t)), before);
}

#[test]
fn a_new_task_is_not_older_than_the_window() {
    let mut walt = android(1);
    walt.tick(0, 45 * MS).unwrap();
    let t = walt.add_task(0, None).unwrap();
    walt.wake(t, 0, 10 * MS).unwrap();
    assert_eq!(task(&walt, t).mark_ns, 40 * MS);
}

#[test]
fn all_cpus_have_the_phase_of_the_first_that_ticks() {
    let mut walt = Walt::new(Config::android(), &[BIG, BIG]).unwrap();
    walt.tick(1, 7 * MS).unwrap();
    assert_eq!((cpu(&walt, 0).started, cpu(&walt, 1).started), (false, true));
    walt.tick(0, 51 * MS).unwrap();
    assert_eq!((cpu(&walt, 0).window_start_ns, cpu(&walt, 1).window_start_ns), (47 * MS, 7 * MS));
}

#[test]
fn before_the_windows_begin_nothing_is_accounted() {
    let mut walt = Walt::new(Config::android(), &[BIG]).unwrap();
    let t = running(&mut walt, 1);
    walt.switch_to_idle(0, true, 9 * MS).unwrap();
    assert_eq!(busy_us(&walt, 0), (0, 0));
    assert!(!task(&walt, t).seen);
}

#[test]
fn interrupt_load_is_the_mean_of_earlier_jiffies_and_grows_old() {
    let mut walt = android(1);
    walt.add_irq_load(0, 4 * MS, 100).unwrap();
    walt.add_irq_load(0, 2 * MS, 100).unwrap();
    assert_eq!(walt.irq_load(0, 100), Some((0, false)));
    walt.add_irq_load(0, 8 * MS, 101).unwrap();
    assert_eq!(walt.irq_load(0, 101), Some((6 * MS, false)));
    // 6 * 3 / 4 + 8: once three quarters, though five jiffies went by.
    walt.add_irq_load(0, MS, 106).unwrap();
    assert_eq!(walt.irq_load(0, 106), Some((12_500_000, true)));
    assert_eq!(walt.irq_load(0, 108), Some((12_500_000, true)));
    assert_eq!(walt.irq_load(0, 109), Some((0, false)));
    // Ten jiffies later only the last report is left of it.
    walt.add_irq_load(0, 0, 116).unwrap();
    assert_eq!(walt.irq_load(0, 116), Some((MS, false)));
}
