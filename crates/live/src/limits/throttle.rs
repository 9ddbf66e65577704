// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel counts of CPUs that were slowed down because of heat (x86).

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Host;
use crate::files::{names, number};

/// Files of a CPU: how often, and for how long, ms (since Linux 5.6); of its core, then of its package.
const FILES: [&str; 4] = [
    "core_throttle_count",
    "package_throttle_count",
    "core_throttle_total_time_ms",
    "package_throttle_total_time_ms",
];

/// Throttling because of heat in a span of time.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Throttling {
    /// How often it began, over all CPUs; CPUs of a package count its throttling each.
    pub count: u64,
    /// Time in which a core was throttled, % of the span, of the core that was for longest; null where no time is counted.
    pub core_pct: Option<f64>,
    /// The same of the packages. Time counts when throttling ends.
    pub package_pct: Option<f64>,
}

impl Throttling {
    /// The larger share of time, %; 0 where none is counted.
    #[must_use]
    pub fn longest_pct(&self) -> f64 {
        self.core_pct.into_iter().chain(self.package_pct).fold(0.0, f64::max)
    }

    /// How often, and for which share of time, in a line.
    #[must_use]
    pub fn words(&self) -> String {
        let share = |what: &str, pct: Option<f64>| pct.map(|pct| format!("{what} {pct:.1} % of the time"));
        let shares: Vec<String> = [share("core", self.core_pct), share("package", self.package_pct)]
            .into_iter()
            .flatten()
            .collect();
        let times = format!("throttled {} times", self.count);
        if shares.is_empty() { times } else { format!("{times}, {}", shares.join(", ")) }
    }
}

/// The counters at one moment, by the folder of each CPU that has some.
#[derive(Clone, Debug, Default)]
pub(super) struct ThrottleCounters(BTreeMap<String, [Option<u64>; 4]>);

impl ThrottleCounters {
    pub(super) fn read(host: &Host) -> Self {
        let cpus = host.sys.join("devices/system/cpu");
        let of = |cpu: String| {
            let counts = FILES.map(|file| number(&cpus.join(&cpu).join("thermal_throttle").join(file)));
            counts.iter().any(Option::is_some).then_some((cpu, counts))
        };
        let is_cpu = |name: &String| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
        Self(names(&cpus).into_iter().filter(is_cpu).filter_map(of).collect())
    }

    /// Whether the kernel counts at all.
    pub(super) fn counts(&self) -> bool {
        !self.0.is_empty()
    }

    /// What grew in `time`. A counter that was set back, or that came or went with its CPU, says nothing.
    pub(super) fn since(&self, before: &Self, time: Duration) -> Option<Throttling> {
        let grown = |file: usize| {
            let of =
                |(cpu, now): (&String, &[Option<u64>; 4])| now[file]?.checked_sub(before.0.get(cpu)?[file]?);
            self.0.iter().filter_map(of).collect::<Vec<u64>>()
        };
        let span_ms = time.as_secs_f64() * 1e3;
        let share = |file: usize| {
            let longest = grown(file).into_iter().max().filter(|_| span_ms > 0.0)?;
            Some((100.0 * longest as f64 / span_ms).min(100.0))
        };
        self.counts().then(|| Throttling {
            count: grown(0).into_iter().chain(grown(1)).fold(0, u64::saturating_add),
            core_pct: share(2),
            package_pct: share(3),
        })
    }
}
