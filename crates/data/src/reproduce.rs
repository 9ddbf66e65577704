// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_reproduce::{Effect, ReproduceReport};

use crate::declared::{Declared, FLAG, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("experiment", TEXT, "the experiment"),
    ("document", TEXT, "the published document"),
    ("tables", TEXT, "which of its tables"),
    ("row", TEXT, "row of the table"),
    ("column", TEXT, "column of the table"),
    ("unit", TEXT, "unit of the numbers"),
    ("class", TEXT, "what the published number is"),
    ("published_from", NUMBER, "published value, or the least of several"),
    ("published_to", NUMBER, "the greatest"),
    ("ours", NUMBER, "our median"),
    ("ours_low", NUMBER, "lower end of its 90 % interval"),
    ("ours_high", NUMBER, "upper end"),
    ("published_change", NUMBER, "published change against the baseline: %, points where the unit is %"),
    ("noise", NUMBER, "half the width of its 95 % interval"),
    ("change", NUMBER, "median of our change"),
    ("change_low", NUMBER, "lower end of its 90 % interval"),
    ("change_high", NUMBER, "upper end"),
    ("sign", TEXT, "whether the interval has the published sign"),
    ("size", TEXT, "whether it has the published size"),
    ("inside", FLAG, "whether the published change is in the interval"),
    ("score", NUMBER, "interval score against that of \"nothing changes\""),
    ("reason", TEXT, "why sign or size is not right"),
];

/// One row for each cell of a published table.
#[must_use]
pub fn reproduce(r: &ReproduceReport) -> DataTable {
    let mut t = table(COLUMNS);
    for one in &r.experiments {
        let e = &one.experiment;
        for c in &one.cells {
            let of = |get: fn(&Effect) -> f64| c.effect.as_ref().map(get).filter(|v| v.is_finite());
            let change = c.effect.as_ref().map(|e| e.predicted).or(c.change);
            t.push(row![
                &e.id,
                e.document_of(&c.row),
                &e.document.tables,
                &c.row,
                &c.column,
                &c.unit,
                c.class.words(),
                c.published.map(|[from, _]| from),
                c.published.map(|[_, to]| to),
                c.ours.map(|p| p.median),
                c.ours.map(|p| p.interval.low),
                c.ours.map(|p| p.interval.high),
                of(|e| e.published),
                of(|e| e.noise.value),
                change.map(|p| p.median),
                change.map(|p| p.interval.low),
                change.map(|p| p.interval.high),
                c.effect.as_ref().map_or("", |e| e.sign.words()),
                c.effect.as_ref().map_or("", |e| e.size.words()),
                c.effect.as_ref().map(|e| e.inside),
                of(|e| e.score),
                c.reason.as_ref().map_or("", |r| r.words()),
            ]);
        }
    }
    t
}
