// SPDX-License-Identifier: GPL-2.0-only
//! Does a tape say what happened? Small stories with known answers: which idle periods form a visit, how polling ends, what the
//! kernel judged, which governor was asked, and the other inputs.

use idlewise_madeinput::story::{
    JIFFY, MS, OTHER_FN, PINNED, RUNNING, SLEEPS, Story, T, TICK, TICK_FN, TIMER, US, WAITS, WHEEL, cpu, has,
    only, polling_machine, stays, tick_timer, weakest, with_timer,
};
use idlewise_model::{Confidence, HealthKind, NO_LATENCY_LIMIT_NS, Piece, PieceFlags, WakeCause};

// ---- Visits.

#[test]
fn an_interrupt_that_wakes_nobody_parts_a_visit_into_stays() {
    let mut s = with_timer(6 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + 2 * US, 0);
    s.exit(0, TICK + MS + 100 * US);
    s.irq(0, TICK + MS + 101 * US, 9, "eth0", 10 * US);
    s.softirq(0, TICK + MS + 112 * US, 3, 5 * US);
    s.idle(0, TICK + MS + 120 * US, 1);
    s.exit(0, TICK + 3 * MS);
    s.irq(0, TICK + 3 * MS + US, 9, "eth0", 10 * US);
    s.switch(0, TICK + 3 * MS + 20 * US, RUNNING, 42);
    let tape = s.tape();
    let [a, b] = stays(&tape, 0)[..] else { panic!("two stays") };
    assert!(has(&a, PieceFlags::VISIT_START) && !has(&a, PieceFlags::VISIT_END));
    assert!(!has(&b, PieceFlags::VISIT_START) && has(&b, PieceFlags::VISIT_END));
    assert_eq!((u64::from(a.handler_ns), u64::from(a.entry_lag_ns)), (17 * US, 2 * US));
    assert_eq!(u64::from(b.entry_lag_ns), 3 * US, "now is the end of the last handler");
}

#[test]
fn a_tick_may_have_been_stopped_before_the_recording_until_a_stay_shows_it() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.tick_stop(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    // CPU 1 was idle before the recording, and its tick is armed nowhere.
    for (from, to) in [(MS, MS + 50 * US), (2 * MS, 22 * MS), (23 * MS, 23 * MS + 50 * US)] {
        s.idle(1, TICK + from, 0);
        s.exit(1, TICK + to);
        s.irq(1, TICK + to + US, 9, "eth0", 10 * US);
    }
    s.switch(1, TICK + 24 * MS, RUNNING, 42);
    s.rest(1, TICK + 25 * MS);
    s.idle(1, TICK + 25 * MS + US, 0);
    s.exit(1, TICK + 25 * MS + 50 * US);
    s.switch(1, TICK + 25 * MS + 60 * US, RUNNING, 42);
    let tape = s.tape();
    let of = |p: &Piece| {
        let known = has(p, PieceFlags::TICK_KNOWN);
        known.then(|| (has(p, PieceFlags::STOPPED_BEFORE), has(p, PieceFlags::STOPPED_AFTER)))
    };
    let known: Vec<_> = stays(&tape, 1).iter().map(of).collect();
    assert_eq!(known, [None, Some((true, true)), Some((true, true)), Some((false, false))]);
    let stopped = tape.inputs.iter().find(|i| i.name == "tick stopped").unwrap();
    assert_eq!(stopped.counts[Confidence::Bounded as usize], 1, "{:?}", stopped.counts);
}

