// SPDX-License-Identifier: GPL-2.0-only
//! Live comparisons: every run as a point, medians and differences with their intervals, what the idle states did.

use idlewise_ab::{AbReport, BenchmarkReport, Cell as ArmCell, MetricReport, Verdict};
use idlewise_chart::{Cell, Kind, PageData, Table};
use idlewise_machine::ab::AbAnswer;
use idlewise_model::Note;
use idlewise_stats::Interval;

use crate::{Source, call, put_first};

/// The page of a live comparison.
#[must_use]
pub fn ab(answer: &AbAnswer, of: Source<'_>) -> PageData {
    let r = &answer.report;
    let names: Vec<&str> = r.benchmarks.iter().map(|b| b.name.as_str()).collect();
    let mut out = of.page(Kind::Ab, &format!("{} on {}", r.arms.join(", "), names.join(", ")));
    out.warnings = Note::words(&r.warnings);
    out.notes.retain(|n| !out.warnings.contains(&n.text));
    out.verdicts = r.benchmarks.iter().flat_map(|b| verdicts(r, b)).collect();
    let checks = answer.checks.iter().filter(|c| c.failed);
    out.verdicts.extend(checks.map(|c| format!("FAILED: {}", c.expression)));
    let mut tables = vec![measures(r), changes(r)];
    tables.extend(points(r));
    tables.extend(idle(r));
    put_first(&mut out, tables);
    call(&mut out, "recording", "benchmark");
    call(&mut out, "governor", "arm");
    out
}

/// Each metric of each benchmark under each arm.
fn cells(r: &AbReport) -> impl Iterator<Item = (&BenchmarkReport, &MetricReport, usize, &ArmCell)> {
    let metrics = r.benchmarks.iter().flat_map(|b| b.metrics.iter().map(move |m| (b, m)));
    metrics.flat_map(|(b, m)| m.cells.iter().enumerate().map(move |(i, c)| (b, m, i, c)))
}

/// What the first metric of a benchmark comes to under each arm but the baseline.
fn verdicts(r: &AbReport, b: &BenchmarkReport) -> Vec<String> {
    let margin = r.head.request.margin_permille;
    let first = b.metrics.first();
    let others = first.iter().flat_map(|m| m.cells.iter().skip(1).map(move |c| (m, c)));
    let line = |(m, c): (&&MetricReport, &ArmCell)| {
        let words = c.verdict?.words(margin);
        let change = c.change.map_or_else(String::new, |change| {
            let pct = |v: f64| format!("{:+.1} %", 100.0 * v);
            let interval = |i: Interval| format!(" ({} to {})", pct(i.low), pct(i.high));
            format!(": {}{}", pct(change.relative), change.interval.map_or_else(String::new, interval))
        });
        Some(format!("{}: {words} in {} of {}{change}", c.arm, m.name, b.name))
    };
    others.filter_map(line).collect()
}

fn better(more: bool) -> Cell {
    if more { "more" } else { "less" }.into()
}

fn measures(r: &AbReport) -> Table {
    let mut t = Table::of_charts("measures");
    for (b, m, i, c) in cells(r) {
        let median = |c: &ArmCell| c.median.as_ref().map(|m| m.median);
        let base = m.cells.first().and_then(median);
        t.rows.push(vec![
            b.name.as_str().into(),
            c.arm.as_str().into(),
            if i == 0 { "baseline" } else { "governor" }.into(),
            m.name.as_str().into(),
            m.name.as_str().into(),
            m.unit.as_str().into(),
            better(m.more_is_better),
            median(c).into(),
            base.into(),
            c.change.map(|change| 100.0 * change.relative).into(),
            "%".into(),
            if i == 0 || is_shown(c) { "change" } else { "nothing" }.into(),
        ]);
    }
    t
}

/// Whether the arm differs from the baseline, and it is no accident.
fn is_shown(c: &ArmCell) -> bool {
    matches!(c.verdict, Some(Verdict::Better | Verdict::Worse))
}

fn changes(r: &AbReport) -> Table {
    let mut t = Table::of_charts("changes");
    let margin = f64::from(r.head.request.margin_permille) / 10.0;
    for (b, m, _, c) in cells(r) {
        let Some(change) = c.change else { continue };
        t.rows.push(vec![
            b.name.as_str().into(),
            m.name.as_str().into(),
            c.arm.as_str().into(),
            (100.0 * change.relative).into(),
            change.interval.map(|i| 100.0 * i.low).into(),
            change.interval.map(|i| 100.0 * i.high).into(),
            margin.into(),
            "%".into(),
            better(m.more_is_better),
            c.verdict.map(|v| v.words(r.head.request.margin_permille)).into(),
        ]);
    }
    t
}

/// Runs in the order of time, and their medians. A run that was left out is none.
fn points(r: &AbReport) -> [Table; 2] {
    let (mut points, mut medians) = (Table::of_charts("points"), Table::of_charts("medians"));
    for (b, m, i, c) in cells(r) {
        let series = if r.benchmarks.len() > 1 { format!("{}: {}", b.name, m.name) } else { m.name.clone() };
        let of_arm =
            |run: &&idlewise_ab::Run| run.arm == i && run.benchmark == b.name && run.left_out.is_none();
        for run in r.runs.iter().filter(of_arm) {
            let Some(value) = run.values.get(&m.name) else { continue };
            points.rows.push(vec![
                series.as_str().into(),
                c.arm.as_str().into(),
                f64::from(run.number).into(),
                (*value).into(),
                m.unit.as_str().into(),
            ]);
        }
        if let Some(median) = &c.median {
            medians.rows.push(vec![
                series.into(),
                c.arm.as_str().into(),
                median.median.into(),
                median.interval.map(|i| i.low).into(),
                median.interval.map(|i| i.high).into(),
                m.unit.as_str().into(),
            ]);
        }
    }
    [points, medians]
}

/// What the kernel counted meanwhile.
fn idle(r: &AbReport) -> [Table; 2] {
    let (mut misses, mut residency) = (Table::of_charts("misses"), Table::of_charts("residency"));
    residency
        .columns
        .iter_mut()
        .filter(|c| c.name == "share_pct")
        .for_each(|c| "share of all time".clone_into(&mut c.label));
    for b in &r.benchmarks {
        for s in &b.idle {
            if s.too_deep_pct.is_some() || s.too_shallow_pct.is_some() {
                misses.rows.push(vec![
                    b.name.as_str().into(),
                    s.arm.as_str().into(),
                    s.too_deep_pct.into(),
                    s.too_shallow_pct.into(),
                ]);
            }
            for (i, state) in s.states.iter().enumerate() {
                residency.rows.push(vec![
                    b.name.as_str().into(),
                    s.arm.as_str().into(),
                    "all CPUs".into(),
                    Cell::Unknown,
                    state.name.as_str().into(),
                    (i as u64).into(),
                    state.time_pct.into(),
                ]);
            }
        }
    }
    [misses, residency]
}
