// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_platform::{
    CounterSum, Origin, PlatformError, StateCounters, SysfsCounters, SysfsDump, SysfsState, share_pct,
};

use super::report::{Part, Run, StatePart};

/// The states of a CPU, by number: of each its name, latency and residency, as far as they are known.
pub(super) type States = BTreeMap<usize, SysfsState>;

/// Sums in the making.
#[derive(Default)]
pub(super) struct Parts {
    all: Sum,
    clusters: Vec<(String, Sum)>,
    cpus: Vec<(Option<u32>, Sum)>,
    /// States have names only.
    unnumbered: bool,
}

/// The counters of some CPUs, and the numbers of their states.
#[derive(Default)]
struct Sum {
    counters: CounterSum,
    /// Latency and residency, us, where all CPUs have the same.
    numbers: BTreeMap<usize, [Option<u64>; 2]>,
}

impl Sum {
    fn add(&mut self, states: &States, counters: &[StateCounters]) {
        let unnamed: Vec<String> = (0..counters.len()).map(|n| format!("state{n}")).collect();
        self.counters.add(counters, |n| {
            let state = states.get(&n)?;
            state.name.as_deref().or(unnamed.get(n).map(String::as_str))
        });
        for (number, state) in states {
            let own = [state.latency_us, state.residency_us];
            let known = self.numbers.entry(*number).or_insert(own);
            if *known != own {
                *known = [None, None];
            }
        }
    }
}

impl Parts {
    /// `counters` of the machine that `dump` describes.
    pub(super) fn of_dump(dump: &SysfsDump, counters: &SysfsCounters) -> Self {
        // Where a table makes no sense as one, the counters still do, and the machine is one cluster.
        let clusters = dump.platform("dump", Origin::Running).map(|p| p.clusters).unwrap_or_default();
        let mut parts = Self { unnumbered: dump.unnumbered, ..Self::default() };
        for (cpu, states) in &dump.cpus {
            let Some(counted) = counters.cpus.get(&cpu.unwrap_or(0)) else { continue };
            let place = cpu.and_then(|cpu| clusters.iter().find(|c| c.cpus.contains(&cpu)));
            parts.add(*cpu, place.map_or("", |c| &c.name), states, counted);
        }
        parts
    }

    /// Adds a CPU of the part of the machine that is called `cluster`.
    pub(super) fn add(
        &mut self,
        cpu: Option<u32>,
        cluster: &str,
        states: &States,
        counters: &[StateCounters],
    ) {
        self.all.add(states, counters);
        let mut own = Sum::default();
        own.add(states, counters);
        self.cpus.push((cpu, own));
        let at = self.clusters.iter().position(|(c, _)| c == cluster).unwrap_or_else(|| {
            self.clusters.push((cluster.to_owned(), Sum::default()));
            self.clusters.len() - 1
        });
        self.clusters[at].1.add(states, counters);
    }

    /// All together.
    ///
    /// # Errors
    /// The sums have more than 64 bits.
    pub(super) fn run(
        &self,
        name: &str,
        basis: &'static str,
        seconds: Option<f64>,
        driver: Option<String>,
        governor: Option<String>,
    ) -> Result<Run, PlatformError> {
        // All that is in a sum of some CPUs is in that of all.
        if !self.all.counters.is_whole() {
            return Err(PlatformError::Counters {
                what: format!("the counters of {} CPUs are more than 2^64 together", self.all.counters.cpus),
                hint: "no machine has such a count; is a number damaged?".to_owned(),
            });
        }
        let several = self.clusters.len() > 1;
        let clusters = self.clusters.iter().filter(|_| several);
        let cpu = |cpu: &Option<u32>| cpu.map_or_else(|| "not named".to_owned(), |c| format!("cpu {c}"));
        let mut run = Run {
            name: name.to_owned(),
            basis,
            driver,
            governor,
            seconds,
            measured: Vec::new(),
            all: Part::new("all".to_owned(), &self.all),
            clusters: clusters.map(|(name, sum)| Part::new(name.clone(), sum)).collect(),
            cpus: self.cpus.iter().map(|(number, sum)| Part::new(cpu(number), sum)).collect(),
        };
        if self.unnumbered {
            let parts = std::iter::once(&mut run.all).chain(&mut run.clusters).chain(&mut run.cpus);
            parts.flat_map(|p| &mut p.states).for_each(|s| s.state = None);
        }
        Ok(run)
    }
}

