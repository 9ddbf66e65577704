// SPDX-License-Identifier: GPL-2.0-only
//! What becomes of a recording that lacks something: events of a group, of a time, of a CPU.

use std::path::Path;

use idlewise_madeinput::story::*;
use idlewise_model::*;
use idlewise_tape::TapeError;
use idlewise_trace::TraceFile;

#[test]
fn a_cpu_whose_idle_events_are_missing_is_left_out_with_the_reason() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.exit(0, TICK + 2 * MS);
    s.switch(0, TICK + 3 * MS, RUNNING, 42);
    for k in 1..4 {
        s.rest(1, TICK + k * MS);
        s.switch(1, TICK + k * MS + 100 * US, RUNNING, 50);
    }
    let tape = s.tape();
    assert_eq!(cpu(&tape, 0).usable, TapeCpu::Usable);
    let TapeCpu::Unusable(why) = &cpu(&tape, 1).usable else { panic!("usable") };
    assert!(why.contains("switched to its idle task 3 times"), "{why}");
}

#[test]
fn a_cpu_that_was_never_idle_is_left_out_with_another_reason() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.exit(0, TICK + 2 * MS);
    s.switch(0, TICK + 3 * MS, RUNNING, 42);
    s.switch(1, TICK + MS, RUNNING, 50);
    let TapeCpu::Unusable(why) = cpu(&s.tape(), 1).usable.clone() else { panic!("usable") };
    assert!(why.contains("never idle") && !why.contains("switched"), "{why}");
}

#[test]
fn entries_without_an_exit_are_named() {
    let story = |exits: bool| {
        let mut s = with_timer(200 * MS);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS, 0);
        if exits {
            s.exit(0, TICK + 2 * MS);
            s.switch(0, TICK + 3 * MS, RUNNING, 42);
        }
        s.rest(1, TICK + MS);
        s.idle(1, TICK + MS, 0);
        s
    };
    let TapeCpu::Unusable(why) = cpu(&story(true).tape(), 1).usable.clone() else { panic!("usable") };
    assert!(why.contains("no exit from idle (1 entry)"), "{why}");
    let none = story(false).try_tape(&machine()).unwrap_err().to_string();
    assert!(none.contains("cpu_idle events of entries, and none of an exit"), "{none}");
}

