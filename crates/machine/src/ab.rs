// SPDX-License-Identifier: GPL-2.0-only
//! What an A/B comparison on the running machine must not show: `idlewise ab --fail-if`.

use std::path::Path;

use idlewise_ab::{AbReport, Cell, MetricReport, Stop, Verdict, Work};
use idlewise_live::Host;
use idlewise_live::journal::Restoration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::MachineError;
use idlewise_recording::CommandError;
use idlewise_report::number;
use idlewise_study::condition::{ComparedMetric, Condition, Counting};

pub use idlewise_study::condition::{Check, Measured};

/// A comparison's report, and what was asked of it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct AbAnswer {
    #[serde(flatten)]
    pub report: AbReport,
    /// The conditions asked for.
    pub checks: Vec<Check>,
}

impl AbAnswer {
    /// Holds `conditions` (`METRIC OP VALUE`) against `report`.
    ///
    /// # Errors
    /// As [`understand`].
    pub fn new(report: AbReport, conditions: &[String]) -> Result<Self, CommandError> {
        let all = report.benchmarks.iter().flat_map(|b| &b.metrics);
        let metrics: Vec<(String, String)> = all.map(|m| (m.name.clone(), m.unit.clone())).collect();
        let checks = read(conditions, &metrics)?.iter().map(|(c, name)| check(&report, c, name)).collect();
        Ok(Self { report, checks })
    }

    #[must_use]
    pub fn failed(&self) -> bool {
        self.checks.iter().any(|c| c.failed)
    }
}

/// Runs `work` in `folder`, as [`idlewise_ab::run`]; where it fails, the error says how to go on with what was measured.
///
/// # Errors
/// [`MachineError::Kept`] where something was measured, else [`MachineError::Live`].
pub fn run(
    host: &Host,
    work: Work,
    folder: &Path,
    stop: &Stop,
    say: &mut dyn FnMut(&str),
) -> Result<Restoration, MachineError> {
    idlewise_ab::run(host, work, folder, stop, say).map_err(|why| {
        if !folder.join(idlewise_ab::FILE).exists() {
            return why.into();
        }
        let kept = format!(
            "what was measured is kept: idlewise ab --resume {}, with the same load or command",
            folder.display()
        );
        MachineError::kept(why, kept)
    })
}

/// Whether `conditions` can be understood, asked before anything is measured; `metrics`: names and units.
///
/// # Errors
/// [`CommandError::Argument`] with what was expected, where, and an example.
pub fn understand(conditions: &[String], metrics: &[(String, String)]) -> Result<(), CommandError> {
    read(conditions, metrics).map(|_| ())
}

/// The conditions, each with the name of its metric.
fn read<'m>(
    conditions: &[String],
    metrics: &'m [(String, String)],
) -> Result<Vec<(Condition, &'m str)>, CommandError> {
    let mut names: Vec<(&str, Counting)> = Vec::new();
    for (name, unit) in metrics {
        if !names.iter().any(|(known, _)| known == name) {
            names.push((name, counting(unit).0));
        }
    }
    let one = |text: &String| {
        let condition = Condition::read(text, &names)?;
        let name = names.get(condition.metric()).map_or("", |(name, _)| *name);
        Ok((condition, name))
    };
    conditions.iter().map(one).collect()
}

/// How values in `unit` are written in conditions, and how many ns one is.
fn counting(unit: &str) -> (Counting, f64) {
    match unit {
        "s" => (Counting::Time, 1e9),
        "ms" => (Counting::Time, 1e6),
        "us" => (Counting::Time, 1e3),
        "ns" => (Counting::Time, 1.0),
        "%" => (Counting::Share, 1.0),
        _ => (Counting::Number, 1.0),
    }
}

/// In every benchmark that has the metric, for every arm against the baseline.
fn check(report: &AbReport, condition: &Condition, name: &str) -> Check {
    let mut measured = Vec::new();
    for benchmark in &report.benchmarks {
        for metric in benchmark.metrics.iter().filter(|m| m.name == name) {
            let Some((baseline, arms)) = metric.cells.split_first() else { continue };
            let of = |arm: &Cell| {
                measure(condition, &format!("{} under {}", benchmark.name, arm.arm), metric, baseline, arm)
            };
            measured.extend(arms.iter().filter_map(of));
        }
    }
    condition.check(measured)
}

/// A change counts only where it is shown.
fn measure(
    condition: &Condition,
    place: &str,
    metric: &MetricReport,
    baseline: &Cell,
    arm: &Cell,
) -> Option<Measured> {
    let (_, scale) = counting(&metric.unit);
    let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
    let met = ComparedMetric {
        a: baseline.median.as_ref()?.median * scale,
        b: arm.median.as_ref()?.median * scale,
        change: arm.difference.map_or(f64::NAN, |d| d.estimate * scale),
        // Where a value is not above zero there is no factor.
        change_pct: Some(arm.change.map_or(f64::NAN, |c| 100.0 * c.relative)),
        shown: &|v| format!("{}{unit}", number(v)),
    };
    let mut measured = condition.measure(place, &met);
    let shown = matches!(arm.verdict, Some(Verdict::Better | Verdict::Worse));
    if condition.of_change() && !shown {
        measured.holds = false;
        measured.words.push_str(", not shown");
    }
    measured.value = measured.value.filter(|v| v.is_finite());
    Some(measured)
}
