// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_counterexample::Counterexample;

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("times", INTEGER, "equal idle periods that follow each other"),
    ("busy_ns", INTEGER, "how long the CPU is busy before"),
    ("timer_ns", INTEGER, "time to the next timer; empty where none is armed"),
    ("woken_ns", INTEGER, "from the begin of the idle period to the wakeup"),
    ("by_timer", FLAG, "the timer is the wakeup"),
    ("util", INTEGER, "utilisation, 0 to 1024"),
    ("iowait", INTEGER, "tasks that wait for I/O"),
    ("chosen_a", TEXT, "states that the first governor chose, in turn"),
    ("tick_a", TEXT, "what became of the tick under it"),
    ("energy_a", NUMBER, "idle energy under it, in the machine's unit"),
    ("chosen_b", TEXT, "the same of the second governor"),
    ("tick_b", TEXT, "likewise"),
    ("energy_b", NUMBER, "likewise"),
];

/// One row for each run of equal idle periods; none where nothing was found.
#[must_use]
pub fn counterexample(c: &Counterexample) -> DataTable {
    let mut t = table(COLUMNS);
    for r in c.found.iter().flat_map(|found| &found.story) {
        t.push(row![
            i64::from(r.times),
            r.busy_ns,
            r.timer_ns,
            r.woken_ns,
            r.by_timer,
            i64::from(r.util),
            i64::from(r.iowait),
            &r.a.chosen,
            &r.a.tick,
            r.a.energy,
            &r.b.chosen,
            &r.b.tick,
            r.b.energy,
        ]);
    }
    t
}
