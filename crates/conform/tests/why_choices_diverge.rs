// SPDX-License-Identifier: GPL-2.0-only
//! Is the cause named where a choice is not the kernel's?

use idlewise_conform::decision::Source;
use idlewise_conform::tape_decisions::TapeDecisions;
use idlewise_conform::{Agreement, Answer, DivergenceKind, StateKnown};
use idlewise_model::{Confidence, CpuTape, NEVER_NS, Piece, PieceFlags, TapeCpu, TickGrid, WakeCause};

/// HZ 250.
const T: u64 = 4_000_000;
const TICK: u64 = 1_000_000_700;

const C1: u8 = 1;
const C1E: u8 = 2;
const C6: u8 = 3;

/// The kernel took `state` and kept the tick; timers far away and known.
fn stay(k: u64, state: u8) -> Piece {
    let mut flags = PieceFlags(PieceFlags::VISIT_START | PieceFlags::VISIT_END | PieceFlags::TICK_KNOWN);
    flags.set_timer_confidence(Confidence::Derived);
    Piece {
        start_ns: TICK + k * T + 1_000,
        wake_ns: 500_000,
        hrtimer_ns: 50_000_000,
        wheel_ns: NEVER_NS,
        stale_event_ns: NEVER_NS,
        exit_lag_ns: 1_000,
        response_ns: 1_000,
        handler_ns: 0,
        entry_lag_ns: 0,
        util: 0,
        iowait: 0,
        state,
        cause: WakeCause::Irq,
        flags,
    }
}

/// The same with a change.
fn but(piece: Piece, change: impl FnOnce(&mut Piece)) -> Piece {
    let mut piece = piece;
    change(&mut piece);
    piece
}

/// A governor answers so at `pieces`, whatever it has gone through.
fn follow(pieces: Vec<Piece>, answers: &[(i32, bool)]) -> Agreement {
    let tape = CpuTape {
        cpu: 0,
        usable: TapeCpu::Usable,
        tick: TickGrid { period_ns: T, phase_ns: TICK % T },
        tick_handler_ns: 0,
        pieces: pieces.into(),
        latency: vec![],
        disabled: vec![],
        sends: None,
        event_ns: 0,
    };
    let machine = idlewise_platform::find("skylake").unwrap();
    let decisions = TapeDecisions::new(&tape, &machine.clusters[0], None).unwrap();
    let mut agreement = Agreement::new(Source::Tape);
    for (decision, &(state, stop_tick)) in decisions.decisions().zip(answers) {
        let here = Answer { state, stop_tick, asked_sleep_length: None, poll_limit_ns: None };
        agreement.count(&decision.unwrap(), here, StateKnown::Yes);
    }
    agreement
}

/// Why `answer` diverges from the last of `pieces`; the others do not.
fn why(mut pieces: Vec<Piece>, answer: (i32, bool)) -> DivergenceKind {
    // The kernel entered these somewhere.
    pieces.splice(0..0, [C1, C1E].map(|state| stay(0, state)));
    let last = pieces.len() - 1;
    let answers: Vec<(i32, bool)> = pieces
        .iter()
        .enumerate()
        .map(|(i, p)| if i == last { answer } else { (p.state.into(), false) })
        .collect();
    let f = follow(pieces, &answers);
    let kinds: Vec<_> = f.reasons.iter().collect();
    let [(kind, 1)] = kinds[..] else { panic!("{f:?}") };
    *kind
}

#[test]
fn choices_that_are_the_kernels_have_no_cause() {
    let f = follow(vec![stay(0, C1), stay(1, C1E)], &[(C1.into(), false), (C1E.into(), false)]);
    assert_eq!((f.decisions, f.same, f.tick_known, f.other_state + f.other_tick), (2, 2, 2, 0));
    assert!(f.reasons.is_empty());
}

#[test]
fn another_fate_of_the_tick_is_told_by_what_the_kernel_did() {
    assert_eq!(why(vec![stay(1, C1E)], (C1E.into(), true)), DivergenceKind::KeptForOtherReasons);
    let stopped = but(stay(1, C1E), |p| p.flags.set(PieceFlags::STOPPED_AFTER, true));
    assert_eq!(why(vec![stopped], (C1E.into(), false)), DivergenceKind::StoppedByKernel);
}

#[test]
fn another_state_is_told_by_its_depth_and_one_never_entered_apart() {
    assert_eq!(why(vec![stay(1, C1)], (C1E.into(), false)), DivergenceKind::Shallower);
    assert_eq!(why(vec![stay(1, C1E)], (C1.into(), false)), DivergenceKind::Deeper);
    assert_eq!(why(vec![stay(1, C1E)], (C6.into(), false)), DivergenceKind::NeverEntered);
}

#[test]
fn unsure_timers_and_lost_events_come_first() {
    let unsure = but(stay(1, C1E), |p| p.flags.set_timer_confidence(Confidence::Bounded));
    assert_eq!(why(vec![unsure], (C1.into(), false)), DivergenceKind::UnsureTimers);
    let gap = but(stay(1, C1E), |p| p.flags.set(PieceFlags::AFTER_GAP, true));
    for (stays, kind) in [(8, DivergenceKind::EventsLost), (9, DivergenceKind::Deeper)] {
        let mut pieces = vec![gap];
        pieces.extend((0..stays).map(|k| stay(2 + k, C1E)));
        assert_eq!(why(pieces, (C1.into(), false)), kind, "{stays} stays after the gap");
    }
}
