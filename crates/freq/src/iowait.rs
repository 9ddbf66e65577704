// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::since;

/// The first boost, of 1024.
const LEAST: u64 = 128;
const SCALE: u64 = 1024;

/// The boost of a CPU on which tasks wake up from I/O again and again: doubles with each such wake-up, halves with each
/// evaluation without one (signal-behaviour.md C2).
#[derive(Clone, Debug, Default)]
pub(crate) struct IowaitBoost {
    boost: u64,
    pending: bool,
    last_ns: u64,
}

impl IowaitBoost {
    /// A hook call, before anything is evaluated. Also keeps its time as the CPU's last update.
    pub(crate) fn note(&mut self, t_ns: u64, iowait: bool, tick_ns: u64) {
        let stale = self.boost != 0 && self.stale(t_ns, tick_ns);
        self.last_ns = t_ns;
        if stale {
            self.boost = if iowait { LEAST } else { 0 };
            self.pending = iowait;
        } else if iowait && !self.pending {
            self.pending = true;
            self.boost = if self.boost == 0 { LEAST } else { (self.boost * 2).min(SCALE) };
        }
    }

    /// The boost that an evaluation counts with, if any, on the scale of a CPU of this capacity.
    pub(crate) fn apply(&mut self, t_ns: u64, capacity: u64, tick_ns: u64) -> Option<u64> {
        if self.boost == 0 {
            return None;
        }
        if self.stale(t_ns, tick_ns) {
            self.boost = 0;
            self.pending = false;
            return None;
        }
        if !self.pending {
            self.boost >>= 1;
            if self.boost < LEAST {
                self.boost = 0;
                return None;
            }
        }
        self.pending = false;
        Some(self.boost.saturating_mul(capacity) >> 10)
    }

    fn stale(&self, t_ns: u64, tick_ns: u64) -> bool {
        since(t_ns, self.last_ns) > i64::try_from(tick_ns).unwrap_or(i64::MAX)
    }
}
