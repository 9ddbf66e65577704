// SPDX-License-Identifier: GPL-2.0-only
//! Does the idle loop do what a kernel's does around a governor? Expected values are from `governor-behaviour.md`,
//! section 1.

use idlewise_idle::{IdleCpu, Left, Moment, NEVER_AT_NS, Timers};
use idlewise_madeinput::idle_loop::{
    GRID, Script, T, TICK, idle_since, iterate, left, moment, quiet, state, table,
};
use idlewise_model::{
    Entry, IdleState, IdleTable, Miss, NO_LATENCY_LIMIT_NS, Outcome, TickChoice, TickGrid, WakeCause,
};
use proptest::prelude::*;

// ---- The tick (1.1, 1.2, 1.3).

#[test]
fn a_kept_tick_stays_due_at_the_next_time_of_its_grid() {
    let table = table();
    let mut idle = idle_since(&table, TICK + 100);
    let mut script = Script::new(&[(2, false)]);
    let entered = idle.enter(&mut script, &quiet(TICK + 200));
    assert_eq!((entered.tick, entered.stop_tick, entered.state), (TickChoice::Kept, false, 2));
    assert_eq!((idle.tick_due_ns(), idle.tick_stopped()), (TICK + T, false));
    assert_eq!(script.ahead[0].due_ns, TICK + T);
}

#[test]
fn a_stopped_tick_is_never_due_and_stays_stopped_in_the_later_iterations_of_its_visit() {
    let table = table();
    let mut idle = idle_since(&table, TICK + 100);
    let mut script = Script::new(&[(3, true), (1, false), (1, true)]);
    let (entered, entry) = iterate(&mut idle, &mut script, TICK + 200, 3 * T);
    assert_eq!((entered.tick, entry.tick), (TickChoice::Stopped, TickChoice::Stopped));
    assert_eq!((idle.tick_due_ns(), idle.tick_stopped()), (NEVER_AT_NS, true));
    // "if stop_tick or stopped: tick_stop()": asking to keep it does not bring it back.
    let (entered, entry) = iterate(&mut idle, &mut script, TICK + 4 * T, 10);
    assert_eq!((entered.tick, entry.tick), (TickChoice::WasStopped, TickChoice::WasStopped));
    let (entered, _) = iterate(&mut idle, &mut script, TICK + 5 * T, 10);
    assert_eq!(entered.tick, TickChoice::WasStopped);
    assert_eq!(
        script.ahead.iter().map(|t| t.due_ns).collect::<Vec<_>>(),
        [TICK + T, NEVER_AT_NS, NEVER_AT_NS]
    );
    let stopped: Vec<bool> = script.asked.iter().map(|i| i.tick_stopped).collect();
    assert_eq!(stopped, [false, true, true]);
}

#[test]
fn a_tick_that_was_kept_can_be_stopped_in_the_next_iteration() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(1, false), (1, true)]);
    assert_eq!(iterate(&mut idle, &mut script, TICK + 10, 100).0.tick, TickChoice::Kept);
    assert_eq!(iterate(&mut idle, &mut script, TICK + 200, 100).0.tick, TickChoice::Stopped);
}

#[test]
fn the_end_of_a_visit_restarts_the_tick_on_its_old_grid() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(3, true), (3, false)]);
    iterate(&mut idle, &mut script, TICK + 10, 10 * T);
    idle.end_visit();
    assert!(!idle.tick_stopped());
    idle.begin_visit(TICK + 12 * T + 5);
    assert_eq!(idle.tick_due_ns(), TICK + 13 * T);
    let (entered, _) = iterate(&mut idle, &mut script, TICK + 12 * T + 6, 10);
    assert_eq!((entered.tick, script.asked[1].tick_stopped), (TickChoice::Kept, false));
}

#[test]
fn a_wheel_timer_within_one_tick_of_the_jiffies_base_keeps_the_tick_against_the_governors_wish() {
    let table = table();
    // The base is TICK, whatever the time since.
    for (wheel_at, expected) in [
        (TICK - T, TickChoice::Kept),
        (TICK, TickChoice::Kept),
        (TICK + T, TickChoice::Kept),
        (TICK + 2 * T, TickChoice::Stopped),
        (NEVER_AT_NS, TickChoice::Stopped),
    ] {
        for since_tick in [0, 1, T / 2, T - 1] {
            let mut idle = idle_since(&table, TICK + since_tick);
            let mut script = Script::new(&[(3, true)]);
            let m = moment(TICK + since_tick, NEVER_AT_NS, wheel_at);
            let entered = idle.enter(&mut script, &m);
            assert!(entered.stop_tick);
            assert_eq!(script.ahead[0].may_stop, expected == TickChoice::Stopped, "the oracle knows");
            assert_eq!(entered.tick, expected, "wheel at base{:+}", wheel_at as i64 - TICK as i64);
            assert_eq!(idle.tick_stopped(), expected == TickChoice::Stopped);
        }
    }
}

