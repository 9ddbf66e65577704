// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_review::ReviewReport;

use crate::declared::{Declared, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("governor", TEXT, "the governor"),
    ("row", TEXT, "`+1` after the first patch"),
    ("patch", TEXT, "subject of the patch, or the file's name"),
    ("against", TEXT, "the row that it is compared with: `base`, and the row above"),
    (
        "recording",
        TEXT,
        "the recording, or `all` for the mean over all; `measured`, `emulated`, `model`, `of no corpus`: of these",
    ),
    ("machine", TEXT, "the machine that was recorded"),
    ("metric", TEXT, "the measure"),
    ("before", NUMBER, "its value in the other row, in the unit of the measure"),
    ("after", NUMBER, "its value"),
    ("change", NUMBER, "% of the value before; percentage points of shares"),
    ("change_low", NUMBER, "of `all`: the 95 % interval, recordings resampled by machine, from"),
    ("change_high", NUMBER, "to"),
    ("change_median", NUMBER, "of several recordings: the median change"),
    ("fell", NUMBER, "in how many of them it fell"),
    ("same", NUMBER, "in how many it stayed the same"),
    ("rose", NUMBER, "in how many it rose"),
];

/// One row for each governor, patch, other row, recording and measure; those of all recordings together have the interval.
#[must_use]
pub fn review(r: &ReviewReport) -> DataTable {
    let mut t = table(COLUMNS);
    let nothing = None::<f64>;
    for g in &r.governors {
        for after in &g.rows {
            let patch = r.patches.iter().find(|p| p.row == after.row).map(|p| p.name.as_str());
            for against in after.against_base.iter().chain(&after.against_above) {
                for on in &against.on {
                    let machine = r.on.recordings.iter().find(|h| h.name == on.recording);
                    for c in &on.changes {
                        let effect = against.effects.iter().find(|e| e.metric == c.measure.name);
                        let Some(effect) = effect else { continue };
                        let change = if effect.unit == "pp" { Some(c.change) } else { c.change_pct };
                        t.push(row![
                            &g.governor,
                            &after.row,
                            patch,
                            &against.row,
                            &on.recording,
                            machine.map(|m| m.machine.as_str()),
                            c.measure.name,
                            finite(c.a),
                            finite(c.b),
                            change.and_then(finite),
                            nothing,
                            nothing,
                            nothing,
                            nothing,
                            nothing,
                            nothing,
                        ]);
                    }
                }
                for (of, e) in against.parts() {
                    t.push(row![
                        &g.governor,
                        &after.row,
                        patch,
                        &against.row,
                        of,
                        None::<&str>,
                        e.metric,
                        nothing,
                        nothing,
                        e.mean.and_then(finite),
                        e.interval.map(|i| i.low),
                        e.interval.map(|i| i.high),
                        e.median.and_then(finite),
                        e.fell as f64,
                        e.same as f64,
                        e.rose as f64,
                    ]);
                }
            }
        }
    }
    t
}

fn finite(v: f64) -> Option<f64> {
    Some(v).filter(|v| v.is_finite())
}