#[test]
fn a_trace_without_idle_events_says_what_it_has_and_how_to_record() {
    let mut s = with_timer(6 * MS).without("cpu_idle");
    s.switch(0, TICK + MS, RUNNING, 41);
    s.idle(0, TICK + MS, 0);
    s.switch(0, TICK + 2 * MS, RUNNING, 42);
    let error = s.try_tape(&machine()).unwrap_err();
    assert!(matches!(error, TapeError::NoIdle { .. }));
    let text = error.to_string();
    for part in ["story.dat", "cpu_idle", "power", "hrtimer_start 4", "sched_switch 2"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn a_trace_without_idle_events_that_was_cut_off_is_to_be_copied_again() {
    let mut bytes = with_timer(6 * MS).write();
    bytes.truncate(bytes.len() - 4096);
    let trace = TraceFile::from_bytes(Path::new("cut.dat"), bytes).unwrap();
    let text = idlewise_tape::make(&trace, "cut.dat", &machine(), "menu").unwrap_err().to_string();
    for part in ["cut.dat", "copy the file again", "ends in the middle", "events here: none"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("trace-cmd record"), "{text}");
}

#[test]
fn an_exit_without_entry_and_an_entry_without_exit_are_counted_and_left_out() {
    let mut s = with_timer(200 * MS);
    s.exit(0, TICK + 100 * US);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.exit(0, TICK + MS + 50 * US);
    s.idle(0, TICK + MS + 60 * US, 1);
    // A second entry without the exit between.
    s.idle(0, TICK + MS + 70 * US, 0);
    s.exit(0, TICK + MS + 90 * US);
    s.switch(0, TICK + MS + 99 * US, RUNNING, 42);
    s.rest(0, TICK + 2 * MS);
    s.idle(0, TICK + 2 * MS, 1);
    let tape = s.tape();
    let starts: Vec<u64> = stays(&tape, 0).iter().map(|p| p.start_ns).collect();
    assert_eq!(starts, [TICK + MS, TICK + MS + 70 * US]);
    assert_eq!(tape.health.count(HealthKind::ExitWithoutEntry), 1);
    assert_eq!(tape.health.count(HealthKind::EntryWithoutExit), 2);
    let first = tape.health.iter().find(|h| h.0 == HealthKind::ExitWithoutEntry).unwrap().1.first.clone();
    assert!(first.contains("CPU 0 at 10.000100700 s"), "{first}");
}

#[test]
fn a_stay_that_ended_is_kept_although_the_recording_ends_before_the_switch() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.exit(0, TICK + MS + 50 * US);
    let tape = s.tape();
    assert_eq!(only(&tape).stay_ns(), 50 * US);
    assert_eq!(tape.health.count(HealthKind::EntryWithoutExit), 0);
}

#[test]
fn lost_events_cost_the_stay_in_which_they_were_lost_and_mark_the_next() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.lost(0, TICK + 2 * MS, 12);
    // Whatever this exit belongs to, it is not that entry.
    s.exit(0, TICK + 3 * MS);
    s.idle(0, TICK + 3 * MS + 10 * US, 1);
    s.exit(0, TICK + 5 * MS);
    s.switch(0, TICK + 5 * MS + 9 * US, RUNNING, 42);
    s.rest(0, TICK + 6 * MS);
    s.idle(0, TICK + 6 * MS, 0);
    s.exit(0, TICK + 7 * MS);
    s.switch(0, TICK + 7 * MS + 9 * US, RUNNING, 42);
    let tape = s.tape();
    let brief: Vec<_> = stays(&tape, 0).iter().map(|p| (p.start_ns, has(p, PieceFlags::AFTER_GAP))).collect();
    assert_eq!(brief, [(TICK + 3 * MS + 10 * US, true), (TICK + 6 * MS, false)]);
    assert_eq!(tape.health.count(HealthKind::LostEvents), 12);
    assert_eq!(tape.health.count(HealthKind::ExitWithoutEntry), 1);
}

#[test]
fn lost_events_of_one_cpu_leave_the_others_alone() {
    let mut s = with_timer(200 * MS);
    for c in [0, 1] {
        s.rest(c, TICK + MS);
        s.idle(c, TICK + MS, 0);
    }
    s.lost(1, TICK + 2 * MS, 1);
    s.exit(1, TICK + 3 * MS);
    s.exit(0, TICK + 3 * MS);
    s.switch(0, TICK + 3 * MS + US, RUNNING, 42);
    let p = only(&s.tape());
    assert_eq!((p.stay_ns(), has(&p, PieceFlags::AFTER_GAP)), (2 * MS, false));
}

#[test]
fn a_state_that_the_platform_lacks_is_counted_with_its_place() {
    let mut s = with_timer(200 * MS);
    for state in [1, 2, 9] {
        let at = TICK + u64::from(state) * MS;
        s.rest(0, at);
        s.idle(0, at + US, state);
        s.exit(0, at + 50 * US);
        s.switch(0, at + 60 * US, RUNNING, 42);
    }
    let tape = s.tape();
    assert_eq!(tape.health.count(HealthKind::StateOutOfTable), 2);
    let first = tape.health.iter().find(|h| h.0 == HealthKind::StateOutOfTable).unwrap().1.first.clone();
    assert!(first.contains("state 2") && first.contains("CPU 0"), "{first}");
    assert_eq!(stays(&tape, 0).len(), 3);
}

#[test]
fn a_state_number_beyond_a_byte_is_not_mistaken_for_a_small_one() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 256);
    s.exit(0, TICK + 2 * MS);
    s.switch(0, TICK + 3 * MS, RUNNING, 42);
    assert_eq!(only(&s.tape()).state, Piece::NO_STATE);
}