impl Part {
    fn new(name: String, sum: &Sum) -> Self {
        let (numbers, sum) = (&sum.numbers, &sum.counters);
        let (usage, time_us) = (sum.usage(), sum.time_us());
        let there = sum.states.iter().enumerate().filter(|(_, (names, _))| !names.is_empty());
        let state = |(number, (names, c)): (usize, &(Vec<String>, StateCounters))| {
            let [latency_us, residency_us] = numbers.get(&number).map_or([None; 2], |known| *known);
            StatePart {
                state: Some(number),
                name: names.join("/"),
                latency_us,
                residency_us,
                disabled: c.disable.map(|d| d != 0),
                usage: c.usage,
                usage_pct: share_pct(c.usage, usage),
                time_us: c.time_us,
                idle_pct: share_pct(c.time_us, time_us),
                above: c.above,
                above_pct: share_pct(c.above, c.usage),
                below: c.below,
                below_pct: share_pct(c.below, c.usage),
                rejected: c.rejected,
            }
        };
        Self {
            name,
            cpus: sum.cpus,
            usage,
            time_us,
            above: sum.above(),
            above_pct: share_pct(sum.above(), usage),
            below: sum.below(),
            below_pct: share_pct(sum.below(), usage),
            rejected: sum.rejected(),
            states: there.map(state).collect(),
        }
    }

    /// Its states next to those of `other`: each with the one of the same name, latency and residency, as far as both
    /// know them; a state without a partner alone. In the order of `other`, and of `self` for its own.
    #[must_use]
    pub fn paired<'a>(&'a self, other: &'a Self) -> Vec<(Option<&'a StatePart>, Option<&'a StatePart>)> {
        let mut own: Vec<Option<&StatePart>> = self.states.iter().map(Some).collect();
        let mut out = Vec::new();
        for b in &other.states {
            // Names may repeat (`kvm-guest` has none, and firmware may give one to two states): then numbers decide.
            let fits = |a: &Option<&StatePart>| a.is_some_and(|a| a.may_be(b));
            let same = |a: &Option<&StatePart>| fits(a) && a.is_some_and(|a| a.state == b.state);
            let at = own.iter().position(same).or_else(|| own.iter().position(fits));
            let partner = at.and_then(|at| own.get_mut(at)).and_then(Option::take);
            out.push((partner, Some(b)));
        }
        for a in own.into_iter().flatten() {
            // States without numbers are in no order of those of the other run.
            let before = |(partner, b): &(Option<&StatePart>, Option<&StatePart>)| {
                b.is_some_and(|b| b.state > a.state || b.state == a.state && partner.is_none())
            };
            let at = out.iter().position(before).unwrap_or(out.len());
            out.insert(at, (Some(a), None));
        }
        out
    }
}

impl StatePart {
    fn may_be(&self, other: &Self) -> bool {
        let differ = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
        self.name == other.name
            && !differ(self.latency_us, other.latency_us)
            && !differ(self.residency_us, other.residency_us)
    }

    /// `3 C6`: number, where it has one, and name.
    #[must_use]
    pub fn label(&self) -> String {
        self.state.map_or_else(|| self.name.clone(), |number| format!("{number} {}", self.name))
    }

    /// `3 C6 (220/600 us)`: number, name, latency and residency.
    pub(super) fn shown(&self) -> String {
        let us = |us: Option<u64>| us.map_or_else(|| "?".to_owned(), |us| us.to_string());
        let label = self.label();
        match (self.latency_us, self.residency_us) {
            (None, None) => label,
            (latency, residency) => format!("{label} ({}/{} us)", us(latency), us(residency)),
        }
    }
}
