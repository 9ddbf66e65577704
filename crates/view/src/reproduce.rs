// SPDX-License-Identifier: GPL-2.0-only
//! Published tables and ours: what was predicted, and how far it is right.

use std::collections::BTreeMap;

use idlewise_report::{Line, Report, Table, signed_percent, signed_points};
use idlewise_reproduce::{
    Cell, Class, Experiment, Predicted, Reason, ReproduceReport, Reproduced, Scoreboard, Setup, Tally,
    Verdict,
};

/// What is shown of repeated experiments.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Only what all differences come to.
    pub brief: bool,
    /// On which unknowns each cell depends, too.
    pub sensitivity: bool,
    /// Where the published numbers of these cells come out, too: `ROW/COLUMN`.
    pub regions: Vec<String>,
}

/// Published tables and ours.
#[must_use]
pub fn reproduce(r: &ReproduceReport, shown: &Shown) -> Report {
    let mut out = Report { data: Some(idlewise_data::reproduce(r)), ..Report::default() };
    for one in &r.experiments {
        if !shown.brief {
            out.tables.push(table(one));
            // What is to be read stands above its own table where there is one only.
            let lines = lines(one);
            if r.experiments.len() == 1 {
                out.preamble.extend(lines);
                out.footer.extend(reasons(one));
            } else {
                out.footer.extend(lines);
            }
        }
        if shown.sensitivity {
            out.tables.extend(sensitivity(one));
        }
        out.tables.extend(one.cells.iter().filter_map(|c| region(one, c, &shown.regions)));
    }
    out.tables.push(scoreboard(&r.scoreboard));
    if shown.brief || r.experiments.len() > 1 {
        out.tables.push(by_experiment(r));
    }
    for one in &r.experiments {
        out.footer.extend(failures(one));
    }
    out.footer.push(Line::plain(classes(&r.scoreboard)));
    out.footer.push(Line::plain(LEGEND));
    out
}

/// A cell as options name it: `ROW/COLUMN`.
fn name_of(c: &Cell) -> String {
    format!("{}/{}", c.row, c.column)
}

/// Of `names`, those that are no differences with a region.
#[must_use]
pub fn without_region<'n>(r: &ReproduceReport, names: &'n [String]) -> Vec<&'n str> {
    let cells = || r.experiments.iter().flat_map(|one| &one.cells).filter(|c| c.region.is_some());
    names.iter().filter(|n| !cells().any(|c| name_of(c) == **n)).map(String::as_str).collect()
}

/// The cells that have a region.
#[must_use]
pub fn with_region(r: &ReproduceReport) -> Vec<String> {
    let cells = r.experiments.iter().flat_map(|one| &one.cells);
    cells.filter(|c| c.region.is_some()).map(name_of).collect()
}

/// On which unknowns each cell depends most; nothing where none does on any.
fn sensitivity(one: &Reproduced) -> Option<Table> {
    let title =
        format!("{}: the unknowns that a number goes with most (rank correlation)", one.experiment.id);
    let mut t = Table { text_columns: 2, ..Table::new(title, vec![String::new(); 2]) };
    for c in one.cells.iter().filter(|c| !c.influences.is_empty()) {
        under(&mut t, c);
        let most = c.influences.iter().take(MOST_INFLUENCES);
        let words: Vec<String> = most.map(|i| format!("{} {:+.2}", i.unknown, i.correlation)).collect();
        t.rows.push(vec![format!(" {}", c.column), words.join(", ")]);
    }
    (!t.rows.is_empty()).then_some(t)
}

/// So many unknowns of a cell are shown, the strongest first.
const MOST_INFLUENCES: usize = 3;

/// The heading of the row that a cell stands in, before the first of them.
fn under(t: &mut Table, c: &Cell) {
    let heading = format!("{} [{}]", c.row, c.unit);
    if t.sections.last().is_none_or(|(_, last)| *last != heading) {
        t.sections.push((t.rows.len(), heading));
    }
}

/// Where the published number of a cell comes out, if `names` has it.
fn region(one: &Reproduced, c: &Cell, names: &[String]) -> Option<Table> {
    let region = c.region.as_ref().filter(|_| names.contains(&name_of(c)))?;
    let [inside, all] = region.samples;
    let title = format!("{}, {}: as published in {inside} of {all} samples", c.row, c.column);
    let head = ["unknown", "all that meets the baseline", "where it is as published"];
    let mut t = Table::new(title, head.map(str::to_owned).to_vec());
    t.text_columns = 3;
    for (name, now) in one.samples.iter().flat_map(|s| &s.settings) {
        let there = region.settings.iter().find(|(n, _)| n == name).map(|(_, s)| s.clone());
        t.rows.push(vec![name.clone(), now.clone(), there.unwrap_or_else(|| "nowhere".to_owned())]);
    }
    Some(t)
}

