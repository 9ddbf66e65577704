// SPDX-License-Identifier: GPL-2.0-only
//! Does a tape say what happened? Small stories with known answers: who woke the CPU and when, what was pending, what
//! became of the tick.

use idlewise_madeinput::story::{
    DEFERRABLE, JIFFY, MS, OTHER_FN, PINNED, RCU_SOFTIRQ, RUNNING, Story, T, TICK, TICK_FN, TIMER,
    TIMER_SOFTIRQ, US, WHEEL, cpu, has, machine, only, stays, tick_timer, weakest, with_timer,
};
use idlewise_model::{Confidence, NEVER_NS, PieceFlags, Tape, WakeCause};

// ---- Who woke the CPU, and when.

#[test]
fn what_follows_the_tick_in_one_wake_did_not_wake() {
    let mut s = with_timer(2 * T + 25 * US);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + 5 * US, 0);
    s.exit(0, TICK + T + 10 * US);
    s.tick(0, TICK + T + 11 * US, TICK + T);
    s.reschedule(0, TICK + T + 30 * US, US);
    s.idle(0, TICK + T + 40 * US, 0);
    s.exit(0, TICK + 2 * T + 10 * US);
    s.tick(0, TICK + 2 * T + 11 * US, TICK + 2 * T);
    // Due in between: an interrupt of its own.
    s.timer_irq(0, TICK + 2 * T + 30 * US);
    s.fire(0, TICK + 2 * T + 31 * US, TIMER, OTHER_FN, TICK + 2 * T + 30 * US);
    s.timer_irq_end(0, TICK + 2 * T + 33 * US);
    s.idle(0, TICK + 2 * T + 40 * US, 0);
    s.exit(0, TICK + 3 * T + 10 * US);
    s.tick(0, TICK + 3 * T + 11 * US, TICK + 3 * T);
    s.switch(0, TICK + 3 * T + 30 * US, RUNNING, 42);
    let got: Vec<_> = stays(&s.tape(), 0)
        .iter()
        .map(|p| (p.cause, p.start_ns + p.wake_ns - TICK, has(p, PieceFlags::MORE_CAME)))
        .collect();
    assert_eq!(
        got,
        [(WakeCause::Tick, T, true), (WakeCause::Tick, 2 * T, true), (WakeCause::Tick, 3 * T, false)]
    );
}

#[test]
fn a_wake_by_a_hrtimer_is_dated_at_its_expiry() {
    let due = 6 * MS;
    let mut s = with_timer(due);
    s.rest(0, TICK + MS);
    s.tick_stop(0, TICK + MS + 3 * US);
    s.cancel(0, TICK + MS + 3 * US, tick_timer(0));
    s.idle(0, TICK + MS + 5 * US, 1);
    s.exit(0, TICK + due + 250 * US);
    s.timer_irq(0, TICK + due + 251 * US);
    s.fire(0, TICK + due + 252 * US, TIMER, OTHER_FN, TICK + due + 251 * US);
    s.timer_irq_end(0, TICK + due + 255 * US);
    s.switch(0, TICK + due + 260 * US, RUNNING, 42);
    let p = only(&s.tape());
    assert_eq!((p.cause, p.state), (WakeCause::Hrtimer, 1));
    assert_eq!((p.start_ns, p.wake_ns), (TICK + MS + 5 * US, due - MS - 5 * US));
    assert_eq!((u64::from(p.exit_lag_ns), u64::from(p.response_ns)), (250 * US, 250 * US));
    assert_eq!((u64::from(p.handler_ns), u64::from(p.entry_lag_ns)), (5 * US, 5 * US));
    assert_eq!((p.hrtimer_ns as u64, p.wheel_ns), (p.wake_ns, NEVER_NS));
    let known =
        PieceFlags::VISIT_START | PieceFlags::VISIT_END | PieceFlags::STOPPED_AFTER | PieceFlags::TICK_KNOWN;
    assert!(has(&p, known), "{:b}", p.flags.0);
    let not = [PieceFlags::STOPPED_BEFORE, PieceFlags::TICK_RAN, PieceFlags::REJECTED, PieceFlags::AFTER_GAP];
    assert!(not.iter().all(|bit| !has(&p, *bit)), "{:b}", p.flags.0);
    assert_eq!(p.timer_confidence(), Confidence::Recorded, "the stopped tick's own timer tells the rest");
}

