// SPDX-License-Identifier: GPL-2.0-only
//! Does fidelity name the cause where a replayed choice is not the kernel's?

use crate::common;

use common::{GRID, Script, T, TICK, table};
use idlewise_model::{Confidence, CpuTape, NEVER_NS, Piece, PieceFlags, TapeCpu, WakeCause};
use idlewise_replay::{Fidelity, PartingKind, fidelity};

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

/// A governor answers as told at `pieces`; it is the same whatever it remembers.
fn follow(pieces: Vec<Piece>, answers: &[(i32, bool)]) -> Fidelity {
    let tape = CpuTape {
        cpu: 0,
        usable: TapeCpu::Usable,
        tick: GRID,
        tick_handler_ns: 0,
        pieces: pieces.into(),
        latency: vec![],
        disabled: vec![],
        sends: None,
    };
    let twice: Vec<(i32, bool)> = answers.iter().chain(answers).copied().collect();
    fidelity(&tape, &table(), 1024, None, &mut Script::new(answers), &mut Script::new(&twice))
}

/// Why the last of `pieces` parts from `answer`; the others do not.
fn why(mut pieces: Vec<Piece>, answer: (i32, bool)) -> PartingKind {
    // The kernel entered these somewhere.
    pieces.splice(0..0, [C1, C1E].map(|state| stay(0, state)));
    let last = pieces.len() - 1;
    let answers: Vec<(i32, bool)> = pieces
        .iter()
        .enumerate()
        .map(|(i, p)| if i == last { answer } else { (p.state.into(), false) })
        .collect();
    let f = follow(pieces, &answers);
    let kinds: Vec<_> = f.partings.iter().collect();
    let [(kind, 1)] = kinds[..] else { panic!("{f:?}") };
    *kind
}

#[test]
fn choices_that_are_the_kernels_have_no_cause() {
    let f = follow(vec![stay(0, C1), stay(1, C1E)], &[(C1.into(), false), (C1E.into(), false)]);
    assert_eq!((f.decisions, f.same_state, f.same_tick), (2, 2, 2));
    assert!(f.partings.is_empty());
}

#[test]
fn another_fate_of_the_tick_is_told_by_what_the_kernel_did() {
    assert_eq!(why(vec![stay(1, C1E)], (C1E.into(), true)), PartingKind::KeptForOtherReasons);
    let stopped = but(stay(1, C1E), |p| p.flags.set(PieceFlags::STOPPED_AFTER, true));
    assert_eq!(why(vec![stopped], (C1E.into(), false)), PartingKind::StoppedByKernel);
}

#[test]
fn another_state_is_told_by_its_depth_and_one_never_entered_apart() {
    assert_eq!(why(vec![stay(1, C1)], (C1E.into(), false)), PartingKind::Shallower);
    assert_eq!(why(vec![stay(1, C1E)], (C1.into(), false)), PartingKind::Deeper);
    assert_eq!(why(vec![stay(1, C1E)], (C6.into(), false)), PartingKind::NeverEntered);
}

#[test]
fn unsure_timers_and_lost_events_come_first() {
    let unsure = but(stay(1, C1E), |p| p.flags.set_timer_confidence(Confidence::Bounded));
    assert_eq!(why(vec![unsure], (C1.into(), false)), PartingKind::UnsureTimers);
    let gap = but(stay(1, C1E), |p| p.flags.set(PieceFlags::AFTER_GAP, true));
    for (stays, kind) in [(8, PartingKind::EventsLost), (9, PartingKind::Deeper)] {
        let mut pieces = vec![gap];
        pieces.extend((0..stays).map(|k| stay(2 + k, C1E)));
        assert_eq!(why(pieces, (C1.into(), false)), kind, "{stays} stays after the gap");
    }
}
