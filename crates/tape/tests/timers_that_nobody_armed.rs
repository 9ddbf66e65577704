// SPDX-License-Identifier: GPL-2.0-only
//! Timers that fire although the recording does not show who armed them, and timers that other CPUs look after.

use idlewise_madeinput::story::*;
use idlewise_model::*;

/// CPU 0 is idle from `at` for 50 us, then task `next` runs.
fn nap(s: &mut Story, at: u64, next: i32) {
    s.rest(0, at);
    s.idle(0, at + US, 0);
    s.exit(0, at + 51 * US);
    s.switch(0, at + 60 * US, RUNNING, next);
}

/// CPU 0 has ticked, and a far wheel timer shows that those are recorded.
fn ticked(cpus: u32) -> Story {
    let mut s = Story::new(cpus);
    s.prelude(0);
    s.wheel(0, TICK + 9 * US, WHEEL, JIFFY + 5_000, JIFFY + 5_000, JIFFY, PINNED);
    s
}

/// Interrupts the running task of CPU 0 with timer `id`, 5 us late, which wakes task `pid`.
fn fire_late(s: &mut Story, due: u64, id: u64, pid: i32) {
    let at = due + 5 * US;
    s.timer_irq(0, at);
    s.fire(0, at + US, id, OTHER_FN, at);
    s.waking(0, at + 2 * US, pid, 0);
    s.timer_irq_end(0, at + 3 * US);
}

/// For each stay of CPU 0: until which time it waits for an hrtimer, and how well that is known.
fn waits(s: &Story) -> Vec<(Option<u64>, Confidence)> {
    let tape = s.tape();
    let at = |p: &Piece| (p.hrtimer_ns != NEVER_NS).then(|| p.start_ns.saturating_add_signed(p.hrtimer_ns));
    stays(&tape, 0).iter().map(|p| (at(p), p.timer_confidence())).collect()
}

#[test]
fn a_timer_armed_by_a_task_without_events_counts_since_that_task_ran() {
    let mut s = ticked(1);
    nap(&mut s, TICK + MS, 42);
    // Task 7 arms a timer, but only its switch is recorded.
    s.switch(0, TICK + 2 * MS, RUNNING, 7);
    s.switch(0, TICK + 2 * MS + 100 * US, RUNNING, 42);
    nap(&mut s, TICK + 3 * MS, 42);
    fire_late(&mut s, TICK + 9 * MS, TIMER, 7);
    nap(&mut s, TICK + 10 * MS, 42);
    let fired = Some(TICK + 9 * MS + 5 * US);
    let [before, waiting, after] = waits(&s)[..] else { panic!("three stays") };
    assert_eq!(before.0, None, "task 7 had not run yet");
    assert_eq!(waiting, (fired, Confidence::Bounded), "not later than its handler's time");
    assert_eq!(after.0, None);
}

#[test]
fn a_timer_is_missed_and_found_as_often_as_it_is_armed_unseen() {
    let mut s = ticked(1);
    for k in 1..4 {
        nap(&mut s, TICK + k * 10 * MS, 42);
        fire_late(&mut s, TICK + k * 10 * MS + 5 * MS, TIMER, 7);
    }
    let ends: Vec<Option<u64>> = waits(&s).iter().map(|w| w.0).collect();
    assert_eq!(ends, [1, 2, 3].map(|k| Some(TICK + k * 10 * MS + 5 * MS + 5 * US)));
}

#[test]
fn a_periodic_timer_armed_before_the_recording_is_known_to_the_nanosecond() {
    let period = 7 * MS + 123;
    let due = |k: u64| TICK + 2 * MS + k * period;
    let story = |second_period: u64| {
        let mut s = ticked(1);
        nap(&mut s, TICK + MS, 42);
        fire_late(&mut s, due(0), TIMER, 7);
        s.arm(0, due(0) + 9 * US, TIMER, OTHER_FN, due(1));
        fire_late(&mut s, due(1), TIMER, 7);
        s.arm(0, due(1) + 9 * US, TIMER, OTHER_FN, due(1) + second_period);
        s
    };
    assert_eq!(waits(&story(period))[0], (Some(due(0)), Confidence::Derived));
    // Two armings that are no period: only the handler's time is known.
    assert_eq!(waits(&story(3 * MS))[0], (Some(due(0) + 5 * US), Confidence::Bounded));
}

