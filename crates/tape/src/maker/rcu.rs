// SPDX-License-Identifier: GPL-2.0-only
//! Ticks that were kept for RCU.

use idlewise_model::{Confidence, Piece, PieceFlags, TickGrid, WakeCause};

use super::cpu::{Cpu, RcuRequest, RcuRun};
use crate::rcu_softirq::RunKind;

/// RCU's request for its softirq follows the tick this soon, ns.
const AFTER_TICK_NS: u64 = 1_000_000;
/// Callbacks wait for two grace periods at most, the running one and their own; each is looked after twice at the kernel's
/// usual pace: every tick, or every 3 ms where ticks come faster (`rcutree.jiffies_till_first_fqs` and `_next_fqs`).
const LOOKS: u64 = 4;
const LOOK_NS: u64 = 3_000_000;

/// How long callbacks wait at most, ns.
fn longest_wait_ns(grid: TickGrid) -> u64 {
    LOOKS * grid.period_ns.max(LOOK_NS)
}

/// A request that comes this long after a stay began has nothing to do with it, ns.
pub(super) fn horizon_ns(grid: TickGrid) -> u64 {
    longest_wait_ns(grid).max(grid.period_ns + AFTER_TICK_NS)
}

/// A CPU with RCU callbacks keeps its tick (`governor-behaviour.md` 1.8, step 3). No event says so at the entry, but
/// when their time has come a tick that was kept for them asks for RCU's softirq. A stay before that which nothing
/// but the tick ended waited for the same, and so did all after it: none can have stopped its tick.
///
/// The softirq also runs for other CPUs' callbacks: then it has little to do, and so had the one before the stay. Which of the
/// two it was is never certain. What is certain is that nothing but the softirq takes callbacks away: where a CPU stops its tick
/// and the softirq did not run since an entry, there were none at that entry.
pub(super) fn mark(pieces: &mut [Piece], grid: TickGrid, seen: &RcuSeen) {
    for piece in pieces {
        if piece.flags.has(PieceFlags::STOPPED_AFTER) {
            continue;
        }
        let next = seen.requests.partition_point(|r| r.at_ns <= piece.start_ns);
        let tick_ns = grid.after(piece.start_ns.saturating_sub(piece.entry_lag_ns.into()));
        let asked = seen
            .requests
            .get(next)
            .is_some_and(|r| r.at_ns < tick_ns.saturating_add(AFTER_TICK_NS) || r.since_ns <= piece.start_ns);
        let had_none = seen.had_none(piece.start_ns, grid);
        let needed = asked && !had_none && seen.has_callbacks(piece.start_ns, grid);
        piece.flags.set(PieceFlags::TICK_NEEDED, needed);
        let until_tick_ns = tick_ns.wrapping_sub(piece.start_ns).cast_signed();
        if !had_none && piece.hrtimer_ns.min(piece.wheel_ns) > until_tick_ns {
            let known = piece.timer_confidence();
            piece.flags.set_timer_confidence(known.max(Confidence::Bounded));
            let at_most = known < Confidence::Bounded || piece.flags.has(PieceFlags::TIMER_AT_MOST);
            piece.flags.set(PieceFlags::TIMER_AT_MOST, at_most && !needed);
        }
    }
}

/// What is seen of RCU on a CPU, as far as it can still matter.
#[derive(Debug, Default)]
pub(super) struct RcuSeen {
    /// Its requests for its softirq.
    pub(super) requests: Vec<RcuRequest>,
    /// The runs of that, and the last one before.
    pub(super) runs: Vec<RcuRun>,
    /// When idle periods began that stopped the tick, ns, and when the last one began before a gap of the recording.
    pub(super) stops: Vec<(u64, u64)>,
    gap_ns: u64,
}

