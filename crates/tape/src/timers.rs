// SPDX-License-Identifier: GPL-2.0-only
//! Which timers are pending on which CPU, from `hrtimer_*` and `timer_*` events.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::NEVER_NS;

/// Earliest-first sets of pending timers, one for each CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    at: BTreeMap<u64, (u32, i64)>,
    cpus: BTreeMap<u32, BTreeSet<(i64, u64)>>,
}

impl Pending {
    /// Timer `id` is armed on `cpu` for `expires`; an earlier arming is forgotten.
    pub(crate) fn arm(&mut self, id: u64, cpu: u32, expires: i64) {
        self.disarm(id);
        self.at.insert(id, (cpu, expires));
        self.cpus.entry(cpu).or_default().insert((expires, id));
    }

    /// Timer `id` is not pending any more; gives what it was armed for.
    pub(crate) fn disarm(&mut self, id: u64) -> Option<(u32, i64)> {
        let (cpu, expires) = self.at.remove(&id)?;
        if let Some(set) = self.cpus.get_mut(&cpu) {
            set.remove(&(expires, id));
        }
        Some((cpu, expires))
    }

    /// The earliest expiry on `cpu`, or [`NEVER_NS`].
    pub(crate) fn earliest(&self, cpu: u32) -> i64 {
        self.first(cpu).0
    }

    /// The earliest expiry on `cpu` and its timer, or [`NEVER_NS`].
    pub(crate) fn first(&self, cpu: u32) -> (i64, u64) {
        self.cpus.get(&cpu).and_then(BTreeSet::first).copied().unwrap_or((NEVER_NS, 0))
    }

    /// The earliest expiry on any CPU but `cpu`, or [`NEVER_NS`].
    pub(crate) fn earliest_elsewhere(&self, cpu: u32) -> i64 {
        let others = self.cpus.iter().filter(|(c, _)| **c != cpu);
        others.filter_map(|(_, set)| set.first()).map(|(expires, _)| *expires).min().unwrap_or(NEVER_NS)
    }

    /// Moves all expiries but those of `but` by `by_ns`: the clock that they are told on jumped.
    pub(crate) fn shift(&mut self, by_ns: i64, but: &BTreeSet<u64>) {
        for (id, (cpu, expires)) in self.at.iter_mut().filter(|(id, _)| !but.contains(id)) {
            let Some(set) = self.cpus.get_mut(cpu) else { continue };
            set.remove(&(*expires, *id));
            *expires = expires.saturating_add(by_ns);
            set.insert((*expires, *id));
        }
    }

    /// Forgets timers on `cpu` that were due before `limit`: an event of theirs was lost.
    pub(crate) fn forget_before(&mut self, cpu: u32, limit: i64) -> u64 {
        let mut forgotten = 0;
        while let Some(&(expires, id)) = self.cpus.get(&cpu).and_then(BTreeSet::first) {
            if expires >= limit {
                break;
            }
            self.disarm(id);
            forgotten += 1;
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_pending_timer_is_found_across_rearming_and_cancelling() {
        let mut p = Pending::default();
        p.arm(1, 0, 500);
        p.arm(2, 0, 300);
        p.arm(3, 1, 100);
        assert_eq!((p.earliest(0), p.earliest(1), p.earliest(2)), (300, 100, NEVER_NS));
        p.arm(2, 0, 900);
        assert_eq!(p.earliest(0), 500);
        assert_eq!(p.disarm(1), Some((0, 500)));
        assert_eq!(p.disarm(1), None);
        assert_eq!((p.earliest(0), p.earliest_elsewhere(0)), (900, 100));
        assert_eq!(p.forget_before(0, 1000), 1);
        assert_eq!(p.earliest(0), NEVER_NS);
    }
}