#[test]
fn a_cpu_that_the_platform_lacks_still_has_its_stays() {
    let mut s = with_timer(200 * MS);
    s.rest(1, TICK + MS);
    s.idle(1, TICK + MS, 1);
    s.exit(1, TICK + 2 * MS);
    s.switch(1, TICK + 3 * MS, RUNNING, 42);
    let tape = s.try_tape(&states("0", &[("WFI", 1, 1, false)])).unwrap();
    assert_eq!((stays(&tape, 1).len(), tape.health.count(HealthKind::StateOutOfTable)), (1, 0));
}

#[test]
fn without_timer_events_the_timer_is_the_one_that_woke_and_a_bound_elsewhere() {
    let mut s = Story::new(1).without("hrtimer_").without("timer_");
    s.prelude(0);
    // Stays of 1 ms: an interrupt, then a timer interrupt off the grid, then an interrupt.
    for k in 0..3u64 {
        let at = TICK + (k + 1) * 2 * T + MS;
        s.rest(0, at);
        s.idle(0, at, 0);
        s.exit(0, at + MS);
        if k == 1 {
            s.timer_irq(0, at + MS + US);
            s.timer_irq_end(0, at + MS + 3 * US);
        } else {
            s.irq(0, at + MS + US, 9, "eth0", US);
        }
        s.switch(0, at + MS + 9 * US, RUNNING, 42);
    }
    let tape = s.tape();
    let [a, b, c] = stays(&tape, 0)[..] else { panic!("three stays") };
    assert_eq!([a.cause, b.cause, c.cause], [WakeCause::Irq, WakeCause::Timer, WakeCause::Irq]);
    let at = |p: &Piece| p.start_ns as i64 + p.hrtimer_ns.min(p.wheel_ns);
    let woke = (b.start_ns + b.wake_ns) as i64;
    assert_eq!((at(&a), at(&b)), (woke, woke), "the interrupt came before the next timer that was seen");
    assert_eq!((c.hrtimer_ns, c.wheel_ns), (NEVER_NS, NEVER_NS), "none was seen afterwards");
    assert_eq!(
        [a, b, c].map(|p| p.timer_confidence()),
        [Confidence::Bounded, Confidence::Bounded, Confidence::Assumed],
        "the second may have been a tick, whose grid is assumed"
    );
    let how = &tape.inputs.iter().find(|i| i.name == "sleep length").unwrap().how;
    assert!(how.contains("no hrtimer events"), "{how}");
}

#[test]
fn without_timer_names_a_timer_interrupt_right_behind_a_tick_is_the_tick() {
    let mut s = Story::new(1).without("hrtimer_").without("timer_").without("softirq");
    // Where the ticks lie is shown by many; else any timer might be one.
    for tick in 3..63 {
        s.timer_irq(0, tick * T + US);
        s.timer_irq_end(0, tick * T + 5 * US);
    }
    let at = 63 * T;
    s.rest(0, at + MS);
    s.idle(0, at + MS + US, 0);
    s.exit(0, at + T + 20 * US);
    s.timer_irq(0, at + T + 21 * US);
    s.timer_irq_end(0, at + T + 25 * US);
    s.idle(0, at + T + 30 * US, 0);
    s.exit(0, at + T + 500 * US);
    s.timer_irq(0, at + T + 501 * US);
    s.timer_irq_end(0, at + T + 505 * US);
    s.switch(0, at + T + 600 * US, RUNNING, 42);
    let tape = s.tape();
    let [a, b] = stays(&tape, 0)[..] else { panic!("two stays") };
    assert_eq!((a.cause, a.start_ns + a.wake_ns), (WakeCause::Tick, at + T));
    assert_eq!(b.cause, WakeCause::Timer);
}

