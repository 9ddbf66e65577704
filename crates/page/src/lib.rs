// SPDX-License-Identifier: GPL-2.0-only
//! Reports as pages and charts: the tables that `idlewise-chart` draws, filled from the same typed reports as the text.

use idlewise_answer::{Answer, Contender, Quantity, Role};
use idlewise_chart::{Cell, Column, Hash, Kind, Note, PageData, Table, Trust};
use idlewise_experiment::simulate::SimulateReport;
use idlewise_recording::TraceHead;
use idlewise_report::Report;
use idlewise_score::Measure;
use idlewise_score::measure::{ENERGY, LATENCY_MEAN, LATENCY_P99};
use idlewise_study::compare::{CompareReport, Comparison, FJ_PER_UNIT};
use idlewise_study::replay::{ReplayDetail, ReplayReport, ShownPeriod};

/// A page about any report: its answer, everything that the text shows, `json` as it is. `command` made it.
#[must_use]
pub fn page(
    kind: Kind,
    answer: Option<&Answer>,
    everything: &Report,
    json: serde_json::Value,
    command: &[String],
) -> PageData {
    let title =
        answer.map_or_else(|| command.join(" "), |a| format!("{} on {}", a.governors.join(", "), a.on));
    let mut out = PageData::new(kind, &title, env!("CARGO_PKG_VERSION"), json);
    out.command = command.to_vec();
    if let Some(a) = answer {
        let why: Vec<&str> = a.trust.reasons.iter().map(|r| r.words.as_str()).collect();
        out.trust = Trust { grade: a.trust.grade.word().to_owned(), why: why.join("; ") };
        out.warnings.clone_from(&a.warnings);
        out.verdicts = a.verdicts.iter().map(|v| format!("{}: {}", v.governor, v.words)).collect();
        out.tables.extend([measures(a), front(a), misses(a)].into_iter().filter(|t| !t.rows.is_empty()));
        out.tables.extend((!a.spreads.is_empty()).then(|| spreads(a)));
    }
    let lines = everything.preamble.iter().chain(&everything.footer);
    out.notes = lines
        .map(|l| Note { label: l.label().unwrap_or("").to_owned(), text: l.text().to_owned() })
        .collect();
    out.tables.extend(everything.tables.iter().enumerate().map(|(i, t)| as_shown(i, t)));
    out
}

/// What identifies the inputs of a page.
#[must_use]
pub fn hashes<'h>(platform: &str, hash: &str, heads: impl Iterator<Item = &'h TraceHead>) -> Vec<Hash> {
    let machine = Hash { name: format!("platform {platform}"), hash: hash.to_owned() };
    heads.map(|h| Hash { name: h.name.clone(), hash: h.hash.clone() }).chain([machine]).collect()
}

/// The input of what needs no machine but the recorded one.
#[must_use]
pub fn recording_hashes(head: &TraceHead) -> Vec<Hash> {
    vec![Hash { name: head.name.clone(), hash: head.hash.clone() }]
}

/// The inputs of a replay.
#[must_use]
pub fn replay_hashes(r: &ReplayReport) -> Vec<Hash> {
    hashes(&r.platform.id, &r.platform.hash, r.traces.iter().map(|t| &t.head))
}

/// The inputs of a comparison.
#[must_use]
pub fn compare_hashes(r: &CompareReport) -> Vec<Hash> {
    hashes(&r.platform.id, &r.platform.hash, r.traces.iter().map(|t| &t.head))
}

fn role(c: &Contender) -> &'static str {
    match c.role {
        Role::Baseline => "baseline",
        Role::Governor => "governor",
        Role::Bound => "bound",
    }
}

/// Each recording with each governor.
fn contenders(a: &Answer) -> impl Iterator<Item = (&str, &Contender)> {
    a.groups.iter().flat_map(|g| g.contenders.iter().map(move |c| (g.name.as_str(), c)))
}