#[test]
fn a_handler_that_runs_before_the_exit_shortens_the_response_only() {
    // As under HLT: the interrupt is taken inside the idle period.
    let due = 2 * MS;
    let mut s = with_timer(due);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + 5 * US, 0);
    s.timer_irq(0, TICK + due + 30 * US);
    s.fire(0, TICK + due + 31 * US, TIMER, OTHER_FN, TICK + due + 30 * US);
    s.timer_irq_end(0, TICK + due + 35 * US);
    s.exit(0, TICK + due + 40 * US);
    s.switch(0, TICK + due + 45 * US, RUNNING, 42);
    let p = only(&s.tape());
    assert_eq!((p.cause, p.wake_ns), (WakeCause::Hrtimer, MS - 5 * US));
    assert_eq!((u64::from(p.response_ns), u64::from(p.exit_lag_ns), p.handler_ns), (30 * US, 40 * US, 0));
    assert!(!has(&p, PieceFlags::STOPPED_AFTER));
}

#[test]
fn of_two_hrtimers_in_one_wake_the_earlier_one_woke() {
    let mut s = with_timer(2 * MS);
    s.arm(0, TICK + 11 * US, TIMER + 1, OTHER_FN, TICK + 2 * MS - 7 * US);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + 5 * US, 0);
    s.exit(0, TICK + 2 * MS + 10 * US);
    s.timer_irq(0, TICK + 2 * MS + 11 * US);
    s.fire(0, TICK + 2 * MS + 12 * US, TIMER + 1, OTHER_FN, TICK + 2 * MS + 11 * US);
    s.fire(0, TICK + 2 * MS + 13 * US, TIMER, OTHER_FN, TICK + 2 * MS + 11 * US);
    s.timer_irq_end(0, TICK + 2 * MS + 15 * US);
    s.switch(0, TICK + 2 * MS + 20 * US, RUNNING, 42);
    let p = only(&s.tape());
    assert_eq!(p.start_ns + p.wake_ns, TICK + 2 * MS - 7 * US);
    assert_eq!(p.hrtimer_ns as u64, p.wake_ns);
}

#[test]
fn a_wake_by_a_wheel_timer_is_dated_at_the_tick_that_ran_it() {
    let mut s = Story::new(2);
    s.prelude(0);
    // Expires in one jiffy, by its bucket in two.
    s.wheel(0, TICK + 10 * US, WHEEL, JIFFY + 1, JIFFY + 2, JIFFY, PINNED);
    s.rest(0, TICK + MS);
    s.tick_stop(0, TICK + MS + 2 * US);
    s.arm(0, TICK + MS + 3 * US, tick_timer(0), TICK_FN, TICK + 2 * T);
    s.idle(0, TICK + MS + 5 * US, 1);
    s.exit(0, TICK + 2 * T + 60 * US);
    s.timer_irq(0, TICK + 2 * T + 61 * US);
    s.fire(0, TICK + 2 * T + 62 * US, tick_timer(0), TICK_FN, TICK + 2 * T + 61 * US);
    s.timer_irq_end(0, TICK + 2 * T + 65 * US);
    s.softirq(0, TICK + 2 * T + 66 * US, TIMER_SOFTIRQ, 0);
    s.wheel_fires(0, TICK + 2 * T + 67 * US, WHEEL, JIFFY + 2);
    s.switch(0, TICK + 2 * T + 80 * US, RUNNING, 42);
    let tape = s.tape();
    let p = only(&tape);
    assert_eq!((p.cause, p.start_ns + p.wake_ns), (WakeCause::Wheel, TICK + 2 * T));
    assert_eq!((p.start_ns as i64 + p.wheel_ns, p.hrtimer_ns), ((TICK + 2 * T) as i64, NEVER_NS));
    assert!(has(&p, PieceFlags::TICK_RAN | PieceFlags::STOPPED_AFTER));
    assert_eq!(u64::from(p.handler_ns), 7 * US, "to the last thing that the softirq did");
}

#[test]
fn with_the_tick_running_the_wheel_is_known_from_its_timers_buckets() {
    for (bucket, flags, expected) in [
        (JIFFY + 3, PINNED, Some(TICK + 3 * T)),
        (JIFFY + 3, 0, Some(TICK + 3 * T)),
        (JIFFY + 3, DEFERRABLE, None),
        (JIFFY + 1, PINNED, Some(TICK + T)),
    ] {
        let mut s = Story::new(2);
        s.prelude(0);
        s.wheel(0, TICK + 10 * US, WHEEL, JIFFY + 1, bucket, JIFFY, flags);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS + 5 * US, 0);
        s.exit(0, TICK + MS + 50 * US);
        s.reschedule(0, TICK + MS + 51 * US, US);
        s.switch(0, TICK + MS + 60 * US, RUNNING, 42);
        let p = only(&s.tape());
        let wheel = (p.wheel_ns != NEVER_NS).then(|| p.start_ns.checked_add_signed(p.wheel_ns).unwrap());
        assert_eq!(wheel, expected, "bucket {bucket}, flags {flags:#x}");
        assert_eq!(p.timer_confidence(), Confidence::Derived);
    }
}