#[test]
fn every_input_is_graded_for_every_stay() {
    let mut s = with_timer(200 * MS);
    for k in 1..6 {
        s.rest(0, TICK + k * MS);
        s.idle(0, TICK + k * MS + US, 0);
        s.exit(0, TICK + k * MS + 20 * US);
        s.switch(0, TICK + k * MS + 30 * US, RUNNING, 42);
    }
    let tape = s.tape();
    let names: Vec<&str> = tape.inputs.iter().map(|i| i.name.as_str()).collect();
    for name in [
        "wake",
        "sleep length",
        "visits",
        "tick grid",
        "tick stopped",
        "utilisation",
        "iowait",
        "latency limit",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for input in &tape.inputs {
        assert_eq!(input.counts.iter().sum::<u64>(), 5, "{}", input.name);
        assert!(!input.how.is_empty());
    }
    assert_eq!(weakest(&tape, "disabled states"), Confidence::Assumed);
}

#[test]
fn a_tape_names_its_source_and_carries_its_machine() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    s.exit(0, TICK + 2 * MS);
    s.switch(0, TICK + 3 * MS, RUNNING, 42);
    let tape = s.tape();
    let source = &tape.source;
    assert_eq!(
        (source.name.as_str(), source.clock.as_str(), source.governor.as_str()),
        ("story.dat", "mono", "menu")
    );
    assert_eq!((source.first_ns, source.last_ns), (TICK - 2 * T + US, TICK + 3 * MS));
    assert_eq!(source.hash, s.trace().meta().hash);
    assert_eq!(source.events, 3 * 4 + 1 + 4, "three ticks, the timer, the visit");
    let back = idlewise_platform::Platform::from_toml(&source.machine, "tape").unwrap();
    assert_eq!(back.clusters, machine().clusters);
    // On disk and back.
    let bytes = idlewise_tape::file::write(&tape).unwrap();
    assert_eq!(idlewise_tape::file::read(&bytes).unwrap(), tape);
}

#[test]
fn the_same_trace_gives_the_same_tape() {
    let mut s = with_timer(6 * MS);
    for k in 1..40 {
        s.rest(0, TICK + k * MS);
        s.idle(0, TICK + k * MS + US, (k % 2) as u32);
        s.exit(0, TICK + k * MS + 20 * k * US);
        s.irq(0, TICK + k * MS + 20 * k * US, 9, "eth0", US);
        s.switch(0, TICK + k * MS + 950 * US, RUNNING, 42);
    }
    let write = || idlewise_tape::file::write(&s.tape()).unwrap();
    assert_eq!(write(), write());
}

#[test]
fn without_sched_events_a_stop_just_before_the_entry_counts_for_it() {
    let mut s = with_timer(200 * MS).without("sched");
    s.switch(0, TICK + MS, SLEEPS, 0);
    s.idle(0, TICK + MS, 0);
    s.exit(0, TICK + MS + 50 * US);
    s.irq(0, TICK + MS + 51 * US, 9, "eth0", 4 * US);
    s.tick_stop(0, TICK + 2 * MS - 2 * US);
    s.idle(0, TICK + 2 * MS, 1);
    s.exit(0, TICK + 12 * MS);
    let t = s.tape();
    let p = stays(&t, 0)[1];
    assert!(p.flags.has(PieceFlags::VISIT_START | PieceFlags::TICK_KNOWN));
    assert!(p.flags.has(PieceFlags::STOPPED_AFTER));
}
#[test]
fn without_softirqs_any_tick_that_goes_on_may_be_kept_for_rcu() {
    let known = |without: &'static str| {
        let mut s = with_timer(200 * MS).without(without);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS, 0);
        s.exit(0, TICK + MS + 50 * US);
        s.switch(0, TICK + MS + 60 * US, RUNNING, 42);
        s.rest(0, TICK + 2 * MS);
        s.tick_stop(0, TICK + 2 * MS);
        s.idle(0, TICK + 2 * MS, 0);
        s.exit(0, TICK + 20 * MS);
        s.switch(0, TICK + 20 * MS + 9 * US, RUNNING, 42);
        stays(&s.tape(), 0).iter().map(|p| p.timer_confidence() < Confidence::Bounded).collect::<Vec<_>>()
    };
    assert_eq!(known("xen"), [true, true]);
    assert_eq!(known("softirq"), [false, true], "one that was stopped is not");
}

