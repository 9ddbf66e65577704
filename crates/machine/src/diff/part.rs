// SPDX-License-Identifier: GPL-2.0-only
use idlewise_platform::{
    CounterSum, Origin, PlatformError, StateCounters, SysfsCounters, SysfsDump, share_pct,
};

use super::report::{Part, Run, StatePart};

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
