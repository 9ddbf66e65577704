// SPDX-License-Identifier: GPL-2.0-only
//! Recorded idle periods as lines of the ledger, and the kernel's own verdicts on them.

use idlewise_model::{
    Breach, CpuTape, Entry, IdleTable, Miss, NO_LATENCY_LIMIT_NS, Outcome, Piece, PieceFlags, TickChoice,
    WakeCause, at,
};
use idlewise_platform::LOOP_COSTS;
use schemars::JsonSchema;
use serde::Serialize;

/// Recomputed verdicts against the recorded `cpu_idle_miss` events, stay by stay. Scores have the recorded ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct VerdictCheck {
    /// "Too deep" by the kernel.
    pub kernel_above: u64,
    /// "Too deep" recomputed from entry and exit, refused entries included.
    pub recomputed_above: u64,
    /// "Too shallow" by the kernel.
    pub kernel_below: u64,
    pub recomputed_below: u64,
    /// Stays recomputed as too deep that the kernel did not count: the driver refused the entry.
    pub rejected: u64,
    /// The longest of these, ns; a real stay would not be short.
    pub longest_rejected_ns: u64,
    /// Stays that were entered and missed by the kernel, recomputed or both.
    pub missed: u64,
    /// How many of these the kernel and the table judge differently.
    pub disagree: u64,
    /// How far the farthest of these lies from the limit that was missed, ns: entry and exit events bracket the
    /// kernel's own measurement.
    pub largest_margin_ns: u64,
}

/// Entry and exit events lie so far outside of the kernel's own reads of the clock, ns, at most: 150 to 450 were measured.
const OUTSIDE_NS: i64 = 500;

/// Whose verdicts the lines of the ledger have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictOf {
    /// The recording has the kernel's (`cpu_idle_miss`).
    Kernel,
    /// They are worked out from entry and exit events.
    Table,
}

impl VerdictOf {
    fn verdict(self, piece: &Piece, table: &IdleTable) -> Miss {
        match self {
            Self::Kernel if piece.flags.has(PieceFlags::MISS_ABOVE) => Miss::Above,
            Self::Kernel if piece.flags.has(PieceFlags::MISS_BELOW) => Miss::Below,
            Self::Kernel => Miss::None,
            Self::Table => verdict(piece, table, 0),
        }
    }

    /// Whether the verdict on `piece` depends on what lies between an event and the kernel's read of the clock.
    #[must_use]
    pub fn is_unsure(self, piece: &Piece, table: &IdleTable) -> bool {
        let entered = !piece.flags.has(PieceFlags::REJECTED);
        entered
            && self == Self::Table
            && verdict(piece, table, -OUTSIDE_NS) != verdict(piece, table, OUTSIDE_NS)
    }
}

/// By the events, if the idle period had lasted `by_ns` longer.
fn verdict(piece: &Piece, table: &IdleTable, by_ns: i64) -> Miss {
    let stay_ns = i64::try_from(piece.stay_ns()).unwrap_or(i64::MAX);
    table.verdict(piece.state.into(), stay_ns.saturating_add(by_ns), table.disabled_by_default())
}

/// A recorded stay as a line of the ledger. What the idle loop took is part of what was recorded: [`with_loop`] counts it.
pub fn recorded_entry(cpu: &CpuTape, piece: &Piece, table: &IdleTable, of: VerdictOf) -> Entry {
    let residency_ns = i64::try_from(piece.stay_ns()).unwrap_or(i64::MAX);
    let rejected = piece.flags.has(PieceFlags::REJECTED);
    let stay_ns = residency_ns;
    let outcome = if rejected {
        Outcome::Rejected
    } else {
        Outcome::Stayed { entered: piece.state, miss: of.verdict(piece, table) }
    };
    let tick = if !piece.flags.has(PieceFlags::TICK_KNOWN) {
        TickChoice::Unknown
    } else if piece.flags.has(PieceFlags::STOPPED_BEFORE) {
        TickChoice::WasStopped
    } else if piece.flags.has(PieceFlags::STOPPED_AFTER) {
        TickChoice::Stopped
    } else {
        TickChoice::Kept
    };
    let only_tick = piece.cause == WakeCause::Tick && !piece.flags.has(PieceFlags::MORE_CAME);
    Entry {
        cpu: cpu.cpu,
        start_ns: piece.start_ns,
        residency_ns: if rejected { 0 } else { stay_ns },
        wake_ns: if rejected { stay_ns } else { i64::try_from(piece.wake_ns).unwrap_or(i64::MAX) },
        latency_ns: if rejected { 0 } else { piece.response_ns.into() },
        tick_ns: if only_tick && !rejected { handled_ns(piece) } else { 0 },
        loop_ns: 0,
        selected: piece.state,
        outcome,
        cause: piece.cause,
        tick,
        breach: recorded_breach(cpu, piece, table),
    }
}

/// `entry` of a recording, with what replay counts for the idle loop. Whether the kernel's governor asked for the sleep length is not
/// recorded: it counts as asked.
#[must_use]
pub fn with_loop(entry: Entry) -> Entry {
    Entry { loop_ns: LOOP_COSTS.of(true, entry.tick, entry.cause), ..entry }
}

/// From the first instruction of the handlers of the interrupt that ended `piece` to their end, ns: before the exit where the
/// machine handles it there (HLT), after it, or both.
fn handled_ns(piece: &Piece) -> i64 {
    let before_exit = piece.exit_lag_ns.saturating_sub(piece.response_ns);
    i64::from(before_exit) + i64::from(piece.handler_ns)
}

/// What is wrong with the kernel's own choice, as far as the recording itself tells: it knows latency limits, but which
/// states are off only where somebody recorded that.
fn recorded_breach(cpu: &CpuTape, piece: &Piece, table: &IdleTable) -> Breach {
    let limit_ns = at(&cpu.latency, piece.start_ns, NO_LATENCY_LIMIT_NS);
    if usize::from(piece.state) >= table.len() {
        return Breach::default();
    }
    let disabled = at(&cpu.disabled, piece.start_ns, 0);
    table.breach(piece.state.into(), disabled, limit_ns)
}

impl VerdictCheck {
    /// Adds an idle period in a state of `table`.
    pub(crate) fn compare(&mut self, piece: &Piece, table: &IdleTable) {
        if usize::from(piece.state) >= table.len() {
            return;
        }
        let ours = verdict(piece, table, 0);
        let above = piece.flags.has(PieceFlags::MISS_ABOVE);
        let below = piece.flags.has(PieceFlags::MISS_BELOW);
        self.kernel_above += u64::from(above);
        self.kernel_below += u64::from(below);
        self.recomputed_above += u64::from(ours == Miss::Above);
        self.recomputed_below += u64::from(ours == Miss::Below);
        if piece.flags.has(PieceFlags::REJECTED) {
            self.rejected += 1;
            self.longest_rejected_ns = self.longest_rejected_ns.max(piece.stay_ns());
        } else {
            let same = (ours == Miss::Above) == above && (ours == Miss::Below) == below;
            self.missed += u64::from(above || below || ours != Miss::None);
            self.disagree += u64::from(!same);
            if !same {
                let target =
                    table.states().get(usize::from(piece.state)).map_or(0, |s| s.target_residency_ns);
                self.largest_margin_ns =
                    self.largest_margin_ns.max(piece.stay_ns().abs_diff(target.unsigned_abs()));
            }
        }
    }
}
