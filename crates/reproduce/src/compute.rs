// SPDX-License-Identifier: GPL-2.0-only
//! Published numbers that no simulation is needed for.

use idlewise_signal::pelt::{Avg, Pelt, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use idlewise_experiment::ExperimentError;
use idlewise_experiment::simulate::{Fact, FactSummary, FactUnit, pelt_of};

/// Values that follow from a formula, without a simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Computed {
    /// How long PELT takes up and down: from the formula, and with the kernel's integers.
    PeltTimes,
}

const MS: u64 = 1_000_000;
/// PELT's period, ns.
const PERIOD: u64 = 1 << 20;
const HALF_LIFE: f64 = 32.0;
/// Where it is given up, ns.
const END: u64 = 1_000 * MS;

/// What the number is called, whether it rises, and which share of 1024 it reaches, per cent.
const TIMES: [(&str, bool, f64); 5] = [
    ("rise to 80 %", true, 80.0),
    ("rise to 95 %", true, 95.0),
    ("decay to 10 %", false, 10.0),
    ("decay to 1 %", false, 1.0),
    ("decay to 0", false, 0.0),
];

impl Computed {
    pub(crate) fn facts(self, kernel: &str) -> Result<Vec<FactSummary>, ExperimentError> {
        match self {
            Self::PeltTimes => pelt_times(kernel),
        }
    }
}

fn pelt_times(kernel: &str) -> Result<Vec<FactSummary>, ExperimentError> {
    let config = pelt_of(kernel)?;
    let pelt = Pelt::new(config)?;
    let mut out = Vec::new();
    let mut add = |about: &str, name: &str, ns: Option<f64>| {
        let values: Vec<f64> = ns.into_iter().collect();
        let fact = Fact {
            about: about.to_owned(),
            name: name.to_owned(),
            unit: FactUnit::Ns,
            value: ns.unwrap_or(f64::NAN),
        };
        out.push(FactSummary::of(&fact, &values));
    };
    for (name, rises, percent) in TIMES {
        let left = if rises { 100.0 - percent } else { percent } / 100.0;
        let periods = (left > 0.0).then(|| HALF_LIFE * -left.log2());
        add("formula, periods as ms", name, periods.map(|p| p * MS as f64));
        add("formula, time", name, periods.map(|p| p * PERIOD as f64));
        for (about, every_ns, as_ns) in [
            ("updates every ms", MS, MS),
            ("updates every 4 ms", 4 * MS, 4 * MS),
            ("updates every period, periods as ms", PERIOD, MS),
        ] {
            let updates = updates(&pelt, rises, percent, every_ns);
            add(about, name, updates.map(|n| (n * as_ns) as f64));
        }
    }
    Ok(out)
}

/// Updates until the average of a task that always runs, or that sleeps after it has always run, is there.
fn updates(pelt: &Pelt, rises: bool, percent: f64, every_ns: u64) -> Option<u64> {
    let goal = percent * 10.24;
    let mut avg = Avg::default();
    let mut now_ns = 0;
    let mut step = |runs: bool| {
        now_ns += every_ns;
        let one = u64::from(runs);
        if pelt.update(&mut avg, Speed::FULL, now_ns, one, one, runs) {
            pelt.publish(&mut avg, 1);
        }
        avg.util as f64
    };
    if !rises {
        for _ in 0..END / every_ns {
            step(true);
        }
    }
    let goal = goal.round();
    let reached = |util: f64| if rises { util >= goal } else { util <= goal };
    (1..=END / every_ns).find(|_| reached(step(rises)))
}
