// SPDX-License-Identifier: GPL-2.0-only
//! A sweep: the settings that no other beats, or all of them.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_report::{Line, Report, Table, UNKNOWN, number, percent, signed};
use idlewise_score::{Measure, Unit};
use idlewise_stats::median;
use idlewise_sweep::{
    Axis, CaseFacts, SettingChange, SettingResult, SweepCase, SweepEstimate, SweepReport, measures,
};

use crate::corpus::many;

/// Characters of a line.
const WIDTH: usize = 80;
/// Rows of the front that are shown, at most.
const MOST: usize = 24;
/// Names of parameters as heads of columns are together no longer than this; longer ones are numbered.
const NAMES: usize = 24;
/// Failures that are shown.
const FAILURES: usize = 3;

/// The front, or every setting where `details` are asked for.
#[must_use]
pub fn sweep(r: &SweepReport, details: bool) -> Report {
    of_width(r, details, Some(WIDTH))
}

/// Every setting in one table, for a page.
#[must_use]
pub fn sweep_page(r: &SweepReport) -> Report {
    of_width(r, true, None)
}

fn of_width(r: &SweepReport, details: bool, width: Option<usize>) -> Report {
    let mut out = Report { data: Some(idlewise_data::sweep(r)), width, ..Report::default() };
    head(r, &mut out);
    // A page calls every note something.
    if width.is_none() {
        out.preamble.iter_mut().for_each(|line| label(line, "sweep"));
    }
    let parts = Parts::of(r);
    let alike = alike(r);
    let rows = if details { (0..r.settings.len()).collect() } else { shown(r, &alike) };
    out.preamble.extend(parts.legend.iter().cloned());
    let mut all = table(r, &parts, &rows, &alike, details);
    match width {
        Some(width) => out.tables.extend(all.fitted(width)),
        None => {
            all.title = format!("All settings, changes against {}", r.baseline);
            out.tables.push(all);
        }
    }
    foot(r, &rows, details, &mut out);
    if width.is_none() {
        let labels = ["front", "changes", "intervals"];
        out.footer.iter_mut().zip(labels).for_each(|(line, name)| label(line, name));
    }
    out
}

/// Gives a line without a label one.
fn label(line: &mut Line, name: &str) {
    if line.label().is_none() {
        *line = Line::new(name, line.text());
    }
}

/// How much a sweep is, and how long it will take, in a sentence.
#[must_use]
pub fn sweep_estimate(e: &SweepEstimate) -> String {
    let kept = match e.runs - e.left {
        0 => String::new(),
        kept => format!(", {kept} of them kept"),
    };
    let recordings = (e.cases - e.workloads, "recording");
    let on = [recordings, (e.workloads, "simulation")].into_iter().filter(|(n, _)| *n > 0);
    let on: Vec<String> = on.map(|(n, what)| many(n, what)).collect();
    let of = format!(
        "{} (with the baseline and the oracle) on {}: {} runs{kept}",
        many(usize::try_from(e.settings).unwrap_or(usize::MAX), "setting"),
        on.join(" and "),
        e.runs
    );
    if e.left == 0 {
        return format!("{of}; nothing is left to run");
    }
    let cores = many(e.cores, "core");
    let by = e.part_pct.map_or_else(String::new, |pct| format!(", by the first {} % of a run", number(pct)));
    format!("{of}; about {:.2e} decisions, {} on {cores}{by}", e.decisions, time(e.seconds))
}

