// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::path::Path;

use idlewise_stats::{Change, Interval, Median, Shift, holm, mean_change, median, paired_shift, signed_rank};
use serde::Serialize;

use super::metric::Metric;
use super::session::{Head, machine};
use super::stored::{Stored, stored};
use super::verdict::Verdict;
use super::wakeups::METRICS;
use super::{AbRequest, Benchmark, Run, StateUse, plan, warnings};
use idlewise_live::power::Meters;
use idlewise_live::{Host, LiveError};

/// Version of the JSON.
pub const SCHEMA: &str = "idlewise.ab/2";

/// What a session shows.
#[derive(Clone, Debug, Serialize)]
pub struct AbReport {
    /// Version of this form.
    pub schema: &'static str,
    /// Version of idlewise.
    pub version: &'static str,
    /// The machine.
    pub machine: String,
    /// What was asked for.
    pub head: Head,
    /// In which order the runs were made, and who drew it, in words.
    pub order: String,
    /// In plain words, what makes the result doubtful.
    pub warnings: Vec<String>,
    /// The arms' names; the first is the baseline.
    pub arms: Vec<String>,
    /// By benchmark.
    pub benchmarks: Vec<BenchmarkReport>,
    /// By arm other than the baseline: the geometric mean of what got better (above 0) or worse over the first metric of
    /// every benchmark, and its interval; only for several benchmarks.
    pub together: Vec<(String, f64, Option<Interval>)>,
    /// What an A/A comparison found, though there is nothing; `None` if this is none.
    pub aa: Option<Vec<String>>,
    /// Every run, in the order of time.
    pub runs: Vec<Run>,
}

/// A benchmark under all arms.
#[derive(Clone, Debug, Serialize)]
pub struct BenchmarkReport {
    /// Its name.
    pub name: String,
    /// What it measured.
    pub metrics: Vec<MetricReport>,
    /// What the idle states did meanwhile, by arm; the medians of the runs.
    pub idle: Vec<Steady>,
}

/// A metric under all arms.
#[derive(Clone, Debug, Serialize)]
pub struct MetricReport {
    /// Its name.
    pub name: String,
    /// Its unit; empty where it is not known.
    pub unit: String,
    /// More is better.
    pub more_is_better: bool,
    /// By arm.
    pub cells: Vec<Cell>,
}

/// A metric under an arm.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The arm.
    pub arm: String,
    /// Its runs.
    pub values: Vec<f64>,
    /// Rounds in which both it and the baseline ran: what is compared.
    pub rounds: usize,
    /// What they say; `None` without runs.
    pub median: Option<Median>,
    /// Against the baseline's run of the same round, as a factor; `None` for the baseline itself and where a value is not above zero.
    pub change: Option<Change>,
    /// The same in the metric's unit.
    pub difference: Option<Shift>,
    /// Probability of such a difference by accident (Wilcoxon's signed ranks of the rounds).
    pub p: Option<f64>,
    /// The same, corrected for all the questions that this report asks (Holm).
    pub p_corrected: Option<f64>,
    /// In which share of the rounds its run is better than the baseline's, 0 to 1.
    pub superiority: Option<f64>,
    /// What is shown.
    pub verdict: Option<Verdict>,
    /// How many rounds would settle it, estimated from the spread so far.
    pub runs_to_settle: Option<u64>,
}

/// What the idle states did under an arm.
#[derive(Clone, Debug, Serialize)]
pub struct Steady {
    /// The arm.
    pub arm: String,
    /// Entries per second.
    pub wakeups_per_s: Option<f64>,
    /// Too deep by the kernel's count, %.
    pub too_deep_pct: Option<f64>,
    /// Too shallow, %.
    pub too_shallow_pct: Option<f64>,
    /// By state.
    pub states: Vec<StateUse>,
    /// Mean power by meter, W.
    pub watts: BTreeMap<String, f64>,
}