#[test]
fn a_hrtimer_within_one_tick_does_not_keep_the_tick() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(3, true)]);
    assert_eq!(idle.enter(&mut script, &moment(TICK, TICK + 10, NEVER_AT_NS)).tick, TickChoice::Stopped);
}

#[test]
fn what_the_wheel_holds_cannot_restart_a_stopped_tick() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(3, true)]);
    iterate(&mut idle, &mut script, TICK, 10);
    let entered = idle.enter(&mut script, &moment(TICK + 100, NEVER_AT_NS, TICK + T));
    assert_eq!(entered.tick, TickChoice::WasStopped);
    // now = 10 after TICK, the end of the interrupt; both answers lead to the wheel timer.
    let asked = script.asked[1];
    assert_eq!((asked.sleep_length_ns, asked.delta_tick_ns), (T as i64 - 10, T as i64 - 10));
}

#[test]
fn a_kernel_that_needs_the_tick_keeps_it() {
    let table = table();
    let mut idle = idle_since(&table, TICK + 500);
    let mut script = Script::new(&[(3, true)]);
    let timers = Timers::Pending {
        hrtimer_at_ns: TICK + 9 * T,
        wheel_at_ns: NEVER_AT_NS,
        stale_event_at_ns: NEVER_AT_NS,
        tick_needed: true,
    };
    let entered = idle.enter(&mut script, &Moment { timers, ..quiet(TICK + 600) });
    assert_eq!((entered.tick, idle.tick_due_ns()), (TickChoice::Kept, TICK + T));
    let asked = script.asked[0];
    assert_eq!((asked.sleep_length_ns, asked.delta_tick_ns), (T as i64 - 500, T as i64 - 500));
}

#[test]
fn a_kernel_that_needs_the_tick_still_sees_an_earlier_hrtimer() {
    let table = table();
    let mut idle = idle_since(&table, TICK + 500);
    let mut script = Script::new(&[(3, true)]);
    let timers = Timers::Pending {
        hrtimer_at_ns: TICK + 900,
        wheel_at_ns: NEVER_AT_NS,
        stale_event_at_ns: NEVER_AT_NS,
        tick_needed: true,
    };
    idle.enter(&mut script, &Moment { timers, ..quiet(TICK + 600) });
    assert_eq!((script.asked[0].sleep_length_ns, script.asked[0].delta_tick_ns), (400, 400));
}

#[test]
fn an_event_for_a_cancelled_timer_is_in_the_sleep_length_only_where_the_tick_is_needed() {
    let table = table();
    for (tick_needed, sleep_length_ns) in [(false, 9 * T as i64 - 500), (true, 400)] {
        let mut idle = idle_since(&table, TICK + 500);
        let mut script = Script::new(&[(3, true)]);
        let (hrtimer_at_ns, stale_event_at_ns) = (TICK + 9 * T, TICK + 900);
        let timers =
            Timers::Pending { hrtimer_at_ns, wheel_at_ns: NEVER_AT_NS, stale_event_at_ns, tick_needed };
        idle.enter(&mut script, &Moment { timers, ..quiet(TICK + 600) });
        let asked = script.asked[0];
        assert_eq!((asked.sleep_length_ns, asked.delta_tick_ns), (sleep_length_ns, 400));
    }
}

#[test]
fn recorded_answers_of_the_sleep_length_query_are_passed_on_as_they_are() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(3, true)]);
    for (sleep_length_ns, delta_tick_ns) in [(-7, -9), (i64::MAX, 12), (5, i64::MIN)] {
        let timers = Timers::Known { sleep_length_ns, delta_tick_ns };
        idle.enter(&mut script, &Moment { timers, ..quiet(TICK) });
        let asked = script.asked.last().unwrap();
        assert_eq!((asked.sleep_length_ns, asked.delta_tick_ns), (sleep_length_ns, delta_tick_ns));
    }
}