const LEGEND: &str = "published (its change against the baseline) and ours, with the middle 90 % of all samples. A difference is a published change beyond its noise, each once. sign, size: right, ? or wrong, where all, some or none of what meets the baseline's numbers has the published sign, or is within 3 points or 25 % of the published change. by median: sign and size right, the median alone. null: the size of \"nothing changes\" is right. inside: the published change is in the 90 % interval";

/// `97 differences; not counted: 39 repeats, ...`.
fn classes(s: &Scoreboard) -> String {
    let words = |(class, n): &(Class, usize)| format!("{} {n}", class.words());
    let all: Vec<String> = s.classes.iter().filter(|(c, _)| *c != Class::Difference).map(words).collect();
    let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    format!("not counted: {all}; of those without an effect {} show one", s.false_alarms)
}

fn scoreboard(s: &Scoreboard) -> Table {
    let head =
        ["document", "differences", "sign", "size", "by median", "null", "inside", "not known", "model"];
    let title = "published differences (sign, size: right / ? / wrong)";
    let mut t = Table::new(title, head.map(str::to_owned).to_vec());
    for (document, tally) in &s.rows {
        t.rows.push(std::iter::once(document.clone()).chain(counts(tally)).collect());
    }
    t
}

fn counts(t: &Tally) -> [String; 8] {
    let parts = |all: &[usize]| all.iter().map(usize::to_string).collect::<Vec<_>>().join(" / ");
    [
        t.differences.to_string(),
        parts(&t.sign),
        parts(&t.size),
        parts(&t.by_median),
        t.null.to_string(),
        t.inside.to_string(),
        t.cannot_be_known.to_string(),
        t.model_is_wrong.to_string(),
    ]
}

fn by_experiment(r: &ReproduceReport) -> Table {
    let head = ["experiment", "tables", "differences", "sign right", "size right", "baseline off by"];
    let mut t = Table::new("", head.map(str::to_owned).to_vec());
    t.text_columns = 2;
    for one in &r.experiments {
        let count = |is: &dyn Fn(&&Cell) -> bool| one.cells.iter().filter(is).count().to_string();
        t.rows.push(vec![
            one.experiment.id.clone(),
            one.experiment.document.tables.clone(),
            count(&|c| c.class == Class::Difference),
            count(&|c| c.has_sign(Verdict::Right)),
            count(&|c| c.has_size(Verdict::Right)),
            one.samples.as_ref().map_or(String::new(), |s| off(&one.experiment, s.distance)),
        ]);
    }
    t
}

/// How far the baseline's numbers are off at the worst sample: root mean square in multiples of their noise.
fn off(e: &Experiment, distance: f64) -> String {
    if fitted(e).is_empty() {
        "nothing is fitted".to_owned()
    } else if distance <= 1.0 {
        "at most its noise (root mean square)".to_owned()
    } else {
        format!("{distance:.1} times its noise")
    }
}

fn fitted(e: &Experiment) -> &[String] {
    e.fit.as_ref().map_or(&[], |fit| &fit.rows)
}

fn lines(one: &Reproduced) -> Vec<Line> {
    let e = &one.experiment;
    let mut out =
        vec![Line::new("answer", one.answer()), Line::new("table", format!("{}: {}", e.id, e.title))];
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
    if let Some(s) = &one.samples {
        for (u, (name, now)) in e.unknown.iter().zip(&s.settings) {
            out.push(Line::new("unknown", format!("{name}: {now} of {}: {}", before(u), u.why)));
        }
        let baseline = match fitted(e) {
            [] => "nothing of the baseline is fitted".to_owned(),
            rows => format!("the baseline is off by {}, over {}", off(e, s.distance), rows.join(", ")),
        };
        out.push(Line::new("fit", format!("{} samples of {} draws; {baseline}", one.points, s.draws)));
        if s.outdated {
            let why = "the model has changed since these samples were drawn; draw them again: idlewise reproduce --draw";
            out.push(Line::new("warning", why));
        }
    }
    out.extend(e.not_reproduced.iter().map(|n| Line::new("not here", format!("{}: {}", n.what, n.why))));
    out
}