fn measures(a: &Answer) -> Table {
    let mut t = Table::of_charts("measures");
    for group in &a.groups {
        let base = group.contenders.iter().find(|c| c.role == Role::Baseline);
        for c in group.contenders.iter().filter(|c| c.failure.is_none()) {
            for (i, column) in a.columns.iter().enumerate() {
                let Some(cell) = c.cells.get(i) else { continue };
                let unit = match column.quantity {
                    Quantity::Time => "ns",
                    Quantity::Share => "%",
                    Quantity::Rate => "/s",
                    _ => column.unit.as_str(),
                };
                let change_unit = if column.quantity == Quantity::Share { "pp" } else { "%" };
                let better: Cell = match column.direction() {
                    Some(sign) => if sign > 0.0 { "less" } else { "more" }.into(),
                    None => Cell::Unknown,
                };
                t.rows.push(vec![
                    group.name.as_str().into(),
                    c.governor.as_str().into(),
                    role(c).into(),
                    column.name.as_str().into(),
                    column.label.as_str().into(),
                    unit.into(),
                    better,
                    cell.value.into(),
                    base.and_then(|b| b.cells.get(i)).map(|b| b.value).into(),
                    cell.change.into(),
                    change_unit.into(),
                ]);
            }
        }
    }
    t
}

fn front(a: &Answer) -> Table {
    let mut t = Table::of_charts("front");
    let place = |m: &Measure| a.columns.iter().position(|c| c.name == m.name);
    let (Some(energy), Some(mean)) = (place(ENERGY), place(LATENCY_MEAN)) else { return t };
    let tail = place(LATENCY_P99);
    let unit = a.columns.get(energy).map_or("", |c| c.unit.as_str());
    for column in t.columns.iter_mut().filter(|c| c.name == "energy") {
        unit.clone_into(&mut column.unit);
    }
    for (recording, c) in contenders(a).filter(|(_, c)| c.failure.is_none()) {
        let value = |at: usize| c.cells.get(at).map(|cell| cell.value);
        t.rows.push(vec![
            recording.into(),
            c.governor.as_str().into(),
            role(c).into(),
            value(energy).into(),
            unit.into(),
            value(mean).into(),
            tail.and_then(value).into(),
        ]);
    }
    t
}

fn misses(a: &Answer) -> Table {
    let mut t = Table::of_charts("misses");
    let find = |label: &str| a.columns.iter().position(|c| c.label == label);
    let (Some(deep), Some(shallow)) = (find("too deep"), find("too shallow")) else { return t };
    for (recording, c) in contenders(a).filter(|(_, c)| c.failure.is_none()) {
        let value = |at: usize| c.cells.get(at).map(|cell| cell.value);
        t.rows.push(vec![
            recording.into(),
            c.governor.as_str().into(),
            value(deep).into(),
            value(shallow).into(),
        ]);
    }
    t
}

/// What several recordings show together.
fn spreads(a: &Answer) -> Table {
    let number = |name: &str, label: &str| Column::number(name, label, "");
    let columns = vec![
        Column::text("governor", "governor"),
        Column::text("measure", "measure"),
        Column::integer("recordings", "recordings", ""),
        number("mean", "mean change"),
        number("median", "median"),
        number("least", "least"),
        number("greatest", "greatest"),
        number("low", "95 % from"),
        number("high", "95 % to"),
    ];
    let row = |s: &idlewise_answer::Spread| -> Vec<Cell> {
        vec![
            s.governor.as_str().into(),
            s.column.as_str().into(),
            (s.recordings as u64).into(),
            s.mean.into(),
            s.median.into(),
            s.range[0].into(),
            s.range[1].into(),
            s.interval.map(|i| i.low).into(),
            s.interval.map(|i| i.high).into(),
        ]
    };
    Table {
        name: "spreads".to_owned(),
        title: "Over all recordings".to_owned(),
        columns,
        rows: a.spreads.iter().map(row).collect(),
    }
}

/// A table of the text as it is: its numbers have their units with them.
fn as_shown(i: usize, t: &idlewise_report::Table) -> Table {
    let columns = t.head.iter().enumerate().map(|(n, head)| Column::text(&format!("c{n}"), head));
    Table {
        name: format!("text-{i}"),
        title: if t.title.is_empty() { "Everything".to_owned() } else { t.title.clone() },
        columns: columns.collect(),
        rows: t.rows.iter().map(|row| row.iter().map(|cell| cell.as_str().into()).collect()).collect(),
    }
}