/// A time that somebody waits for, in the unit that fits.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "less than a second".to_owned(),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} hours", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// What was swept, on what, and what makes it doubtful.
fn head(r: &SweepReport, out: &mut Report) {
    let governor = |g: &idlewise_sweep::SweptGovernor| {
        let settings = usize::try_from(g.settings).unwrap_or(usize::MAX);
        format!("{}, {}", g.governor, many(settings, "setting"))
    };
    let mut governors: Vec<String> = r.governors.iter().map(governor).collect();
    if r.request.sample.is_some() {
        governors.push(format!("drawn by {}, seed {}", r.request.method.name(), r.request.seed));
    }
    let (recordings, workloads): (Vec<&SweepCase>, Vec<&SweepCase>) =
        r.cases.iter().partition(|c| c.facts.recorded_on.is_some());
    let mut on = Vec::new();
    if !recordings.is_empty() {
        let machines = distinct(&recordings, &|f| f.machine.clone());
        let as_if = recordings.iter().any(|c| c.facts.recorded_on.as_ref() != Some(&c.facts.machine));
        let of = match (as_if, machines.as_slice()) {
            (true, [only]) => format!("as if on {only}"),
            (true, all) => format!("as if on {}", many(all.len(), "machine")),
            (false, all) => format!("of {}", many(all.len(), "machine")),
        };
        on.push(format!(
            "{} {of}",
            many(recordings.iter().map(|c| &c.name).collect::<BTreeSet<_>>().len(), "recording")
        ));
    }
    if !workloads.is_empty() {
        let machines = match distinct(&workloads, &|f| f.machine.clone()).as_slice() {
            [only] => only.clone(),
            all => many(all.len(), "machine"),
        };
        let seeds = distinct(&workloads, &|f| f.seed.map_or_else(String::new, |s| s.to_string())).len();
        let names = many(distinct(&workloads, &|f| f.hash.clone()).len(), "workload");
        on.push(format!("{names} simulated on {machines}, {} each", many(seeds, "seed")));
    }
    let what = format!("{}; on {}", governors.join("; "), on.join(" and "));
    out.preamble.push(Line::plain(what));
    for case in &r.cases {
        let warnings = case.facts.warnings.iter();
        out.preamble.extend(warnings.map(|w| Line::new("WARNING", format!("{}: {w}", case.name))));
    }
    let assumed: Vec<&str> = r.cases.iter().filter_map(|c| c.facts.assumes.as_deref()).collect();
    if !assumed.is_empty() {
        out.preamble.push(Line::new("if", assumed.join(", and ")));
    }
    let mut trust = Vec::new();
    if !recordings.is_empty() {
        let fidelity: Vec<f64> = recordings.iter().filter_map(|c| c.facts.fidelity_pct).collect();
        trust.push(match median(&fidelity) {
            Some(half) => {
                format!("replay repeats {} % of the kernel's own choices (median)", percent(half))
            }
            None => "how far replay repeats the kernel's choices is not known".to_owned(),
        });
    }
    if !workloads.is_empty() {
        trust.push("simulated: a model of machine and kernel".to_owned());
    }
    let grades = distinct(&r.cases.iter().collect::<Vec<_>>(), &|f| f.energy_grade.clone());
    trust.push(format!("energy: {}", grades.join("; ")));
    out.preamble.push(Line::new("trust", trust.join("; ")));
    let work: BTreeSet<&str> = workloads.iter().filter_map(|c| c.facts.work.as_deref()).collect();
    let work: Vec<&str> = work.into_iter().collect();
    if !work.is_empty() {
        let is = format!("{}; energy of workloads is that of the CPUs, running and idle", work.join(", "));
        out.preamble.push(Line::new("work", is));
    }
}

/// What there is among `cases`, in order, each once.
fn distinct(cases: &[&SweepCase], of: &dyn Fn(&CaseFacts) -> String) -> Vec<String> {
    cases.iter().map(|c| of(&c.facts)).collect::<BTreeSet<String>>().into_iter().collect()
}

/// The measures that it has.
fn measures_of(r: &SweepReport) -> Vec<&'static Measure> {
    measures(!r.request.workloads.is_empty())
}

/// How a setting is shown: in one column, or in one for each parameter that changes.
struct Parts<'r> {
    axes: Vec<&'r Axis>,
    heads: Vec<String>,
    legend: Vec<Line>,
}

impl<'r> Parts<'r> {
    fn of(r: &'r SweepReport) -> Self {
        let [only] = r.governors.as_slice() else {
            return Self { axes: Vec::new(), heads: vec!["setting".to_owned()], legend: Vec::new() };
        };
        let changes = |axis: &&Axis| {
            let values: BTreeSet<&String> =
                r.settings.iter().filter_map(|s| s.parameters.get(&axis.parameter)).collect();
            values.len() > 1
        };
        let axes: Vec<&Axis> = only.parameters.iter().filter(changes).collect();
        if axes.is_empty() {
            return Self { axes, heads: vec!["setting".to_owned()], legend: Vec::new() };
        }
        let names: Vec<String> = axes.iter().map(|a| a.parameter.clone()).collect();
        if names.iter().map(String::len).sum::<usize>() <= NAMES {
            return Self { axes, heads: names, legend: Vec::new() };
        }
        let heads: Vec<String> = (1..=axes.len()).map(|n| format!("p{n}")).collect();
        let legend = heads.iter().zip(names).map(|(head, name)| Line::new(head, name)).collect();
        Self { axes, heads, legend }
    }