/// What a session of `request` measures on `host`: names and units.
///
/// # Errors
/// When a metric of the request makes no sense.
pub fn metrics(host: &Host, request: &AbRequest) -> Result<Vec<(String, String)>, LiveError> {
    let mut out = Vec::new();
    for benchmark in &request.benchmarks {
        let all = Metric::all(benchmark, &request.metrics)?;
        out.extend(all.into_iter().map(|m| (m.name, m.unit)));
    }
    let meters = Meters::find(host).list;
    out.extend(meters.iter().map(|m| (meter_name(m.source, &m.name), "J".to_owned())));
    if request.wakeups {
        out.extend(METRICS.map(|(name, _)| (name.to_owned(), "us".to_owned())));
    }
    Ok(out)
}

/// A meter's name among the metrics.
pub(super) fn meter_name(source: &str, name: &str) -> String {
    format!("{source} {name}")
}

/// What the session in `at` shows so far.
///
/// # Errors
/// When there is none.
pub fn report(at: &Path) -> Result<AbReport, LiveError> {
    let Stored { head, runs, odd } = stored(at)?;
    let request = &head.request;
    let mut arms = request.arms.clone();
    if request.aa {
        for (arm, letter) in arms.iter_mut().zip(["A", "B"]) {
            arm.push_str(&format!(" ({letter})"));
        }
    }
    let mut benchmarks = Vec::new();
    for benchmark in &request.benchmarks {
        benchmarks.push(of_benchmark(benchmark, &head, &arms, &runs)?);
    }
    judge(&mut benchmarks, f64::from(request.margin_permille) / 1e3);
    let together = if benchmarks.len() > 1 { together(&benchmarks, &arms) } else { Vec::new() };
    let aa = request.aa.then(|| findings(&benchmarks));
    let mut warnings = warnings::all(&head, &runs, &benchmarks);
    warnings.extend(odd);
    let order = plan::words(&arms, request.seed);
    Ok(AbReport {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        machine: machine(&head),
        order,
        head,
        warnings,
        arms,
        benchmarks,
        together,
        aa,
        runs,
    })
}

fn cells(all: &[BenchmarkReport]) -> impl Iterator<Item = (&BenchmarkReport, &MetricReport, &Cell)> {
    all.iter().flat_map(|b| b.metrics.iter().flat_map(move |m| m.cells.iter().map(move |c| (b, m, c))))
}

fn findings(all: &[BenchmarkReport]) -> Vec<String> {
    cells(all)
        .filter(|(.., c)| matches!(c.verdict, Some(Verdict::Better | Verdict::Worse)))
        .map(|(b, m, _)| format!("{}: {}", b.name, m.name))
        .collect()
}

pub(super) fn of_benchmark(
    benchmark: &Benchmark,
    head: &Head,
    arms: &[String],
    runs: &[Run],
) -> Result<BenchmarkReport, LiveError> {
    let of = |arm: usize| {
        runs.iter().filter(move |r| r.arm == arm && r.benchmark == benchmark.name && r.left_out.is_none())
    };
    let mut metrics = Vec::new();
    let mut add = |name: String, unit: String, more_is_better: bool, value: &dyn Fn(&Run) -> Option<f64>| {
        let values = |a| of(a).filter_map(|r| Some((r.round, value(r)?))).collect();
        let by_arm: Vec<BTreeMap<u32, f64>> = (0..arms.len()).map(values).collect();
        let cells = arms.iter().enumerate().map(|(i, arm)| cell(arm, i, &by_arm, more_is_better)).collect();
        metrics.push(MetricReport { name, unit, more_is_better, cells });
    };
    for m in Metric::all(benchmark, &head.request.metrics)? {
        let name = m.name.clone();
        add(m.name, m.unit, m.more_is_better, &|r| r.values.get(&name).copied());
    }
    let meters: std::collections::BTreeSet<&String> = runs.iter().flat_map(|r| r.watts.keys()).collect();
    for meter in meters {
        // Energy of a run, not power: a run that ends sooner needs less.
        add(meter.clone(), "J".to_owned(), false, &|r| r.watts.get(meter).map(|w| w * r.seconds));
    }
    if head.request.wakeups {
        for (name, _) in METRICS {
            add(name.to_owned(), "us".to_owned(), false, &|r| r.values.get(name).copied());
        }
    }
    let idle = arms.iter().enumerate().map(|(i, arm)| steady(arm, &of(i).collect::<Vec<_>>())).collect();
    Ok(BenchmarkReport { name: benchmark.name.clone(), metrics, idle })
}

