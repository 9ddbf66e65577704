// SPDX-License-Identifier: GPL-2.0-only
//! A corpus: what is in it, whether it is whole, what governors come to on it.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_answer::{Role, Shown, Spread};
use idlewise_collect::{CorpusRun, Verification};
use idlewise_corpus::{Basis, Corpus, Entry, Split};
use idlewise_report::{Line, Report, Table, UNKNOWN, share, signed};
use idlewise_stats::Interval;

/// Characters of a line.
pub(crate) const LINE: usize = 80;

/// The recordings in a table, then how many there are of each kind.
#[must_use]
pub fn corpus_list(corpus: &Corpus, entries: &[&Entry]) -> Report {
    let mut out = Report { data: Some(idlewise_data::corpus_list(entries)), ..Report::default() };
    let distinct = |of: fn(&Entry) -> &str| entries.iter().map(|e| of(e)).collect::<BTreeSet<_>>().len();
    out.preamble.push(Line::plain(format!(
        "{}: {} of {} under {}, {}",
        corpus.folder().display(),
        many(entries.len(), "recording"),
        many(distinct(|e| &e.machine), "machine"),
        many(distinct(|e| &e.workload), "load"),
        megabytes(entries.iter().map(|e| e.bytes).fold(0, u64::saturating_add)),
    )));
    let mut t = table(&["recording", "basis", "split", "governor", "trust", "seconds", "idle periods"]);
    t.text_columns = 5;
    for e in entries {
        let governor = e.governor.as_deref().unwrap_or(UNKNOWN);
        let governor = governor.split(':').next().unwrap_or(governor);
        t.rows.push(vec![
            e.id.clone(),
            e.basis.to_string(),
            e.split.to_string(),
            governor.to_owned(),
            e.trust.clone(),
            format!("{:.1}", e.span_ns as f64 / 1e9),
            e.idle_periods.to_string(),
        ]);
    }
    out.tables.push(t);
    let bases = Basis::ALL.map(|b| (b.name(), entries.iter().filter(|e| e.basis == b).count()));
    out.footer.push(Line::new("basis", counted(&bases)));
    let splits = Split::ALL.map(|s| (s.name(), entries.iter().filter(|e| e.split == s).count()));
    out.footer.push(Line::new("split", counted(&splits)));
    let mut licences: BTreeMap<&str, usize> = BTreeMap::new();
    entries.iter().for_each(|e| *licences.entry(&e.licence).or_default() += 1);
    out.footer.push(Line::new("licences", counted(&licences.into_iter().collect::<Vec<_>>())));
    out
}

/// What is not as the index says; that all is, where it is.
#[must_use]
pub fn corpus_verify(v: &Verification) -> Report {
    let mut out = Report { data: Some(idlewise_data::corpus_verify(v)), ..Report::default() };
    let whole = v.recordings.iter().filter(|r| r.whole).count();
    let all = v.recordings.len();
    out.preamble.push(Line::plain(format!("{}: {whole} of {all} recordings are there, unchanged", v.corpus)));
    for r in v.recordings.iter().filter(|r| !r.whole) {
        let label = if r.missing { "missing" } else { "CHANGED" };
        let why = r.why.as_deref().unwrap_or(UNKNOWN);
        let outside =
            if r.missing && !r.inside { "; it lies outside of the corpus and may be missing" } else { "" };
        out.footer.push(Line::new(label, format!("{}: {why}{outside}", r.id)));
    }
    for name in &v.unknown {
        let why = format!("{name}: the index does not name it; add it, or remove it");
        out.footer.push(Line::new("not in it", why));
    }
    out
}

/// What governors lose against the oracle, then how they differ from the baseline.
#[must_use]
pub fn corpus_run(run: &CorpusRun) -> Report {
    let mut out =
        Report { data: Some(idlewise_data::corpus_run(run)), width: Some(LINE), ..Report::default() };
    let m = run.machines;
    out.preamble.push(Line::plain(format!(
        "{} on {} of {}, each on its own",
        run.governors.join(", "),
        many(run.recordings.len(), "recording"),
        many(m.all, "machine")
    )));
    let bases = [("measured", m.measured), ("emulated", m.emulated), ("model", m.model)];
    out.preamble.push(Line::plain(format!("basis: {}", counted(&bases))));
    if run.regret.is_empty() {
        out.tables.extend(of_each(run));
    } else {
        let mut tables = vec![regret(run)];
        if run.governors.len() > 1 {
            tables.push(change(run));
        }
        if !run.parts.is_empty() {
            tables.push(parts(run));
        }
        out.tables.extend(tables.into_iter().flat_map(|t| t.fitted(LINE)));
    }
    for s in &run.skipped {
        out.footer.push(Line::new("left out", format!("{}: {}", s.id, s.why)));
    }
    let failures = run.recordings.iter().flat_map(|r| r.results.iter().map(move |g| (r, g)));
    for (recording, why) in failures.filter_map(|(r, g)| Some((r, g.failure.as_ref()?))) {
        out.footer.push(Line::new("FAILED", format!("{}: {why}", recording.id)));
    }
    let resampled = match run.machines.all {
        1 => "95 % intervals, resampled over recordings, which are of one machine and say nothing of others",
        _ => "95 % intervals, resampled over machines; ? with fewer than five of them, or where a value is 0",
    };
    out.footer.push(Line::new("intervals", resampled));
    out.footer.push(Line::new("marks", "~ nothing shown; = within 1 %; less is better everywhere"));
    out
}

