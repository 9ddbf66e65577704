// SPDX-License-Identifier: GPL-2.0-only
//! The shipped workloads, simulated under all versions of a governor: a closed loop, where a late wakeup delays the work.

use idlewise_experiment::ExperimentError;
use idlewise_experiment::simulate::{
    Combination, FactSummary, FactUnit, SimulateReport, SimulateRequest, simulate,
};
use idlewise_recording::CommandError;

use crate::report::SimulatedChange;
use crate::versions::Lineage;

/// Workloads, each on a machine that such work runs on.
const WORKLOADS: [(&str, &str); 7] = [
    ("frames", "pixel6"),
    ("web", "pixel6"),
    ("periodic", "rk3399"),
    ("timer", "rk3399"),
    ("requests", "skylake-sp"),
    ("reads", "skylake-sp"),
    ("pingpong", "sapphire-rapids"),
];
/// Each for so long, ns, and so often with other seeds.
const DURATION_NS: u64 = 2_000_000_000;
const RUNS: u64 = 5;

/// What a workload says of its own performance: the first of these that it has.
const PERFORMANCE: [(&str, &str); 4] = [
    ("frames ", "time p95"),
    ("requests ", "latency p99"),
    ("device ", "latency p99"),
    ("task ", "response p99"),
];

/// For each version, the numbers of all workloads against `base`.
pub(crate) fn all(
    lineage: &Lineage,
    base: usize,
    usable: &[usize],
    seed: u64,
) -> Result<Vec<Vec<SimulatedChange>>, CommandError> {
    let mut out = vec![Vec::new(); lineage.versions.len()];
    for (workload, platform) in WORKLOADS {
        let request = SimulateRequest {
            workload: workload.to_owned(),
            platform: platform.to_owned(),
            governors: usable.iter().map(|v| lineage.versions[*v].named.clone()).collect(),
            cpufreq: vec!["schedutil".to_owned()],
            signals: vec!["pelt".to_owned()],
            kernel: "6.12".to_owned(),
            duration_ns: Some(DURATION_NS),
            seed: seed.max(1),
            repeat: RUNS,
            baseline: Some(lineage.versions[base].governor.label()),
            ..SimulateRequest::default()
        };
        let report = simulate(&request, None, &|_, _| ()).map_err(of_command)?;
        for (version, combination) in usable.iter().zip(&report.combinations) {
            out[*version].extend(numbers(&report, combination));
        }
    }
    Ok(out)
}

fn of_command(e: ExperimentError) -> CommandError {
    match e {
        ExperimentError::Command(e) => e,
        e => CommandError::conflict(&["--no-simulation"], format!("simulating: {e}")),
    }
}

/// Power, and how the work did.
fn numbers(report: &SimulateReport, of: &Combination) -> Vec<SimulatedChange> {
    let Some(base) = report.combinations.get(report.baseline) else { return Vec::new() };
    let is_performance = |f: &&FactSummary| {
        PERFORMANCE.iter().any(|(about, name)| f.about.starts_with(about) && f.name == *name)
    };
    let rank = |f: &&FactSummary| PERFORMANCE.iter().position(|(about, _)| f.about.starts_with(about));
    let performance = of.facts.iter().filter(is_performance).min_by_key(rank);
    let power = of.fact("energy", "power");
    let number = |fact: &FactSummary| {
        let before = base.fact(&fact.about, &fact.name)?.summary.mean;
        let change = fact.change?;
        let points = fact.unit == FactUnit::Percent;
        let pct = |share: Option<f64>| share.map(|s| s * 100.0);
        Some(SimulatedChange {
            workload: report.request.workload.clone(),
            platform: report.request.platform.clone(),
            number: format!("{}: {}", fact.about, fact.name),
            base: before,
            value: fact.summary.mean,
            change: if points { Some(change.difference) } else { pct(change.relative) },
            half_width: if points { change.half_width } else { pct(change.relative_half_width) },
        })
    };
    power.into_iter().chain(performance).filter_map(number).collect()
}
