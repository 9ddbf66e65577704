// SPDX-License-Identifier: GPL-2.0-only
//! Tables of an answer: the measures that decide, and what charts make of them.

use idlewise_answer::{Answer, Contender, Quantity, Role};
use idlewise_chart::{Cell, Column, PageData, Table, Trust};
use idlewise_model::Note;
use idlewise_score::Measure;
use idlewise_score::measure::{ENERGY, LATENCY_MEAN, LATENCY_P99};

/// Begins the page with `a`.
pub(crate) fn add(page: &mut PageData, a: &Answer) {
    let why: Vec<&str> = a.trust.reasons.iter().map(|r| r.words.as_str()).collect();
    page.trust = Trust { grade: a.trust.grade.word().to_owned(), why: why.join("; ") };
    page.warnings = Note::words(&a.warnings);
    page.verdicts = a.verdicts.iter().map(|v| format!("{}: {}", v.governor, v.words)).collect();
    let mut tables = tables(a);
    tables.extend((!a.spreads.is_empty()).then(|| spreads(a)));
    page.tables.splice(0..0, tables);
}

/// Those that have rows.
pub(crate) fn tables(a: &Answer) -> Vec<Table> {
    [measures(a), front(a), misses(a)].into_iter().filter(|t| !t.rows.is_empty()).collect()
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
                    if cell.is_unclear() { "nothing" } else { "change" }.into(),
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
