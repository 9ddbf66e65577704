// SPDX-License-Identifier: GPL-2.0-only
//! Whose event is next, of sources that are in order each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Who takes turns to give the next event. Of equal times the lower source comes first.
pub(crate) struct Turns {
    /// The source whose turn it is; the others wait in `waiting` with the times of their next events.
    current: usize,
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// The best of `waiting`: `current` goes on until it is reached.
    bound: (u64, usize),
}

const NOBODY: (u64, usize) = (u64::MAX, usize::MAX);

impl Turns {
    /// Of sources whose first events have these times, in their order.
    pub(crate) fn new(first_ns: impl Iterator<Item = u64>) -> Self {
        let waiting = first_ns.enumerate().map(|(source, ts_ns)| Reverse((ts_ns, source))).collect();
        let mut turns = Self { current: usize::MAX, waiting, bound: NOBODY };
        turns.end();
        turns
    }

    /// The source whose turn it is; beyond all of them when each has ended.
    #[inline(always)]
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Whether another source comes before an event of the current one at `ts_ns`.
    #[inline(always)]
    pub(crate) fn is_over(&self, ts_ns: u64) -> bool {
        (ts_ns, self.current) > self.bound
    }

    /// The current source ends: turns to the one whose event is next.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.current = self.waiting.pop().map_or(usize::MAX, |Reverse((_, source))| source);
        self.bound = self.waiting.peek().map_or(NOBODY, |Reverse(best)| *best);
    }

    /// Turns to the source whose event is next and lets the current one wait, whose next event is at `ts_ns`.
    #[inline]
    pub(crate) fn pass_on(&mut self, ts_ns: u64) {
        let mine = Reverse((ts_ns, self.current));
        if let Some(mut best) = self.waiting.peek_mut() {
            let Reverse((_, next)) = std::mem::replace(&mut *best, mine);
            self.current = next;
        }
        self.bound = self.waiting.peek().map_or(NOBODY, |Reverse(best)| *best);
    }
}