#[test]
fn a_late_tick_looks_like_a_stopped_one_and_makes_no_stop_certain() {
    let mut s = with_timer(200 * MS).without("tick_stop");
    s.base_idle(1, TICK, 1);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.exit(0, TICK + T + 3 * MS);
    s.switch(0, TICK + T + 3 * MS + 9 * US, RUNNING, 42);
    let t = s.tape();
    let p = stays(&t, 0)[0];
    assert!(p.flags.has(PieceFlags::STOPPED_AFTER) && !p.flags.has(PieceFlags::TICK_KNOWN));
    assert_eq!(weakest(&t, "tick stopped"), Confidence::Bounded);
}

#[test]
fn after_a_gap_a_stopped_tick_is_forgotten() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.tick_stop(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.lost(0, TICK + 2 * MS, 12);
    s.idle(0, TICK + 3 * MS + 10 * US, 1);
    s.exit(0, TICK + 4 * MS);
    s.switch(0, TICK + 5 * MS + 9 * US, RUNNING, 42);
    let t = s.tape();
    let p = stays(&t, 0)[0];
    assert!(p.flags.has(PieceFlags::AFTER_GAP));
    assert!(
        !p.flags.has(PieceFlags::STOPPED_AFTER) || !p.flags.has(PieceFlags::TICK_KNOWN),
        "{:b}",
        p.flags.0
    );
}

#[test]
fn a_clock_that_jumps_makes_no_stay() {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 1);
    let year = 365 * 24 * 3_600_000 * MS;
    s.exit(0, TICK + year);
    s.switch(0, TICK + year + US, RUNNING, 42);
    s.rest(0, TICK + year + MS);
    s.idle(0, TICK + year + MS + US, 1);
    s.exit(0, TICK + year + 2 * MS);
    s.switch(0, TICK + year + 2 * MS + US, RUNNING, 42);
    let t = s.tape();
    let stays: Vec<u64> = stays(&t, 0).iter().map(Piece::stay_ns).collect();
    assert_eq!(stays, [MS - US]);
    assert!(t.health.count(HealthKind::ClockJump) > 0);
}

#[test]
fn a_clock_that_goes_back_makes_no_stay() {
    let line = |at: &str, state: u32| {
        format!("          <idle>-0     [000] d..1.   {at}: cpu_idle: state={state} cpu_id=0\n")
    };
    let text = "# tracer: nop\n".to_owned()
        + &line("10.000000", 1)
        + &line("10.002000", u32::MAX)
        + &line("10.005000", 1)
        + &line("3.000000", u32::MAX)
        + &line("3.001000", 1)
        + &line("3.004000", u32::MAX)
        + &line("11.000000", 1)
        + &line("11.007000", u32::MAX);
    let trace = TraceFile::from_bytes(Path::new("back.txt"), text.into_bytes()).unwrap();
    let t = idlewise_tape::make(&trace, "back.txt", &machine(), "menu").unwrap();
    let stays: Vec<u64> = stays(&t, 0).iter().map(Piece::stay_ns).collect();
    assert_eq!(stays, [2 * MS, 7 * MS], "what lies before the end of a stay is no stay");
    assert_eq!(t.health.count(HealthKind::ClockBackwards), 1);
    assert_eq!(t.health.count(HealthKind::Ignored), 1);
}

#[test]
fn a_recording_at_the_end_of_time_is_survived() {
    for first in [u64::MAX - 3 * MS, (1 << 63) - 2 * MS, LATEST_NS - MS - 5 * US] {
        let mut s = Story::new(1).without("hrtimer");
        s.rest(0, first);
        s.idle(0, first + US, 1);
        s.exit(0, first + MS);
        s.timer_irq(0, first + MS + US);
        s.timer_irq_end(0, first + MS + 2 * US);
        s.switch(0, first + MS + 9 * US, RUNNING, 42);
        if first >= LATEST_NS {
            let said = s.try_tape(&machine()).unwrap_err().to_string();
            assert!(
                said.contains("leaves out 6 events that do not fit their format (first: CPU 0 at"),
                "{said}"
            );
        } else {
            let t = s.tape();
            assert!(stays(&t, 0).iter().all(|p| p.wake_ns <= MS), "{first}");
            let out = t.health.count(HealthKind::BadEvent);
            assert_eq!((stays(&t, 0).len(), out), (1, 1), "the switch that comes too late");
        }
    }
}
