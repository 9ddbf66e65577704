// SPDX-License-Identifier: GPL-2.0-only
//! Which timers are pending on which CPU, from `hrtimer_*` and `timer_*` events.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Event, NEVER_NS};

/// Up to about Linux 5.15 a timer that expires is taken off its queue with an `hrtimer_cancel` event, and its
/// `hrtimer_expire_entry` follows on the same CPU: 0.1 to 2 us later in recordings, 15 us at most. This long may something
/// that cannot be switched off (an NMI, the host of a guest) hold up the second event, ns.
const EXPIRY_NS: u64 = 1_000_000;

/// Timers that were cancelled and have not been armed since, with what was known of them. An expiry of such a timer on
/// the same CPU shows that the cancel was part of it.
#[derive(Debug)]
pub(crate) struct Cancelled<T> {
    /// By CPU and timer: when, and what was known.
    held: BTreeMap<(u32, u64), (u64, T)>,
}

impl<T> Default for Cancelled<T> {
    fn default() -> Self {
        Self { held: BTreeMap::new() }
    }
}

impl<T> Cancelled<T> {
    /// `e` cancels timer `id`, of which `known` was known.
    pub(crate) fn hold(&mut self, e: &Event, id: u64, known: T) {
        self.held.insert((e.cpu, id), (e.ts_ns, known));
    }

    /// `e` arms timer `id`, or it expires: the cancel before that has nothing to do with a later expiry. When it was, and what
    /// was known before it, if it can be part of `e`, an expiry.
    pub(crate) fn take(&mut self, e: &Event, id: u64) -> Option<(u64, T)> {
        let (ts_ns, known) = self.held.remove(&(e.cpu, id))?;
        (e.ts_ns.saturating_sub(ts_ns) <= EXPIRY_NS).then_some((ts_ns, known))
    }

    /// Keeps of what is held of `cpu` what `keep` wants, which is given the time of the cancel, ns.
    pub(crate) fn keep(&mut self, cpu: u32, mut keep: impl FnMut(u64, &mut T) -> bool) {
        let all = self.held.range_mut((cpu, 0)..=(cpu, u64::MAX));
        let gone: Vec<u64> =
            all.filter_map(|((_, id), (at, known))| (!keep(*at, known)).then_some(*id)).collect();
        for id in gone {
            self.held.remove(&(cpu, id));
        }
    }
}

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

    /// Moves all expiries but those of `but` by `by_ns`: the clock of their times jumped.
    pub(crate) fn shift(&mut self, by_ns: i64, but: &BTreeSet<u64>) {
        for (id, (cpu, expires)) in self.at.iter_mut().filter(|(id, _)| !but.contains(id)) {
            let Some(set) = self.cpus.get_mut(cpu) else { continue };
            set.remove(&(*expires, *id));
            *expires = expires.saturating_add(by_ns);
            set.insert((*expires, *id));
        }
    }

    /// Forgets all timers that were due before `limit`.
    pub(crate) fn forget_all_before(&mut self, limit: i64) {
        let cpus: Vec<u32> = self.cpus.keys().copied().collect();
        for cpu in cpus {
            self.forget_before(cpu, limit);
        }
    }

    /// All that are pending.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        self.at.keys().copied()
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
    use idlewise_model::EventKind;

    use super::*;

    #[test]
    fn a_cancel_belongs_to_the_expiry_that_follows_it_on_the_same_cpu() {
        let at = |cpu, ts_ns| Event { ts_ns, cpu, pid: 0, kind: EventKind::HrtimerCancel { hrtimer: 7 } };
        let mut c = Cancelled::default();
        c.hold(&at(0, 1_000), 7, "armed");
        assert_eq!(c.take(&at(1, 1_300), 7), None, "another CPU");
        assert_eq!(c.take(&at(0, 1_300), 8), None, "another timer");
        assert_eq!(c.take(&at(0, 1_300), 7), Some((1_000, "armed")));
        assert_eq!(c.take(&at(0, 1_300), 7), None, "only once");
        c.hold(&at(0, 1_000), 7, "armed");
        assert_eq!(c.take(&at(0, 1_001 + EXPIRY_NS), 7), None, "much later");
        c.hold(&at(2, 1_000), 7, "armed");
        c.keep(1, |_, _| false);
        c.keep(2, |ts_ns, _| ts_ns == 1_000);
        assert_eq!(c.held.len(), 1);
        c.keep(2, |_, _| false);
        assert_eq!(c.held.len(), 0);
    }

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
