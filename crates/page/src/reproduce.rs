// SPDX-License-Identifier: GPL-2.0-only
//! Published tables and ours: each cell as a point, each document's table with its grades.

use idlewise_chart::{Cell, Column, Kind, PageData, Table};
use idlewise_reproduce::{Cell as Compared, Class, ReproduceReport, Reproduced};

use crate::{Source, call, put_first};

/// The page of repeated experiments.
#[must_use]
pub fn reproduce(r: &ReproduceReport, of: Source<'_>) -> PageData {
    let title = match r.experiments.as_slice() {
        [one] => one.experiment.title.clone(),
        all => format!("{} published experiments", all.len()),
    };
    let mut out = of.page(Kind::Reproduce, &title);
    out.verdicts = r.experiments.iter().map(|e| format!("{}: {}", e.experiment.id, e.answer())).collect();
    // Each table is here with exact numbers; the text has the summary besides.
    out.tables.retain(|t| !r.experiments.iter().any(|e| t.title == e.experiment.id));
    let published = r.experiments.iter().fold(Table::of_charts("published"), |mut t, one| {
        t.rows.extend(one.cells.iter().filter_map(|c| point(one, c)));
        t
    });
    let tables = r.experiments.iter().map(table);
    put_first(&mut out, std::iter::once(published).chain(tables));
    call(&mut out, "recording", "experiment");
    out
}

/// A difference, or that there is none, as a point; nothing for other cells.
fn point(one: &Reproduced, c: &Compared) -> Option<Vec<Cell>> {
    let effect = c.effect.as_ref().filter(|_| matches!(c.class, Class::Difference | Class::NoEffect))?;
    Some(vec![
        one.experiment.id.as_str().into(),
        c.row.as_str().into(),
        c.column.as_str().into(),
        if c.unit == "%" { "points" } else { "%" }.into(),
        effect.published.into(),
        effect.noise.value.max(half_range(one, c)).into(),
        effect.predicted.median.into(),
        effect.predicted.interval.low.into(),
        effect.predicted.interval.high.into(),
        stands(c).into(),
        one.experiment.document.called.as_str().into(),
    ])
}

/// Half of the range that was published, in the unit of its change; 0 where a number was.
fn half_range(one: &Reproduced, c: &Compared) -> f64 {
    let half = |[from, to]: [f64; 2]| (to - from) / 2.0;
    let own = c.published.map_or(0.0, half);
    if c.unit == "%" {
        return own;
    }
    let is_baseline = |other: &&Compared| other.row == c.row && other.effect.is_none();
    let of_baseline = one.cells.iter().filter(is_baseline).find_map(|other| other.published);
    of_baseline.map_or(0.0, |[from, to]| own * 200.0 / (from + to))
}

/// How a difference stands, in one of the words of the chart.
fn stands(c: &Compared) -> &'static str {
    match &c.reason {
        Some(reason) => reason.words(),
        None if c.class == Class::Difference => "right",
        None if c.is_false_alarm() => "false alarm",
        None => c.class.words(),
    }
}

/// The cells of one document's table.
fn table(one: &Reproduced) -> Table {
    let e = &one.experiment;
    let columns = vec![
        Column::text("row", "row"),
        Column::text("column", "column"),
        Column::text("unit", "unit"),
        Column::number("published_from", "published, from", ""),
        Column::number("published_to", "to", ""),
        Column::number("ours", "ours", ""),
        Column::number("ours_low", "90 %, from", ""),
        Column::number("ours_high", "to", ""),
        Column::number("published_change", "published change", "%, points"),
        Column::number("noise", "\u{b1}", "%, points"),
        Column::number("change", "our change", "%, points"),
        Column::number("change_low", "90 %, from", "%, points"),
        Column::number("change_high", "to", "%, points"),
        Column::text("sign", "sign"),
        Column::text("size", "size"),
        Column::text("stands", "what it is"),
    ];
    let row = |c: &Compared| -> Vec<Cell> {
        let change = c.effect.as_ref().map(|e| e.predicted).or(c.change);
        let judged = c.effect.as_ref().filter(|_| c.class == Class::Difference);
        vec![
            c.row.as_str().into(),
            c.column.as_str().into(),
            c.unit.as_str().into(),
            c.published.map(|p| p[0]).into(),
            c.published.map(|p| p[1]).into(),
            c.ours.map(|p| p.median).into(),
            c.ours.map(|p| p.interval.low).into(),
            c.ours.map(|p| p.interval.high).into(),
            c.effect.as_ref().map(|e| e.published).into(),
            c.effect.as_ref().map(|e| e.noise.value).into(),
            change.map(|p| p.median).into(),
            change.map(|p| p.interval.low).into(),
            change.map(|p| p.interval.high).into(),
            judged.map_or("", |e| e.sign.words()).into(),
            judged.map_or("", |e| e.size.words()).into(),
            stands(c).into(),
        ]
    };
    without_unknown(Table {
        name: format!("experiment-{}", e.id),
        title: format!("{}: {} (document {}, {})", e.id, e.title, e.document.number, e.document.tables),
        columns,
        rows: one.cells.iter().map(row).collect(),
    })
}

/// The table without columns of which nothing is known.
fn without_unknown(mut t: Table) -> Table {
    let known: Vec<bool> =
        (0..t.columns.len()).map(|i| t.rows.iter().any(|row| row[i] != Cell::Unknown)).collect();
    let mut at = known.iter();
    t.columns.retain(|_| at.next().is_some_and(|k| *k));
    for row in &mut t.rows {
        let mut at = known.iter();
        row.retain(|_| at.next().is_some_and(|k| *k));
    }
    t
}