#[test]
fn a_wheel_timer_counts_until_it_is_cancelled_or_moved() {
    let wheel_at = |change: &dyn Fn(&mut Story)| {
        let mut s = Story::new(2);
        s.prelude(0);
        s.wheel(0, TICK + 10 * US, WHEEL, JIFFY + 2, JIFFY + 2, JIFFY, PINNED);
        change(&mut s);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS + 5 * US, 0);
        s.exit(0, TICK + MS + 50 * US);
        s.switch(0, TICK + MS + 60 * US, RUNNING, 42);
        let p = only(&s.tape());
        (p.wheel_ns != NEVER_NS).then(|| p.start_ns.checked_add_signed(p.wheel_ns).unwrap())
    };
    assert_eq!(wheel_at(&|_| ()), Some(TICK + 2 * T));
    assert_eq!(wheel_at(&|s| s.wheel_cancel(0, TICK + 11 * US, WHEEL)), None);
    let later = |s: &mut Story| s.wheel(0, TICK + 11 * US, WHEEL, JIFFY + 9, JIFFY + 9, JIFFY, PINNED);
    assert_eq!(wheel_at(&later), Some(TICK + 9 * T));
    let fired = |s: &mut Story| s.wheel_fires(0, TICK + 11 * US, WHEEL, JIFFY);
    assert_eq!(wheel_at(&fired), None);
    let two = |s: &mut Story| s.wheel(0, TICK + 11 * US, WHEEL + 8, JIFFY + 1, JIFFY + 1, JIFFY, PINNED);
    assert_eq!(wheel_at(&two), Some(TICK + T));
}

#[test]
fn timers_that_may_move_count_for_the_last_cpu_awake_only() {
    // Timer migration (6.9 and later): CPU 0 goes idle; CPU 1 is busy or idle; a movable timer of either.
    let wheel_at = |one_is_idle: bool, owner: u32, flags: u32, jiffies: u64| {
        let mut s = Story::new(2).with_timer_migration().without("tick_stop");
        s.prelude(0);
        s.switch(1, TICK, RUNNING, 50);
        if one_is_idle {
            s.rest(1, TICK + 5 * US);
            s.idle(1, TICK + 6 * US, 1);
        }
        s.wheel(0, TICK + 10 * US, WHEEL, JIFFY + jiffies, JIFFY + jiffies, JIFFY, flags | owner);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS + 5 * US, 0);
        s.exit(0, TICK + MS + 50 * US);
        s.switch(0, TICK + MS + 60 * US, RUNNING, 42);
        let p = stays(&s.tape(), 0)[0];
        (p.wheel_ns != NEVER_NS).then(|| p.start_ns.checked_add_signed(p.wheel_ns).unwrap())
    };
    let far = Some(TICK + 3 * T);
    assert_eq!(wheel_at(false, 0, 0, 3), None, "another CPU is awake and runs it");
    assert_eq!(wheel_at(true, 0, 0, 3), far, "nobody else is awake");
    assert_eq!(wheel_at(true, 1, 0, 3), far, "the sleeping CPU's timer is taken over");
    assert_eq!(wheel_at(true, 1, PINNED, 3), None, "a pinned one is not");
    assert_eq!(wheel_at(false, 0, PINNED, 3), far);
    assert_eq!(wheel_at(false, 0, 0, 1), Some(TICK + T), "due within the tick: it stays");
}

#[test]
fn a_wake_by_another_cpu_is_dated_by_the_states_exit_latency() {
    // SLEEP declares 300 us.
    let mut s = with_timer(20 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 1);
    s.exit(0, TICK + 3 * MS);
    s.reschedule(0, TICK + 3 * MS + US, US);
    s.switch(0, TICK + 3 * MS + 9 * US, RUNNING, 42);
    let p = only(&s.tape());
    assert_eq!((p.cause, p.wake_ns, u64::from(p.exit_lag_ns)), (WakeCause::Ipi, 1_700 * US, 300 * US));
    assert_eq!(p.hrtimer_ns, (19 * MS) as i64);
    assert_eq!(u64::from(p.handler_ns), 2 * US);
}

