// SPDX-License-Identifier: GPL-2.0-only
//! A result broken down: by CPU, by cluster, by state.

use idlewise_answer::{Answer, Column, MissCounts};
use idlewise_recording::placement::Per;
use idlewise_report::{Report, Table, share};
use idlewise_score::Score;
use idlewise_score::measure::DECIDING;
use idlewise_study::compare::CompareReport;
use idlewise_study::replay::ReplayReport;

use crate::Layout;
use crate::answer::{count_cells, short_label, value_words};

/// What one governor did on a part of one recording.
struct Part<'r> {
    recording: &'r str,
    /// `cpu 3`, `BIG`; `all`
    cpus: &'r str,
    governor: &'r str,
    score: &'r Score,
}

/// What a replay comes to: `a`, and its parts where they are asked for.
#[must_use]
pub fn replay_answer(r: &ReplayReport, a: &Answer, layout: &Layout) -> Report {
    let mut out = crate::answer(a, layout);
    let mut parts = Vec::new();
    for t in &r.traces {
        let part = |cpus, governor, score| Part { recording: &t.head.name, cpus, governor, score };
        let there = || t.governors.iter().filter(|g| g.failure.is_none());
        // Part by part, and in each all governors.
        let names = there().next().into_iter().flat_map(|g| &g.groups).map(|group| group.name.as_str());
        for name in names {
            let of = there().flat_map(|g| g.groups.iter().map(move |group| (g, group)));
            let of = of.filter(|(_, group)| group.name == name);
            parts.extend(of.map(|(g, group)| part(name, &g.governor, &group.score)));
        }
        if r.request.per == Per::All || r.request.per == Per::State {
            parts.extend(there().map(|g| part("all", &g.governor, &g.score)));
        }
    }
    add(&mut out, &parts, r.request.per, layout);
    out.tables.extend(r.power_limits.iter().flat_map(crate::budget::tables));
    out.footer.extend(crate::budget::model(&r.power_limits));
    out
}

/// Adds the parts of a comparison to its answer.
pub(crate) fn compare_parts(out: &mut Report, r: &CompareReport, layout: &Layout) {
    let mut parts = Vec::new();
    for t in &r.traces {
        let whole = std::slice::from_ref(&t.comparison);
        let groups = if r.request.per == Per::All { whole } else { t.comparison.groups.as_slice() };
        for c in groups {
            parts.extend(
                [(r.a.as_str(), &c.a.score), (r.b.as_str(), &c.b.score)].map(|(governor, score)| Part {
                    recording: &t.head.name,
                    cpus: &c.part,
                    governor,
                    score,
                }),
            );
        }
    }
    add(out, &parts, r.request.per, layout);
}

fn add(out: &mut Report, parts: &[Part<'_>], per: Per, layout: &Layout) {
    let broken_down = matches!(per, Per::Cpu | Per::Cluster);
    let mailed = layout.mail;
    let mut tables = Vec::new();
    if broken_down {
        tables.push(if mailed { counts(parts) } else { deciding(parts) });
    }
    if mailed || per == Per::State {
        tables.extend(residency(parts));
    }
    out.tables.extend(tables.into_iter().flat_map(|t| t.fitted(layout.width)));
}

/// Whose row it is: recording, CPUs and governor, without what is the same in all rows.
struct Names {
    recording: bool,
    cpus: bool,
}

impl Names {
    fn of(parts: &[Part<'_>]) -> Self {
        let differ = |of: fn(&Part<'_>) -> String| {
            parts.windows(2).any(|pair| matches!(pair, [a, b] if of(a) != of(b)))
        };
        Self { recording: differ(|p| p.recording.to_owned()), cpus: parts.iter().any(|p| p.cpus != "all") }
    }

    fn table(&self, heads: impl IntoIterator<Item = String>) -> Table {
        let names = [(self.recording, "recording"), (self.cpus, "CPUs"), (true, "governor")];
        let names: Vec<String> =
            names.iter().filter(|(shown, _)| *shown).map(|(_, n)| (*n).to_owned()).collect();
        let text_columns = names.len();
        let mut t = Table::new("", names.into_iter().chain(heads).collect());
        t.text_columns = text_columns;
        t
    }

    fn row(&self, p: &Part<'_>, cells: impl IntoIterator<Item = String>) -> Vec<String> {
        let names = [(self.recording, p.recording), (self.cpus, p.cpus), (true, p.governor)];
        names.iter().filter(|(shown, _)| *shown).map(|(_, n)| (*n).to_owned()).chain(cells).collect()
    }
}

/// What decides, of each part.
fn deciding(parts: &[Part<'_>]) -> Table {
    let names = Names::of(parts);
    let columns = Column::deciding(parts.first().map_or("rel", |p| p.score.energy_unit.as_str()));
    let mut t = names.table(columns.iter().map(short_label));
    for p in parts {
        let cells = columns.iter().zip(DECIDING).map(|(c, m)| value_words(c, m.value(p.score)));
        t.rows.push(names.row(p, cells));
    }
    t
}

/// Idle periods and misses of each part, as postings count them.
fn counts(parts: &[Part<'_>]) -> Table {
    let names = Names::of(parts);
    let heads = ["idles", "misses", "ratio", "belows", "aboves"];
    let mut t = names.table(heads.map(str::to_owned));
    for p in parts {
        t.rows.push(names.row(p, count_cells(MissCounts::of(p.score))));
    }
    t
}

/// How much of its idle time each part is in which state; a table for each set of states.
fn residency(parts: &[Part<'_>]) -> Vec<Table> {
    let names = Names::of(parts);
    let states = |p: &Part<'_>| p.score.states.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let mut tables: Vec<Table> = Vec::new();
    for p in parts {
        let heads = states(p).into_iter().map(|s| format!("{s} %"));
        let empty = names.table(heads);
        let cells = p.score.states.iter().map(|s| share(s.residency_pct, 1));
        match tables.last_mut().filter(|t| t.head == empty.head) {
            Some(t) => t.rows.push(names.row(p, cells)),
            None => tables.push(Table {
                title: "share of idle time".to_owned(),
                rows: vec![names.row(p, cells)],
                ..empty
            }),
        }
    }
    tables
}
