// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{
    Change, Confidence, CpuTape, NEVER_NS, Piece, PieceFlags, Pieces, TapeCpu, TickGrid, at,
};

use crate::common::EMPTY;

#[test]
fn changes_hold_until_the_next() {
    let c = [Change { at_ns: 10, value: 1 }, Change { at_ns: 20, value: 2 }];
    assert_eq!([at(&c, 9, 0), at(&c, 10, 0), at(&c, 19, 0), at(&c, 20, 0), at(&c, 99, 0)], [0, 1, 1, 2, 2]);
}

#[test]
fn confidence_survives_the_flags() {
    let mut f = PieceFlags(PieceFlags::VISIT_START);
    for c in Confidence::ALL {
        f.set_timer_confidence(c);
        let p = Piece { flags: f, ..EMPTY };
        assert_eq!(p.timer_confidence(), c);
        assert!(f.has(PieceFlags::VISIT_START));
    }
}

#[test]
fn the_clock_is_programmed_for_the_first_of_tick_and_hrtimers() {
    let cpu = CpuTape {
        cpu: 0,
        usable: TapeCpu::Usable,
        tick: TickGrid { period_ns: 4_000, phase_ns: 0 },
        tick_handler_ns: 0,
        pieces: Pieces::default(),
        latency: Vec::new(),
        disabled: Vec::new(),
        sends: None,
        event_ns: 0,
    };
    let stopped = PieceFlags(PieceFlags::STOPPED_AFTER);
    let mut p = Piece { start_ns: 9_000, hrtimer_ns: 50_000, wheel_ns: 20_000, ..EMPTY };
    assert_eq!(cpu.programmed_ns(&p), 3_000, "the tick at 12000");
    p.entry_lag_ns = 1_500;
    assert_eq!(cpu.programmed_ns(&p), -1_000, "the tick at 8000 is overdue");
    p.flags = stopped;
    assert_eq!(cpu.programmed_ns(&p), 20_000, "the stopped tick's timer stands for the wheel");
    p.hrtimer_ns = 2_000;
    assert_eq!(cpu.programmed_ns(&p), 2_000);
    let none = Piece { hrtimer_ns: NEVER_NS, wheel_ns: NEVER_NS, flags: stopped, ..EMPTY };
    assert_eq!(cpu.programmed_ns(&none), NEVER_NS);
}
