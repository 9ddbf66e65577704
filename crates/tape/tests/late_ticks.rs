// SPDX-License-Identifier: GPL-2.0-only
//! Ticks long after a wake, before the CPU goes back to its task: had the governor been notified of the stay already?

use idlewise_madeinput::story::{RUNNING, Story, T, TICK, TICK_FN, US, has, stays, tick_timer};
use idlewise_model::{Piece, PieceFlags};

/// From the end of the handlers to the switch, where nothing comes in between.
const USUAL: u64 = 10 * US;

/// A CPU that was woken by another many times; the last time at the given time, and its switch is still to come.
fn woken(times: u64) -> (Story, u64) {
    let mut s = Story::new(2);
    s.prelude(0);
    let mut at = TICK + 100 * US;
    for n in 0..=times {
        s.rest(0, at);
        s.idle(0, at + 8 * US, 0);
        s.exit(0, at + 18 * US);
        s.reschedule(0, at + 19 * US, 3 * US);
        if n < times {
            s.switch(0, at + 22 * US + USUAL + n % 3 * 100, RUNNING, 42);
            at += 20 * T / times.max(20);
        }
    }
    (s, at + 22 * US)
}

fn last(s: &Story) -> Piece {
    *stays(&s.tape(), 0).last().unwrap()
}

#[test]
fn a_tick_so_short_before_the_switch_came_after_the_governor_was_told() {
    for (gap, told_before) in [(4 * US, true), (USUAL, false), (50 * US, false)] {
        let (mut s, handled) = woken(200);
        let tick = handled + 200 * US;
        s.tick(0, tick, TICK + 21 * T);
        s.switch(0, tick + 4 * US + gap, RUNNING, 42);
        let p = last(&s);
        assert_eq!(has(&p, PieceFlags::TICK_RAN), !told_before, "{gap}");
        let handler = if told_before { 3 * US } else { 206 * US + US };
        assert!(u64::from(p.handler_ns).abs_diff(handler) <= 2 * US, "{gap}: {}", p.handler_ns);
    }
}

#[test]
fn a_tick_right_behind_the_handlers_or_without_others_to_compare_with_was_before_it() {
    let (mut s, handled) = woken(200);
    s.tick(0, handled + 10 * US, TICK + 21 * T);
    s.switch(0, handled + 16 * US, RUNNING, 42);
    assert!(has(&last(&s), PieceFlags::TICK_RAN));
    let (mut s, handled) = woken(20);
    s.tick(0, handled + 200 * US, TICK + 21 * T);
    s.switch(0, handled + 206 * US, RUNNING, 42);
    assert!(has(&last(&s), PieceFlags::TICK_RAN));
}

#[test]
fn a_tick_of_a_timer_that_the_idle_loop_armed_again_came_after_it() {
    let (mut s, handled) = woken(20);
    s.arm(0, handled + 4 * US, tick_timer(0), TICK_FN, TICK + 21 * T);
    s.tick(0, handled + 200 * US, TICK + 21 * T);
    s.switch(0, handled + 260 * US, RUNNING, 42);
    let p = last(&s);
    assert!(!has(&p, PieceFlags::TICK_RAN));
    assert_eq!(u64::from(p.handler_ns), 4 * US);
}
