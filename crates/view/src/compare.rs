// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as text.

use idlewise_answer::Answer;
use idlewise_model::number_of;
use idlewise_report::{
    Line, Report, Table, duration, percent, percent_of, signed_duration, signed_percent, signed_points,
};

use crate::Layout;
use crate::answer::{Cut, fitting, shortened};
use crate::cells::{is_where_any, label};
use crate::head::{ReplayedTrace, breach_lines, foreign_line, model_lines};
use crate::parts::compare_parts;
use crate::unknown;
use idlewise_score::measure::{DIFFER, MEASURES, TOO_SHALLOW};
use idlewise_score::{Measure, Place, Unit};
use idlewise_study::compare::{
    Check, CompareReport, Comparison, Cost, FJ_PER_UNIT, MeasureChange, PartingCost, SMALL_LATENCY_NS,
    SMALL_PCT, WaitCounts, cell,
};

/// The tables of a comparison.
#[must_use]
pub fn compare(r: &CompareReport) -> Report {
    let mut out = Report { data: Some(idlewise_data::compare(r)), ..Report::default() };
    for trace in &r.traces {
        let t =
            ReplayedTrace { head: &trace.head, same_machine: trace.same_machine, fidelity: &trace.fidelity };
        out.preamble.extend(t.lines(&r.platform, r.request.setup.cluster.as_deref()));
    }
    out.preamble.extend(r.foreign.iter().map(foreign_line));
    out.preamble.extend(model_lines(&r.platform));
    out.preamble.push(Line::new("A", &r.a));
    out.preamble.push(Line::new("B", &r.b));
    for trace in &r.traces {
        let place = if r.traces.len() > 1 { format!("{}: ", trace.head.name) } else { String::new() };
        for (name, run) in [(&r.a, &trace.comparison.a), (&r.b, &trace.comparison.b)] {
            out.preamble.extend(breach_lines(&format!("{place}{name}"), &run.score, run.decisions));
        }
    }
    if let Some(together) = &r.together {
        for trace in &r.traces {
            out.tables.push(metric_table(&trace.head.name, &trace.comparison, r));
        }
        let title = format!("all {} traces", r.traces.len());
        out.tables.push(metric_table(&title, together, r));
    } else if let Some(all) = r.all() {
        out.tables.push(metric_table("", all, r));
    }
    if let Some(all) = r.all() {
        out.preamble.push(Line::new("events", waits_words(&all.waits, ["A", "B"])));
        out.tables.push(parting_table(all, [&r.a, &r.b]));
        out.tables.push(cause_table(all));
        if !all.groups.is_empty() {
            out.tables.push(group_table(all));
        }
    }
    let all = r.traces.iter().map(|t| &t.comparison).chain(&r.together);
    let all = all.flat_map(|c| std::iter::once(c).chain(&c.groups));
    let scores = all.flat_map(|c| [(r.a.as_str(), &c.a.score), (r.b.as_str(), &c.b.score)]);
    let why = unknown::lines(&out.tables, scores);
    out.footer = why.into_iter().chain(footer(r)).collect();
    out
}

/// What a comparison comes to: `a`, where the difference comes from, the conditions.
#[must_use]
pub fn answer(r: &CompareReport, a: &Answer, layout: &Layout) -> Report {
    let mut out = crate::answer(a, layout);
    if let Some(all) = r.all().filter(|_| !r.verdict.same_decisions) {
        out.tables
            .push(fitting(layout.width, &|cut| largest_table(all, [&r.a, &r.b], r.traces.len() > 1, cut)).0);
    }
    compare_parts(&mut out, r, layout);
    if r.verdict.same_decisions {
        out.footer.insert(0, Line::new(&r.b, "the same decisions at all wake events"));
    }
    out.footer.extend(check_lines(&r.checks));
    out
}

/// How many ways of choosing differently an answer shows.
const LARGEST: usize = 3;

