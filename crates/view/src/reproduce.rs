// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_report::{Line, Report, Table, percent, signed_percent, signed_points};

use idlewise_experiment::reproduce::{Cell, Compare, Experiment, Grade, ReproduceReport, Reproduced, Setup};

/// Published tables beside ours; with `brief` only how many cells of each experiment do what.
#[must_use]
pub fn reproduce(r: &ReproduceReport, brief: bool) -> Report {
    let mut out = Report { data: Some(idlewise_data::reproduce(r)), ..Report::default() };
    if !brief {
        for one in &r.experiments {
            out.tables.extend(tables(one));
            // What is to be read stands above its own table where there is one only.
            let lines = lines(one);
            if r.experiments.len() == 1 {
                out.preamble.extend(lines);
            } else {
                out.footer.extend(lines);
            }
        }
    }
    if brief || r.experiments.len() > 1 {
        out.tables.push(summary(r));
    }
    for one in &r.experiments {
        out.footer.extend(remarks(one));
    }
    out.footer.push(Line::plain(LEGEND));
    out
}

const LEGEND: &str = "change: against the baseline. matches: within the tolerance of the experiment's file, and the change has the published sign or no change was published. same order and sign: the change has the published sign. fit: a parameter was fitted to this cell, so it is not a prediction. no published number: not graded";

fn lines(one: &Reproduced) -> Vec<Line> {
    let e = &one.experiment;
    let mut out = vec![Line::new("table", format!("{}: {}", e.id, e.title))];
    let d = &e.document;
    let counted =
        |what: &str, list: &str| format!("{what}{} {list}", if list.contains(", ") { "s" } else { "" });
    let (document, tables) = (counted("document", &d.number), counted("table", &d.tables));
    out.push(Line::new("published", format!("{document}, {tables}: {}", d.title)));
    out.push(Line::new("set-up", setup_words(&e.setup)));
    for c in e.column.iter().filter(|c| c.setup != Setup::default()) {
        let baseline = if c.baseline { " (baseline)" } else { "" };
        out.push(Line::new("", format!("{}{baseline}: {}", c.name, setup_words(&c.setup))));
    }
    out.extend(e.notes.iter().map(|n| Line::new("note", n)));
    if !e.parameters.is_empty() {
        out.push(Line::new("model", parameters(e)));
    }
    if let Some(fit) = &e.fit {
        let left = one.residual_pct.map_or(f64::NAN, |r| r);
        let names: Vec<&str> = fit.parameter.iter().map(|p| p.name.as_str()).collect();
        let text = format!(
            "{} fitted on {} of {} only; {} % left over (when it was done {} %)",
            names.join(", "),
            fit.rows.join(", "),
            fit.column,
            percent(left),
            percent(fit.residual_pct)
        );
        out.push(Line::new("fit", text));
    }
    if let Some(found) = &one.refitted {
        let found: Vec<String> = found.iter().map(|(name, v)| format!("{name} = {v}")).collect();
        out.push(Line::new("fit anew", found.join(", ")));
    }
    out.extend(e.not_reproduced.iter().map(|n| Line::new("not here", format!("{}: {}", n.what, n.why))));
    out
}

fn parameters(e: &Experiment) -> String {
    let all: Vec<String> = e.parameters.iter().map(|(name, v)| format!("{name} = {v}")).collect();
    all.join(", ")
}

fn setup_words(s: &Setup) -> String {
    let mut words = Vec::new();
    let mut word = |what: &str, value: Option<String>| words.extend(value.map(|v| format!("{what}{v}")));
    word("", s.platform.clone());
    word("Linux ", s.kernel.clone());
    word("HZ ", s.hz.map(|n| n.to_string()));
    word("CPUs ", s.cpus.map(|n| n.to_string()));
    word("idle ", s.governor.as_ref().map(ToString::to_string));
    word("cpufreq ", s.cpufreq.clone());
    word("signal ", s.signal.clone());
    word("workload ", s.workload.clone());
    word("", s.json.as_ref().map(|_| "workload of its own".to_owned()));
    word("", s.compute.map(|_| "computed, not simulated".to_owned()));
    word("seconds ", s.seconds.map(|n| n.to_string()));
    word("first seed ", s.seed.map(|n| n.to_string()));
    word("runs ", s.repeat.map(|n| n.to_string()));
    words.join(", ")
}

