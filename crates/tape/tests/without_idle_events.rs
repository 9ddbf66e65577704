// SPDX-License-Identifier: GPL-2.0-only
//! What becomes of a recording of the scheduler alone: idle is the time of the idle task.

use idlewise_madeinput::story::*;
use idlewise_model::*;

/// Start and stay of each of CPU 0's pieces, from [`TICK`], and its cause.
fn brief(tape: &Tape) -> Vec<(u64, u64, WakeCause)> {
    stays(tape, 0).iter().map(|p| (p.start_ns - TICK, p.stay_ns(), p.cause)).collect()
}

/// One visit of CPU 0, from 1 ms after the tick on, with `inside` in it.
fn visit(mut s: Story, inside: impl Fn(&mut Story), end: u64) -> Tape {
    s.rest(0, TICK + MS);
    inside(&mut s);
    s.switch(0, TICK + end, RUNNING, 42);
    s.tape()
}

#[test]
fn a_visit_without_interrupts_is_one_stay_of_an_unknown_state() {
    let s =
        Story::new(1).without("cpu_idle").without("hrtimer").without("timer").without("irq").without("local");
    let tape = visit(s, |_| (), 3 * MS);
    let p = only(&tape);
    assert_eq!(brief(&tape), [(MS, 2 * MS, WakeCause::Unknown)]);
    assert_eq!((p.state, p.exit_lag_ns, p.response_ns), (Piece::NO_STATE, 0, 0));
    assert!(has(&p, PieceFlags::VISIT_START | PieceFlags::VISIT_END));
    assert_eq!(cpu(&tape, 0).usable, TapeCpu::Usable);
    assert_eq!(weakest(&tape, "kernel's states"), Confidence::Assumed);
    assert_eq!(
        (weakest(&tape, "wake"), weakest(&tape, "visits")),
        (Confidence::Bounded, Confidence::Bounded)
    );
    assert!(tape.notes.iter().any(|n| n.contains("no cpu_idle events")), "{:?}", tape.notes);
    assert!(tape.health.is_empty(), "{:?}", tape.health);
}

#[test]
fn an_interrupt_parts_a_visit_and_the_last_one_wakes_the_task() {
    let inside = |s: &mut Story| {
        s.irq(0, TICK + 2 * MS, 9, "eth0", 4 * US);
        s.reschedule(0, TICK + 3 * MS, 2 * US);
    };
    let tape = visit(with_timer(200 * MS).without("cpu_idle"), inside, 3 * MS + 5 * US);
    assert_eq!(
        brief(&tape),
        [(MS, MS, WakeCause::Irq), (2 * MS + 4 * US, MS - 4 * US, WakeCause::Ipi)],
        "the second stay begins when the handler is done"
    );
    let [a, b] = stays(&tape, 0)[..] else { panic!("two stays") };
    assert_eq!((a.flags.has(PieceFlags::VISIT_END), b.flags.has(PieceFlags::VISIT_START)), (false, false));
    assert_eq!((a.handler_ns, b.handler_ns), (4_000, 2_000));
}

#[test]
fn a_late_switch_after_an_interrupt_shows_that_the_cpu_slept_again() {
    let inside = |s: &mut Story| s.irq(0, TICK + 2 * MS, 9, "eth0", 4 * US);
    let tape = visit(with_timer(200 * MS).without("cpu_idle"), inside, 3 * MS);
    let stays = brief(&tape);
    assert_eq!(stays[1], (2 * MS + 4 * US, MS - 4 * US, WakeCause::Unknown));
}

#[test]
fn timers_and_a_stopped_tick_are_known_as_with_idle_events() {
    // The tick is stopped behind the switch to the idle task, and its timer armed for the wheel.
    let inside = |s: &mut Story| {
        s.tick_stop(0, TICK + MS + US);
        s.arm(0, TICK + MS + 2 * US, tick_timer(0), TICK_FN, TICK + 9 * T);
        s.timer_irq(0, TICK + 12 * MS);
        s.fire(0, TICK + 12 * MS + US, TIMER, OTHER_FN, TICK + 12 * MS);
        s.timer_irq_end(0, TICK + 12 * MS + 2 * US);
    };
    let tape = visit(with_timer(11 * MS).without("cpu_idle"), inside, 12 * MS + 4 * US);
    let p = only(&tape);
    assert!(has(&p, PieceFlags::STOPPED_AFTER | PieceFlags::TICK_KNOWN));
    assert_eq!((p.hrtimer_ns, p.wheel_ns), ((10 * MS) as i64, (9 * T - MS) as i64));
    assert_eq!((p.cause, p.wake_ns, p.response_ns), (WakeCause::Hrtimer, 10 * MS, 1_000_000));
    assert_eq!(p.timer_confidence(), Confidence::Recorded);
}

#[test]
fn ticks_in_the_idle_task_are_ticks() {
    let inside = |s: &mut Story| s.tick(0, TICK + T + US, TICK + T);
    let tape = visit(with_timer(200 * MS).without("cpu_idle"), inside, T + 2 * MS);
    let causes: Vec<WakeCause> = stays(&tape, 0).iter().map(|p| p.cause).collect();
    assert_eq!(causes, [WakeCause::Tick, WakeCause::Unknown]);
    assert!(has(&stays(&tape, 0)[0], PieceFlags::TICK_RAN));
}