#[test]
fn a_followed_recording_can_put_the_tick_into_either_state() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(1, false)]);
    idle.force_tick(true);
    assert_eq!(
        (idle.tick_due_ns(), idle.enter(&mut script, &quiet(TICK)).tick),
        (NEVER_AT_NS, TickChoice::WasStopped)
    );
    idle.force_tick(false);
    assert_eq!(
        (idle.tick_due_ns(), idle.enter(&mut script, &quiet(TICK)).tick),
        (TICK + T, TickChoice::Kept)
    );
    assert_eq!((script.asked[0].tick_stopped, script.asked[1].tick_stopped), (true, false));
}

// ---- The sleep length (1.8).

/// Section 1.8 word by word, for a time `now` on or after the first tick of the grid: the two answers and whether
/// `tick_stop()` would stop the tick.
fn sleep_length(now: i128, stopped: bool, hrtimer: i128, wheel: i128, needed: bool) -> (i128, i128, bool) {
    let period = i128::from(T);
    let phase = i128::from(GRID.phase_ns);
    let base = phase + (now - phase).div_euclid(period) * period;
    let never = i128::from(i64::MAX);
    let programmed = if stopped { wheel.min(hrtimer) } else { (base + period).min(hrtimer) };
    let dtick = programmed - now;
    let e = if needed { base + period } else { wheel };
    if e - base <= period && !stopped {
        return (dtick, dtick, false);
    }
    (e.min(hrtimer).min(never) - now, dtick, true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_answers_of_the_sleep_length_query_are_the_kernels(
        now in 0u64..20 * T,
        lag in 0u64..3 * T,
        stopped: bool,
        hrtimer in prop_oneof![Just(None), (-(2 * T as i64)..20 * T as i64).prop_map(Some)],
        jiffies in prop_oneof![Just(None), (-2i64..20).prop_map(Some)],
        needed: bool,
        ask_to_stop: bool,
    ) {
        let now = TICK + now;
        let table = table();
        let mut idle = idle_since(&table, now);
        idle.force_tick(stopped);
        // A stopped tick that is needed again is another story: nothing programs it before the answer.
        let needed = needed && !stopped;
        let hrtimer_at_ns = hrtimer.map_or(NEVER_AT_NS, |rel| now.checked_add_signed(rel).unwrap());
        let base = GRID.phase_ns + (now - GRID.phase_ns) / T * T;
        let wheel_at_ns = jiffies.map_or(NEVER_AT_NS, |j| base.checked_add_signed(j * T as i64).unwrap());
        let timers = Timers::Pending { hrtimer_at_ns, wheel_at_ns, stale_event_at_ns: NEVER_AT_NS, tick_needed: needed };
        let mut script = Script::new(&[(1, ask_to_stop)]);
        let entered = idle.enter(&mut script, &Moment { timers, ..quiet(now + lag) });
        let (sleep, dtick, may_stop) =
            sleep_length(now.into(), stopped, hrtimer_at_ns.into(), wheel_at_ns.into(), needed);
        let asked = script.asked[0];
        prop_assert_eq!((i128::from(asked.sleep_length_ns), i128::from(asked.delta_tick_ns)), (sleep, dtick));
        let expected = match (stopped, ask_to_stop && may_stop) {
            (true, _) => TickChoice::WasStopped,
            (false, true) => TickChoice::Stopped,
            (false, false) => TickChoice::Kept,
        };
        prop_assert_eq!(entered.tick, expected);
        prop_assert_eq!(asked.now_ns, now + lag, "the governor's clock is the true time");
    }
}

#[test]
fn without_any_timer_the_sleep_is_as_long_as_time_itself() {
    let table = table();
    let mut idle = idle_since(&table, TICK + 42);
    let mut script = Script::new(&[(3, true)]);
    iterate(&mut idle, &mut script, TICK + 50, 10);
    idle.enter(&mut script, &quiet(TICK + 70));
    let never = |now: u64| i64::MAX - now as i64;
    let [running, stopped] = script.asked[..] else { panic!("asked twice") };
    assert_eq!((running.sleep_length_ns, running.delta_tick_ns), (never(TICK + 42), T as i64 - 42));
    assert_eq!((stopped.sleep_length_ns, stopped.delta_tick_ns), (never(TICK + 60), never(TICK + 60)));
}

#[test]
fn timers_that_are_due_already_give_negative_answers() {
    let table = table();
    let mut script = Script::new(&[(1, false)]);
    let mut idle = idle_since(&table, TICK + 1000);
    idle.enter(&mut script, &moment(TICK + 1000, TICK + 900, NEVER_AT_NS));
    assert_eq!((script.asked[0].sleep_length_ns, script.asked[0].delta_tick_ns), (-100, -100));
}

// ---- "now" (1.8, 13.3).

#[test]
fn now_is_when_the_visit_began_not_when_the_governor_is_asked() {
    let table = table();
    let mut idle = idle_since(&table, TICK + 1_000);
    let mut script = Script::new(&[(1, false)]);
    idle.enter(&mut script, &moment(TICK + 5_000, TICK + 50_000, NEVER_AT_NS));
    let asked = script.asked[0];
    assert_eq!((asked.now_ns, asked.sleep_length_ns, asked.delta_tick_ns), (TICK + 5_000, 49_000, 49_000));
}

#[test]
fn now_stays_stale_when_the_polling_loop_ran_into_its_limit() {
    let table = table();
    let mut idle = idle_since(&table, TICK + 1_000);
    let mut script = Script::new(&[(0, false)]);
    let far = |at| moment(at, TICK + 90_000, NEVER_AT_NS);
    let entered = idle.enter(&mut script, &far(TICK + 2_000));
    let limit = Left { cause: WakeCause::PollLimit, ..left(0, entered.poll_until_ns) };
    idle.leave(&mut script, &limit, &mut Vec::new());
    idle.enter(&mut script, &far(TICK + 23_000));
    // 20 us too long: the time polled.
    let lengths: Vec<i64> = script.asked.iter().map(|i| i.sleep_length_ns).collect();
    assert_eq!(lengths, [89_000, 89_000]);
    // Handlers that ran at the limit are interrupts like others.
    let handled = Left {
        handled_at_ns: TICK + 45_000,
        ..Left { cause: WakeCause::PollLimit, ..left(0, TICK + 43_000) }
    };
    idle.leave(&mut script, &handled, &mut Vec::new());
    idle.enter(&mut script, &far(TICK + 46_000));
    assert_eq!(script.asked[2].sleep_length_ns, 45_000);
}

#[test]
fn now_moves_to_the_end_of_the_handlers_of_a_wake() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(1, true)]);
    let far = |at| moment(at, TICK + 9 * T, NEVER_AT_NS);
    idle.enter(&mut script, &far(TICK + 10));
    let irq = Left { exit_at_ns: TICK + 60, handled_at_ns: TICK + 75, ..left(1, TICK + 50) };
    idle.leave(&mut script, &irq, &mut Vec::new());
    idle.enter(&mut script, &far(TICK + 80));
    assert_eq!(script.asked[1].sleep_length_ns, 9 * T as i64 - 75);
}

