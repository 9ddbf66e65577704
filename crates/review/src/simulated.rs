// SPDX-License-Identifier: GPL-2.0-only
//! The shipped workloads, simulated under all versions of a governor: a closed loop, where a late wakeup delays the work.

use idlewise_experiment::ExperimentError;
use idlewise_experiment::simulate::{
    Combination, FactSummary, FactUnit, SimulateReport, SimulateRequest, simulate,
};
use idlewise_recording::CommandError;
use idlewise_stats::PairedChange;

use crate::report::{ReviewRequest, SimulatedChange};
use crate::versions::Lineage;

/// The workloads that a review simulates, each on a machine that such work runs on: names of both.
pub const WORKLOADS: [(&str, &str); 7] = [
    ("frames", "pixel6"),
    ("web", "pixel6"),
    ("periodic", "rk3399"),
    ("timer", "rk3399"),
    ("requests", "skylake-sp"),
    ("reads", "skylake-sp"),
    ("pingpong", "sapphire-rapids"),
];
/// Each for so long, ns.
const DURATION_NS: u64 = 6_000_000_000;
/// Power counts from then on, ns: a run begins with governors and signals without history, tasks that are taken for half of a CPU and
/// clocks that follow, and what that takes would be most of what some governors differ by.
const WARM_UP_NS: u64 = 2_000_000_000;

/// What a workload says of its own performance: the first of these that it has.
const PERFORMANCE: [(&str, &str); 4] = [
    ("frames ", "time p95"),
    ("requests ", "latency p99"),
    ("device ", "latency p99"),
    ("task ", "response p99"),
];

/// Refuses names that no workload of a review has.
pub(crate) fn known(asked: &ReviewRequest) -> Result<(), CommandError> {
    let names: Vec<&str> = WORKLOADS.iter().map(|(name, _)| *name).collect();
    match asked.workloads.iter().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(other) => Err(CommandError::conflict(
            &["--workload"],
            format!("--workload {other:?}: no workload of a review; those are {}", names.join(", ")),
        )),
    }
}

/// For each version, the numbers of the wanted workloads against `base`.
pub(crate) fn all(
    lineage: &Lineage,
    base: usize,
    usable: &[usize],
    asked: &ReviewRequest,
) -> Result<Vec<Vec<SimulatedChange>>, CommandError> {
    let mut out = vec![Vec::new(); lineage.versions.len()];
    let wanted = |(name, _): &(&str, &str)| {
        asked.workloads.is_empty() || asked.workloads.iter().any(|workload| workload == name)
    };
    for (workload, platform) in WORKLOADS.into_iter().filter(wanted) {
        let request = |duration_ns: u64| SimulateRequest {
            workload: workload.to_owned(),
            platform: platform.to_owned(),
            governors: usable.iter().map(|v| lineage.versions[*v].named.clone()).collect(),
            cpufreq: vec!["schedutil".to_owned()],
            signals: vec!["pelt".to_owned()],
            kernel: "6.12".to_owned(),
            duration_ns: Some(duration_ns),
            seed: asked.seeds().0,
            repeat: asked.repeat,
            baseline: Some(lineage.versions[base].governor.label()),
            ..SimulateRequest::default()
        };
        let run = |duration_ns| simulate(&request(duration_ns), None, &|_, _| ()).map_err(of_command);
        let (warm_up, report) = (run(WARM_UP_NS)?, run(DURATION_NS)?);
        for (at, version) in usable.iter().enumerate() {
            out[*version].extend(power(&warm_up, &report, at));
            out[*version].extend(performance(&report, at));
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

/// Power of combination `at` after the warm-up, of each run what it took until its end without what it took until then: a run of the
/// same seed that ends earlier is its beginning.
fn power(warm_up: &SimulateReport, report: &SimulateReport, at: usize) -> Option<SimulatedChange> {
    let [before, after] = [report.baseline, at].map(|at| {
        let [until, all] = [warm_up, report].map(|r| powers(r.combinations.get(at)?));
        let (until, all) = (until?, all?);
        let energies = until.into_iter().zip(all).map(|(until, all)| {
            let [until, all] = [(until, WARM_UP_NS), (all, DURATION_NS)].map(|(p, ns)| p * (ns as f64 / 1e9));
            assert!(all >= until, "{all} of a run is less than {until} of its beginning");
            (all - until) / ((DURATION_NS - WARM_UP_NS) as f64 / 1e9)
        });
        Some(energies.collect::<Vec<f64>>())
    });
    let (before, after) = (before?, after?);
    let pairs: Vec<(f64, f64)> = before.iter().copied().zip(after.iter().copied()).collect();
    let change = PairedChange::of(&pairs)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let number = format!("{ENERGY}: {POWER}");
    Some(SimulatedChange {
        from_ns: WARM_UP_NS,
        ..changed(report, number, [mean(&before), mean(&after)], &change, false)
    })
}

/// The fact that is the machine's power.
const ENERGY: &str = "energy";
const POWER: &str = "power";

/// Of each run of `of`, in the order of seeds.
fn powers(of: &Combination) -> Option<Vec<f64>> {
    let at = of.facts.iter().position(|f| f.about == ENERGY && f.name == POWER)?;
    of.runs.iter().map(|run| run.values.get(at).copied()).collect()
}

/// How the work did, in the whole run.
fn performance(report: &SimulateReport, at: usize) -> Option<SimulatedChange> {
    let (base, of) = (report.combinations.get(report.baseline)?, report.combinations.get(at)?);
    let is_performance = |f: &&FactSummary| {
        PERFORMANCE.iter().any(|(about, name)| f.about.starts_with(about) && f.name == *name)
    };
    let rank = |f: &&FactSummary| PERFORMANCE.iter().position(|(about, _)| f.about.starts_with(about));
    let fact = of.facts.iter().filter(is_performance).min_by_key(rank)?;
    let number = format!("{}: {}", fact.about, fact.name);
    let values = [base.fact(&fact.about, &fact.name)?.summary.mean, fact.summary.mean];
    Some(changed(report, number, values, &fact.change?, fact.unit == FactUnit::Percent))
}

/// A number of the whole run: of the base, and of the version.
fn changed(
    report: &SimulateReport,
    number: String,
    [base, value]: [f64; 2],
    change: &PairedChange,
    points: bool,
) -> SimulatedChange {
    let pct = |share: Option<f64>| share.map(|s| s * 100.0);
    SimulatedChange {
        workload: report.request.workload.clone(),
        platform: report.request.platform.clone(),
        number,
        from_ns: 0,
        to_ns: DURATION_NS,
        base,
        value,
        change: if points { Some(change.difference) } else { pct(change.relative) },
        half_width: if points { change.half_width } else { pct(change.relative_half_width) },
    }
}
