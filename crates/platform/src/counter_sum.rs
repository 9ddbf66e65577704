// SPDX-License-Identifier: GPL-2.0-only
use crate::StateCounters;

/// The counters of some CPUs together: of one, a cluster, a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterSum {
    pub cpus: usize,
    /// By state number: its names (several where CPUs name it differently, each once; none where no CPU has the state) and
    /// the sums. A count that one of the CPUs lacks is `None`; `disable` has the bits that any CPU has.
    pub states: Vec<(Vec<String>, StateCounters)>,
    /// A sum of one state has more than 64 bits.
    cut: bool,
}

impl CounterSum {
    /// Adds a CPU; `name` gives the name of a state by its number, and nothing for one that the CPU does not have.
    pub fn add<'a>(&mut self, counters: &[StateCounters], name: impl Fn(usize) -> Option<&'a str>) {
        self.cpus += 1;
        if self.states.len() < counters.len() {
            self.states.resize_with(counters.len(), Default::default);
        }
        for (index, (c, (names, sum))) in counters.iter().zip(&mut self.states).enumerate() {
            let Some(name) = name(index) else { continue };
            if names.is_empty() {
                names.push(name.to_string());
                *sum = *c;
                continue;
            }
            if !names.iter().any(|n| n == name) {
                names.push(name.to_string());
            }
            let mut cut = self.cut;
            let mut add = |a: u64, b: u64| {
                cut |= a.checked_add(b).is_none();
                a.saturating_add(b)
            };
            let mut both = |a: Option<u64>, b: Option<u64>| Some(add(a?, b?));
            sum.usage = both(sum.usage, c.usage);
            sum.time_us = both(sum.time_us, c.time_us);
            sum.above = both(sum.above, c.above);
            sum.below = both(sum.below, c.below);
            sum.rejected = both(sum.rejected, c.rejected);
            sum.s2idle_usage = both(sum.s2idle_usage, c.s2idle_usage);
            sum.s2idle_time_us = both(sum.s2idle_time_us, c.s2idle_time_us);
            sum.disable = sum.disable.zip(c.disable).map(|(a, b)| a | b).or(sum.disable).or(c.disable);
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
            && fits(|s| s.usage)
            && fits(|s| s.time_us)
            && fits(|s| s.above)
            && fits(|s| s.below)
            && fits(|s| s.rejected)
    }

    /// Entries, which are wakeups; `None` where a dump does not have them.
    #[must_use]
    pub fn usage(&self) -> Option<u64> {
        self.count(|s| s.usage)
    }

    /// Time in all states, us; `None` where a dump does not have it.
    #[must_use]
    pub fn time_us(&self) -> Option<u64> {
        self.count(|s| s.time_us)
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
        let mut there = self.states.iter().filter(|(names, _)| !names.is_empty());
        there.try_fold(0_u64, |sum, (_, s)| Some(sum.saturating_add(get(s)?)))
    }
}

/// `part` of `whole` in percent; `None` where one of them is not known, or there is nothing to take a part of.
#[must_use]
pub fn share_pct(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let (part, whole) = part.zip(whole.filter(|whole| *whole > 0))?;
    Some(100.0 * part as f64 / whole as f64)
}