#[test]
fn now_moves_with_interrupts_inside_the_polling_loop() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(0, false)]);
    let far = |at| moment(at, TICK + 9 * T, NEVER_AT_NS);
    let entered = idle.enter(&mut script, &far(TICK + 10));
    idle.interrupt_done(TICK + 7_000);
    let limit = Left { cause: WakeCause::PollLimit, ..left(0, entered.poll_until_ns) };
    idle.leave(&mut script, &limit, &mut Vec::new());
    idle.enter(&mut script, &far(TICK + 30_000));
    assert_eq!(script.asked[1].sleep_length_ns, 9 * T as i64 - 7_000);
}

#[test]
fn the_next_tick_is_later_than_the_one_that_was_just_handled() {
    let table = table();
    let mut idle = idle_since(&table, TICK + T - 500);
    let mut script = Script::new(&[(1, false)]);
    idle.enter(&mut script, &quiet(TICK + T - 400));
    assert_eq!(idle.tick_due_ns(), TICK + T);
    let tick = Left {
        exit_at_ns: TICK + T + 2_000,
        running_at_ns: TICK + T + 2_000,
        handled_at_ns: TICK + T + 6_000,
        cause: WakeCause::Tick,
        tick_ran: true,
        ..left(1, TICK + T)
    };
    let mut ledger: Vec<Entry> = Vec::new();
    idle.leave(&mut script, &tick, &mut ledger);
    assert_eq!(idle.tick_due_ns(), TICK + 2 * T);
    assert_eq!((ledger[0].tick_ns, ledger[0].latency_ns), (4_000, 2_000), "awake for the tick alone");
}

