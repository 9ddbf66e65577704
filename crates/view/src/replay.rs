// SPDX-License-Identifier: GPL-2.0-only
//! A replay as text.

use idlewise_recording::placement::Per;
use idlewise_report::{Line, Report, Table, percent, signed_percent, signed_points};
use idlewise_score::measure::{ENERGY, MEASURES, TOO_SHALLOW};
use idlewise_score::{Measure, Place, Score, Unit};
use idlewise_study::compare::cell;
use idlewise_study::replay::{GovernorResult, ReplayReport, TraceResult};

use crate::cells::{is_where_any, label, state_table};
use crate::head::{ReplayedTrace, breach_lines, foreign_line, model_lines};
use crate::{agreement, budget, sensitivity, unknown};

/// The tables of a replay.
#[must_use]
pub fn replay(r: &ReplayReport) -> Report {
    let mut out = Report { data: Some(idlewise_data::replay(r)), ..Report::default() };
    let cluster = r.request.setup.cluster.as_deref();
    for trace in &r.traces {
        let t =
            ReplayedTrace { head: &trace.head, same_machine: trace.same_machine, fidelity: &trace.fidelity };
        out.preamble.extend(agreement::agreement_lines(&trace.parity));
        out.preamble.extend(t.lines(&r.platform, cluster));
        out.preamble.extend(sensitivity::lines(&trace.sensitivity));
    }
    out.preamble.extend(r.foreign.iter().map(foreign_line));
    out.preamble.extend(model_lines(&r.platform));
    for trace in &r.traces {
        let place = if r.traces.len() > 1 { format!("{}: ", trace.head.name) } else { String::new() };
        for g in trace.governors.iter().filter(|g| g.failure.is_none()) {
            out.preamble.extend(breach_lines(&format!("{place}{}", g.governor), &g.score, g.decisions));
        }
    }
    let several = r.traces.len() > 1;
    for trace in &r.traces {
        let title = if several { trace.head.name.clone() } else { String::new() };
        out.footer.extend(remarks(&title, &trace.governors));
        out.tables.extend(governor_tables(&title, &trace.governors, &r.baseline, r.request.per));
    }
    if let Some(all) = &r.together {
        let title = format!("all {} traces", r.traces.len());
        out.tables.extend(governor_tables(&title, all, &r.baseline, r.request.per));
    }
    out.tables.extend(r.power_limits.iter().flat_map(budget::tables));
    out.footer.extend(budget::model(&r.power_limits));
    out.footer.extend(r.traces.iter().filter_map(recorded_line));
    let all = r.traces.iter().flat_map(|t| &t.governors).chain(r.together.iter().flatten());
    let scores: Vec<_> = all.filter(|g| g.failure.is_none()).flat_map(scores_of).collect();
    out.footer.extend(unknown::lines(&out.tables, scores));
    out.footer
        .push(Line::plain(format!("in brackets: against {}; regret: energy above the oracle's", r.baseline)));
    out
}

/// Where the recorded numbers are, next to those of the kernel's own governor replayed on its own machine.
fn recorded_line(t: &TraceResult) -> Option<Line> {
    let own = &t.fidelity.as_ref().ok()?.governor;
    let there = t.same_machine && t.governors.iter().any(|g| g.governor == *own);
    let words =
        "the kernel's own choices in the same measures: idlewise score, with this recording and its machine";
    there.then(|| Line::new("recorded", words))
}

/// A governor's score and those of its groups.
fn scores_of(g: &GovernorResult) -> impl Iterator<Item = (&str, &Score)> {
    let of = g.governor.as_str();
    std::iter::once((of, &g.score)).chain(g.groups.iter().map(move |group| (of, &group.score)))
}

/// What went wrong with a governor, and what to know about its result.
fn remarks(trace: &str, results: &[GovernorResult]) -> Vec<Line> {
    let place = if trace.is_empty() { String::new() } else { format!("{trace}: ") };
    let mut out = Vec::new();
    for r in results {
        out.extend(r.failure.iter().map(|why| Line::new("failed", format!("{place}{why}"))));
        out.extend(r.notes.iter().map(|n| Line::new("note", format!("{place}{} {n}", r.governor))));
    }
    out
}