#[test]
fn no_more_than_half_of_a_short_stay_is_exit_latency() {
    for (stay_us, lag_us) in [(100, 50), (599, 299), (600, 300), (601, 300), (2000, 300)] {
        let mut s = with_timer(20 * MS);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS, 1);
        s.exit(0, TICK + MS + stay_us * US);
        s.reschedule(0, TICK + MS + stay_us * US + US, US);
        s.switch(0, TICK + 5 * MS, RUNNING, 42);
        let p = only(&s.tape());
        assert_eq!(u64::from(p.exit_lag_ns) / US, lag_us, "a stay of {stay_us} us");
        assert_eq!(p.stay_ns(), stay_us * US);
    }
}

#[test]
fn interrupts_are_told_apart_by_their_names() {
    for (name, cause) in [
        ("eth0", WakeCause::Irq),
        ("nvme0q1", WakeCause::Irq),
        ("IPI", WakeCause::Ipi),
        // At a time far from any tick: a timer that the trace does not name.
        ("arch_timer", WakeCause::Timer),
    ] {
        let mut s = with_timer(20 * MS);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS + US, 0);
        s.exit(0, TICK + 2 * MS);
        s.irq(0, TICK + 2 * MS + US, 27, name, 3 * US);
        s.switch(0, TICK + 2 * MS + 9 * US, RUNNING, 42);
        let p = only(&s.tape());
        assert_eq!((p.cause, u64::from(p.handler_ns)), (cause, 4 * US), "{name}");
    }
}

