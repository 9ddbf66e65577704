// SPDX-License-Identifier: GPL-2.0-only
use idlewise_ab::AbReport;
use idlewise_columns::DataTable;

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("benchmark", TEXT, "the benchmark"),
    ("metric", TEXT, "its metric"),
    ("unit", TEXT, "the unit of the metric"),
    ("more_is_better", FLAG, "whether a greater value is better; else a smaller one is"),
    ("arm", TEXT, "governor or setting"),
    ("runs", INTEGER, "runs that count"),
    (
        "rounds",
        INTEGER,
        "rounds in which this arm and the baseline were both measured; nothing for the baseline",
    ),
    ("median", NUMBER, "median of the runs, in `unit`"),
    ("median_low", NUMBER, "95 % interval of the median, from"),
    ("median_high", NUMBER, "to"),
    ("change", NUMBER, "relative change against the baseline, 1 for 100 %"),
    ("change_low", NUMBER, "95 % interval of the change, from"),
    ("change_high", NUMBER, "to"),
    ("p", NUMBER, "p-value of the change"),
    ("p_corrected", NUMBER, "the same, corrected for the number of comparisons"),
    ("superiority", NUMBER, "probability that a run of this arm is better than one of the baseline"),
    ("verdict", TEXT, "what the change comes to"),
    ("runs_to_settle", INTEGER, "runs of each arm that would probably settle it"),
];

/// One row for each metric and arm.
#[must_use]
pub fn ab(r: &AbReport) -> DataTable {
    let mut t = table(COLUMNS);
    for b in &r.benchmarks {
        for (m, c) in b.metrics.iter().flat_map(|m| m.cells.iter().map(move |c| (m, c))) {
            let middle = c.median.as_ref();
            let its = middle.and_then(|m| m.interval);
            let change = c.change.as_ref();
            let wide = change.and_then(|c| c.interval);
            t.push(row![
                &b.name,
                &m.name,
                &m.unit,
                m.more_is_better,
                &c.arm,
                c.values.len(),
                // The baseline is compared with nothing.
                c.p.map(|_| c.rounds),
                middle.map(|m| m.median),
                its.map(|i| i.low),
                its.map(|i| i.high),
                change.map(|c| c.relative),
                wide.map(|i| i.low),
                wide.map(|i| i.high),
                c.p,
                c.p_corrected,
                c.superiority,
                c.verdict.map(|v| v.words(r.head.request.margin_permille)),
                c.runs_to_settle,
            ]);
        }
    }
    t
}