/// Energy above the oracle's.
pub(crate) fn regret(run: &CorpusRun) -> Table {
    let mut t = table(&["governor", "mean", "95 % interval", "median", "worst", "in"]);
    "regret: idle energy above the oracle's".clone_into(&mut t.title);
    for s in &run.regret {
        let number = run.governors.iter().position(|g| *g == s.governor);
        let worst = run.recordings.iter().filter_map(|r| {
            let result = r.results.get(number?)?;
            result.regret_pct.is_finite().then_some((result.regret_pct, r.id.as_str()))
        });
        let worst = worst.max_by(|(x, _), (y, _)| x.total_cmp(y));
        t.rows.push(vec![
            s.governor.clone(),
            percent(s.mean),
            interval(s, "%"),
            percent(s.median),
            worst.map_or_else(|| UNKNOWN.to_owned(), |(pct, _)| percent(pct)),
            worst.map_or_else(String::new, |(_, id)| id.to_owned()),
        ]);
    }
    t
}

/// The change from the baseline in each measure.
fn change(run: &CorpusRun) -> Table {
    let mut t = table(&["against", "measure", "mean", "95 % interval", "fell:same:rose"]);
    t.title = format!("against {}", run.baseline);
    t.head[0] = "governor".to_owned();
    t.text_columns = 2;
    let mut before = "";
    for s in run.change.iter().filter(|s| s.role == Role::Governor) {
        let unit = if s.column.starts_with("too_") { "pp" } else { "%" };
        let mark = match s.shown {
            Some(Shown::Nothing) => " ~",
            Some(Shown::Equivalent) => " =",
            _ => "  ",
        };
        let name = if s.governor == before { String::new() } else { s.governor.clone() };
        before = &s.governor;
        t.rows.push(vec![
            name,
            s.column.replace('_', " "),
            format!("{}{unit}{mark}", signed(s.mean, 1)),
            interval(s, unit),
            format!("{}:{}:{}", s.fell, s.same, s.rose),
        ]);
    }
    t
}

fn parts(run: &CorpusRun) -> Table {
    let heads: Vec<&str> =
        ["regret of", "recordings"].into_iter().chain(run.governors.iter().map(String::as_str)).collect();
    let mut t = table(&heads);
    t.text_columns = 1;
    for part in &run.parts {
        let cells = part.regret_pct.iter().map(|v| percent(*v));
        t.rows.push([part.name.clone(), part.recordings.to_string()].into_iter().chain(cells).collect());
    }
    t
}

/// A table for each recording: that of a run with only one.
fn of_each(run: &CorpusRun) -> Vec<Table> {
    let one = |r: &idlewise_collect::RunRecording| {
        let mut t = table(&["governor", "regret", "too deep", "too shallow"]);
        r.id.clone_into(&mut t.title);
        t.text_columns = 1;
        for g in &r.results {
            let shares =
                [g.score.too_deep_pct, g.score.too_shallow_pct].map(|v| format!("{} %", share(v, 1)));
            t.rows.push([g.governor.clone(), percent(g.regret_pct)].into_iter().chain(shares).collect());
        }
        t
    };
    run.recordings.iter().map(one).collect()
}

fn table(head: &[&str]) -> Table {
    Table::new("", head.iter().map(|h| (*h).to_owned()).collect())
}

pub(crate) fn percent(value: f64) -> String {
    if value.is_nan() { UNKNOWN.to_owned() } else { format!("{}%", signed(value, 1)) }
}

fn interval(s: &Spread, unit: &str) -> String {
    let words = |i: Interval| format!("{} to {}{unit}", signed(i.low, 1), signed(i.high, 1));
    s.interval.map_or_else(|| UNKNOWN.to_owned(), words)
}

/// `3 measured, 20 model`; what there is none of is left out.
fn counted<S: AsRef<str>>(all: &[(S, usize)]) -> String {
    let there = all.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {}", name.as_ref()));
    there.collect::<Vec<_>>().join(", ")
}

/// `1 machine`, `7 machines`.
pub(crate) fn many(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