#[test]
fn a_stopped_tick_that_is_armed_for_the_time_of_the_next_one_is_not_started_again() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.tick_stop(0, TICK + MS);
    s.arm(0, TICK + MS, tick_timer(0), TICK_FN, TICK + 20 * T);
    s.idle(0, TICK + MS + US, 0);
    s.exit(0, TICK + 2 * MS);
    s.irq(0, TICK + 2 * MS + US, 9, "eth0", 10 * US);
    // A wheel timer is due then. It fires, and the idle loop arms it for the next one.
    s.arm(0, TICK + 2 * MS + 12 * US, tick_timer(0), TICK_FN, TICK + T);
    s.idle(0, TICK + 2 * MS + 13 * US, 0);
    s.timer_irq(0, TICK + T + US);
    s.fire(0, TICK + T + 2 * US, tick_timer(0), TICK_FN, TICK + T + US);
    s.timer_irq_end(0, TICK + T + 3 * US);
    s.exit(0, TICK + T + 4 * US);
    s.arm(0, TICK + T + 5 * US, tick_timer(0), TICK_FN, TICK + 20 * T);
    s.idle(0, TICK + T + 6 * US, 0);
    s.exit(0, TICK + T + 100 * US);
    s.switch(0, TICK + T + 110 * US, RUNNING, 42);
    let tape = s.tape();
    let of = |p: &Piece| {
        let bits = [PieceFlags::VISIT_START, PieceFlags::STOPPED_BEFORE, PieceFlags::STOPPED_AFTER];
        bits.map(|bit| has(p, bit))
    };
    let stopped: Vec<_> = stays(&tape, 0).iter().map(of).collect();
    assert_eq!(stopped, [[true, false, true], [false, true, true], [false, true, true]]);
    // The governor had answered when it was armed: what it was given then was later.
    let known: Vec<_> = stays(&tape, 0).iter().map(|p| p.timer_confidence()).collect();
    assert_eq!(known, [Confidence::Recorded, Confidence::Bounded, Confidence::Bounded]);
}

#[test]
fn a_tick_that_the_idle_loop_starts_behind_the_handlers_did_not_run_on() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    s.exit(0, TICK + MS + 20 * US);
    // The tick is stopped when the governor is asked again. Its timer fires for the wheel, and is armed when the visit is over.
    s.tick_stop(0, TICK + MS + 21 * US);
    s.arm(0, TICK + MS + 21 * US, tick_timer(0), TICK_FN, TICK + 20 * T);
    s.idle(0, TICK + MS + 22 * US, 0);
    s.exit(0, TICK + 20 * T + US);
    s.timer_irq(0, TICK + 20 * T + 2 * US);
    s.fire(0, TICK + 20 * T + 3 * US, tick_timer(0), TICK_FN, TICK + 20 * T + 3 * US);
    s.timer_irq_end(0, TICK + 20 * T + 4 * US);
    s.arm(0, TICK + 20 * T + 5 * US, tick_timer(0), TICK_FN, TICK + 21 * T);
    s.switch(0, TICK + 20 * T + 10 * US, RUNNING, 42);
    let starts: Vec<_> = stays(&s.tape(), 0).iter().map(|p| has(p, PieceFlags::VISIT_START)).collect();
    assert_eq!(starts, [true, false]);
}

#[test]
fn a_switch_from_task_to_task_begins_no_visit_and_every_switch_to_idle_begins_one() {
    let mut s = with_timer(200 * MS);
    for k in 0..3 {
        let at = TICK + (k + 1) * MS;
        s.rest(0, at);
        s.idle(0, at + US, 0);
        s.exit(0, at + 50 * US);
        s.switch(0, at + 60 * US, RUNNING, 42);
        s.switch(0, at + 70 * US, RUNNING, 43);
    }
    let tape = s.tape();
    let both = PieceFlags::VISIT_START | PieceFlags::VISIT_END;
    assert_eq!(stays(&tape, 0).iter().filter(|p| has(p, both)).count(), 3);
    assert_eq!(weakest(&tape, "visits"), Confidence::Recorded);
}

#[test]
fn without_sched_events_soon_idle_again_is_the_same_visit() {
    let starts = |gap: u64, task_between: bool| {
        let mut s = with_timer(200 * MS).without("sched");
        s.switch(0, TICK + MS, SLEEPS, 0);
        s.idle(0, TICK + MS, 0);
        s.exit(0, TICK + MS + 50 * US);
        s.irq(0, TICK + MS + 51 * US, 9, "eth0", 4 * US);
        let again = TICK + MS + 55 * US + gap;
        if task_between {
            // An event of a task: the idle task was switched out.
            s.switch(0, again - 5 * US, RUNNING, 42);
            s.irq(0, again - 4 * US, 8, "sda", US);
            s.switch(0, again - 2 * US, SLEEPS, 0);
        }
        s.idle(0, again, 0);
        s.exit(0, again + 50 * US);
        let tape = s.tape();
        assert_eq!(weakest(&tape, "visits"), Confidence::Bounded);
        let flags = |p: &Piece| (has(p, PieceFlags::VISIT_START), has(p, PieceFlags::VISIT_END));
        stays(&tape, 0).iter().map(flags).collect::<Vec<_>>()
    };
    assert_eq!(starts(10 * US, false), [(true, false), (false, true)]);
    assert_eq!(starts(100 * US, false), [(true, true), (true, true)]);
    assert_eq!(starts(10 * US, true), [(true, true), (true, true)]);
}