#[test]
fn the_first_interrupt_of_a_wake_names_its_cause() {
    let mut s = with_timer(2 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    s.exit(0, TICK + 2 * MS);
    s.irq(0, TICK + 2 * MS + US, 9, "eth0", US);
    s.timer_irq(0, TICK + 2 * MS + 3 * US);
    s.fire(0, TICK + 2 * MS + 4 * US, TIMER, OTHER_FN, TICK + 2 * MS + 3 * US);
    s.timer_irq_end(0, TICK + 2 * MS + 5 * US);
    s.switch(0, TICK + 2 * MS + 9 * US, RUNNING, 42);
    assert_eq!(only(&s.tape()).cause, WakeCause::Irq);
}

// ---- The tick.

#[test]
fn wakes_by_the_tick_alone_are_pieces_of_one_visit() {
    let mut s = with_timer(20 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    for k in 1..3 {
        let due = TICK + k * T;
        s.exit(0, due + 3 * US);
        s.tick(0, due + 4 * US, due);
        s.idle(0, due + 10 * US, 0);
    }
    s.exit(0, TICK + 10 * MS);
    s.irq(0, TICK + 10 * MS + US, 9, "eth0", US);
    s.switch(0, TICK + 10 * MS + 9 * US, RUNNING, 42);
    let tape = s.tape();
    let pieces = &stays(&tape, 0);
    let brief: Vec<_> = pieces
        .iter()
        .map(|p| {
            let (first, last) = (has(p, PieceFlags::VISIT_START), has(p, PieceFlags::VISIT_END));
            (p.cause, p.start_ns + p.wake_ns, has(p, PieceFlags::TICK_RAN), first, last)
        })
        .collect();
    let lag = US; // WFI's exit latency, off the exit.
    assert_eq!(
        brief,
        [
            (WakeCause::Tick, TICK + T, true, true, false),
            (WakeCause::Tick, TICK + 2 * T, true, false, false),
            (WakeCause::Irq, TICK + 10 * MS - lag, false, false, true),
        ]
    );
    // The handler ends 8 us after the tick, 2 us before the next entry.
    assert_eq!(pieces.iter().map(|p| u64::from(p.entry_lag_ns)).collect::<Vec<_>>(), [US, 2 * US, 2 * US]);
    assert_eq!(u64::from(cpu(&tape, 0).tick_handler_ns), 5 * US, "from the exit to the handler's end");
    assert_eq!((cpu(&tape, 0).tick.period_ns, cpu(&tape, 0).tick.phase_ns), (T, TICK % T));
    assert_eq!(weakest(&tape, "tick grid"), Confidence::Recorded);
}

#[test]
fn a_tick_that_was_stopped_stays_so_until_the_visit_ends() {
    let mut s = with_timer(200 * MS);
    let visit = |s: &mut Story, at: u64, stop: bool| {
        s.rest(0, at);
        for k in 0..2 {
            let at = at + k * 20 * US;
            if stop && k == 0 {
                s.tick_stop(0, at + US);
            }
            s.idle(0, at + 2 * US, 0);
            s.exit(0, at + 10 * US);
            s.irq(0, at + 11 * US, 9, "eth0", US);
        }
        s.switch(0, at + 40 * US, RUNNING, 42);
    };
    visit(&mut s, TICK + MS, true);
    visit(&mut s, TICK + 2 * MS, false);
    let tape = s.tape();
    let tick: Vec<_> = stays(&tape, 0)
        .iter()
        .map(|p| {
            (
                has(p, PieceFlags::STOPPED_BEFORE),
                has(p, PieceFlags::STOPPED_AFTER),
                has(p, PieceFlags::TICK_KNOWN),
            )
        })
        .collect();
    assert_eq!(tick, [(false, true, true), (true, true, true), (false, false, true), (false, false, true)]);
}

#[test]
fn without_tick_stop_events_a_stay_across_a_tick_shows_that_it_was_stopped() {
    let mut s = with_timer(200 * MS).without("tick_stop").without("hrtimer_start");
    for (at, ns) in [(TICK + MS, 9 * MS), (TICK + 13 * MS, 2 * MS)] {
        s.rest(0, at);
        s.idle(0, at + US, 1);
        s.exit(0, at + ns);
        s.irq(0, at + ns + US, 9, "eth0", US);
        s.switch(0, at + ns + 9 * US, RUNNING, 42);
    }
    let tape = s.tape();
    let stopped: Vec<_> = stays(&tape, 0).iter().map(|p| has(p, PieceFlags::STOPPED_AFTER)).collect();
    assert_eq!(stopped, [true, false]);
    assert!(stays(&tape, 0).iter().all(|p| !has(p, PieceFlags::TICK_KNOWN)));
    assert_eq!(weakest(&tape, "tick stopped"), Confidence::Bounded);
}

/// An event type that the file describes and that never fires is knowledge, unless another event shows that it should have.
#[test]
fn tick_stop_events_that_are_recorded_and_never_come_show_that_the_tick_was_kept() {
    let story = |ns: u64| {
        let mut s = with_timer(200 * MS).without("hrtimer_start");
        let at = TICK + MS;
        s.rest(0, at);
        s.idle(0, at + US, 1);
        s.exit(0, at + ns);
        s.irq(0, at + ns + US, 9, "eth0", US);
        s.switch(0, at + ns + 9 * US, RUNNING, 42);
        s.tape()
    };
    let how = |tape: &Tape| tape.inputs.iter().find(|i| i.name == "tick stopped").unwrap().how.clone();
    let kept = story(2 * MS);
    assert!(stays(&kept, 0).iter().all(|p| !has(p, PieceFlags::STOPPED_AFTER)));
    assert_eq!(weakest(&kept, "tick stopped"), Confidence::Recorded);
    assert!(how(&kept).contains("recorded, and none came"), "{}", how(&kept));
    // No tick that goes on lets a CPU sleep for so long.
    let stopped = story(20 * MS);
    assert!(stays(&stopped, 0).iter().all(|p| has(p, PieceFlags::STOPPED_AFTER)));
    assert_eq!(weakest(&stopped, "tick stopped"), Confidence::Bounded);
    assert!(!how(&stopped).contains("none came"), "{}", how(&stopped));
}

/// The limit did not change; what it was is not known all the same.
#[test]
fn limits_that_are_recorded_and_never_come_are_not_called_missing() {
    for (without, said) in [("nothing", "were recorded, and none came"), ("pm_qos", "no pm_qos events")] {
        let mut s = with_timer(200 * MS).without(without);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS + US, 1);
        s.exit(0, TICK + 2 * MS);
        let tape = s.tape();
        let limit = tape.inputs.iter().find(|i| i.name == "latency limit").unwrap();
        assert!(limit.how.contains(said), "{}", limit.how);
        assert_eq!(weakest(&tape, "latency limit"), Confidence::Assumed);
    }
}

#[test]
fn a_tick_kept_for_rcu_is_marked() {
    let tape_with = |raise: Option<u64>| {
        let mut s = with_timer(200 * MS);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS + US, 0);
        s.exit(0, TICK + T + 3 * US);
        s.timer_irq(0, TICK + T + 4 * US);
        s.fire(0, TICK + T + 5 * US, tick_timer(0), TICK_FN, TICK + T + 4 * US);
        if let Some(vec) = raise {
            s.raise(0, TICK + T + 6 * US, vec);
        }
        s.timer_irq_end(0, TICK + T + 8 * US);
        s.switch(0, TICK + T + 20 * US, RUNNING, 42);
        // Some stay of the recording did stop its tick, so the events are on.
        s.tick_stop(0, TICK + 5 * MS);
        s.tape()
    };
    let needed = |raise| has(&only(&tape_with(raise)), PieceFlags::TICK_NEEDED);
    assert_eq!((needed(Some(RCU_SOFTIRQ)), needed(None), needed(Some(TIMER_SOFTIRQ))), (true, false, false));
}