// ---- Rejected and aborted entries (1.2, 1.4).

#[test]
fn a_refused_entry_is_told_to_nobody_and_measures_nothing() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(3, true), (3, true)]);
    iterate(&mut idle, &mut script, TICK + 10, 700_000);
    script.device.poll_time_limit = true;
    script.device.got_tick = true;
    idle.enter(&mut script, &quiet(TICK + 701_000));
    let mut ledger: Vec<Entry> = Vec::new();
    idle.reject(&mut script, TICK + 706_000, &mut ledger);
    assert_eq!(script.told, [(3, TICK + 700_010)], "reflect was called for the first stay only");
    let device = &script.device;
    assert_eq!((device.last_residency_ns, device.poll_time_limit, device.got_tick), (0, true, true));
    let entry = ledger[0];
    assert_eq!(
        (ledger.len(), entry.outcome, entry.residency_ns, entry.selected, entry.tick, entry.start_ns),
        (1, Outcome::Rejected, 0, 3, TickChoice::WasStopped, TICK + 701_000)
    );
    // "now" was not moved: no interrupt came.
    idle.enter(&mut script, &moment(TICK + 707_000, TICK + 800_010, NEVER_AT_NS));
    assert_eq!(script.asked[2].sleep_length_ns, 100_000);
}

#[test]
fn an_aborted_select_zeroes_the_residency_and_leaves_the_tick_stopped() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(2, false), (3, true)]);
    iterate(&mut idle, &mut script, TICK + 10, 50_000);
    assert_eq!(script.device.last_residency_ns, 50_000);
    idle.enter(&mut script, &quiet(TICK + 60_000));
    idle.abort(&mut script);
    assert_eq!((script.device.last_residency_ns, script.told.len()), (0, 1));
    assert!(idle.tick_stopped(), "the tick was stopped before the entry was given up");
}

// ---- The polling state (1.6).

#[test]
fn the_polling_limit_is_computed_once_and_cached_in_the_device() {
    let table = table();
    let mut script = Script::new(&[(0, false)]);
    let mut idle = idle_since(&table, TICK);
    let entered = idle.enter(&mut script, &quiet(TICK + 5));
    // The first enabled state of 10 us or more is C1E: 20 us.
    assert_eq!((entered.poll_until_ns, script.device.poll_limit_ns), (TICK + 20_005, 20_000));
    idle.set_disabled(&mut script, 0b0100);
    let entered = idle.enter(&mut script, &quiet(TICK + 30_000));
    assert_eq!(entered.poll_until_ns, TICK + 50_000, "the device's cached limit counts");
}

#[test]
fn the_polling_limit_skips_disabled_states_and_is_capped_at_a_sixteenth_of_the_tick() {
    let table = table();
    for (mask, limit) in [(0b0100u16, T / 16), (0b1100, T / 16), (0b1000, 20_000), (0b0010, 20_000)] {
        let mut script = Script::new(&[(0, false)]);
        let mut idle = idle_since(&table, TICK);
        idle.set_disabled(&mut script, mask);
        idle.enter(&mut script, &quiet(TICK));
        assert_eq!(script.device.poll_limit_ns, limit, "disabled {mask:04b}");
    }
    // A deep state below the cap: HZ 100, one sixteenth is 625 us.
    let mut script = Script::new(&[(0, false)]);
    let mut idle = IdleCpu::new(0, &table, TickGrid { period_ns: 10_000_000, phase_ns: 0 });
    idle.set_disabled(&mut script, 0b0100);
    idle.begin_visit(TICK);
    idle.enter(&mut script, &quiet(TICK));
    assert_eq!(script.device.poll_limit_ns, 600_000);
}

#[test]
fn only_the_first_state_of_ten_microseconds_or_more_limits_the_polling() {
    for (first_ns, limit) in [(9_999, 15_000), (10_000, 10_000)] {
        let first = IdleState { target_residency_ns: first_ns, ..state(1, 0, 0) };
        let poll = IdleState { polling: true, ..state(0, 0, 0) };
        let table = IdleTable::new(vec![poll, first, state(3, 15, 0)]).unwrap();
        let mut script = Script::new(&[(0, false)]);
        idle_since(&table, TICK).enter(&mut script, &quiet(TICK));
        assert_eq!(script.device.poll_limit_ns, limit);
    }
}

