// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_machine::diff::DiffReport;

use crate::declared::{Declared, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("run", TEXT, "snapshot, recording or interval"),
    ("part", TEXT, "`all`, a cluster or a CPU"),
    ("state", INTEGER, "number of the idle state in sysfs; empty where the source has names only"),
    ("name", TEXT, "its name"),
    ("usage", INTEGER, "entries"),
    ("time_us", INTEGER, "time in it, us"),
    ("idle_pct", NUMBER, "share of idle time, %"),
    ("above", INTEGER, "entries that were too deep"),
    ("above_pct", NUMBER, "the same, % of entries"),
    ("below", INTEGER, "entries that were too shallow"),
    ("below_pct", NUMBER, "the same, % of entries"),
    ("rejected", INTEGER, "entries that the driver refused"),
];

/// One row for each run, part and state.
#[must_use]
pub fn diff(r: &DiffReport) -> DataTable {
    let mut t = table(COLUMNS);
    for run in &r.runs {
        for part in std::iter::once(&run.all).chain(&run.clusters).chain(&run.cpus) {
            for s in &part.states {
                t.push(row![
                    &run.name,
                    &part.name,
                    s.state,
                    &s.name,
                    s.usage,
                    s.time_us,
                    s.idle_pct,
                    s.above,
                    s.above_pct,
                    s.below,
                    s.below_pct,
                    s.rejected,
                ]);
            }
        }
    }
    t
}
