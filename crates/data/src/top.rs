// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_live::watch::{Row, Snapshot};

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, with_states};

/// How fine a machine is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// A row for each CPU.
    #[default]
    Cpu,
    /// A row for each cluster, package, kind of core.
    Cluster,
    Machine,
}

impl Grouping {
    /// The rows of a snapshot, the machine's last.
    pub fn rows(self, s: &Snapshot) -> impl Iterator<Item = &Row> {
        let parts: &[Row] = match self {
            Self::Cpu => &s.cpus,
            Self::Cluster => &s.clusters,
            Self::Machine => &[],
        };
        parts.iter().chain([&s.machine])
    }
}

/// Columns before those of the states.
pub(crate) const COLUMNS: &[Declared] = &[
    ("part", TEXT, "`cpu N`, a cluster, or `all`"),
    ("cpus", INTEGER, "CPUs in it"),
    ("duration_s", NUMBER, "time between the snapshots, s"),
    ("kernel_governor", TEXT, "the kernel's governor"),
    ("wakeups_per_s", NUMBER, "entries into idle states, a second"),
    ("too_deep_pct", NUMBER, "too deep, % of entries"),
    ("too_shallow_pct", NUMBER, "too shallow, % of entries"),
    ("rejected_per_s", NUMBER, "entries that the driver refused, a second"),
    ("busy_pct", NUMBER, "time at work, %"),
    ("asleep_pct", NUMBER, "time in idle periods that have not ended, %"),
];

/// Columns of each state; their names begin with its number.
pub(crate) const STATE: &[Declared] = &[
    ("name", TEXT, "its name"),
    ("time_pct", NUMBER, "time in it, %"),
    ("entries_per_s", NUMBER, "entries, a second"),
    ("too_deep_pct", NUMBER, "too deep, % of entries"),
    ("too_shallow_pct", NUMBER, "too shallow, % of entries"),
    ("rejected_per_s", NUMBER, "entries that the driver refused, a second"),
    ("disabled", FLAG, "whether it is disabled on a CPU"),
];

/// One row for each part of the machine that is asked for, and the machine.
#[must_use]
pub fn top(s: &Snapshot, by: Grouping) -> DataTable {
    let states = by.rows(s).map(|r| r.states.len()).max().unwrap_or(0);
    let mut t = with_states(COLUMNS.iter().copied(), STATE, states);
    for r in by.rows(s) {
        let mut cells = row![
            &r.name,
            r.cpus,
            s.seconds,
            &s.governor,
            r.wakeups_per_s,
            r.too_deep_pct,
            r.too_shallow_pct,
            r.rejected_per_s,
            r.busy_pct,
            r.asleep_pct,
        ];
        for st in &r.states {
            cells.extend(row![
                &st.name,
                st.time_pct,
                st.entries_per_s,
                st.too_deep_pct,
                st.too_shallow_pct,
                st.rejected_per_s,
                st.disabled,
            ]);
        }
        t.push(cells);
    }
    t
}
