// SPDX-License-Identifier: GPL-2.0-only
//! Ticks that were kept for RCU.

use idlewise_model::{Piece, PieceFlags, TickGrid};

use super::Cpu;

/// RCU's request for its softirq follows the tick this soon, ns.
const AFTER_TICK_NS: u64 = 1_000_000;

/// A request that comes this long after a stay began has nothing to do with it, ns.
pub(super) fn horizon_ns(grid: TickGrid) -> u64 {
    grid.period_ns + AFTER_TICK_NS
}

/// A CPU with RCU callbacks keeps its tick (`governors.md` 1.8, step 3). No event says so at the entry, but the tick
/// that was kept for it asks for RCU's softirq.
pub(super) fn mark(pieces: &mut [Piece], grid: TickGrid, raised: &[u64]) {
    for piece in pieces {
        if piece.flags.has(PieceFlags::STOPPED_AFTER) {
            continue;
        }
        let next = raised.partition_point(|t| *t <= piece.start_ns);
        let tick_ns = grid.after(piece.start_ns.saturating_sub(piece.entry_lag_ns.into()));
        let needed = raised.get(next).is_some_and(|t| *t < tick_ns.saturating_add(AFTER_TICK_NS));
        piece.flags.set(PieceFlags::TICK_NEEDED, needed);
    }
}

/// Forgets the requests that can matter to no stay that begins at `start_ns` or later.
pub(super) fn forget(raised: &mut Vec<u64>, start_ns: u64) {
    raised.drain(..raised.partition_point(|t| *t <= start_ns));
}

impl Cpu {
    /// RCU asks for its softirq. A CPU that is busy for long asks often, and no stay is near.
    pub(super) fn rcu_asks(&mut self, ts_ns: u64, grid: TickGrid) {
        let last = self.stays.rest.last();
        let near = |p: &Piece| ts_ns < p.start_ns.saturating_add(horizon_ns(grid));
        if self.stay.is_some() || last.is_some_and(near) {
            self.rcu_raised.push(ts_ns);
        }
    }
}