#[test]
fn a_timer_that_is_cancelled_unseen_may_be_due_before_any_other() {
    let mut s = ticked(1);
    nap(&mut s, TICK + MS, 42);
    s.arm(0, TICK + 2 * MS, TIMER, OTHER_FN, TICK + 3 * MS);
    nap(&mut s, TICK + 2 * MS + 10 * US, 42);
    s.cancel(0, TICK + 2 * MS + 200 * US, TIMER);
    // Of another timer only this is recorded.
    s.cancel(0, TICK + 6 * MS, TIMER + 1);
    nap(&mut s, TICK + 7 * MS, 42);
    let known: Vec<_> = waits(&s).iter().map(|w| w.1).collect();
    let graded = [Confidence::Bounded, Confidence::Derived, Confidence::Derived];
    assert_eq!(known, graded, "the second waits for a timer that is due before the cancel");
    s.cancel(0, TICK + 8 * MS, tick_timer(0));
    nap(&mut s, TICK + 9 * MS, 42);
    assert!(waits(&s).last().unwrap().1 < Confidence::Bounded, "a tick's is not one that nobody armed");
}

#[test]
fn a_timer_counts_for_the_cpu_on_which_it_fires() {
    // Since the interrupted CPU 1 is idle, the kernel arms the timer on CPU 0.
    let mut s = ticked(2);
    s.arm(1, TICK + 10 * US, TIMER, OTHER_FN, TICK + 9 * MS);
    nap(&mut s, TICK + MS, 42);
    fire_late(&mut s, TICK + 9 * MS, TIMER, 7);
    assert_eq!(waits(&s), [(Some(TICK + 9 * MS), Confidence::Derived)]);
}

#[test]
fn the_programmed_event_is_graded_apart_from_the_sleep_length() {
    let mut s = ticked(1);
    // The next tick comes before the timer: what is programmed is certain, how long to sleep without it is not.
    nap(&mut s, TICK + MS, 42);
    nap(&mut s, TICK + 8 * MS, 42);
    fire_late(&mut s, TICK + 9 * MS, TIMER, 7);
    let tape = s.tape();
    let grades = |name: &str| tape.inputs.iter().find(|i| i.name == name).unwrap().counts;
    assert_eq!(grades("sleep length"), [0, 0, 2, 0]);
    assert_eq!(grades("programmed event"), [1, 0, 1, 0]);
    let c = cpu(&tape, 0);
    let programmed: Vec<u64> =
        stays(&tape, 0).iter().map(|p| p.start_ns.saturating_add_signed(c.programmed_ns(p))).collect();
    assert_eq!(programmed, [TICK + T, TICK + 9 * MS + 5 * US]);
}

