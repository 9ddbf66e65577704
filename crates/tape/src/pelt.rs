// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's average of running time, PELT, as far as a trace tells what it was fed with; the arithmetic is that of
//! `signals/pelt.c`.

use idlewise_signal::pelt::{Avg, Pelt as Rules, Speed};

const FULL: u64 = 1024;

/// The utilisation part of one PELT average.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pelt {
    rules: Rules,
    avg: Avg,
}

impl Pelt {
    /// Ages the sum to `now_ns`; the time since the last call was spent running or not.
    pub(crate) fn update(&mut self, now_ns: u64, running: bool) {
        let one = u64::from(running);
        if self.rules.update(&mut self.avg, Speed::FULL, now_ns, one, one, running) {
            self.rules.publish(&mut self.avg, 1);
            self.avg.util = self.avg.util.min(FULL);
        }
    }

    /// Utilisation at the last update, 0..=1024.
    pub(crate) fn util(&self) -> u16 {
        self.avg.util as u16
    }

    /// So long has it run that a clock that goes on would only take from it (`signal-behaviour.md` A6).
    pub(crate) fn is_full(&self) -> bool {
        let most = self.rules.config().sum_max;
        self.avg.util_sum >= self.least_divider() * FULL as u32 - most
    }

    /// Sets the average at its last update.
    pub(crate) fn set(&mut self, util: u16) {
        self.avg.util = u64::from(util).min(FULL);
        self.avg.util_sum = self.avg.util as u32 * self.rules.divider(&self.avg);
    }

    /// Becomes part of `queue`, with its average as it is (`signal-behaviour.md` A8, attach).
    pub(crate) fn attach_to(&mut self, queue: &mut Self) {
        (self.avg.last_ns, self.avg.frac) = (queue.avg.last_ns, queue.avg.frac);
        self.set(self.util());
        queue.avg.util = (queue.avg.util + self.avg.util).min(FULL);
        queue.avg.util_sum = queue.avg.util_sum.saturating_add(self.avg.util_sum);
    }

    /// Is no part of `queue` any more (`signal-behaviour.md` A8).
    pub(crate) fn detach_from(&self, queue: &mut Self) {
        let part = self.avg.util as u32 * queue.rules.divider(&queue.avg);
        queue.avg.util = queue.avg.util.saturating_sub(self.avg.util);
        let least = queue.avg.util as u32 * queue.least_divider();
        queue.avg.util_sum = queue.avg.util_sum.saturating_sub(part).max(least);
    }

    /// The divider at the beginning of a period.
    fn least_divider(&self) -> u32 {
        self.rules.divider(&Avg::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `signal-behaviour.md` A15 (a): rise from zero, one update a millisecond.
    #[test]
    fn the_rise_is_the_kernels() {
        let mut pelt = Pelt::default();
        let golden = [(1, 0), (2, 41), (8, 156), (32, 495), (64, 751), (100, 894), (200, 1008), (400, 1024)];
        let mut got = Vec::new();
        for ms in 1..=400u64 {
            pelt.update(ms * 1_000_000, true);
            if golden.iter().any(|g| g.0 == ms) {
                got.push((ms, pelt.util()));
            }
        }
        assert_eq!(got, golden);
    }
}