// ---- Polling.

/// A stay in POLL that ends after 20 us; then the idle task goes on or out.
fn polled(end: impl Fn(&mut Story, u64), goes_on: bool) -> Piece {
    let mut s = with_timer(200 * MS);
    let at = TICK + MS;
    s.rest(0, at);
    s.idle(0, at + US, 0);
    end(&mut s, at + 19 * US);
    s.exit(0, at + 20 * US);
    if goes_on {
        s.idle(0, at + 22 * US, 1);
        s.exit(0, at + 50 * US);
    }
    s.switch(0, at + 60 * US, RUNNING, 42);
    stays(&s.try_tape(&polling_machine()).unwrap(), 0)[0]
}

#[test]
fn polling_ends_by_its_limit_by_another_cpu_or_for_no_known_reason() {
    assert_eq!(polled(|_, _| (), true).cause, WakeCause::PollLimit);
    assert_eq!(polled(|_, _| (), false).cause, WakeCause::Unknown);
    assert_eq!(polled(|s, ts| s.wake_without_ipi(1, ts, 0), false).cause, WakeCause::Ipi);
    assert_eq!(polled(|s, ts| s.waking(1, ts, 42, 0), false).cause, WakeCause::Ipi);
    let own = polled(|s, ts| s.waking(0, ts, 42, 0), false).cause;
    assert_eq!(own, WakeCause::Unknown, "it woke the task itself");
    assert_eq!(polled(|s, ts| s.waking(1, ts, 42, 1), false).cause, WakeCause::Unknown, "for CPU 1 itself");
    assert_eq!(polled(|s, ts| s.irq(0, ts, 9, "eth0", 500), false).cause, WakeCause::Irq);
}

#[test]
fn an_interrupt_behind_the_limit_did_not_end_polling() {
    let cause = |polled_ns: u64| {
        let mut s = with_timer(200 * MS);
        let at = TICK + MS;
        s.rest(0, at);
        s.idle(0, at + US, 0);
        s.exit(0, at + US + polled_ns);
        s.irq(0, at + 2 * US + polled_ns, 9, "eth0", 500);
        s.switch(0, at + 500 * US, RUNNING, 42);
        stays(&s.try_tape(&polling_machine()).unwrap(), 0)[0].cause
    };
    assert_eq!(cause(250 * US), WakeCause::PollLimit);
    assert_eq!(cause(249 * US), WakeCause::Irq, "below the limit, a sixteenth of the tick's period");
}

// ---- The kernel's verdicts.

#[test]
fn misses_go_to_the_stay_that_just_ended() {
    let mut s = with_timer(200 * MS);
    s.miss(0, TICK + 500 * US, 1, true);
    for (k, below) in [(1, Some(true)), (2, None), (3, Some(false))] {
        let at = TICK + k * MS;
        s.rest(0, at);
        s.idle(0, at + US, 1);
        // 900 us are too short for SLEEP; a refusal is shorter still.
        s.exit(0, at + if below.is_some() { 901 } else { 35 } * US);
        if let Some(below) = below {
            s.irq(0, at + 902 * US, 9, "eth0", US);
            s.miss(0, at + 905 * US, 1, below);
        }
        s.switch(0, at + 910 * US, RUNNING, 42);
    }
    let tape = s.tape();
    let bits = [PieceFlags::MISS_ABOVE, PieceFlags::MISS_BELOW, PieceFlags::REJECTED];
    let got: Vec<_> = stays(&tape, 0).iter().map(|p| bits.map(|b| has(p, b))).collect();
    // The second would have been "above" if the driver had entered the state.
    assert_eq!(got[1], [false, false, true]);
    assert_eq!(got[2], [true, false, false]);
    assert!(got[0][1] && !got[0][0]);
    assert_eq!(tape.health.count(HealthKind::MissWithoutStay), 1);
    assert!(tape.notes.iter().any(|n| n.contains("rejected")), "{:?}", tape.notes);
}

