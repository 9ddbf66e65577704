// SPDX-License-Identifier: GPL-2.0-only
use idlewise_platform::{
    CounterSum, Origin, PlatformError, StateCounters, SysfsCounters, SysfsDump, share_pct,
};
use serde::Serialize;

use super::Run;

/// What some CPUs did: a machine's, a cluster's, one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    /// `all`, `cpu0-3`, `cpu 5`.
    pub name: String,
    /// How many CPUs.
    pub cpus: usize,
    /// Entries, which are wakeups.
    pub usage: u64,
    /// Time in idle states, us.
    pub time_us: u64,
    /// Too deep, % of entries; `None` without entries, or where nobody counted.
    pub above_pct: Option<f64>,
    /// Too shallow, % of entries; likewise.
    pub below_pct: Option<f64>,
    /// Refused entries; `None` where nobody counted.
    pub rejected: Option<u64>,
    /// By state, shallow to deep.
    pub states: Vec<StatePart>,
}

/// One idle state of a [`Part`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatePart {
    /// Its name; several, with `/` between, where CPUs name it differently.
    pub name: String,
    /// Entries.
    pub usage: u64,
    /// Entries, % of those into any state.
    pub usage_pct: Option<f64>,
    /// Time in it, us.
    pub time_us: u64,
    /// Time in it, % of the time in any state.
    pub idle_pct: Option<f64>,
    /// Entries that were too deep.
    pub above: Option<u64>,
    /// The same, % of entries into it.
    pub above_pct: Option<f64>,
    /// Entries that were too shallow.
    pub below: Option<u64>,
    /// The same, % of entries into it.
    pub below_pct: Option<f64>,
    /// Refused entries.
    pub rejected: Option<u64>,
}

/// Sums in the making.
#[derive(Default)]
pub(super) struct Parts {
    all: CounterSum,
    clusters: Vec<(String, CounterSum)>,
    cpus: Vec<(Option<u32>, CounterSum)>,
}

impl Parts {
    /// `counters` of the machine that `dump` describes.
    pub(super) fn of_dump(dump: &SysfsDump, counters: &SysfsCounters) -> Self {
        // Where a table makes no sense as one, the counters still do, and the machine is one cluster.
        let clusters = dump.platform("dump", Origin::Running).map(|p| p.clusters).unwrap_or_default();
        let mut parts = Self::default();
        for (cpu, states) in &dump.cpus {
            let Some(counted) = counters.cpus.get(&cpu.unwrap_or(0)) else { continue };
            let place = cpu.and_then(|cpu| clusters.iter().find(|c| c.cpus.contains(&cpu)));
            let name = |(i, s): (&usize, &idlewise_platform::SysfsState)| {
                s.name.clone().unwrap_or_else(|| format!("state{i}"))
            };
            let names: Vec<String> = states.iter().map(name).collect();
            parts.add(*cpu, place.map_or("", |c| &c.name), &names, counted);
        }
        parts
    }

    /// Adds a CPU of the part of the machine that is called `cluster`.
    pub(super) fn add(
        &mut self,
        cpu: Option<u32>,
        cluster: &str,
        names: &[String],
        counters: &[StateCounters],
    ) {
        let name = |i: usize| names.get(i).map_or("?", String::as_str);
        self.all.add(counters, name);
        let mut own = CounterSum::default();
        own.add(counters, name);
        self.cpus.push((cpu, own));
        match self.clusters.iter_mut().find(|(c, _)| c == cluster) {
            Some((_, sum)) => sum.add(counters, name),
            None => {
                let mut sum = CounterSum::default();
                sum.add(counters, name);
                self.clusters.push((cluster.to_owned(), sum));
            }
        }
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
        if !self.all.is_whole() {
            return Err(PlatformError::Counters {
                what: format!("the counters of {} CPUs are more than 2^64 together", self.all.cpus),
                hint: "no machine has such a count; is a number damaged?".to_owned(),
            });
        }
        let several = self.clusters.len() > 1;
        let clusters = self.clusters.iter().filter(|_| several);
        let cpu = |cpu: &Option<u32>| cpu.map_or_else(|| "not named".to_owned(), |c| format!("cpu {c}"));
        Ok(Run {
            name: name.to_owned(),
            basis,
            driver,
            governor,
            seconds,
            all: Part::new("all".to_owned(), &self.all),
            clusters: clusters.map(|(name, sum)| Part::new(name.clone(), sum)).collect(),
            cpus: self.cpus.iter().map(|(number, sum)| Part::new(cpu(number), sum)).collect(),
        })
    }
}

impl Part {
    fn new(name: String, sum: &CounterSum) -> Self {
        let (usage, time_us) = (sum.usage(), sum.time_us());
        let state = |(names, c): &(Vec<String>, StateCounters)| StatePart {
            name: names.join("/"),
            usage: c.usage,
            usage_pct: share_pct(Some(c.usage), usage),
            time_us: c.time_us,
            idle_pct: share_pct(Some(c.time_us), time_us),
            above: c.above,
            above_pct: share_pct(c.above, c.usage),
            below: c.below,
            below_pct: share_pct(c.below, c.usage),
            rejected: c.rejected,
        };
        Self {
            name,
            cpus: sum.cpus,
            usage,
            time_us,
            above_pct: share_pct(sum.above(), usage),
            below_pct: share_pct(sum.below(), usage),
            rejected: sum.rejected(),
            states: sum.states.iter().map(state).collect(),
        }
    }
}