    fn cells(&self, r: &SweepReport, s: &SettingResult, is_baseline: bool) -> Vec<String> {
        if self.axes.is_empty() {
            let mark = if is_baseline { " (baseline)" } else { "" };
            return vec![format!("{}{mark}", s.setting)];
        }
        let cell = |(n, axis): (usize, &&Axis)| match (s.parameters.get(&axis.parameter), n) {
            (_, 0) if is_baseline => format!("({})", r.baseline),
            (_, _) if is_baseline => String::new(),
            (Some(value), _) => value.clone(),
            (None, _) => UNKNOWN.to_owned(),
        };
        self.axes.iter().enumerate().map(cell).collect()
    }
}

/// The first setting with the same numbers on all cases, for each, and how many others are like a first one.
struct Alike {
    first: Vec<usize>,
    others: BTreeMap<usize, usize>,
}

fn alike(r: &SweepReport) -> Alike {
    let mut seen: BTreeMap<Vec<Option<u64>>, usize> = BTreeMap::new();
    let all = measures_of(r);
    let mut out = Alike { first: Vec::new(), others: BTreeMap::new() };
    for (n, s) in r.settings.iter().enumerate() {
        let numbers = s
            .cases
            .iter()
            .flat_map(|c| all.iter().map(|m| c.numbers.as_ref().and_then(|n| n.value(m)).map(f64::to_bits)));
        let first = *seen.entry(numbers.collect()).or_insert(n);
        if first != n {
            *out.others.entry(first).or_default() += 1;
        }
        out.first.push(first);
    }
    out
}

/// The baseline and the front, one of each that are alike, the least of the front's first measure first.
fn shown(r: &SweepReport, alike: &Alike) -> Vec<usize> {
    let by = measures_of(r).into_iter().find(|m| r.front.first() == Some(&m.name));
    let value = |n: &usize| by.and_then(|by| r.settings[*n].change(by)).unwrap_or(f64::NAN);
    let is_shown = |n: &usize| r.settings[*n].on_front && alike.first[*n] == *n;
    let mut front: Vec<usize> = (1..r.settings.len()).filter(is_shown).collect();
    front.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let len = front.len();
    if len > MOST {
        front = (0..MOST).map(|n| front[n * (len - 1) / (MOST - 1)]).collect();
    }
    std::iter::once(0).chain(front).collect()
}

fn table(r: &SweepReport, parts: &Parts<'_>, rows: &[usize], alike: &Alike, details: bool) -> Table {
    let all = measures_of(r);
    let measures = || all.iter().copied().filter(|m| details || m.name != "wakeups");
    let has_intervals = has_intervals(r);
    let has_alike = !details && rows.iter().any(|n| alike.others.contains_key(n));
    let mut t = Table::new("", parts.heads.clone());
    t.text_columns = parts.heads.len();
    t.head.extend(measures().map(|m| head_of(m).to_owned()));
    t.head.extend(details.then(|| "front".to_owned()));
    t.head.extend(has_alike.then(|| "alike".to_owned()));
    let best: Vec<f64> = measures()
        .map(|m| r.settings.iter().filter_map(|s| s.change(m)).fold(f64::INFINITY, f64::min))
        .collect();
    for &n in rows {
        let s = &r.settings[n];
        let mut cells = parts.cells(r, s, n == 0);
        // The baseline's changes against itself are none for certain.
        let marked = has_intervals && n != 0;
        cells.extend(measures().zip(&best).map(|(m, best)| cell(s, m, *best, marked)));
        cells.extend(details.then(|| if s.on_front { "front" } else { "" }.to_owned()));
        let others = alike.others.get(&n).map_or_else(String::new, |others| format!("+{others}"));
        cells.extend(has_alike.then_some(others));
        t.rows.push(cells);
    }
    t
}