/// The ways of choosing differently that change most energy or, where none does, latency.
fn largest_table(c: &Comparison, governors: [&str; 2], several: bool, cut: Cut) -> Table {
    let [a, b] = governors.map(|g| shortened(g, cut.name));
    let first = format!("where {a} -> {b} differ");
    let head = [&*first, "wake events", "of all", "latency, sum", "energy"];
    let head: Vec<&str> = head.into_iter().take(cut.columns.saturating_add(1)).collect();
    let title = if several { "all recordings together" } else { "" };
    let mut t = Table::new(title, head.iter().map(|h| (*h).to_owned()).collect());
    let mut ways: Vec<&PartingCost> =
        c.partings.iter().filter(|p| p.kind != "same" && p.kind != "neither").collect();
    ways.sort_by_key(|p| {
        std::cmp::Reverse((p.cost.energy_fj().unsigned_abs(), p.cost.latency_ns().unsigned_abs()))
    });
    for p in ways.into_iter().take(LARGEST) {
        let [way, events, pct, .., latency, _, of_a] = cost_cells(&p.words([&a, &b]), &p.cost, c);
        let row = [shortened(&way, cut.name), events, pct + "%", latency, of_a];
        t.rows.push(row.into_iter().take(head.len()).collect());
    }
    t
}

/// At how many wake events the choices before them differ.
pub(crate) fn waits_words(w: &WaitCounts, [a, b]: [&str; 2]) -> String {
    let (only_a, only_b) = (format!("only {a} asked"), format!("only {b} asked"));
    let parts = [
        (w.other_state, "another state first"),
        (w.other_tick, "the same state first, but only one keeps the tick"),
        (w.other_later, "the same first choice, another later"),
        (w.only_a, only_a.as_str()),
        (w.only_b, &only_b),
        (w.neither, "nobody asked"),
        (w.same, "all choices the same"),
    ];
    let part = |(n, what): &(u64, &str)| format!("{what} {n} ({} %)", percent(percent_of(*n, w.all)));
    let parts: Vec<String> = parts.iter().filter(|p| p.0 > 0).map(part).collect();
    format!("{}: {}", number_of(w.all, "wake event"), parts.join("; "))
}

/// Metrics down, A and B across.
fn metric_table(title: &str, c: &Comparison, r: &CompareReport) -> Table {
    let head = ["metric", &format!("A: {}", r.a), &format!("B: {}", r.b), "change"];
    let mut t = Table::new(title, head.map(str::to_owned).to_vec());
    for m in &MEASURES {
        if m.is_in(Place::Compared) {
            let change = c.change(m);
            let cells = [cell(m.unit, change.a), cell(m.unit, change.b), change.words()];
            let name = label(m, &c.a.score.energy_unit);
            t.rows.push(std::iter::once(name).chain(cells).collect());
        } else if is_where_any(m) {
            t.rows.extend(row_where_any(m, c));
        }
        if m == TOO_SHALLOW {
            t.rows.extend(residency_rows(c));
        }
    }
    t
}

fn residency_rows(c: &Comparison) -> Vec<Vec<String>> {
    let row = |(a, b): (&idlewise_score::StateScore, &idlewise_score::StateScore)| {
        let change = if a.residency_ns == b.residency_ns {
            "0".to_owned()
        } else {
            signed_points(b.residency_pct - a.residency_pct)
        };
        let (a_pct, b_pct) = (percent(a.residency_pct), percent(b.residency_pct));
        vec![format!("{} % of idle", a.name), a_pct, b_pct, change]
    };
    c.a.score.states.iter().zip(&c.b.score.states).map(row).collect()
}

/// A row that is left out where both are 0.
fn row_where_any(measure: &'static Measure, c: &Comparison) -> Option<Vec<String>> {
    let change = MeasureChange::new(measure, measure.value(&c.a.score), measure.value(&c.b.score));
    let cells = [cell(measure.unit, change.a), cell(measure.unit, change.b), change.words()];
    (change.a + change.b > 0.0).then(|| std::iter::once(measure.label.to_owned()).chain(cells).collect())
}

fn parting_table(c: &Comparison, governors: [&str; 2]) -> Table {
    let mut t = cost_table("where the choices differ", "first choice of A -> B", c);
    let rows = c.partings.iter().map(|p| cost_row(&p.words(governors), &p.cost, c));
    t.rows.extend(rows);
    t.rows.push(cost_row("all", &c.total, c));
    t
}

fn cause_table(c: &Comparison) -> Table {
    let mut t = cost_table("by wake event", "cause", c);
    t.rows.extend(c.causes.iter().map(|cause| cost_row(&cause.cause, &cause.cost, c)));
    t.rows.push(cost_row("all", &c.total, c));
    t
}

fn cost_table(title: &str, first: &str, c: &Comparison) -> Table {
    let energy = format!("energy [{}]", c.a.score.energy_unit);
    let head = [
        first,
        "events",
        "%",
        "mean idle",
        "too deep",
        "too shallow",
        "latency/event",
        "latency, sum",
        &energy,
        "of A's",
    ];
    Table::new(title, head.map(str::to_owned).to_vec())
}

