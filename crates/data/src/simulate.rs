// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_experiment::simulate::{FactUnit, SimulateReport};

use crate::declared::{Declared, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("governor", TEXT, "idle governor"),
    ("cpufreq", TEXT, "frequency governor"),
    ("signal", TEXT, "load-tracking signal"),
    ("seed", INTEGER, "seed of the run"),
    ("about", TEXT, "what the number is about: idle, a task, a cluster"),
    ("name", TEXT, "name of the number"),
    ("unit", TEXT, "unit of the number"),
    ("value", NUMBER, "the number in this run"),
    ("mean", NUMBER, "mean over the seeds"),
    ("half_width", NUMBER, "half the width of its 95 % interval"),
    ("mean_change", NUMBER, "change of the mean against the baseline"),
    ("change_half_width", NUMBER, "half the width of the change's 95 % interval"),
    ("modes", INTEGER, "2 where runs fall into two groups"),
];

/// The column besides of runs with power limits that were asked for.
pub(crate) const LIMITED: Declared = ("power_limit", TEXT, "power limits, one value of each range");

/// One row for each run and number, with what all runs say of the number.
#[must_use]
pub fn simulate(r: &SimulateReport) -> DataTable {
    let limited = r.request.power_limit.is_some();
    let mut t = table(COLUMNS.iter().chain(limited.then_some(&LIMITED)));
    let finite = |v: f64| Some(v).filter(|v| v.is_finite());
    for c in &r.combinations {
        for run in &c.runs {
            for (fact, value) in c.facts.iter().zip(&run.values) {
                let change = fact.change.as_ref();
                let mut cells = row![
                    &c.governor,
                    &c.cpufreq,
                    &c.signal,
                    run.seed,
                    &fact.about,
                    &fact.name,
                    unit(fact.unit),
                    finite(*value),
                    finite(fact.summary.mean),
                    fact.summary.half_width.and_then(finite),
                    change.and_then(|c| finite(c.difference)),
                    change.and_then(|c| c.half_width).and_then(finite),
                    fact.modes.is_some().then_some(2),
                ];
                if limited {
                    cells.push(c.power_limit.as_deref().into());
                }
                t.push(cells);
            }
        }
    }
    t
}

fn unit(unit: FactUnit) -> &'static str {
    match unit {
        FactUnit::Count => "count",
        FactUnit::Percent => "percent",
        FactUnit::Ns => "ns",
        FactUnit::Energy => "mW or relative",
        FactUnit::PerSecond => "1/s",
        FactUnit::Khz => "kHz",
        FactUnit::Microjoule => "uJ",
        FactUnit::Millijoule => "mJ",
        FactUnit::Celsius => "degrees C",
        FactUnit::Milliwatt => "mW",
        FactUnit::Milliampere => "mA",
        FactUnit::MilliampereHour => "mAh",
    }
}