#[test]
fn a_limit_that_a_governor_set_is_used() {
    let table = table();
    let mut script = Script::new(&[(0, false)]);
    script.device.poll_limit_ns = 123;
    let mut idle = idle_since(&table, TICK);
    assert_eq!(idle.enter(&mut script, &quiet(TICK)).poll_until_ns, TICK + 123);
    script.device.poll_limit_ns = u64::MAX;
    assert_eq!(idle.enter(&mut script, &quiet(TICK)).poll_until_ns, NEVER_AT_NS);
}

#[test]
fn states_that_sleep_have_no_polling_limit_and_do_not_compute_it() {
    let table = table();
    let mut script = Script::new(&[(1, false), (2, false), (3, false)]);
    let mut idle = idle_since(&table, TICK);
    for _ in 1..4 {
        assert_eq!(idle.enter(&mut script, &quiet(TICK)).poll_until_ns, NEVER_AT_NS);
    }
    assert_eq!(script.device.poll_limit_ns, 0);
}

#[test]
fn the_flag_of_the_polling_limit_is_set_by_the_limit_kept_by_other_states_and_cleared_by_polling() {
    let table = table();
    let mut script = Script::new(&[(0, false), (2, false), (3, false), (0, false)]);
    let mut idle = idle_since(&table, TICK);
    let entered = idle.enter(&mut script, &quiet(TICK));
    assert!(!script.device.poll_time_limit);
    let limit = Left { cause: WakeCause::PollLimit, ..left(0, entered.poll_until_ns) };
    idle.leave(&mut script, &limit, &mut Vec::new());
    assert!(script.device.poll_time_limit);
    iterate(&mut idle, &mut script, TICK + 30_000, 10);
    iterate(&mut idle, &mut script, TICK + 40_000, 10);
    assert!(script.device.poll_time_limit, "C1E and C6 leave it alone");
    idle.enter(&mut script, &quiet(TICK + 50_000));
    assert!(!script.device.poll_time_limit, "the loop clears it when it begins");
    idle.leave(&mut script, &left(0, TICK + 50_010), &mut Vec::new());
    assert!(!script.device.poll_time_limit, "a wake by an interrupt is not the limit");
}

// ---- got_tick (1.8).

#[test]
fn a_tick_that_ran_stays_known_until_somebody_reads_it() {
    let table = table();
    let mut script = Script::new(&[(1, false)]);
    let mut idle = idle_since(&table, TICK);
    idle.enter(&mut script, &quiet(TICK));
    assert!(!script.device.got_tick);
    let tick = Left { cause: WakeCause::Tick, tick_ran: true, ..left(1, TICK + T) };
    idle.leave(&mut script, &tick, &mut Vec::new());
    assert!(script.device.got_tick);
    iterate(&mut idle, &mut script, TICK + T + 10, 10);
    idle.end_visit();
    idle.begin_visit(TICK + T + 100);
    iterate(&mut idle, &mut script, TICK + T + 110, 10);
    assert!(script.device.got_tick, "two stays and a visit later");
    script.device.got_tick = false;
    iterate(&mut idle, &mut script, TICK + T + 200, 10);
    assert!(!script.device.got_tick, "read and cleared");
    idle.tick_ran(&mut script);
    assert!(script.device.got_tick, "a tick inside the polling loop");
}

// ---- The governor's answers and questions.

#[test]
fn answers_that_are_no_state_become_the_nearest_and_are_reported() {
    let table = table();
    for (answer, state, odd) in
        [(-1, 0, true), (i32::MIN, 0, true), (4, 3, true), (i32::MAX, 3, true), (0, 0, false), (3, 3, false)]
    {
        let mut script = Script::new(&[(answer, false)]);
        let mut idle = idle_since(&table, TICK);
        let (entered, entry) = iterate(&mut idle, &mut script, TICK, 1_000_000);
        assert_eq!((entered.state, entered.breach.no_state), (state, odd), "answer {answer}");
        assert_eq!(usize::from(entry.selected), state);
    }
}

#[test]
fn a_state_that_is_off_is_entered_all_the_same() {
    let table = table();
    let mut script = Script::new(&[(3, false)]);
    let mut idle = idle_since(&table, TICK);
    idle.set_disabled(&mut script, 0b1000);
    let (entered, entry) = iterate(&mut idle, &mut script, TICK, 700_000);
    assert_eq!((entered.state, entered.breach.no_state), (3, false));
    assert_eq!(entry.outcome, Outcome::Stayed { entered: 3, miss: Miss::None });
}