/// Whether a tick was kept for RCU where its softirq ran so long before and after the stay, ns, and 900 ns at other times.
fn kept_for_rcu(before_ns: u64, after_ns: u64) -> (bool, Confidence) {
    let mut s = with_timer(200 * MS);
    for k in 0..30 {
        s.softirq(0, TICK + (20 + 10 * k) * US, RCU_SOFTIRQ, 900);
    }
    s.softirq(0, TICK + 500 * US, RCU_SOFTIRQ, before_ns);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    s.exit(0, TICK + T + 3 * US);
    s.timer_irq(0, TICK + T + 4 * US);
    s.fire(0, TICK + T + 5 * US, tick_timer(0), TICK_FN, TICK + T + 4 * US);
    s.raise(0, TICK + T + 6 * US, RCU_SOFTIRQ);
    s.timer_irq_end(0, TICK + T + 8 * US);
    s.softirq(0, TICK + T + 9 * US, RCU_SOFTIRQ, after_ns);
    s.switch(0, TICK + T + 30 * US, RUNNING, 42);
    s.tick_stop(0, TICK + 5 * MS);
    let p = only(&s.tape());
    (has(&p, PieceFlags::TICK_NEEDED), p.timer_confidence())
}

#[test]
fn a_softirq_of_rcu_that_finds_nothing_to_do_does_not_keep_the_tick() {
    assert_eq!(kept_for_rcu(900, 900), (false, Confidence::Bounded));
    assert_eq!(kept_for_rcu(900, 1_500), (true, Confidence::Bounded));
    assert_eq!(kept_for_rcu(1_500, 900), (true, Confidence::Bounded));
}

/// Four stays of one visit: the tick ends the second, third and fourth, another CPU the first; after the last RCU asks for its
/// softirq. Which of them waited for it, where the tick was stopped in the stay `stopped`, and how well is their timer known?
fn waited_for_rcu(stopped: Option<u64>) -> Vec<(bool, Confidence)> {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    s.exit(0, TICK + 2 * MS);
    s.reschedule(0, TICK + 2 * MS + US, 2 * US);
    for k in 1..4 {
        let due = TICK + k * T;
        let entry = if k == 1 { TICK + 2 * MS + 10 * US } else { due - T + 20 * US };
        if stopped == Some(k) {
            s.tick_stop(0, entry - US);
        }
        s.idle(0, entry, 0);
        s.exit(0, due + 3 * US);
        s.timer_irq(0, due + 4 * US);
        s.fire(0, due + 5 * US, tick_timer(0), TICK_FN, due + 4 * US);
        if k == 3 {
            s.raise(0, due + 6 * US, RCU_SOFTIRQ);
        }
        s.timer_irq_end(0, due + 8 * US);
    }
    s.switch(0, TICK + 3 * T + 20 * US, RUNNING, 42);
    s.tick_stop(0, TICK + 5 * T);
    stays(&s.tape(), 0).iter().map(|p| (has(p, PieceFlags::TICK_NEEDED), p.timer_confidence())).collect()
}

#[test]
fn a_tick_that_comes_late_was_kept_for_rcu_as_well() {
    for late in [3 * US, 2 * MS] {
        let mut s = with_timer(200 * MS);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS + US, 0);
        s.exit(0, TICK + T + late);
        s.timer_irq(0, TICK + T + late + US);
        s.fire(0, TICK + T + late + 2 * US, tick_timer(0), TICK_FN, TICK + T + late + US);
        s.raise(0, TICK + T + late + 3 * US, RCU_SOFTIRQ);
        s.timer_irq_end(0, TICK + T + late + 5 * US);
        s.switch(0, TICK + T + late + 20 * US, RUNNING, 42);
        s.tick_stop(0, TICK + T + late + MS);
        let p = only(&s.tape());
        let known = (has(&p, PieceFlags::TICK_NEEDED), p.timer_confidence());
        assert_eq!(known, (true, Confidence::Bounded), "{late} ns");
    }
}

