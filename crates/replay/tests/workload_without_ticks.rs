// SPDX-License-Identifier: GPL-2.0-only
//! Is a workload what happens whatever governor runs: every event kept, every tick, poll limit and refused entry gone?

use idlewise_idle::NEVER_AT_NS;
use idlewise_model::{
    Change, Confidence, CpuTape, NEVER_NS, Piece, PieceFlags, TapeCpu, TickGrid, WakeCause,
};
use idlewise_replay::{Workload, WorkloadEvent};
use proptest::prelude::*;

const START: u16 = PieceFlags::VISIT_START;
const END: u16 = PieceFlags::VISIT_END;
const REFUSED: u16 = PieceFlags::REJECTED;

/// A stay whose other numbers are all different, so that a mix-up shows.
fn piece(start_ns: u64, wake_ns: u64, cause: WakeCause, flags: u16) -> Piece {
    let n = (start_ns / 1000) as u32;
    Piece {
        start_ns,
        wake_ns,
        hrtimer_ns: i64::from(n) + 40_000,
        wheel_ns: NEVER_NS,
        stale_event_ns: NEVER_NS,
        exit_lag_ns: n + 1,
        response_ns: n + 2,
        handler_ns: n + 3,
        entry_lag_ns: n + 4,
        util: n as u16 + 5,
        iowait: n as u16 + 6,
        state: (n % 3) as u8,
        cause,
        flags: PieceFlags(flags),
    }
}

fn tape(pieces: Vec<Piece>) -> CpuTape {
    CpuTape {
        cpu: 4,
        usable: TapeCpu::Usable,
        tick: TickGrid { period_ns: 4_000_000, phase_ns: 7 },
        tick_handler_ns: 5_000,
        pieces: pieces.into(),
        latency: vec![Change { at_ns: 3, value: 1 }],
        disabled: vec![Change { at_ns: 4, value: 2 }],
        sends: None,
        event_ns: 0,
    }
}

fn events(pieces: Vec<Piece>) -> Vec<WorkloadEvent> {
    Workload::new(&tape(pieces)).unwrap().events.in_memory().unwrap().to_vec()
}

#[test]
fn what_holds_for_the_cpu_is_kept() {
    let w = Workload::new(&tape(vec![])).unwrap();
    assert_eq!(
        (w.cpu, w.grid, w.tick_handler_ns),
        (4, TickGrid { period_ns: 4_000_000, phase_ns: 7 }, 5_000)
    );
    assert_eq!((w.latency[0].value, w.disabled[0].value, w.events.len()), (1, 2, 0));
}

#[test]
fn one_stay_of_a_visit_is_one_event() {
    let [e] = events(vec![piece(10_000, 500, WakeCause::Irq, START | END)])[..] else { panic!() };
    let expected = WorkloadEvent {
        start_ns: 10_000,
        at_ns: 10_500,
        hrtimer_at_ns: 50_010,
        wheel_at_ns: NEVER_AT_NS,
        stale_event_at_ns: NEVER_AT_NS,
        exit_lag_ns: 11,
        response_ns: 12,
        handler_ns: 13,
        entry_lag_ns: 14,
        util: 15,
        iowait: 16,
        state: 1,
        cause: WakeCause::Irq,
        visit_start: true,
        visit_end: true,
        tick_off: false,
        tick_needed_ns: 0,
        timers: Confidence::Recorded,
    };
    assert_eq!(e, expected);
}

#[test]
fn the_pieces_between_ticks_are_one_wait() {
    let [e] = events(vec![
        piece(10_000, 500, WakeCause::Tick, START),
        piece(20_000, 700, WakeCause::Tick, PieceFlags::TICK_NEEDED),
        piece(30_000, 900, WakeCause::Hrtimer, END),
    ])[..] else {
        panic!("one event")
    };
    // What the kernel knew is from the beginning, what happened from the end.
    assert_eq!((e.start_ns, e.at_ns), (10_000, 30_900));
    assert_eq!((e.hrtimer_at_ns, e.entry_lag_ns, e.util, e.iowait), (50_010, 14, 15, 16));
    assert_eq!((e.exit_lag_ns, e.response_ns, e.handler_ns, e.state), (31, 32, 33, 0));
    assert_eq!((e.cause, e.visit_start, e.visit_end), (WakeCause::Hrtimer, true, true));
    assert_eq!(e.tick_needed_ns, 10_700, "until the end of the last piece that needed it");
}

#[test]
fn what_came_after_the_tick_in_one_wake_ends_the_wait() {
    const MORE: u16 = PieceFlags::MORE_CAME;
    let tick = |flags| piece(10_000, 500, WakeCause::Tick, START | flags);
    let next = piece(20_000, 700, WakeCause::Hrtimer, END);
    let ends =
        |first: Piece| events(vec![first, next]).iter().map(|e| (e.cause, e.at_ns)).collect::<Vec<_>>();
    assert_eq!(ends(tick(0)), [(WakeCause::Hrtimer, 20_700)], "only the tick: the wait goes on");
    assert_eq!(ends(tick(MORE)), [(WakeCause::Irq, 10_500), (WakeCause::Hrtimer, 20_700)]);
    // An hrtimer that was due before the handlers ended is what came, when it was due.
    let due = Piece { hrtimer_ns: 510, ..tick(MORE) };
    assert_eq!(ends(due), [(WakeCause::Hrtimer, 10_510), (WakeCause::Hrtimer, 20_700)]);
    let behind = Piece { hrtimer_ns: 525, ..tick(MORE) };
    assert_eq!(ends(behind)[0], (WakeCause::Irq, 10_500), "11 ns to the exit and 13 ns of handlers");
}

