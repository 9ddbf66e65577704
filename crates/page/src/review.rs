// SPDX-License-Identifier: GPL-2.0-only
//! A series patch by patch: the table of each governor with exact numbers, then all that the text has.

use idlewise_chart::{Cell, Column, Hash, Kind, PageData, Table};
use idlewise_review::{BisectReport, GovernorReview, RecordingHead, ReviewReport};

use crate::{Source, put_first};

/// The page of a series.
#[must_use]
pub fn review(r: &ReviewReport, of: Source<'_>) -> PageData {
    let names: Vec<&str> = r.governors.iter().map(|g| g.governor.as_str()).collect();
    let title = format!("{} of {}, patch by patch", names.join(", "), r.base);
    let mut out = of.page(Kind::Compare, &title);
    out.hashes = review_hashes(r);
    out.verdicts = r.problems();
    let tables: Vec<Table> = r.governors.iter().map(|g| table(r, g)).collect();
    put_first(&mut out, tables);
    out
}

/// What identifies the inputs: recordings, and the governors' sources in all rows.
#[must_use]
pub fn review_hashes(r: &ReviewReport) -> Vec<Hash> {
    let recordings = of_recordings(&r.on.recordings, &r.on.recordings_hash).into_iter();
    let source = |g: &GovernorReview| {
        let rows = g.rows.iter().filter(|row| row.same_as.is_none());
        let of = |row: &idlewise_review::Row| {
            Some(Hash { name: format!("{} {}", g.governor, row.row), hash: row.source_hash.clone()? })
        };
        rows.filter_map(of).collect::<Vec<Hash>>()
    };
    recordings.chain(r.governors.iter().flat_map(source)).collect()
}

/// The recordings of a bisection.
#[must_use]
pub fn bisect_hashes(r: &BisectReport) -> Vec<Hash> {
    of_recordings(&r.on.recordings, &r.on.recordings_hash)
}

/// So many recordings are named one by one; of more, the hash of their hashes.
const NAMED: usize = 12;

fn of_recordings(all: &[RecordingHead], together: &str) -> Vec<Hash> {
    if all.len() > NAMED {
        let name = format!("{} recordings, hash of their hashes", all.len());
        return vec![Hash { name, hash: together.to_owned() }];
    }
    all.iter().map(|h| Hash { name: h.name.clone(), hash: h.head.hash.clone() }).collect()
}

/// Every change of every row with its interval.
fn table(r: &ReviewReport, g: &GovernorReview) -> Table {
    let columns = vec![
        Column::text("row", "after"),
        Column::text("patch", "patch"),
        Column::text("against", "against"),
        Column::text("of", "over"),
        Column::text("metric", "measure"),
        Column::number("mean", "change, mean", "%, points"),
        Column::number("low", "95 %, from", ""),
        Column::number("high", "to", ""),
        Column::number("median", "median", "%, points"),
        Column::number("fell", "fell in", ""),
        Column::number("same", "same in", ""),
        Column::number("rose", "rose in", ""),
        Column::number("recordings", "recordings", ""),
        Column::number("differing", "of them with another decision", ""),
    ];
    let mut t = Table { columns, ..Table::of_charts("changes") };
    t.name = format!("review-{}", g.governor);
    t.title = format!("{}, every change", g.governor);
    for row in &g.rows {
        let patch = r.patches.iter().find(|p| p.row == row.row).map_or("", |p| p.name.as_str());
        for against in row.against_base.iter().chain(&row.against_above) {
            for (of, e) in against.parts() {
                let differing = if of == "all" { (against.differing as f64).into() } else { Cell::from("") };
                let cells: Vec<Cell> = vec![
                    row.row.as_str().into(),
                    patch.into(),
                    against.row.as_str().into(),
                    of.into(),
                    e.metric.into(),
                    e.mean.into(),
                    e.interval.map(|i| i.low).into(),
                    e.interval.map(|i| i.high).into(),
                    e.median.into(),
                    (e.fell as f64).into(),
                    (e.same as f64).into(),
                    (e.rose as f64).into(),
                    (e.recordings as f64).into(),
                    differing,
                ];
                t.rows.push(cells);
            }
        }
    }
    t
}