/// How well the timer of a stay is known that an interrupt ended, where RCU asks for its softirq `wait_ns` later.
fn before_rcu_asks(wait_ns: u64) -> Confidence {
    let mut s = with_timer(200 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    s.exit(0, TICK + MS + 100 * US);
    s.irq(0, TICK + MS + 101 * US, 9, "eth0", 10 * US);
    // Awake until a short stay in the end.
    s.switch(0, TICK + MS + 120 * US, RUNNING, 42);
    let asks = TICK + MS + wait_ns;
    s.rest(0, asks - 200 * US);
    s.idle(0, asks - 190 * US, 0);
    s.exit(0, asks - 10 * US);
    s.timer_irq(0, asks - 5 * US);
    s.raise(0, asks, RCU_SOFTIRQ);
    s.timer_irq_end(0, asks + US);
    s.switch(0, asks + 20 * US, RUNNING, 42);
    s.tick_stop(0, asks + 5 * MS);
    stays(&s.tape(), 0)[0].timer_confidence()
}

#[test]
fn callbacks_wait_for_looks_that_come_up_to_a_tick_later() {
    let known = [10 * MS, 30 * MS, 60 * MS].map(before_rcu_asks);
    assert_eq!(known, [Confidence::Bounded, Confidence::Bounded, Confidence::Derived]);
}

#[test]
fn stays_that_only_the_tick_ended_waited_for_what_rcu_asks_for_later() {
    let needed = |stopped| waited_for_rcu(stopped).into_iter().map(|(needed, _)| needed).collect::<Vec<_>>();
    assert_eq!(needed(None), [false, true, true, true]);
    // A tick that could be stopped was not needed then, nor do earlier stays tell.
    assert_eq!(needed(Some(2))[..2], [false, false]);
}

#[test]
fn a_stay_before_those_that_waited_for_rcu_may_have_waited_too() {
    assert_eq!(waited_for_rcu(None)[0], (false, Confidence::Bounded));
    // Nothing but RCU's softirq takes callbacks away, so there were none before the tick was stopped.
    assert_eq!(waited_for_rcu(Some(1))[0], (false, Confidence::Derived));
}

#[test]
fn the_grid_is_found_from_the_tick_timers_expiries_whatever_the_platform_says() {
    let mut s = Story::new(1);
    let third = 3_333_333;
    for k in 0..6 {
        let due = TICK + k * third;
        s.timer_irq(0, due + US);
        s.fire(0, due + US, tick_timer(0), TICK_FN, due + US);
        s.arm(0, due + US, tick_timer(0), TICK_FN, due + third);
        s.timer_irq_end(0, due + 2 * US);
    }
    s.rest(0, TICK + 20 * MS);
    s.idle(0, TICK + 20 * MS + US, 0);
    s.exit(0, TICK + 20 * MS + 100 * US);
    s.switch(0, TICK + 20 * MS + 110 * US, RUNNING, 42);
    let mut unknown = machine();
    unknown.hz = None;
    let tape = s.try_tape(&unknown).unwrap();
    assert_eq!(cpu(&tape, 0).tick.period_ns, third);
    assert_eq!((TICK - cpu(&tape, 0).tick.phase_ns) % third, 0);
}

#[test]
fn without_any_tick_the_platforms_hz_is_assumed_and_said() {
    let mut s = Story::new(1).without("hrtimer_").without("local_timer");
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS + US, 0);
    s.exit(0, TICK + 2 * MS);
    s.switch(0, TICK + 2 * MS + 9 * US, RUNNING, 42);
    let tape = s.tape();
    assert_eq!((cpu(&tape, 0).tick.period_ns, cpu(&tape, 0).tick.phase_ns), (T, 0));
    let grid = tape.inputs.iter().find(|i| i.name == "tick grid").unwrap();
    assert_eq!(grid.weakest(), Confidence::Assumed);
    assert!(grid.how.contains("250") && grid.how.contains("platform"), "{}", grid.how);
}

// ---- What was pending.

#[test]
fn hrtimers_are_followed_across_rearming_and_cancelling() {
    let hrtimer = |change: &dyn Fn(&mut Story)| {
        let mut s = with_timer(6 * MS);
        change(&mut s);
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS, 0);
        s.exit(0, TICK + MS + 50 * US);
        s.switch(0, TICK + MS + 60 * US, RUNNING, 42);
        let p = only(&s.tape());
        (p.hrtimer_ns != NEVER_NS).then_some(p.hrtimer_ns)
    };
    assert_eq!(hrtimer(&|_| ()), Some((5 * MS) as i64));
    // A rearm gives a start without a cancel.
    let again = |s: &mut Story| s.arm(0, TICK + 20 * US, TIMER, OTHER_FN, TICK + 9 * MS);
    assert_eq!(hrtimer(&again), Some((8 * MS) as i64));
    assert_eq!(hrtimer(&|s| s.cancel(0, TICK + 20 * US, TIMER)), None);
    let sooner = |s: &mut Story| s.arm(0, TICK + 20 * US, TIMER + 1, OTHER_FN, TICK + 3 * MS);
    assert_eq!(hrtimer(&sooner), Some((2 * MS) as i64));
    // Overdue at the entry: negative, as in the kernel.
    let due = |s: &mut Story| s.arm(0, TICK + 20 * US, TIMER + 1, OTHER_FN, TICK + MS - 2 * US);
    assert_eq!(hrtimer(&due), Some(-2_000));
    // The tick's own timer is none of them, and another CPU's neither.
    let elsewhere = |s: &mut Story| {
        s.cancel(0, TICK + 20 * US, TIMER);
        s.arm(1, TICK + 20 * US, TIMER + 1, OTHER_FN, TICK + 3 * MS);
        s.arm(0, TICK + 21 * US, tick_timer(0), TICK_FN, TICK + 2 * MS);
    };
    assert_eq!(hrtimer(&elsewhere), None);
}

