// SPDX-License-Identifier: GPL-2.0-only
//! From a session's runs to what they show.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use idlewise_model::NoteId;
use idlewise_stats::{Change, Interval, Median, holm, mean_change, median, paired_shift, signed_rank};

use super::metric::{Metric, meter_name};
use super::report::{
    AbReport, ArmLimits, ArmPowerLimit, BenchmarkReport, Cell, Found, MetricReport, SCHEMA, Steady,
};
use super::stored::{Head, Stored, machine, stored};
use super::verdict::Verdict;
use super::wakeups::METRICS;
use super::{AbRequest, Benchmark, Run, StateUse, plan, warnings};
use idlewise_live::limits::{Limiting, PowerLimitUse, Throttling};
use idlewise_live::power::Meters;
use idlewise_live::{Host, LiveError};

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
    warnings.extend(odd.map(|words| NoteId::OddLines.note(words)));
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

fn findings(all: &[BenchmarkReport]) -> Vec<Found> {
    cells(all)
        .filter(|(.., c)| matches!(c.verdict, Some(Verdict::Better | Verdict::Worse)))
        .map(|(b, m, _)| Found { benchmark: b.name.clone(), metric: m.name.clone() })
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
    let meters: BTreeSet<&String> = runs.iter().flat_map(|r| r.watts.keys()).collect();
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
    let limits = arms.iter().enumerate().map(|(i, arm)| limits(arm, &of(i).collect::<Vec<_>>())).collect();
    Ok(BenchmarkReport { name: benchmark.name.clone(), metrics, idle, limits })
}

fn limits(arm: &str, runs: &[&Run]) -> ArmLimits {
    let known: Vec<&Limiting> = runs.iter().filter_map(|r| r.limiting.as_ref()).collect();
    let mean =
        |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let names: BTreeSet<String> =
        known.iter().flat_map(|l| l.power.iter().map(PowerLimitUse::name)).collect();
    let power = |name: String| {
        let own: Vec<&PowerLimitUse> =
            known.iter().flat_map(|l| l.power.iter().filter(|p| p.name() == name)).collect();
        let all = |value: &dyn Fn(&PowerLimitUse) -> Option<f64>| {
            own.iter().filter_map(|p| value(p)).collect::<Vec<_>>()
        };
        Some(ArmPowerLimit {
            limit_w: own.first()?.limit_w,
            mean_w: median(&all(&|p| p.mean_w)),
            average_most_w: all(&|p| p.average_high_w).into_iter().reduce(f64::max),
            acting_pct: mean(&all(&|p| Some(p.acting_pct)))?,
            unknown_pct: mean(&all(&|p| Some(p.unknown_pct)))?,
            limit: name,
        })
    };
    let counted = |t: &&Throttling| t.core_pct.is_some() || t.package_pct.is_some();
    let throttled =
        known.iter().filter_map(|l| l.throttling.as_ref().filter(counted).map(Throttling::longest_pct));
    ArmLimits {
        arm: arm.to_owned(),
        runs: known.iter().filter(|l| l.limited.is_some()).count(),
        limited: known.iter().filter(|l| l.limited == Some(true)).count(),
        power: names.into_iter().filter_map(power).collect(),
        throttled_pct: mean(&throttled.collect::<Vec<_>>()),
    }
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
