// SPDX-License-Identifier: GPL-2.0-only
//! Do the bounds of a sleep length that is not certain lie on both sides of it, and nowhere else?

use idlewise_idle::NEVER_AT_NS;
use idlewise_madeinput::idle_loop::{GRID, TICK};
use idlewise_model::{Confidence, CpuTape, Piece, PieceFlags, TapeCpu, WakeCause};
use idlewise_replay::{SleepLengths, Workload, unsure_waits};

const MS: i64 = 1_000_000;

fn stay(cause: WakeCause, confidence: Confidence, more: u16) -> Piece {
    let mut flags = PieceFlags(PieceFlags::VISIT_START | PieceFlags::VISIT_END | more);
    flags.set_timer_confidence(confidence);
    Piece {
        start_ns: TICK,
        wake_ns: 3 * MS as u64,
        hrtimer_ns: 20 * MS,
        wheel_ns: 30 * MS,
        stale_event_ns: idlewise_model::NEVER_NS,
        exit_lag_ns: 0,
        response_ns: 0,
        handler_ns: 0,
        entry_lag_ns: 0,
        util: 0,
        iowait: 0,
        state: 1,
        cause,
        flags,
    }
}

fn tape(pieces: Vec<Piece>) -> CpuTape {
    CpuTape {
        cpu: 0,
        usable: TapeCpu::Usable,
        tick: GRID,
        tick_handler_ns: 0,
        pieces: pieces.into(),
        latency: vec![],
        disabled: vec![],
        sends: None,
        event_ns: 0,
    }
}

/// When the first wait's next timer is due under `lengths`, in ms after the wait began; `None` for never.
fn due(pieces: Vec<Piece>, lengths: SleepLengths) -> Option<u64> {
    let workload = Workload::with(&tape(pieces), lengths).unwrap();
    let event = workload.events.in_memory().unwrap()[0];
    let at = event.hrtimer_at_ns.min(event.wheel_at_ns);
    (at != NEVER_AT_NS).then(|| (at - event.start_ns) / MS as u64)
}

fn bounds(piece: Piece) -> [Option<u64>; 3] {
    [SleepLengths::Least, SleepLengths::Taped, SleepLengths::Most].map(|l| due(vec![piece], l))
}

#[test]
fn an_uncertain_timer_is_due_between_the_wake_and_never() {
    for unsure in [Confidence::Bounded, Confidence::Assumed] {
        assert_eq!(bounds(stay(WakeCause::Irq, unsure, 0)), [Some(3), Some(20), None]);
    }
    let at_most = stay(WakeCause::Irq, Confidence::Bounded, PieceFlags::TIMER_AT_MOST);
    assert_eq!(bounds(at_most), [Some(3), Some(20), Some(20)]);
}

#[test]
fn what_is_known_stays() {
    for known in [Confidence::Recorded, Confidence::Derived] {
        assert_eq!(bounds(stay(WakeCause::Irq, known, 0)), [Some(20); 3]);
    }
    // The timer that woke the CPU is the one that it waited for.
    assert_eq!(bounds(stay(WakeCause::Hrtimer, Confidence::Bounded, 0)), [Some(20); 3]);
}

#[test]
fn of_a_wait_in_pieces_the_first_tells_and_the_last_ends_it() {
    let mut tick = stay(WakeCause::Tick, Confidence::Bounded, 0);
    tick.flags.set(PieceFlags::VISIT_END, false);
    let mut end = stay(WakeCause::Irq, Confidence::Bounded, 0);
    end.flags.set(PieceFlags::VISIT_START, false);
    end.start_ns = TICK + 4 * MS as u64;
    assert_eq!(due(vec![tick, end], SleepLengths::Least), Some(7));
    let timer = Piece { cause: WakeCause::Hrtimer, ..end };
    assert_eq!(due(vec![tick, timer], SleepLengths::Least), Some(20));
    assert_eq!(unsure_waits(&tape(vec![tick, end])), Ok((1, 1)));
    assert_eq!(unsure_waits(&tape(vec![tick, timer])), Ok((0, 1)));
}
