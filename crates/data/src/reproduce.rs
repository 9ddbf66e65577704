// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_experiment::reproduce::ReproduceReport;

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("experiment", TEXT, "the experiment"),
    ("document", TEXT, "the published document"),
    ("tables", TEXT, "which of its tables"),
    ("row", TEXT, "row of the table"),
    ("column", TEXT, "column of the table"),
    ("unit", TEXT, "unit of the numbers"),
    ("published from", NUMBER, "published value, or the least of several"),
    ("published to", NUMBER, "the greatest"),
    ("ours", NUMBER, "our mean"),
    ("half width", NUMBER, "half the width of its 95 % interval"),
    ("runs", INTEGER, "our runs"),
    ("difference", NUMBER, "ours minus published"),
    ("published change %", NUMBER, "published change against the table's baseline, %"),
    ("our change %", NUMBER, "ours, %"),
    ("same sign", FLAG, "whether both changes go the same way"),
    ("grade", TEXT, "how near ours is"),
];

/// One row for each cell of a published table.
#[must_use]
pub fn reproduce(r: &ReproduceReport) -> DataTable {
    let mut t = table(COLUMNS);
    let finite = |v: f64| Some(v).filter(|v| v.is_finite());
    for one in &r.experiments {
        let e = &one.experiment;
        for c in &one.cells {
            t.push(row![
                &e.id,
                &e.document.number,
                &e.document.tables,
                &c.row,
                &c.column,
                &c.unit,
                c.published.and_then(|[from, _]| finite(from)),
                c.published.and_then(|[_, to]| finite(to)),
                finite(c.ours),
                c.half_width.and_then(finite),
                c.runs,
                finite(c.difference),
                c.published_change_pct.and_then(finite),
                c.our_change_pct.and_then(finite),
                c.same_sign,
                c.grade.words(),
            ]);
        }
    }
    t
}
