// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_idle::{Chooser, IdleCpu, Left, Moment, NEVER_AT_NS, Timers};
use idlewise_model::{
    CpuTape, Entry, IdleTable, Ledger, NEVER_NS, NO_LATENCY_LIMIT_NS, Piece, PieceFlags, TickChoice,
    WakeCause, at,
};
use serde::{Deserialize, Serialize};

use crate::parting::{Circumstances, PartingKind};

/// How far a replayed governor makes the choices that the kernel made.
///
/// What the kernel's governor remembered from before the recording is not known (`governor-behaviour.md` 13). So two
/// copies follow the recording, one fresh, one that has been through all of it before: where they choose differently,
/// the choice hangs on that memory, and it is counted apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Choices compared.
    pub decisions: u64,
    /// Of these, with the same state.
    pub same_state: u64,
    /// Choices compared whose keep-or-stop of the tick the recording shows.
    pub tick_known: u64,
    /// Of these, with the same keep-or-stop.
    pub same_tick: u64,
    /// Choices not compared: they hang on the memory from before the recording.
    pub unknown_memory: u64,
    /// Where the choices part, and how often.
    pub partings: BTreeMap<PartingKind, u64>,
}

impl Fidelity {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.same_state += other.same_state;
        self.tick_known += other.tick_known;
        self.same_tick += other.same_tick;
        self.unknown_memory += other.unknown_memory;
        for (kind, n) in &other.partings {
            *self.partings.entry(*kind).or_default() += n;
        }
    }

    fn compare(&mut self, piece: &Piece, fresh: Choice, seasoned: Choice, circumstances: &Circumstances) {
        if fresh != seasoned {
            self.unknown_memory += 1;
            return;
        }
        let tick_known = piece.flags.has(PieceFlags::TICK_KNOWN);
        let recorded_stop = piece.flags.has(PieceFlags::STOPPED_AFTER);
        let same_state = fresh.state == usize::from(piece.state);
        let same_tick = tick_known && fresh.stopped == recorded_stop;
        self.decisions += 1;
        self.same_state += u64::from(same_state);
        self.tick_known += u64::from(tick_known);
        self.same_tick += u64::from(same_tick);
        if same_state && (same_tick || !tick_known) {
            return;
        }
        let kind = circumstances.why(piece, fresh.state);
        *self.partings.entry(kind).or_default() += 1;
    }
}

/// Follows the recording of one CPU with two copies of a governor, both new: they are asked with what the kernel knew,
/// then told what the kernel got.
///
/// Where the kernel's governor is known to have been switched on at `since_ns` (on the trace's clock), nothing before counts,
/// and what it remembered then is known: nothing.
pub fn fidelity<C: Chooser>(
    tape: &CpuTape,
    table: &IdleTable,
    capacity: u32,
    since_ns: Option<u64>,
    fresh: &mut C,
    seasoned: &mut C,
) -> Fidelity {
    let mut result = Fidelity::default();
    let mut seasoned = Follower::new(tape, table, capacity, seasoned);
    if since_ns.is_none() {
        for piece in &tape.pieces {
            seasoned.follow(&piece);
        }
    }
    let mut fresh = Follower::new(tape, table, capacity, fresh);
    let mut circumstances = Circumstances::new(tape);
    for piece in &tape.pieces {
        circumstances.stay(&piece);
        if since_ns.is_some_and(|since_ns| piece.start_ns < since_ns) {
            continue;
        }
        if let (Some(a), Some(b)) = (fresh.follow(&piece), seasoned.follow(&piece))
            && piece.state != Piece::NO_STATE
        {
            result.compare(&piece, a, b, &circumstances);
        }
    }
    result
}

/// A governor's answer in a recorded situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    state: usize,
    stopped: bool,
}

/// A governor that is led through a recording.
struct Follower<'a, C> {
    tape: &'a CpuTape,
    table: &'a IdleTable,
    capacity: u32,
    governor: &'a mut C,
    idle: IdleCpu<'a>,
    default_mask: u16,
}

impl<'a, C: Chooser> Follower<'a, C> {
    fn new(tape: &'a CpuTape, table: &'a IdleTable, capacity: u32, governor: &'a mut C) -> Self {
        let idle = IdleCpu::new(tape.cpu, table, tape.tick);
        Self { tape, table, capacity, governor, idle, default_mask: table.disabled_by_default() }
    }

    /// What the governor chooses; nothing where none was asked.
    fn follow(&mut self, piece: &Piece) -> Option<Choice> {
        let now_ns = piece.start_ns.saturating_sub(piece.entry_lag_ns.into());
        if piece.flags.has(PieceFlags::VISIT_START) {
            self.idle.end_visit();
            self.idle.begin_visit(now_ns);
        } else {
            self.idle.interrupt_done(now_ns);
        }
        if piece.state == Piece::NO_GOVERNOR {
            return None;
        }
        let disabled = at(&self.tape.disabled, piece.start_ns, 0) | self.default_mask;
        self.idle.set_disabled(self.governor, disabled);
        self.idle.force_tick(piece.flags.has(PieceFlags::STOPPED_BEFORE));
        let entered = self.idle.enter(self.governor, &moment(self.tape, piece, self.capacity));
        let choice = Choice { state: entered.state, stopped: entered.tick != TickChoice::Kept };
        if piece.flags.has(PieceFlags::REJECTED) {
            self.idle.reject(self.governor, piece.exit_at_ns(), &mut Nowhere);
            return Some(choice);
        }
        let went_into = piece.chosen().unwrap_or(entered.state);
        let left = Left {
            entered: went_into.min(self.table.len() - 1),
            wake_at_ns: piece.start_ns.saturating_add(piece.wake_ns),
            exit_at_ns: piece.exit_at_ns(),
            running_at_ns: piece.exit_at_ns(),
            handled_at_ns: piece.exit_at_ns().saturating_add(piece.handler_ns.into()),
            cause: piece.cause,
            tick_ran: piece.flags.has(PieceFlags::TICK_RAN)
                || matches!(piece.cause, WakeCause::Tick | WakeCause::Wheel),
        };
        self.idle.leave(self.governor, &left, &mut Nowhere);
        Some(choice)
    }
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
        wake_at_ns: piece.start_ns.saturating_add(piece.wake_ns),
    }
}

struct Nowhere;

impl Ledger for Nowhere {
    fn entry(&mut self, _entry: &Entry) {}
}