fn cost_row(name: &str, cost: &Cost, c: &Comparison) -> Vec<String> {
    cost_cells(name, cost, c).into()
}

fn cost_cells(name: &str, cost: &Cost, c: &Comparison) -> [String; 10] {
    let latency_ns = cost.latency_ns() as f64;
    let energy_fj = cost.energy_fj() as f64;
    let all_fj = c.total.a.energy_fj as f64;
    let of_all = if all_fj == 0.0 { 0.0 } else { energy_fj * 100.0 / all_fj };
    [
        name.to_owned(),
        cost.waits.to_string(),
        percent(percent_of(cost.waits, c.waits.all)),
        duration(cost.mean_wait_ns()),
        format!("{} -> {}", cost.a.above, cost.b.above),
        format!("{} -> {}", cost.a.below, cost.b.below),
        signed_duration(latency_ns / cost.waits.max(1) as f64),
        signed_duration(latency_ns),
        if energy_fj == 0.0 { "0".to_owned() } else { format!("{:+.4}", energy_fj / FJ_PER_UNIT) },
        if energy_fj == 0.0 { "0".to_owned() } else { signed_percent(of_all) },
    ]
}

fn group_table(c: &Comparison) -> Table {
    let shown: Vec<&'static Measure> = Measure::all_in(Place::Parts).collect();
    let mut head = vec!["CPUs".to_owned(), "events".to_owned(), DIFFER.label.to_owned()];
    let unit = &c.a.score.energy_unit;
    head.extend(shown.iter().map(|m| label(m, unit).trim_end_matches(" %").to_owned()));
    let mut t = Table::new("change from A to B", head);
    for g in c.groups.iter().chain([c]) {
        let mut row = vec![g.part.clone(), g.waits.all.to_string(), percent(g.waits.differ_pct)];
        row.extend(shown.iter().map(|m| {
            let change = g.change(m);
            if m.unit == Unit::Count { change.relative() } else { change.words() }
        }));
        t.rows.push(row);
    }
    t
}

fn footer(r: &CompareReport) -> Vec<Line> {
    let mut out = vec![Line::plain(format!(
        "changes are from A to B; mean idle: from going idle to the wake event, in the recording; latency and energy in a row: B's less A's, of A's: of A's \
         whole energy; too deep, too shallow: with A -> with B. Below {SMALL_PCT} % (latency: or {SMALL_LATENCY_NS} \
         ns) a change counts as none."
    ))];
    if r.together.is_some() {
        out.push(Line::plain(
            "wake events, differences, causes: of all traces together; JSON and CSV have them for each",
        ));
    }
    out.push(Line::new("verdict", &r.verdict.text));
    out.extend(r.warnings().into_iter().map(|w| Line::new("WARNING", w)));
    out.extend(r.verdict.notes.iter().map(|note| Line::new("note", note)));
    out.extend(check_lines(&r.checks));
    out
}

/// The checks, for below the tables.
pub(super) fn check_lines(checks: &[Check]) -> impl Iterator<Item = Line> {
    checks.iter().map(|check| Line::new(check_word(check), check_words(check)))
}

fn check_word(check: &Check) -> &'static str {
    if check.failed { "FAILED" } else { "ok" }
}

/// A check in one line: the condition and what was measured.
fn check_words(check: &Check) -> String {
    let several = check.measured.len() > 1;
    let one = |m: &idlewise_study::compare::Measured| {
        let holds = if several && m.holds { " FAILED" } else { "" };
        let place = if several { format!("{} ", m.place) } else { String::new() };
        format!("{place}{}{holds}", m.words)
    };
    if check.measured.is_empty() {
        return format!("{}: nothing of it was measured", check.expression);
    }
    let measured: Vec<String> = check.measured.iter().map(one).collect();
    let assumes = check.assumes.as_ref().map_or_else(String::new, |a| format!(", if {a}"));
    let warnings: String = check.warnings.iter().map(|w| format!("; WARNING: {w}")).collect();
    format!("{}: {}{assumes}{warnings}", check.expression, measured.join("; "))
}

/// The checks of a comparison, one a line, for where the tables are not shown.
#[must_use]
pub fn checks(checks: &[Check]) -> String {
    let line = |c: &Check| format!("{} {}\n", check_word(c), check_words(c));
    checks.iter().map(line).collect()
}