/// Two runs of one round are next to each other: whatever changes slowly, or once, is common to both.
fn cell(arm: &str, index: usize, by_arm: &[BTreeMap<u32, f64>], more_is_better: bool) -> Cell {
    let own = &by_arm[index];
    let values: Vec<f64> = own.values().copied().collect();
    let baseline = by_arm.first().filter(|_| index > 0);
    let pairs: Vec<(f64, f64)> = baseline
        .into_iter()
        .flatten()
        .filter_map(|(round, before)| Some((*before, *own.get(round)?)))
        .collect();
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let change = Change::of(&pairs);
    let test = change.map(|c| c.test).or_else(|| signed_rank(&differences));
    Cell {
        arm: arm.to_owned(),
        median: Median::of(&values),
        rounds: pairs.len(),
        change,
        difference: paired_shift(&differences, 0.95),
        p: test.map(|t| t.p),
        p_corrected: None,
        superiority: test.map(|t| if more_is_better { t.superiority } else { 1.0 - t.superiority }),
        verdict: None,
        runs_to_settle: None,
        values,
    }
}

/// Every question that the report asks makes a false answer likelier: they are corrected together.
pub(super) fn judge(all: &mut [BenchmarkReport], margin: f64) {
    let ps: Vec<f64> = cells(all).filter_map(|(.., c)| c.p).collect();
    let mut corrected = holm(&ps).into_iter();
    for metric in all.iter_mut().flat_map(|b| &mut b.metrics) {
        for cell in metric.cells.iter_mut().filter(|c| c.p.is_some()) {
            let p = corrected.next().unwrap_or(1.0);
            cell.p_corrected = Some(p);
            let verdict = match &cell.change {
                Some(change) => Verdict::of(change, p, margin, metric.more_is_better),
                None => {
                    Verdict::of_difference(cell.difference.and_then(|d| d.interval), p, metric.more_is_better)
                }
            };
            cell.verdict = Some(verdict);
            if verdict == Verdict::Unclear || verdict == Verdict::NotWorse {
                cell.runs_to_settle = cell.change.and_then(|c| c.runs_to_settle(cell.rounds, margin));
            }
        }
    }
}

fn together(all: &[BenchmarkReport], arms: &[String]) -> Vec<(String, f64, Option<Interval>)> {
    let of = |arm: usize| {
        let changes: Option<Vec<Change>> = all
            .iter()
            .map(|b| {
                let metric = b.metrics.first()?;
                let change = metric.cells.get(arm)?.change?;
                // Towards better: of a run time the inverse.
                Some(if metric.more_is_better { change } else { change.inverse() })
            })
            .collect();
        mean_change(&changes?)
    };
    let rows = arms.iter().enumerate().skip(1);
    rows.filter_map(|(i, arm)| of(i).map(|(mean, interval)| (arm.clone(), mean, interval))).collect()
}

fn steady(arm: &str, runs: &[&Run]) -> Steady {
    let middle = |value: &dyn Fn(&Run) -> Option<f64>| {
        median(&runs.iter().filter_map(|r| value(r)).collect::<Vec<f64>>())
    };
    let states = runs.first().map(|r| r.states.clone()).unwrap_or_default();
    let states = states.iter().enumerate().map(|(i, s)| StateUse {
        name: s.name.clone(),
        time_pct: middle(&|r| Some(r.states.get(i)?.time_pct)).unwrap_or(0.0),
        entries_per_s: middle(&|r| Some(r.states.get(i)?.entries_per_s)).unwrap_or(0.0),
    });
    let meters = runs.first().map(|r| r.watts.clone()).unwrap_or_default();
    Steady {
        arm: arm.to_owned(),
        wakeups_per_s: middle(&|r| Some(r.wakeups_per_s)),
        too_deep_pct: middle(&|r| r.too_deep_pct),
        too_shallow_pct: middle(&|r| r.too_shallow_pct),
        states: states.collect(),
        watts: meters
            .into_keys()
            .filter_map(|m| Some((m.clone(), middle(&|r| r.watts.get(&m).copied())?)))
            .collect(),
    }
}