/// The wheel's next expiry as CPU 0 sees it, where CPU 1 owns a movable timer three jiffies away and does as told.
fn taken_over(without: &[&'static str], stops: impl Fn(&mut Story, u64)) -> Option<u64> {
    let all = Story::new(2).with_timer_migration();
    let mut s = without.iter().fold(all, |s, begin| s.without(begin));
    s.prelude(0);
    s.switch(1, TICK, RUNNING, 50);
    s.wheel(1, TICK + 2 * US, WHEEL, JIFFY + 3, JIFFY + 3, JIFFY, 1);
    s.rest(1, TICK + 5 * US);
    stops(&mut s, TICK + 6 * US);
    s.idle(1, TICK + 7 * US, 1);
    s.exit(1, TICK + 3 * MS);
    nap(&mut s, TICK + MS, 42);
    let p = stays(&s.tape(), 0)[0];
    (p.wheel_ns != NEVER_NS).then(|| p.start_ns.saturating_add_signed(p.wheel_ns))
}

#[test]
fn an_idle_cpu_that_keeps_its_tick_looks_after_its_own_timers() {
    let far = Some(TICK + 3 * T);
    assert_eq!(taken_over(&["timer_base_idle"], |s, at| s.tick_stop(1, at)), far);
    // Some other stop shows that the recording would tell.
    assert_eq!(taken_over(&["timer_base_idle"], |s, at| s.tick_stop(0, at)), None);
    // So does one that the file describes, and that never came.
    assert_eq!(taken_over(&["timer_base_idle"], |_, _| ()), None);
    // Where none would be recorded, being idle must do.
    assert_eq!(taken_over(&["timer_base_idle", "tick_stop"], |_, _| ()), far);
}

#[test]
fn where_stops_are_not_recorded_the_wheel_tells_that_it_sleeps() {
    let far = Some(TICK + 3 * T);
    assert_eq!(taken_over(&["tick_stop"], |s, at| s.base_idle(1, at, 1)), far);
    assert_eq!(taken_over(&["tick_stop"], |s, at| s.base_idle(0, at, 0)), None);
}

/// Until which time, and how surely, CPU 0 waits for a wheel timer that was armed before the recording began and fires four
/// jiffies later, where `others` are armed, too.
fn waits_for_wheel(others: impl Fn(&mut Story)) -> (Option<u64>, Confidence) {
    let mut s = Story::new(2);
    s.prelude(0);
    s.switch(1, TICK, RUNNING, 50);
    nap(&mut s, TICK + MS, 42);
    s.tick(0, TICK + 4 * T, TICK + 4 * T);
    s.wheel_fires(0, TICK + 4 * T + 10 * US, WHEEL, JIFFY + 4);
    others(&mut s);
    let p = stays(&s.tape(), 0)[0];
    let at = (p.wheel_ns != NEVER_NS).then(|| p.start_ns.saturating_add_signed(p.wheel_ns));
    (at, p.timer_confidence())
}

#[test]
fn a_wheel_timer_that_nobody_armed_is_of_the_kind_that_it_is_later() {
    let later = |flags: u32| {
        move |s: &mut Story| {
            s.wheel(0, TICK + 4 * T + 20 * US, WHEEL, JIFFY + 90, JIFFY + 90, JIFFY + 4, flags);
        }
    };
    let fires = Some(TICK + 4 * T);
    assert_eq!(waits_for_wheel(later(DEFERRABLE)), (None, Confidence::Derived));
    assert_eq!(waits_for_wheel(later(PINNED)), (fires, Confidence::Derived));
}

#[test]
fn else_it_is_of_the_kind_of_all_timers_of_its_function() {
    let other = |s: &mut Story, n: u64, flags| {
        s.wheel(0, TICK + 4 * T + (20 + n) * US, WHEEL + 64 * n, JIFFY + 90, JIFFY + 90, JIFFY + 4, flags);
    };
    let fires = Some(TICK + 4 * T);
    assert_eq!(waits_for_wheel(|s| other(s, 1, DEFERRABLE)), (None, Confidence::Derived));
    assert_eq!(waits_for_wheel(|s| other(s, 1, PINNED)), (fires, Confidence::Derived));
    let both = |s: &mut Story| (other(s, 1, DEFERRABLE), other(s, 2, PINNED)).0;
    let found = waits_for_wheel(both);
    assert_eq!(found.0, fires, "most are timers that an idle CPU waits for");
    assert_eq!(found.1, Confidence::Bounded, "another CPU may look after it");
}

#[test]
fn a_sleeper_armed_its_wheel_timer_when_it_ran_last_a_worker_did_not() {
    let known = |function| {
        let mut s = ticked(1);
        nap(&mut s, TICK + MS, 42);
        s.switch(0, TICK + 2 * MS, RUNNING, 7);
        nap(&mut s, TICK + 2 * MS + 50 * US, 42);
        s.tick(0, TICK + 4 * T, TICK + 4 * T);
        s.wheel_runs(0, TICK + 4 * T + 10 * US, WHEEL + 64, JIFFY + 4, function);
        s.waking(0, TICK + 4 * T + 11 * US, 7, 0);
        let tape = s.tape();
        stays(&tape, 0)
            .iter()
            .map(|p| p.start_ns.saturating_add_signed(p.wheel_ns) == TICK + 4 * T)
            .collect::<Vec<_>>()
    };
    assert_eq!(known(SLEEP_FN), [false, true]);
    assert_eq!(known(WORK_FN), [true, true]);
}

#[test]
fn what_a_stopped_tick_is_armed_for_shows_whether_its_cpu_waits_for_a_wheel_timer() {
    let first_stay = |armed_for: u64| {
        let mut s = Story::new(2).with_timer_migration();
        s.prelude(0);
        s.switch(1, TICK, RUNNING, 50);
        // Another timer shows that those are recorded.
        s.wheel(0, TICK + 9 * US, WHEEL + 64, JIFFY + 5_000, JIFFY + 5_000, JIFFY, PINNED);
        nap(&mut s, TICK + MS, 42);
        s.rest(0, TICK + 2 * MS);
        s.tick_stop(0, TICK + 2 * MS);
        s.arm(0, TICK + 2 * MS, tick_timer(0), TICK_FN, armed_for);
        s.idle(0, TICK + 2 * MS + US, 0);
        s.exit(0, TICK + 3 * MS);
        s.arm(0, TICK + 3 * MS + US, tick_timer(0), TICK_FN, TICK + T);
        s.switch(0, TICK + 3 * MS + 9 * US, RUNNING, 42);
        s.tick(0, TICK + 8 * T, TICK + 8 * T);
        s.wheel_runs(0, TICK + 8 * T + 10 * US, WHEEL, JIFFY + 8, WORK_FN);
        let p = stays(&s.tape(), 0)[0];
        let waits = p.start_ns.saturating_add_signed(p.wheel_ns) == TICK + 8 * T;
        (waits, p.timer_confidence() < Confidence::Bounded)
    };
    assert_eq!(first_stay(TICK + 8 * T), (true, true));
    assert_eq!(first_stay(TICK + 20 * T), (false, true), "another CPU looks after it");
    assert_eq!(first_stay(TICK + 5 * T), (true, false), "a timer of its own came before");
}