#[test]
fn what_lasted_longer_than_a_refusal_was_no_refusal() {
    // Below the target residency, and the kernel counted no miss: it counts none for a state that its driver never entered.
    for (lasts, refused) in [(30 * US, true), (100 * US, true), (101 * US, false), (973 * US, false)] {
        let mut s = with_timer(200 * MS);
        for (n, below) in [(1, Some(false)), (3, None)] {
            let at = TICK + n * 10 * MS;
            s.rest(0, at);
            s.idle(0, at + US, 1);
            s.exit(0, at + US + lasts);
            if let Some(below) = below {
                s.miss(0, at + lasts + 5 * US, 1, below);
            }
            s.switch(0, at + lasts + 9 * US, RUNNING, 42);
        }
        let got: Vec<bool> = stays(&s.tape(), 0).iter().map(|p| has(p, PieceFlags::REJECTED)).collect();
        assert_eq!(got, [false, refused], "{lasts} ns");
    }
}

#[test]
fn where_misses_are_not_recorded_nothing_counts_as_rejected() {
    let mut s = with_timer(200 * MS).without("cpu_idle_miss");
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 1);
    s.exit(0, TICK + MS + 10 * US);
    s.switch(0, TICK + 2 * MS, RUNNING, 42);
    assert!(!has(&only(&s.tape()), PieceFlags::REJECTED));
}

// ---- No governor.

#[test]
fn an_entry_without_a_recorded_choice_is_no_governors() {
    let mut s = with_timer(200 * MS);
    let mut rest = |n: u64, chosen: bool, lost: bool| {
        let at = TICK + n * MS;
        if lost {
            s.lost(0, at, 3);
        }
        s.rest(0, at);
        if chosen {
            s.chosen(0, at + 2 * US, 1);
        }
        s.idle(0, at + 5 * US, 1);
        s.exit(0, at + 300 * US);
        s.switch(0, at + 305 * US, RUNNING, 42);
    };
    rest(1, true, false);
    rest(2, false, false);
    rest(3, true, false);
    let tape = s.tape();
    let states: Vec<u8> = stays(&tape, 0).iter().map(|p| p.state).collect();
    assert_eq!(states, [1, Piece::NO_GOVERNOR, 1]);
    assert!(stays(&tape, 0).iter().all(|p| !has(p, PieceFlags::REJECTED)));
    // Where no governor records what it chooses, nothing is missing.
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + 5 * US, 1);
    s.exit(0, TICK + 2 * MS);
    s.switch(0, TICK + 3 * MS, RUNNING, 42);
    assert_eq!(only(&s.tape()).state, 1);
}

// ---- Other inputs.

#[test]
fn the_latency_limit_follows_its_events() {
    let mut s = with_timer(200 * MS);
    s.latency_limit(0, TICK + 100 * US, 30);
    s.latency_limit(0, TICK + 200 * US, 0);
    s.latency_limit(0, TICK + 300 * US, 2_000_000_000);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 1);
    s.exit(0, TICK + 2 * MS);
    s.switch(0, TICK + 3 * MS, RUNNING, 42);
    let tape = s.tape();
    let changes: Vec<_> = cpu(&tape, 0).latency.iter().map(|c| (c.at_ns, c.value)).collect();
    assert_eq!(
        changes,
        [(TICK + 100 * US, 30_000), (TICK + 200 * US, 0), (TICK + 300 * US, NO_LATENCY_LIMIT_NS)]
    );
    assert_eq!(weakest(&tape, "latency limit"), Confidence::Recorded);
}