/// Adds what charts show of a replay: distributions, residencies, timelines.
pub fn add_detail(page: &mut PageData, detail: &ReplayDetail) {
    let mut residency = Table::of_charts("residency");
    let mut periods = Table::of_charts("periods");
    let mut targets = Table::of_charts("targets");
    let mut latency = Table::of_charts("latency");
    let mut timeline = Table::of_charts("timeline");
    for recording in &detail.recordings {
        let name = recording.name.as_str();
        for lengths in &recording.lengths {
            for (from, to, n) in &lengths.bins {
                periods.rows.push(vec![
                    name.into(),
                    lengths.cluster.as_str().into(),
                    (*from).into(),
                    (*to).into(),
                    (*n).into(),
                ]);
            }
            for (i, (state, target_ns)) in lengths.targets.iter().enumerate() {
                let row: Vec<Cell> = vec![
                    lengths.cluster.as_str().into(),
                    state.as_str().into(),
                    (i as u64).into(),
                    (*target_ns).into(),
                ];
                if !targets.rows.contains(&row) {
                    targets.rows.push(row);
                }
            }
        }
        timeline.rows.extend(recording.recorded.iter().map(|p| shown(name, "recorded", "", p)));
        for g in &recording.governors {
            let governor = g.governor.as_str();
            for cpu in &g.residency {
                for (i, (state, pct)) in cpu.states.iter().enumerate() {
                    residency.rows.push(vec![
                        name.into(),
                        governor.into(),
                        cpu.cluster.as_str().into(),
                        cpu.cpu.into(),
                        state.as_str().into(),
                        (i as u64).into(),
                        (*pct).into(),
                    ]);
                }
            }
            for (ns, share) in &g.latencies {
                latency.rows.push(vec![name.into(), governor.into(), (*ns).into(), (*share).into()]);
            }
            timeline.rows.extend(g.timeline.iter().map(|p| shown(name, governor, governor, p)));
        }
    }
    page.tables
        .extend([residency, periods, targets, latency, timeline].into_iter().filter(|t| !t.rows.is_empty()));
    page.sampled.extend(detail.sampled.iter().cloned());
}

fn shown(recording: &str, lane: &str, governor: &str, p: &ShownPeriod) -> Vec<Cell> {
    vec![
        recording.into(),
        p.cpu.into(),
        lane.into(),
        governor.into(),
        p.start_ns.into(),
        p.end_ns.into(),
        p.name.as_str().into(),
        u32::from(p.state).into(),
        p.verdict.into(),
        p.wake.into(),
        p.why.as_str().into(),
    ]
}

/// Adds where two governors diverge, by how and by what ended the idle period.
pub fn add_divergence(page: &mut PageData, r: &CompareReport) {
    let mut t = Table::of_charts("divergence");
    let each = r.traces.iter().map(|t| (t.head.name.as_str(), &t.comparison));
    for (name, c) in each {
        let unit = c.a.score.energy_unit.as_str();
        for column in t.columns.iter_mut().filter(|c| c.name == "energy_change") {
            unit.clone_into(&mut column.unit);
        }
        t.rows.extend(ways(name, r, c));
    }
    page.tables.extend((!t.rows.is_empty()).then_some(t));
}

fn ways<'c>(
    recording: &'c str,
    r: &'c CompareReport,
    c: &'c Comparison,
) -> impl Iterator<Item = Vec<Cell>> + 'c {
    let differ = c.partings.iter().filter(|p| !matches!(p.kind.as_str(), "same" | "neither"));
    differ.map(move |p| {
        vec![
            recording.into(),
            r.b.as_str().into(),
            r.a.as_str().into(),
            p.words().into(),
            p.cost.waits.into(),
            (p.cost.energy_fj() as f64 / FJ_PER_UNIT).into(),
            (p.cost.latency_ns() as f64).into(),
        ]
    })
}

/// Adds each run of a simulation: the value of each fact that decides.
pub fn add_runs(page: &mut PageData, r: &SimulateReport) {
    let mut t = Table::of_charts("points");
    for column in &r.answer.columns {
        for c in &r.combinations {
            let Some(at) = c.facts.iter().position(|f| format!("{}.{}", f.about, f.name) == column.name)
            else {
                continue;
            };
            let unit = match column.quantity {
                Quantity::Time => "ns",
                Quantity::Share => "%",
                Quantity::Rate => "/s",
                _ => column.unit.as_str(),
            };
            for (n, run) in c.runs.iter().enumerate() {
                let Some(value) = run.values.get(at) else { continue };
                t.rows.push(vec![
                    column.label.as_str().into(),
                    r.name(c).into(),
                    (n as f64 + 1.0).into(),
                    (*value).into(),
                    unit.into(),
                ]);
            }
        }
    }
    page.tables.extend((!t.rows.is_empty()).then_some(t));
}