/// The head of a measure's column.
fn head_of(m: &Measure) -> &'static str {
    match m.name {
        "energy" => "energy",
        "latency_mean" => "latency",
        "latency_p99" => "p99",
        _ => m.label.trim_end_matches(" %"),
    }
}

/// The change in `m`; `marked` by whether its interval holds none, or is not known.
fn cell(s: &SettingResult, m: &Measure, best: f64, marked: bool) -> String {
    let Some(change) = s.changes.iter().find(|c| c.measure == m) else { return UNKNOWN.to_owned() };
    let Some(mean) = change.mean else { return UNKNOWN.to_owned() };
    let unit = if m.unit == Unit::Share { "pp" } else { "%" };
    let best = if mean <= best { "*" } else { "" };
    let mark = match change.interval {
        _ if !marked => "",
        None => UNKNOWN,
        Some(_) if is_unclear(change) => "~",
        Some(_) => "",
    };
    format!("{}{unit}{mark}{best}", signed(mean, 1))
}

/// Whether there are intervals, of whatever setting.
fn has_intervals(r: &SweepReport) -> bool {
    r.settings.iter().flat_map(|s| &s.changes).any(|c| c.interval.is_some())
}

/// What a case of it is.
fn of_cases(r: &SweepReport) -> &'static str {
    match (r.request.recordings.is_empty(), r.request.workloads.is_empty()) {
        (false, true) => "recording",
        (true, false) => "run",
        _ => "case",
    }
}

/// What its cases are of.
fn inputs_of(r: &SweepReport) -> &'static str {
    match (r.request.recordings.is_empty(), r.request.workloads.is_empty()) {
        (_, true) => "recordings",
        (true, false) => "workloads",
        _ => "recordings and workloads",
    }
}

/// Whether the interval holds 0.
fn is_unclear(change: &SettingChange) -> bool {
    change.interval.is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high)
}

fn foot(r: &SweepReport, rows: &[usize], details: bool, out: &mut Report) {
    let front: Vec<&SettingResult> = r.settings.iter().filter(|s| s.on_front).collect();
    let names: Vec<&str> =
        measures_of(r).into_iter().filter(|m| r.front.contains(&m.name)).map(head_of).collect();
    out.footer.push(Line::plain(format!(
        "{} of {} (the baseline is one) are on the front of {}: no other is as good in all of it and better \
         in one",
        front.len(),
        many(r.settings.len(), "setting"),
        names.join(" and ")
    )));
    let over = match r.cases.len() {
        1 => String::new(),
        n => format!(", geometric mean over {} (of pp the mean)", many(n, of_cases(r))),
    };
    let more = if details { "" } else { "; alike: others with the same numbers; -v: all settings" };
    out.footer.push(Line::plain(format!(
        "changes against {}{over}; less is better; * best of all settings{more}",
        r.baseline
    )));
    let all: Vec<&SweepCase> = r.cases.iter().collect();
    let over = if distinct(&all, &|f| f.machine.clone()).len() > 1 { "machines" } else { inputs_of(r) };
    if has_intervals(r) {
        let lacks =
            |n: &&usize| r.settings[**n].changes.iter().any(|c| c.mean.is_some() && c.interval.is_none());
        let unknown = if rows.iter().filter(|n| **n != 0).any(|n| lacks(&n)) {
            "; ? it was not computed: there are many settings, and this one is not on the front, or too few of its cases have a number"
        } else {
            ""
        };
        let is = format!("~ nothing shown: the 95 % interval, resampled over {over}, contains 0{unknown}");
        out.footer.push(Line::plain(is));
    } else if r.cases.len() > 1 {
        let each = inputs_of(r);
        out.footer
            .push(Line::plain(format!("no intervals: five machines, or five {each} of one, are needed")));
    }
    let failed: Vec<&SettingResult> = r.settings.iter().filter(|s| s.failure.is_some()).collect();
    for s in failed.iter().take(FAILURES) {
        let why = s.failure.as_deref().unwrap_or(UNKNOWN);
        out.footer.push(Line::new("FAILED", format!("{}: {why}", s.setting)));
    }
    if failed.len() > FAILURES {
        out.footer.push(Line::new("FAILED", format!("and {} more", failed.len() - FAILURES)));
    }
    for l in &r.left_out {
        out.footer.push(Line::new("left out", format!("{}: {}", l.name, l.why)));
    }
}
