// SPDX-License-Identifier: GPL-2.0-only
//! A recorded idle period is longer than the kernel measures it: the events around it take their time.

use idlewise_conform::decision::Outcome;
use idlewise_conform::tape_decisions::TapeDecisions;
use idlewise_model::{Confidence, CpuTape, NEVER_NS, Piece, PieceFlags, TapeCpu, TickGrid, WakeCause};

/// Skylake's deepest state of four.
const C6: u8 = 3;
const EVENT_NS: u32 = 250;

/// Idle periods in C6 that the recording shows so long, ns, with these flags.
fn measured(periods: &[(i64, u16)]) -> Vec<i64> {
    let mut start_ns = 1_000_000_000;
    let piece = |(ns, miss): &(i64, u16)| {
        let mut flags = PieceFlags(PieceFlags::VISIT_START | PieceFlags::VISIT_END | miss);
        flags.set_timer_confidence(Confidence::Derived);
        start_ns += 10_000_000;
        Piece {
            start_ns,
            wake_ns: ns.unsigned_abs(),
            hrtimer_ns: 50_000_000,
            wheel_ns: NEVER_NS,
            stale_event_ns: NEVER_NS,
            exit_lag_ns: 0,
            response_ns: 0,
            handler_ns: 0,
            entry_lag_ns: 0,
            util: 0,
            iowait: 0,
            state: C6,
            cause: WakeCause::Irq,
            flags,
        }
    };
    let tape = CpuTape {
        cpu: 0,
        usable: TapeCpu::Usable,
        tick: TickGrid { period_ns: 4_000_000, phase_ns: 0 },
        tick_handler_ns: 0,
        pieces: periods.iter().map(piece).collect(),
        latency: vec![],
        disabled: vec![],
        sends: None,
        event_ns: EVENT_NS,
    };
    let machine = idlewise_platform::find("skylake").unwrap();
    let decisions = TapeDecisions::new(&tape, &machine.clusters[0], None).unwrap();
    let residency = |outcome: Outcome| match outcome {
        Outcome::Left { residency_ns, .. } => residency_ns,
        other => panic!("{other:?}"),
    };
    decisions.decisions().map(|d| residency(d.unwrap().outcome.unwrap())).collect()
}

fn target_ns() -> i64 {
    let machine = idlewise_platform::find("skylake").unwrap();
    machine.clusters[0].table.states()[usize::from(C6)].target_residency_ns
}

#[test]
fn the_time_of_an_event_is_no_part_of_the_residency() {
    let target_ns = target_ns();
    assert_eq!(measured(&[(target_ns + 100, 0), (100, 0)]), [target_ns - 150, 0]);
}

#[test]
fn the_residency_is_on_the_side_of_the_target_that_the_kernel_counted() {
    let (target_ns, above) = (target_ns(), PieceFlags::MISS_ABOVE);
    let periods = [
        (target_ns + 600, above),
        (target_ns + 600, 0),
        (target_ns + 100, 0),
        // No recording is that slow: the kernel had another table of states.
        (target_ns + 50_000, above),
    ];
    let expected = [target_ns - 1, target_ns + 350, target_ns, target_ns + 49_750];
    assert_eq!(measured(&periods), expected);
}