#[test]
fn refused_entries_and_poll_limits_are_no_events_either() {
    for (cause, flags) in
        [(WakeCause::PollLimit, 0), (WakeCause::Unknown, REFUSED), (WakeCause::Irq, REFUSED)]
    {
        let [e] = events(vec![
            piece(10_000, 500, cause, START | flags),
            piece(20_000, 500, cause, flags),
            piece(30_000, 900, WakeCause::Ipi, END),
        ])[..] else {
            panic!("one event: {cause} {flags:#b}")
        };
        assert_eq!((e.start_ns, e.at_ns, e.cause), (10_000, 30_900, WakeCause::Ipi));
    }
}

#[test]
fn interrupts_that_wake_nobody_are_events_of_the_same_visit() {
    let got = events(vec![
        piece(10_000, 500, WakeCause::Irq, START),
        piece(20_000, 500, WakeCause::Wheel, 0),
        piece(30_000, 500, WakeCause::Timer, 0),
        piece(40_000, 500, WakeCause::Unknown, END),
    ]);
    let visit: Vec<_> = got.iter().map(|e| (e.at_ns, e.visit_start, e.visit_end)).collect();
    assert_eq!(
        visit,
        [(10_500, true, false), (20_500, false, false), (30_500, false, false), (40_500, false, true)]
    );
}

#[test]
fn a_tick_that_woke_somebody_is_an_event() {
    for (cause, flags) in [(WakeCause::Tick, 0), (WakeCause::PollLimit, 0), (WakeCause::Ipi, REFUSED)] {
        let got = events(vec![
            piece(10_000, 500, cause, START | END | flags),
            piece(20_000, 500, WakeCause::Irq, START | END),
        ]);
        let brief: Vec<_> = got.iter().map(|e| (e.at_ns, e.cause, e.visit_start)).collect();
        assert_eq!(brief, [(10_500, cause, true), (20_500, WakeCause::Irq, true)]);
    }
}

#[test]
fn what_the_last_visit_waited_for_is_not_invented() {
    let got = events(vec![
        piece(10_000, 500, WakeCause::Irq, START),
        piece(20_000, 500, WakeCause::Tick, 0),
        piece(30_000, 500, WakeCause::Tick, 0),
    ]);
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].at_ns, 10_500);
}

#[test]
fn a_wait_whose_end_was_lost_does_not_reach_into_the_next_visit() {
    let got = events(vec![
        piece(10_000, 500, WakeCause::Tick, START),
        piece(90_000, 500, WakeCause::Irq, START | END),
    ]);
    assert_eq!(got.iter().map(|e| (e.start_ns, e.at_ns)).collect::<Vec<_>>(), [(90_000, 90_500)]);
}

#[test]
fn timers_that_never_come_or_are_overdue_keep_their_meaning() {
    let p = Piece { hrtimer_ns: NEVER_NS, wheel_ns: -3_000, ..piece(10_000, 5, WakeCause::Irq, START | END) };
    let e = events(vec![p])[0];
    assert_eq!((e.hrtimer_at_ns, e.wheel_at_ns), (NEVER_AT_NS, 7_000));
}

/// A visit's stays: whether each is an event by itself.
fn visits() -> impl Strategy<Value = Vec<Vec<(bool, u8)>>> {
    prop::collection::vec(prop::collection::vec((any::<bool>(), 0u8..3), 1..8), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_event_is_kept_once_and_nothing_else(visits in visits()) {
        let mut pieces = Vec::new();
        let mut expected = Vec::new();
        let mut now = 1_000_000;
        for visit in &visits {
            let mut from = None;
            for (i, (real, how)) in visit.iter().enumerate() {
                let last = i + 1 == visit.len();
                let (cause, refused) = match (real, how) {
                    (true, 0) => (WakeCause::Irq, 0),
                    (true, 1) => (WakeCause::Wheel, 0),
                    (true, _) => (WakeCause::Unknown, 0),
                    (false, 0) => (WakeCause::Tick, 0),
                    (false, 1) => (WakeCause::PollLimit, 0),
                    (false, _) => (WakeCause::Unknown, REFUSED),
                };
                let flags = refused | if i == 0 { START } else { 0 } | if last { END } else { 0 };
                let start = *from.get_or_insert(now);
                pieces.push(piece(now, 2_000, cause, flags));
                if *real || last {
                    expected.push((start, now + 2_000, cause, last));
                    from = None;
                }
                now += 7_000;
            }
        }
        let got: Vec<_> = events(pieces).iter().map(|e| (e.start_ns, e.at_ns, e.cause, e.visit_end)).collect();
        prop_assert_eq!(got, expected);
    }
}