#[test]
fn a_timer_armed_before_the_recording_is_known_from_its_first_expiry() {
    let mut s = Story::new(2);
    s.prelude(0);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.exit(0, TICK + MS + 50 * US);
    s.irq(0, TICK + MS + 51 * US, 9, "eth0", US);
    s.idle(0, TICK + MS + 60 * US, 0);
    s.exit(0, TICK + 2 * MS + 4 * US);
    s.timer_irq(0, TICK + 2 * MS + 5 * US);
    s.fire(0, TICK + 2 * MS + 6 * US, TIMER, OTHER_FN, TICK + 2 * MS + 5 * US);
    s.timer_irq_end(0, TICK + 2 * MS + 7 * US);
    s.switch(0, TICK + 2 * MS + 9 * US, RUNNING, 42);
    let tape = s.tape();
    let seen: Vec<u64> = stays(&tape, 0).iter().map(|p| p.start_ns + p.hrtimer_ns as u64).collect();
    // Its expiry is not in the event; the time of its handler is the nearest.
    assert_eq!(seen, [TICK + 2 * MS + 5 * US; 2]);
    assert_eq!(stays(&tape, 0)[1].cause, WakeCause::Hrtimer);
}

#[test]
fn timers_are_brought_to_the_traces_own_clock() {
    // The trace's clock is 27 ms behind CLOCK_MONOTONIC; the least delay of a handler was 1 us.
    let behind = 27 * MS;
    let mut s = Story::new(1).clock("local");
    for k in 0..4 {
        let due = TICK + k * T;
        s.timer_irq(0, due);
        s.fire(0, due + (k + 1) * US, tick_timer(0), TICK_FN, due + behind);
        s.arm(0, due + (k + 2) * US, tick_timer(0), TICK_FN, due + T + behind);
        s.timer_irq_end(0, due + 9 * US);
    }
    let at = TICK + 3 * T + MS;
    s.arm(0, at, TIMER, OTHER_FN, at + behind + 900 * US);
    s.rest(0, at);
    s.idle(0, at, 0);
    s.exit(0, at + 500 * US);
    s.irq(0, at + 501 * US, 9, "eth0", US);
    s.switch(0, at + 510 * US, RUNNING, 42);
    let tape = s.tape();
    assert_eq!(only(&tape).hrtimer_ns, (901 * US) as i64);
    assert_eq!(cpu(&tape, 0).tick.phase_ns, (TICK + US) % T);
}

#[test]
fn a_timer_on_the_wall_clock_is_no_timer_of_the_year_1970() {
    let wall = 1_800_000_000_000_000_000;
    let mut s = with_timer(6 * MS);
    s.cancel(0, TICK + 11 * US, TIMER);
    s.arm(0, TICK + 12 * US, TIMER, OTHER_FN, wall + 5 * MS);
    s.rest(0, TICK + MS);
    s.idle(0, TICK + MS, 0);
    s.exit(0, TICK + 5 * MS + 3 * US);
    s.timer_irq(0, TICK + 5 * MS + 4 * US);
    // Fires 5 us late by both clocks.
    s.fire(0, TICK + 5 * MS + 5 * US, TIMER, OTHER_FN, wall + 5 * MS + 5 * US);
    s.timer_irq_end(0, TICK + 5 * MS + 6 * US);
    s.switch(0, TICK + 5 * MS + 9 * US, RUNNING, 42);
    let p = only(&s.tape());
    assert_eq!((p.cause, p.hrtimer_ns, p.wake_ns), (WakeCause::Hrtimer, (4 * MS) as i64, 4 * MS));
}

#[test]
fn a_timer_that_is_long_overdue_is_forgotten() {
    let mut s = with_timer(2 * MS);
    s.rest(0, TICK + 30 * MS);
    s.idle(0, TICK + 30 * MS, 0);
    s.exit(0, TICK + 30 * MS + 50 * US);
    s.switch(0, TICK + 31 * MS, RUNNING, 42);
    assert_eq!(only(&s.tape()).hrtimer_ns, NEVER_NS, "its expiry or cancel was not seen");
}