/// Metrics down, governors across: the layout of the mailing lists.
pub(crate) fn governor_tables(
    title: &str,
    results: &[GovernorResult],
    baseline: &str,
    per: Per,
) -> Vec<Table> {
    let mut tables = vec![metric_table(title, results, baseline)];
    match per {
        Per::All => {}
        Per::State => {
            let there = results.iter().filter(|r| r.failure.is_none());
            let rows: Vec<(&str, &Score)> = there.map(|r| (r.governor.as_str(), &r.score)).collect();
            let mut t = state_table("by state", &rows);
            if let Some(head) = t.head.first_mut() {
                "governor".clone_into(head);
            }
            tables.push(t);
        }
        Per::Cpu | Per::Cluster => tables.push(group_table(results)),
    }
    tables
}

fn metric_table(title: &str, results: &[GovernorResult], baseline: &str) -> Table {
    let mut head = vec!["metric".to_owned()];
    head.extend(results.iter().map(|r| r.governor.clone()));
    let mut t = Table::new(title, head);
    let mut row = |name: &str, cell: &dyn Fn(&GovernorResult) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(results.iter().map(|r| if r.failure.is_some() { "-".to_owned() } else { cell(r) }));
        t.rows.push(cells);
    };
    let there = || results.iter().filter(|r| r.failure.is_none());
    let compared = there().any(|r| r.governor == baseline);
    let against = |r: &GovernorResult, difference: String| {
        if r.governor == baseline || !compared { String::new() } else { format!(" ({difference})") }
    };
    let unit = there().next().map_or("rel", |r| r.score.energy_unit.as_str());
    for m in &MEASURES {
        if m.is_in(Place::Compared) {
            row(&label(m, unit), &|r| {
                let change =
                    if m.is_in(Place::Baseline) { against(r, change_words(r, m)) } else { String::new() };
                cell(m.unit, m.value(&r.score)) + &change
            });
        } else if is_where_any(m) && there().any(|r| m.value(&r.score) > 0.0) {
            row(m.label, &|r| cell(m.unit, m.value(&r.score)));
        }
        if m == TOO_SHALLOW {
            let states = there().next().map_or(&[][..], |r| r.score.states.as_slice());
            for (i, state) in states.iter().enumerate() {
                row(&format!("{} % of idle", state.name), &|r| {
                    r.score.states.get(i).map_or_else(String::new, |s| percent(s.residency_pct))
                });
            }
        }
        if m == ENERGY && there().any(|r| r.regret_pct.is_finite()) {
            row("regret", &|r| signed_percent(r.regret_pct));
        }
    }
    t
}

/// The change of `measure` against the baseline.
fn change_words(r: &GovernorResult, measure: &Measure) -> String {
    let change = r.change.of(measure);
    if measure.unit == Unit::Share { signed_points(change) } else { signed_percent(change) }
}

fn group_table(results: &[GovernorResult]) -> Table {
    let mut head = vec!["CPUs".to_owned(), "governor".to_owned()];
    head.extend(Measure::all_in(Place::Parts).map(|m| m.label.to_owned()));
    let mut t = Table::new("", head);
    t.text_columns = 2;
    let groups = results.iter().map(|r| r.groups.len()).max().unwrap_or(0);
    for i in 0..groups {
        for r in results {
            let Some(g) = r.groups.get(i) else { continue };
            let mut row = vec![g.name.clone(), r.governor.clone()];
            row.extend(Measure::all_in(Place::Parts).map(|m| {
                match (m.unit, cell(m.unit, m.value(&g.score))) {
                    (Unit::Energy, value) => format!("{value} {}", g.score.energy_unit),
                    (_, value) => value,
                }
            }));
            t.rows.push(row);
        }
    }
    t
}