fn tables(one: &Reproduced) -> Vec<Table> {
    let (fit, others): (Vec<&Cell>, Vec<&Cell>) = one.cells.iter().partition(|c| c.grade == Grade::Fit);
    let title = |what: &str| format!("{}: {what}", one.experiment.id);
    let mut out = Vec::new();
    if !fit.is_empty() {
        out.push(table(title("fit"), &one.experiment, &fit));
    }
    let words = counts(one);
    out.push(table(title(&format!("predictions: {words}")), &one.experiment, &others));
    out
}

fn counts(one: &Reproduced) -> String {
    let grades = [Grade::Matches, Grade::SameSign, Grade::Differs, Grade::Missing, Grade::Unpublished];
    let some: Vec<String> = grades
        .into_iter()
        .map(|g| (one.count(g), g.words()))
        .filter(|(n, _)| *n > 0)
        .map(|(n, words)| format!("{n} {words}"))
        .collect();
    if some.is_empty() { "none".to_owned() } else { some.join(", ") }
}

fn table(title: String, e: &Experiment, cells: &[&Cell]) -> Table {
    let head = ["row", "column", "published", "ours", "difference", "change", "ours", "grade"];
    let changes = cells.iter().any(|c| c.published_change_pct.is_some());
    let pick = |cells: [String; 8]| -> Vec<String> {
        let all = cells.into_iter().enumerate();
        all.filter(|(i, _)| changes || !(5..=6).contains(i)).map(|(_, c)| c).collect()
    };
    let mut t = Table::new(title, pick(head.map(str::to_owned)));
    t.text_columns = 2;
    let mut before = "";
    for c in cells {
        let row = if c.row == before { String::new() } else { format!("{} [{}]", c.row, c.unit) };
        before = &c.row;
        t.rows.push(pick([
            row,
            c.column.clone(),
            published(c),
            ours(c),
            difference(e, c),
            c.published_change_pct.map_or(String::new(), signed_percent),
            c.our_change_pct.map_or(String::new(), signed_percent),
            c.grade.words().to_owned(),
        ]));
    }
    t
}

fn published(c: &Cell) -> String {
    let Some([from, to]) = c.published else { return "-".to_owned() };
    if from == to { number(from) } else { format!("{}-{}", number(from), number(to)) }
}

fn ours(c: &Cell) -> String {
    if !c.ours.is_finite() {
        return "-".to_owned();
    }
    let half = c.half_width.filter(|h| *h > 0.0).map_or(String::new(), |h| format!(" \u{b1} {}", number(h)));
    format!("{}{half}", number(c.ours))
}

fn difference(e: &Experiment, c: &Cell) -> String {
    let compare = e.row.iter().find(|r| r.name == c.row).map(|r| r.compare);
    match compare {
        _ if !c.difference.is_finite() => String::new(),
        Some(Compare::Change) => signed_points(c.difference),
        _ => signed_percent(c.difference),
    }
}

/// Four digits that count.
fn number(v: f64) -> String {
    match v.abs() {
        a if a >= 1000.0 || a == 0.0 => format!("{v:.0}"),
        a if a >= 100.0 => format!("{v:.1}"),
        a if a >= 10.0 => format!("{v:.2}"),
        _ => format!("{v:.3}"),
    }
}

fn summary(r: &ReproduceReport) -> Table {
    let grades =
        [Grade::Matches, Grade::SameSign, Grade::Differs, Grade::Missing, Grade::Fit, Grade::Unpublished];
    let mut head = vec!["experiment".to_owned(), "published".to_owned()];
    head.extend(grades.map(|g| g.words().to_owned()));
    head.push("not here".to_owned());
    let mut t = Table::new("", head);
    t.text_columns = 2;
    let mut sums = [0; 7];
    for one in &r.experiments {
        let e = &one.experiment;
        let mut n: Vec<usize> = grades.iter().map(|g| one.count(*g)).collect();
        n.push(e.not_reproduced.len());
        sums.iter_mut().zip(&n).for_each(|(sum, n)| *sum += n);
        let mut row = vec![e.id.clone(), e.document.tables.clone()];
        row.extend(n.iter().map(usize::to_string));
        t.rows.push(row);
    }
    let mut all = vec!["all".to_owned(), String::new()];
    all.extend(sums.iter().map(usize::to_string));
    t.rows.push(all);
    t
}

/// Why numbers are missing, each reason once.
fn remarks(one: &Reproduced) -> Vec<Line> {
    let mut why: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in &one.cells {
        if let Some(reason) = &cell.failure {
            *why.entry(reason).or_default() += 1;
        }
    }
    let id = &one.experiment.id;
    why.iter().map(|(why, n)| Line::new("failed", format!("{id}: {n} cells: {why}"))).collect()
}