#[test]
fn the_governor_hears_of_disabled_states_when_they_change_only() {
    let table = table();
    let mut script = Script::new(&[(0, false)]);
    let mut idle = idle_since(&table, TICK);
    for mask in [0, 0, 2, 2, 0, 6] {
        idle.set_disabled(&mut script, mask);
    }
    assert_eq!(script.masks, [2, 0, 6]);
}

#[test]
fn every_input_of_the_moment_reaches_the_governor() {
    let table = table();
    let mut script = Script::new(&[(0, false)]);
    let mut idle = idle_since(&table, TICK);
    let m = Moment {
        latency_limit_ns: 77,
        util: 1000,
        iowait: 5,
        random: 0xdead_beef,
        ..moment(TICK + 9, TICK + 100, NEVER_AT_NS)
    };
    idle.enter(&mut script, &m);
    let asked = script.asked[0];
    assert_eq!(
        (asked.latency_limit_ns, asked.util, asked.iowait, asked.random, asked.now_ns, asked.tick_stopped),
        (77, 1000, 5, 0xdead_beef, TICK + 9, false)
    );
    idle.enter(&mut script, &quiet(TICK + 10));
    assert_eq!((script.asked[1].latency_limit_ns, script.asked[1].util), (NO_LATENCY_LIMIT_NS, 0));
}

#[test]
fn an_aborted_select_of_polling_leaves_flag_and_limit_alone() {
    let table = table();
    let mut s = Script::new(&[(0, false)]);
    s.device.poll_time_limit = true;
    let mut idle = IdleCpu::new(0, &table, GRID);
    idle.begin_visit(TICK);
    idle.enter(&mut s, &quiet(TICK));
    idle.abort(&mut s);
    assert_eq!((s.device.poll_time_limit, s.device.poll_limit_ns), (true, 0));
}

#[test]
fn before_the_first_tick_the_base_lies_before_time_zero() {
    let table = table();
    let mut s = Script::new(&[(3, true)]);
    let mut idle = IdleCpu::new(0, &table, TickGrid { period_ns: T, phase_ns: 1000 });
    idle.begin_visit(10);
    // base = 1000 - T, so a wheel timer at T lies almost two ticks behind it.
    let e = idle.enter(&mut s, &moment(10, NEVER_AT_NS, T));
    assert_eq!(e.tick, TickChoice::Stopped);
}

#[test]
fn a_tick_that_is_needed_while_stopped_shortens_the_sleep_but_is_not_programmed() {
    let table = table();
    let mut s = Script::new(&[(3, true)]);
    let mut idle = IdleCpu::new(0, &table, GRID);
    idle.begin_visit(TICK);
    idle.enter(&mut s, &quiet(TICK));
    idle.leave(&mut s, &left(3, TICK + 100), &mut Vec::new());
    let timers = Timers::Pending {
        hrtimer_at_ns: TICK + 9 * T,
        wheel_at_ns: NEVER_AT_NS,
        stale_event_at_ns: NEVER_AT_NS,
        tick_needed: true,
    };
    idle.enter(&mut s, &Moment { timers, ..quiet(TICK + 100) });
    let asked = &s.asked[1];
    assert_eq!((asked.sleep_length_ns, asked.delta_tick_ns), ((T - 100) as i64, (9 * T - 100) as i64));
}

#[test]
fn an_entered_state_that_the_table_lacks_is_the_deepest_everywhere() {
    let table = table();
    let mut s = Script::new(&[(3, true)]);
    let mut idle = IdleCpu::new(0, &table, GRID);
    idle.begin_visit(TICK);
    idle.enter(&mut s, &quiet(TICK));
    let mut ledger: Vec<Entry> = Vec::new();
    idle.leave(&mut s, &left(7, TICK + 100), &mut ledger);
    assert!(matches!(ledger[0].outcome, Outcome::Stayed { entered: 3, .. }), "{:?}", ledger[0]);
    assert_eq!(s.told[0].0, 3);
}

#[test]
fn the_end_of_time_is_survived() {
    let table = table();
    let mut s = Script::new(&[(3, true)]);
    let mut idle = IdleCpu::new(0, &table, GRID);
    idle.begin_visit(u64::MAX - 10);
    let e = idle.enter(&mut s, &quiet(u64::MAX - 10));
    assert_eq!(e.state, 3);
}