#[test]
fn tasks_that_wait_for_io_are_counted_where_they_went_to_sleep_until_they_are_woken() {
    let mut s = with_timer(200 * MS);
    s.switch(0, TICK + 20 * US, WAITS, 7);
    s.switch(0, TICK + 30 * US, WAITS, 0);
    s.idle(0, TICK + 40 * US, 0);
    s.exit(0, TICK + 50 * US);
    s.irq(0, TICK + 51 * US, 9, "eth0", US);
    // Woken by an interrupt of another CPU.
    s.waking(1, TICK + 55 * US, 1, 1);
    s.idle(0, TICK + 60 * US, 0);
    s.exit(0, TICK + 70 * US);
    s.waking(0, TICK + 71 * US, 7, 0);
    s.switch(0, TICK + 80 * US, RUNNING, 7);
    s.switch(0, TICK + 90 * US, SLEEPS, 0);
    s.idle(0, TICK + 95 * US, 0);
    s.exit(0, TICK + 99 * US);
    s.switch(0, TICK + 100 * US, RUNNING, 7);
    let iowait: Vec<u16> = stays(&s.tape(), 0).iter().map(|p| p.iowait).collect();
    assert_eq!(iowait, [2, 1, 0]);
}

#[test]
fn utilisation_is_high_after_work_and_decays_by_half_in_32_ms() {
    let mut s = Story::new(2);
    s.prelude(0);
    let at = TICK + 1_000 * MS;
    s.rest(0, at - 900 * MS);
    s.switch(0, at - 900 * MS + US, RUNNING, 42);
    s.rest(0, at);
    s.idle(0, at + US, 0);
    s.exit(0, at + 32 * MS);
    s.switch(0, at + 32 * MS + US, RUNNING, 43);
    s.switch(0, at + 32 * MS + 2 * US, SLEEPS, 0);
    s.idle(0, at + 32 * MS + 3 * US, 0);
    s.exit(0, at + 40 * MS);
    s.switch(0, at + 41 * MS, RUNNING, 42);
    let tape = s.tape();
    let util: Vec<u16> = stays(&tape, 0).iter().map(|p| p.util).collect();
    assert!((1010..=1024).contains(&util[0]), "{util:?}");
    assert!((490..=530).contains(&util[1]), "{util:?}");
}

#[test]
fn a_trace_clock_that_runs_through_a_suspend_leaves_timers_on_theirs() {
    const ASLEEP: u64 = 30_000 * MS;
    let due = 40 * MS;
    let told = |asleep: u64| {
        let mut s = Story::new(1).clock("boot");
        s.prelude(0);
        s.arm(0, TICK + 10 * US, TIMER, OTHER_FN, TICK + due);
        s.wheel(0, TICK + 10 * US, WHEEL, JIFFY + 20, JIFFY + 20, JIFFY, PINNED);
        for k in 1..=5 {
            s.tick(0, TICK + k * T + US + asleep, TICK + k * T);
        }
        let at = TICK + 5 * T + asleep;
        s.rest(0, at + MS);
        s.idle(0, at + MS + 5 * US, 0);
        s.exit(0, TICK + due + asleep + 10 * US);
        s.timer_irq(0, TICK + due + asleep + 11 * US);
        s.fire(0, TICK + due + asleep + 12 * US, TIMER, OTHER_FN, TICK + due + 11 * US);
        s.timer_irq_end(0, TICK + due + asleep + 15 * US);
        s.switch(0, TICK + due + asleep + 20 * US, RUNNING, 42);
        s.tape()
    };
    let (awake, suspended) = (told(0), told(ASLEEP));
    let (plain, p) = (only(&awake), only(&suspended));
    assert_eq!((p.cause, p.start_ns), (plain.cause, plain.start_ns + ASLEEP));
    // What the ticks' handlers were late is not distinguished from the jump.
    for (of_p, of_plain) in [(p.wake_ns as i64, plain.wake_ns as i64), (p.hrtimer_ns, plain.hrtimer_ns)] {
        assert!(of_p.abs_diff(of_plain) <= 2 * US, "{p:#?} {plain:#?}");
    }
    assert!(p.wheel_ns.abs_diff(plain.wheel_ns) <= 2 * US, "{p:#?} {plain:#?}");
    assert!(awake.notes.iter().all(|n| !n.contains("clock goes")), "{:?}", awake.notes);
    let told: Vec<_> = suspended.notes.iter().filter(|n| n.contains("by 30.000 s at 40.004 s")).collect();
    assert_eq!(told.len(), 1, "{:?}", suspended.notes);
}
