// SPDX-License-Identifier: GPL-2.0-only
//! Ticks that were kept for RCU.

use idlewise_model::{Piece, PieceFlags, TickGrid, WakeCause};

use super::cpu::{Cpu, RcuRequest};

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
pub(super) fn mark(pieces: &mut [Piece], grid: TickGrid, requests: &[RcuRequest]) {
    for piece in pieces {
        if piece.flags.has(PieceFlags::STOPPED_AFTER) {
            continue;
        }
        let next = requests.partition_point(|r| r.at_ns <= piece.start_ns);
        let tick_ns = grid.after(piece.start_ns.saturating_sub(piece.entry_lag_ns.into()));
        let needed = requests
            .get(next)
            .is_some_and(|r| r.at_ns < tick_ns.saturating_add(AFTER_TICK_NS) || r.since_ns <= piece.start_ns);
        piece.flags.set(PieceFlags::TICK_NEEDED, needed);
    }
}

/// Forgets the requests that can matter to no stay that begins at `start_ns` or later.
pub(super) fn forget(requests: &mut Vec<RcuRequest>, start_ns: u64) {
    requests.drain(..requests.partition_point(|r| r.at_ns <= start_ns));
}

impl Cpu {
    /// RCU asks for its softirq. A CPU that is busy for long asks often, and no stay is near.
    pub(super) fn rcu_asks(&mut self, ts_ns: u64, grid: TickGrid) {
        let last = self.stays.rest.last();
        let near = |p: &Piece| ts_ns < p.start_ns.saturating_add(horizon_ns(grid));
        if self.stay.is_some() || last.is_some_and(near) {
            let since_ns = self.kept_since_ns(ts_ns.saturating_sub(longest_wait_ns(grid))).unwrap_or(ts_ns);
            self.rcu_requests.push(RcuRequest { at_ns: ts_ns, since_ns });
        }
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