impl RcuSeen {
    /// Whether the CPU had no callbacks at `start_ns`: it stopped its tick soon after, and they had not been taken away in between.
    fn had_none(&self, start_ns: u64, grid: TickGrid) -> bool {
        let stop = self.stops.get(self.stops.partition_point(|(stop_ns, _)| *stop_ns <= start_ns));
        let run = self.runs.get(self.runs.partition_point(|run| run.begin_ns <= start_ns));
        stop.is_some_and(|(stop_ns, gap_ns)| {
            *stop_ns <= start_ns.saturating_add(horizon_ns(grid))
                && *gap_ns < start_ns
                && run.is_none_or(|run| run.begin_ns > *stop_ns)
        })
    }

    /// Whether the CPU seems to have callbacks at `start_ns`, by what the runs of the softirq before and after found.
    fn has_callbacks(&self, start_ns: u64, grid: TickGrid) -> bool {
        let next = self.runs.partition_point(|run| run.begin_ns <= start_ns);
        let recent = |run: &&RcuRun| run.begin_ns.saturating_add(longest_wait_ns(grid)) >= start_ns;
        let before = next.checked_sub(1).and_then(|n| self.runs.get(n)).filter(recent).map(|run| run.kind);
        match (before, self.runs.get(next).map(|run| run.kind)) {
            // Not recorded.
            (_, None) => true,
            (None, Some(after)) => after != RunKind::Short,
            (Some(before), Some(after)) => before == RunKind::Long || after == RunKind::Long,
        }
    }

    /// An idle period that began at `start_ns` stopped the tick.
    pub(super) fn stopped(&mut self, start_ns: u64) {
        self.stops.push((start_ns, self.gap_ns));
    }

    /// Events were lost after an idle period that began at `start_ns`.
    pub(super) fn gap_after(&mut self, start_ns: u64) {
        self.gap_ns = start_ns;
    }

    /// Forgets what can matter to no stay that begins at `start_ns` or later.
    pub(super) fn forget(&mut self, start_ns: u64, grid: TickGrid) {
        self.requests.drain(..self.requests.partition_point(|r| r.at_ns <= start_ns));
        self.stops.drain(..self.stops.partition_point(|(stop_ns, _)| *stop_ns <= start_ns));
        let earliest_ns = start_ns.saturating_sub(longest_wait_ns(grid));
        self.runs.drain(..self.runs.partition_point(|run| run.begin_ns < earliest_ns));
    }
}

impl Cpu {
    /// RCU asks for its softirq. A CPU that is busy for long asks often, and no stay is near.
    pub(super) fn rcu_asks(&mut self, ts_ns: u64, grid: TickGrid) {
        if self.is_near(ts_ns, grid) {
            let since_ns = self.kept_since_ns(ts_ns.saturating_sub(longest_wait_ns(grid))).unwrap_or(ts_ns);
            self.rcu.requests.push(RcuRequest { at_ns: ts_ns, since_ns });
        }
    }

    /// Its softirq began to run at `begin_ns`.
    pub(super) fn rcu_ran(&mut self, begin_ns: u64, kind: RunKind, grid: TickGrid) {
        let is_near = self.is_near(begin_ns, grid);
        if !is_near {
            self.rcu.runs.pop_if(|last| !last.is_near);
        }
        self.rcu.runs.push(RcuRun { begin_ns, kind, is_near });
    }

    /// Whether a stay lies so near before `ts_ns` that it may have waited for what RCU does then.
    fn is_near(&self, ts_ns: u64, grid: TickGrid) -> bool {
        let near = |p: &Piece| ts_ns < p.start_ns.saturating_add(horizon_ns(grid));
        self.stay.is_some() || self.stays.rest.last().is_some_and(near)
    }

    /// When the first stay began, of those after `from_ns` and after the last that stopped its tick, that ended with nothing but
    /// the tick.
    fn kept_since_ns(&self, from_ns: u64) -> Option<u64> {
        let from_ns = from_ns.max(self.no_callbacks_ns);
        let kept = |p: &&Piece| p.start_ns > from_ns && !p.flags.has(PieceFlags::STOPPED_AFTER);
        let waited = self.stays.rest.iter().rev().take_while(kept);
        waited.filter(|p| matches!(p.cause, WakeCause::Tick | WakeCause::Wheel)).last().map(|p| p.start_ns)
    }
}