fn before(u: &idlewise_reproduce::Unknown) -> String {
    match u.range {
        Some([from, to]) => format!("{from} to {to}"),
        None => u.values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
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
    word("HZ ", s.hz.as_ref().map(ToString::to_string));
    word("CPUs ", s.cpus.map(|n| n.to_string()));
    word("idle ", s.governor.as_ref().map(ToString::to_string));
    word("cpufreq ", s.cpufreq.clone());
    word("signal ", s.signal.clone());
    word("workload ", s.workload.clone());
    word("", s.json.as_ref().map(|_| "workload of its own".to_owned()));
    word("", s.compute.map(|_| "computed, not simulated".to_owned()));
    word("seconds ", s.seconds.map(|n| n.to_string()));
    words.join(", ")
}

fn table(one: &Reproduced) -> Table {
    let head = ["", one.experiment.document.called.as_str(), "ours", "sign", "size"];
    let mut t = Table::new(one.experiment.id.clone(), head.map(str::to_owned).to_vec());
    for c in &one.cells {
        under(&mut t, c);
        let points = c.unit == "%";
        let of_level =
            || c.ours.map_or_else(|| "-".to_owned(), |p| range(p.median, p.interval.low, p.interval.high));
        let (published, ours) = match (&c.effect, &c.change) {
            (Some(e), _) => (
                format!("{} ({})", published(c), changed(e.published, points)),
                interval(&e.predicted, points),
            ),
            (None, Some(ours)) if c.ours.is_none() => (published(c), interval(ours, points)),
            (None, _) => (published(c), of_level()),
        };
        let verdicts = c.effect.as_ref().filter(|_| c.class == Class::Difference);
        let (sign, size) = match (verdicts, &c.reason) {
            (_, Some(Reason::NoNumber)) => (String::new(), Reason::NoNumber.words().to_owned()),
            (Some(e), _) => (verdict(e.sign).to_owned(), verdict(e.size).to_owned()),
            (None, _) if c.is_false_alarm() => (String::new(), "false alarm".to_owned()),
            (None, _) => (String::new(), c.class.words().to_owned()),
        };
        t.rows.push(vec![format!(" {}", c.column), published, ours, sign, size]);
    }
    t
}

fn verdict(v: Verdict) -> &'static str {
    if v == Verdict::Undecided { "?" } else { v.words() }
}

/// Why differences are not right, each reason once; and what is bistable.
fn reasons(one: &Reproduced) -> Vec<Line> {
    let mut by: BTreeMap<(&str, String), BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for c in &one.cells {
        let why = match &c.reason {
            Some(Reason::CannotBeKnown { why }) => ("not known", why.clone()),
            Some(Reason::MissesBaseline { distance, rows }) => {
                let outside = match rows.as_slice() {
                    [] => String::new(),
                    rows => format!("; outside of its interval: {}", rows.join(", ")),
                };
                ("model", format!("it misses the baseline by {distance:.1} times its noise{outside}"))
            }
            Some(Reason::ModelIsWrong { lacks }) => {
                let what = lacks.clone().unwrap_or_else(|| "what it lacks is not known".to_owned());
                ("model", format!("it is wrong; {what}"))
            }
            _ => continue,
        };
        by.entry(why).or_default().entry(&c.row).or_default().push(&c.column);
    }
    let words = |(row, columns): (&&str, &Vec<&str>)| format!("{row} of {}", columns.join(", "));
    let reasons = by.iter().map(|((label, why), rows)| {
        let rows: Vec<String> = rows.iter().map(words).collect();
        Line::new(label, format!("{}: {why}", rows.join("; ")))
    });
    reasons.chain(one.cells.iter().filter_map(bistable)).collect()
}

fn bistable(c: &Cell) -> Option<Line> {
    let [a, b] = c.modes?;
    let text = format!(
        "{} of {}: {} in {} samples, {} in {}",
        c.row,
        c.column,
        range(a.mean, a.min, a.max),
        a.n,
        range(b.mean, b.min, b.max),
        b.n
    );
    Some(Line::new("two modes", text))
}

fn published(c: &Cell) -> String {
    let Some([from, to]) = c.published else { return "-".to_owned() };
    if from == to { number(from) } else { format!("{}-{}", number(from), number(to)) }
}

fn range(median: f64, low: f64, high: f64) -> String {
    let (low_text, high_text) = (number(low), number(high));
    if low_text == high_text {
        number(median)
    } else {
        format!("{} [{low_text}, {high_text}]", number(median))
    }
}

fn changed(change: f64, points: bool) -> String {
    if points { signed_points(change) } else { signed_percent(change) }
}

fn interval(p: &Predicted, points: bool) -> String {
    format!("{} [{}, {}]", changed(p.median, points), short(p.interval.low), short(p.interval.high))
}

fn short(v: f64) -> String {
    format!("{v:+.1}")
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

/// Why numbers are missing, each reason once.
fn failures(one: &Reproduced) -> Vec<Line> {
    let mut why: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in &one.cells {
        if let Some(reason) = &cell.failure {
            *why.entry(reason).or_default() += 1;
        }
    }
    let id = &one.experiment.id;
    why.iter().map(|(why, n)| Line::new("failed", format!("{id}: {n} cells: {why}"))).collect()
}
