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

/// How long callbacks wait at the usual pace, ns.
fn usual_wait_ns(grid: TickGrid) -> u64 {
    LOOKS * grid.period_ns.max(LOOK_NS)
}

/// How long they wait at most, ns: the wheel lets each look come up to a tick later, and their CPU sees the end at its next tick.
fn longest_wait_ns(grid: TickGrid) -> u64 {
    usual_wait_ns(grid) + (LOOKS + 1) * grid.period_ns
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
/// two it was is never certain. Nor is it what the stays waited for that began before the one which only the tick ended, and did not
/// stop their tick. Where such softirqs are not recorded, that holds for all that did not.
pub(super) fn mark(
    pieces: &mut [Piece],
    grid: TickGrid,
    recorded: bool,
    requests: &[RcuRequest],
    runs: &[RcuRun],
) {
    for piece in pieces {
        if piece.flags.has(PieceFlags::STOPPED_AFTER) {
            continue;
        }
        let next = requests.partition_point(|r| r.at_ns <= piece.start_ns);
        let tick_ns = grid.after(piece.start_ns.saturating_sub(piece.entry_lag_ns.into()));
        let left_ns = piece.exit_at_ns().saturating_add(piece.handler_ns.into());
        let asks_since = |since_ns: fn(&RcuRequest) -> u64| {
            // In the tick that ends the stay, however late, or soon after the one that was due.
            let latest_ns = tick_ns.saturating_add(AFTER_TICK_NS).max(left_ns + 1);
            let comes = |r: &RcuRequest| r.at_ns < latest_ns || since_ns(r) <= piece.start_ns;
            requests.get(next).is_some_and(comes)
        };
        let (asked, may_have) = (asks_since(|r| r.since_ns), asks_since(|r| r.open_since_ns));
        let needed = asked && has_callbacks(piece.start_ns, grid, runs);
        piece.flags.set(PieceFlags::TICK_NEEDED, needed);
        let until_tick_ns = tick_ns.wrapping_sub(piece.start_ns).cast_signed();
        if (may_have || !recorded) && piece.hrtimer_ns.min(piece.wheel_ns) > until_tick_ns {
            let known = piece.timer_confidence();
            piece.flags.set_timer_confidence(known.max(Confidence::Bounded));
            let at_most = known < Confidence::Bounded || piece.flags.has(PieceFlags::TIMER_AT_MOST);
            piece.flags.set(PieceFlags::TIMER_AT_MOST, at_most && !needed);
        }
    }
}

/// Whether the CPU seems to have callbacks at `start_ns`, by what the runs of the softirq before and after found.
fn has_callbacks(start_ns: u64, grid: TickGrid, runs: &[RcuRun]) -> bool {
    let next = runs.partition_point(|run| run.begin_ns <= start_ns);
    let recent = |run: &&RcuRun| run.begin_ns.saturating_add(usual_wait_ns(grid)) >= start_ns;
    let before = next.checked_sub(1).and_then(|n| runs.get(n)).filter(recent).map(|run| run.kind);
    match (before, runs.get(next).map(|run| run.kind)) {
        // Not recorded.
        (_, None) => true,
        (None, Some(after)) => after != RunKind::Short,
        (Some(before), Some(after)) => before == RunKind::Long || after == RunKind::Long,
    }
}

/// Forgets the requests that can matter to no stay that begins at `start_ns` or later, and such runs.
pub(super) fn forget(requests: &mut Vec<RcuRequest>, runs: &mut Vec<RcuRun>, start_ns: u64, grid: TickGrid) {
    requests.drain(..requests.partition_point(|r| r.at_ns <= start_ns));
    let earliest_ns = start_ns.saturating_sub(longest_wait_ns(grid));
    runs.drain(..runs.partition_point(|run| run.begin_ns < earliest_ns));
}

impl Cpu {
    /// RCU asks for its softirq. A CPU that is busy for long asks often, and no stay is near.
    pub(super) fn rcu_asks(&mut self, ts_ns: u64, grid: TickGrid) {
        if self.is_near(ts_ns, grid) {
            let from = |wait_ns| ts_ns.saturating_sub(wait_ns).max(self.no_callbacks_ns);
            let open = |from_ns| {
                let kept = move |p: &&Piece| p.start_ns > from_ns && !p.flags.has(PieceFlags::STOPPED_AFTER);
                self.stays.rest.iter().rev().take_while(kept)
            };
            let ticked = |p: &&Piece| matches!(p.cause, WakeCause::Tick | WakeCause::Wheel);
            let began = |first: Option<&Piece>| first.map_or(ts_ns, |p| p.start_ns);
            let since_ns = began(open(from(usual_wait_ns(grid))).filter(ticked).last());
            let open_since_ns = began(open(from(longest_wait_ns(grid))).last());
            self.rcu_requests.push(RcuRequest { at_ns: ts_ns, since_ns, open_since_ns });
        }
    }

    /// Its softirq began to run at `begin_ns`.
    pub(super) fn rcu_ran(&mut self, begin_ns: u64, kind: RunKind, grid: TickGrid) {
        let is_near = self.is_near(begin_ns, grid);
        if !is_near {
            self.rcu_runs.pop_if(|last| !last.is_near);
        }
        self.rcu_runs.push(RcuRun { begin_ns, kind, is_near });
    }

    /// Whether a stay lies so near before `ts_ns` that it may have waited for what RCU does then.
    fn is_near(&self, ts_ns: u64, grid: TickGrid) -> bool {
        let near = |p: &Piece| ts_ns < p.start_ns.saturating_add(horizon_ns(grid));
        self.stay.is_some() || self.stays.rest.last().is_some_and(near)
    }
}
