// SPDX-License-Identifier: GPL-2.0-only
use crate::StateCounters;

/// The counters of some CPUs together: of one, a cluster, a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterSum {
    pub cpus: usize,
    /// By state index: its names (several where CPUs name it differently, each once) and the sums. A count that one of
    /// the CPUs lacks is `None`; `disable` has the bits that any CPU has.
    pub states: Vec<(Vec<String>, StateCounters)>,
    /// A sum of one state has more than 64 bits.
    cut: bool,
}

impl CounterSum {
    /// Adds a CPU; `name` gives the name of a state by its index.
    pub fn add<'a>(&mut self, counters: &[StateCounters], name: impl Fn(usize) -> &'a str) {
        self.cpus += 1;
        for (index, c) in counters.iter().enumerate() {
            let Some((names, sum)) = self.states.get_mut(index) else {
                self.states.push((vec![name(index).to_string()], *c));
                continue;
            };
            if !names.iter().any(|n| n == name(index)) {
                names.push(name(index).to_string());
            }
            let mut cut = self.cut;
            let mut add = |a: u64, b: u64| {
                cut |= a.checked_add(b).is_none();
                a.saturating_add(b)
            };
            sum.usage = add(sum.usage, c.usage);
            sum.time_us = add(sum.time_us, c.time_us);
            let mut both = |a: Option<u64>, b: Option<u64>| Some(add(a?, b?));
            sum.above = both(sum.above, c.above);
            sum.below = both(sum.below, c.below);
            sum.rejected = both(sum.rejected, c.rejected);
            sum.s2idle_usage = both(sum.s2idle_usage, c.s2idle_usage);
            sum.s2idle_time_us = both(sum.s2idle_time_us, c.s2idle_time_us);
            sum.disable |= c.disable;
            self.cut = cut;
        }
    }

    /// Whether all sums, those of all states together included, have 64 bits: where not, they end at 2^64 - 1.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let fits = |get: fn(&StateCounters) -> Option<u64>| {
            let all = self.states.iter().filter_map(|(_, s)| get(s)).try_fold(0, u64::checked_add);
            all.is_some()
        };
        !self.cut
            && fits(|s| Some(s.usage))
            && fits(|s| Some(s.time_us))
            && fits(|s| s.above)
            && fits(|s| s.below)
            && fits(|s| s.rejected)
    }

    /// Entries, which are wakeups.
    #[must_use]
    pub fn usage(&self) -> u64 {
        self.states.iter().fold(0, |sum, (_, s)| sum.saturating_add(s.usage))
    }

    /// Time in all states, us.
    #[must_use]
    pub fn time_us(&self) -> u64 {
        self.states.iter().fold(0, |sum, (_, s)| sum.saturating_add(s.time_us))
    }

    /// Entries that were too deep; `None` on kernels that do not count them.
    #[must_use]
    pub fn above(&self) -> Option<u64> {
        self.count(|s| s.above)
    }

    /// Entries that were too shallow; `None` on kernels that do not count them.
    #[must_use]
    pub fn below(&self) -> Option<u64> {
        self.count(|s| s.below)
    }

    /// Refused entries; `None` on kernels that do not count them.
    #[must_use]
    pub fn rejected(&self) -> Option<u64> {
        self.count(|s| s.rejected)
    }

    fn count(&self, get: impl Fn(&StateCounters) -> Option<u64>) -> Option<u64> {
        self.states.iter().try_fold(0_u64, |sum, (_, s)| Some(sum.saturating_add(get(s)?)))
    }
}

/// `part` of `whole` in percent; `None` where there is no count or nothing to take a part of.
#[must_use]
pub fn share_pct(part: Option<u64>, whole: u64) -> Option<f64> {
    part.filter(|_| whole > 0).map(|part| 100.0 * part as f64 / whole as f64)
}
