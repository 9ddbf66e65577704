// SPDX-License-Identifier: GPL-2.0-only
//! Published tables and ours: each cell as a point, each document's table with its grades.

use idlewise_chart::{Cell, Column, Kind, PageData, Table};
use idlewise_experiment::reproduce::{Cell as Compared, Compare, Grade, ReproduceReport, Reproduced};

use crate::{Source, call, put_first};

/// The page of repeated experiments.
#[must_use]
pub fn reproduce(r: &ReproduceReport, of: Source<'_>) -> PageData {
    let title = match r.experiments.as_slice() {
        [one] => one.experiment.title.clone(),
        all => format!("{} published experiments", all.len()),
    };
    let mut out = of.page(Kind::Reproduce, &title);
    out.verdicts = r.experiments.iter().map(verdict).collect();
    // Each table is here with exact numbers; the text has the summary besides.
    let ids: Vec<String> = r.experiments.iter().map(|e| format!("{}: ", e.experiment.id)).collect();
    out.tables.retain(|t| !ids.iter().any(|id| t.title.starts_with(id)));
    let published = r.experiments.iter().fold(Table::of_charts("published"), |mut t, one| {
        t.rows.extend(one.cells.iter().map(|c| point(one, c)));
        t
    });
    let tables = r.experiments.iter().map(table);
    put_first(&mut out, std::iter::once(published).chain(tables));
    call(&mut out, "recording", "experiment");
    out
}

/// `rk3399-timer, 12 cells: matches 5, differs 3`.
fn verdict(one: &Reproduced) -> String {
    let grades = [
        Grade::Matches,
        Grade::SameSign,
        Grade::Differs,
        Grade::Missing,
        Grade::Fit,
        Grade::Baseline,
        Grade::Unpublished,
    ];
    let counts = grades.map(|g| (one.count(g), g.words()));
    let words: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{words} {n}")).collect();
    format!("{}, {} cells: {}", one.experiment.id, one.cells.len(), words.join(", "))
}

fn point(one: &Reproduced, c: &Compared) -> Vec<Cell> {
    vec![
        one.experiment.id.as_str().into(),
        c.row.as_str().into(),
        c.column.as_str().into(),
        c.unit.as_str().into(),
        c.published.map(|p| p[0]).into(),
        c.published.map(|p| p[1]).into(),
        c.ours.into(),
        c.half_width.into(),
        c.grade.words().into(),
    ]
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
        Column::number("half_width", "95 % \u{b1}", ""),
        Column::number("difference", "difference", "%, points"),
        Column::number("published_change_pct", "published change", "%"),
        Column::number("our_change_pct", "our change", "%"),
        Column::text("grade", "grade"),
    ];
    let row = |c: &Compared| -> Vec<Cell> {
        vec![
            c.row.as_str().into(),
            c.column.as_str().into(),
            c.unit.as_str().into(),
            c.published.map(|p| p[0]).into(),
            c.published.map(|p| p[1]).into(),
            c.ours.into(),
            c.half_width.into(),
            c.difference.into(),
            c.published_change_pct.into(),
            c.our_change_pct.into(),
            c.grade.words().into(),
        ]
    };
    let changes = e.row.iter().all(|r| r.compare == Compare::Change);
    without_unknown(Table {
        name: format!("experiment-{}", e.id),
        title: format!(
            "{}: {} (document {}, {}{})",
            e.id,
            e.title,
            e.document.number,
            e.document.tables,
            if changes { "; changes are compared" } else { "" }
        ),
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
