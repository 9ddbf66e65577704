// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_idle::{Chooser, IdleCpu, Left, Moment, NEVER_AT_NS, Timers};
use idlewise_model::{
    Confidence, CpuTape, Entry, IdleTable, Ledger, NEVER_NS, NO_LATENCY_LIMIT_NS, Piece, PieceFlags, TickChoice,
    WakeCause, at,
};

/// Decisions of a CPU's first moments are compared, but counted apart: the governor's memory before the recording is
/// not known (`governors.md` 13.5).
const WARM_UP: u64 = 200;

/// How far a replayed governor makes the choices that the kernel made (design 4.7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fidelity {
    /// Choices compared.
    pub decisions: u64,
    /// Of these, with the same state.
    pub same_state: u64,
    /// Choices whose keep-or-stop of the tick the recording shows.
    pub tick_known: u64,
    /// Of these, with the same keep-or-stop.
    pub same_tick: u64,
    /// The same four after the first 200 choices of each CPU.
    pub warm: [u64; 4],
    /// Where the choices part, and how often.
    pub partings: BTreeMap<PartingKind, u64>,
}

/// Why a replayed choice and the recorded one part, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartingKind {
    /// Among a CPU's first choices: the governor's memory is not known yet.
    WarmUp,
    /// The timers behind the sleep length are only bounded or assumed.
    UnsureTimers,
    /// The kernel kept the tick where the timers would let it go: it had reasons that no event tells (RCU, irq_work,
    /// duties of the last CPU awake), or the sleep length is wrong.
    KeptForOtherReasons,
    /// The kernel stopped the tick, the replayed governor would have kept it.
    StoppedByKernel,
    /// Another state, timers derived or recorded: the governor's memory has drifted, or it is another version.
    Memory,
}

impl PartingKind {
    /// In words, for a table.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::WarmUp => "among the first 200 choices of a CPU, before the governor's memory has settled",
            Self::UnsureTimers => "the next timer is only bounded or assumed",
            Self::KeptForOtherReasons => "the kernel kept the tick where replay stops it",
            Self::StoppedByKernel => "the kernel stopped the tick where replay keeps it",
            Self::Memory => "another state although the timers are known: memory, version, or an input not recorded",
        }
    }
}

impl Fidelity {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.same_state += other.same_state;
        self.tick_known += other.tick_known;
        self.same_tick += other.same_tick;
        for (a, b) in self.warm.iter_mut().zip(other.warm) {
            *a += b;
        }
        for (kind, n) in &other.partings {
            *self.partings.entry(*kind).or_default() += n;
        }
    }

    fn compare(&mut self, nth: u64, piece: &Piece, same_state: bool, stopped: bool) {
        let tick_known = piece.flags.has(PieceFlags::TICK_KNOWN);
        let recorded_stop = piece.flags.has(PieceFlags::STOPPED_AFTER);
        let same_tick = tick_known && stopped == recorded_stop;
        let counts = [1, u64::from(same_state), u64::from(tick_known), u64::from(same_tick)];
        self.decisions += counts[0];
        self.same_state += counts[1];
        self.tick_known += counts[2];
        self.same_tick += counts[3];
        if nth >= WARM_UP {
            for (a, b) in self.warm.iter_mut().zip(counts) {
                *a += b;
            }
        }
        if same_state && (same_tick || !tick_known) {
            return;
        }
        let kind = if nth < WARM_UP {
            PartingKind::WarmUp
        } else if piece.timer_confidence() >= Confidence::Bounded {
            PartingKind::UnsureTimers
        } else if !same_state {
            PartingKind::Memory
        } else if recorded_stop {
            PartingKind::StoppedByKernel
        } else {
            PartingKind::KeptForOtherReasons
        };
        *self.partings.entry(kind).or_default() += 1;
    }
}

/// Follows the recording of one CPU: `chooser` is asked with what the kernel knew, then told what the kernel got.
/// `each` sees every recorded piece with the choice made for it.
pub fn fidelity<C: Chooser>(
    tape: &CpuTape,
    table: &IdleTable,
    capacity: u32,
    chooser: &mut C,
    mut each: impl FnMut(&Piece, usize, TickChoice),
) -> Fidelity {
    let mut idle = IdleCpu::new(tape.cpu, table, tape.tick);
    let mut result = Fidelity::default();
    let default_mask = table.disabled_by_default();
    for (nth, piece) in (0u64..).zip(&tape.pieces) {
        let now_ns = piece.start_ns.saturating_sub(piece.entry_lag_ns.into());
        if piece.flags.has(PieceFlags::VISIT_START) {
            idle.end_visit();
            idle.begin_visit(now_ns);
        } else {
            idle.interrupt_done(now_ns);
        }
        idle.set_disabled(chooser, at(&tape.disabled, piece.start_ns, 0) | default_mask);
        idle.force_tick(piece.flags.has(PieceFlags::STOPPED_BEFORE));
        let entered = idle.enter(chooser, &moment(tape, piece, capacity));
        let recorded = usize::from(piece.state);
        if piece.state != Piece::NO_STATE {
            result.compare(nth, piece, entered.state == recorded, entered.tick != TickChoice::Kept);
        }
        each(piece, entered.state, entered.tick);
        let went_into = if piece.state == Piece::NO_STATE { entered.state } else { recorded };
        if piece.flags.has(PieceFlags::REJECTED) {
            idle.reject(chooser, piece.exit_at_ns(), &mut Nowhere);
            continue;
        }
        let left = Left {
            entered: went_into.min(table.len() - 1),
            wake_at_ns: piece.start_ns + piece.wake_ns,
            exit_at_ns: piece.exit_at_ns(),
            running_at_ns: piece.exit_at_ns(),
            handled_at_ns: piece.exit_at_ns() + u64::from(piece.handler_ns),
            cause: piece.cause,
            tick_ran: piece.flags.has(PieceFlags::TICK_RAN)
                || matches!(piece.cause, WakeCause::Tick | WakeCause::Wheel),
        };
        idle.leave(chooser, &left, &mut Nowhere);
    }
    result
}

fn moment(tape: &CpuTape, piece: &Piece, capacity: u32) -> Moment {
    let at_ns =
        |rel: i64| if rel == NEVER_NS { NEVER_AT_NS } else { piece.start_ns.saturating_add_signed(rel) };
    Moment {
        start_ns: piece.start_ns,
        timers: Timers::Pending {
            hrtimer_at_ns: at_ns(piece.hrtimer_ns),
            wheel_at_ns: at_ns(piece.wheel_ns),
            tick_needed: piece.flags.has(PieceFlags::TICK_NEEDED),
        },
        latency_limit_ns: at(&tape.latency, piece.start_ns, NO_LATENCY_LIMIT_NS),
        util: (u32::from(piece.util) * capacity) >> 10,
        iowait: piece.iowait.into(),
        random: 0,
        wake_at_ns: piece.start_ns + piece.wake_ns,
    }
}

struct Nowhere;

impl Ledger for Nowhere {
    fn entry(&mut self, _entry: &Entry) {}
}
