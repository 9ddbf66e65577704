// SPDX-License-Identifier: GPL-2.0-only
//! The tables that charts read, column by column. `web/src/contract.ts` has the same as types.

use crate::contract::{Better, Column, ColumnType, PageData, SCHEMA, Table};

struct Shape {
    name: &'static str,
    title: &'static str,
    /// Name, label, type, unit, better.
    columns: &'static [(&'static str, &'static str, ColumnType, &'static str, Option<Better>)],
}

use ColumnType::{Integer, Number, Text};
const LESS: Option<Better> = Some(Better::Less);

const SHAPES: [Shape; 16] = [
    Shape {
        name: "measures",
        title: "The comparison",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("role", "role", Text, "", None),
            ("measure", "measure", Text, "", None),
            ("label", "label", Text, "", None),
            ("unit", "unit", Text, "", None),
            ("better", "better", Text, "", None),
            ("value", "value", Number, "", None),
            ("baseline_value", "value of the baseline", Number, "", None),
            ("change", "change", Number, "", None),
            ("change_unit", "unit of the change", Text, "", None),
            ("shown", "shown", Text, "", None),
        ],
    },
    Shape {
        name: "front",
        title: "Energy and latency",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("role", "role", Text, "", None),
            ("energy", "idle energy", Number, "mJ", LESS),
            ("energy_unit", "unit", Text, "", None),
            ("latency_mean_ns", "mean latency", Number, "ns", LESS),
            ("latency_p99_ns", "latency p99", Number, "ns", LESS),
        ],
    },
    Shape {
        name: "misses",
        title: "Too deep and too shallow",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("too_deep_pct", "too deep", Number, "%", LESS),
            ("too_shallow_pct", "too shallow", Number, "%", LESS),
        ],
    },
    Shape {
        name: "residency",
        title: "Residency",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("cluster", "cluster", Text, "", None),
            ("cpu", "CPU", Integer, "", None),
            ("state", "state", Text, "", None),
            ("state_index", "index", Integer, "", None),
            ("share_pct", "share of idle time", Number, "%", None),
        ],
    },
    Shape {
        name: "periods",
        title: "Idle periods",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("cluster", "cluster", Text, "", None),
            ("from_ns", "from", Integer, "ns", None),
            ("to_ns", "to", Integer, "ns", None),
            ("count", "idle periods", Integer, "", None),
        ],
    },
    Shape {
        name: "targets",
        title: "Target residencies",
        columns: &[
            ("cluster", "cluster", Text, "", None),
            ("state", "state", Text, "", None),
            ("state_index", "index", Integer, "", None),
            ("target_residency_ns", "target residency", Integer, "ns", None),
        ],
    },
    Shape {
        name: "latency",
        title: "Wakeup latency",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("latency_ns", "latency", Integer, "ns", None),
            ("share", "share of wakeups", Number, "", None),
        ],
    },
    Shape {
        name: "divergence",
        title: "Divergence",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("against", "against", Text, "", None),
            ("cause", "cause", Text, "", None),
            ("count", "decisions", Integer, "", None),
            ("energy_change", "change of energy", Number, "mJ", LESS),
            ("latency_change_ns", "change of latency", Number, "ns", LESS),
        ],
    },
    Shape {
        name: "timeline",
        title: "Timeline",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("cpu", "CPU", Integer, "", None),
            ("lane", "lane", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("start_ns", "from", Integer, "ns", None),
            ("end_ns", "to", Integer, "ns", None),
            ("state", "state", Text, "", None),
            ("state_index", "index", Integer, "", None),
            ("verdict", "verdict", Text, "", None),
            ("wake", "woken by", Text, "", None),
            ("why", "why", Text, "", None),
        ],
    },
    Shape {
        name: "response",
        title: "Responses",
        columns: &[
            ("subject", "subject", Text, "", None),
            ("kind", "kind", Text, "", None),
            ("time_ns", "time", Integer, "ns", None),
            ("value", "value", Number, "", None),
            ("unit", "unit", Text, "", None),
        ],
    },
    Shape {
        name: "points",
        title: "Points",
        columns: &[
            ("series", "series", Text, "", None),
            ("group", "group", Text, "", None),
            ("x", "run", Number, "", None),
            ("y", "value", Number, "", None),
            ("unit", "unit", Text, "", None),
        ],
    },
    Shape {
        name: "medians",
        title: "Medians",
        columns: &[
            ("series", "series", Text, "", None),
            ("group", "group", Text, "", None),
            ("median", "median", Number, "", None),
            ("low", "95 % from", Number, "", None),
            ("high", "95 % to", Number, "", None),
            ("unit", "unit", Text, "", None),
        ],
    },
    Shape {
        name: "changes",
        title: "Changes",
        columns: &[
            ("recording", "recording", Text, "", None),
            ("series", "of", Text, "", None),
            ("group", "under", Text, "", None),
            ("change", "change", Number, "", None),
            ("low", "95 % from", Number, "", None),
            ("high", "95 % to", Number, "", None),
            ("margin", "margin", Number, "", None),
            ("unit", "unit", Text, "", None),
            ("better", "better", Text, "", None),
            ("verdict", "verdict", Text, "", None),
        ],
    },
    Shape {
        name: "published",
        title: "Compared with simulation",
        columns: &[
            ("recording", "experiment", Text, "", None),
            ("row", "row", Text, "", None),
            ("column", "column", Text, "", None),
            ("unit", "unit", Text, "", None),
            ("published", "published change", Number, "", None),
            ("noise", "\u{b1}", Number, "", None),
            ("ours", "our change", Number, "", None),
            ("low", "90 %, from", Number, "", None),
            ("high", "to", Number, "", None),
            ("stands", "what it is", Text, "", None),
            ("called", "compared with", Text, "", None),
        ],
    },
    Shape {
        name: "swept_settings",
        title: "Settings",
        columns: &[
            ("setting", "setting", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("role", "role", Text, "", None),
            ("on_front", "on the front", Text, "", None),
            ("measure", "measure", Text, "", None),
            ("label", "label", Text, "", None),
            ("unit", "unit", Text, "", None),
            ("change", "change", Number, "", LESS),
            ("place", "of the front", Integer, "", None),
        ],
    },
    Shape {
        name: "setting_values",
        title: "Values of parameters",
        columns: &[
            ("setting", "setting", Text, "", None),
            ("governor", "governor", Text, "", None),
            ("parameter", "parameter", Text, "", None),
            ("value", "value", Text, "", None),
            ("order", "place", Number, "", None),
        ],
    },
];

impl Shape {
    fn columns(&self) -> Vec<Column> {
        self.columns
            .iter()
            .map(|(name, label, kind, unit, better)| Column {
                name: (*name).to_owned(),
                label: (*label).to_owned(),
                kind: *kind,
                unit: (*unit).to_owned(),
                better: *better,
            })
            .collect()
    }
}

impl Table {
    /// The table of this name that charts read, with its columns and no row. Energies are in mJ until the caller sets
    /// another unit.
    ///
    /// # Panics
    /// When no chart reads a table of this name.
    #[must_use]
    pub fn of_charts(name: &str) -> Self {
        let Some(shape) = SHAPES.iter().find(|s| s.name == name) else {
            unreachable!("no chart reads a table {name}")
        };
        Self {
            name: name.to_owned(),
            title: shape.title.to_owned(),
            columns: shape.columns(),
            rows: Vec::new(),
        }
    }

    /// Rows fit their columns, and columns what charts read.
    fn assert_sound(&self) {
        for row in &self.rows {
            assert_eq!(row.len(), self.columns.len(), "a row of the table {}", self.name);
        }
        if let Some(shape) = SHAPES.iter().find(|s| s.name == self.name) {
            let names: Vec<_> = self.columns.iter().map(|c| c.name.as_str()).collect();
            let read: Vec<_> = shape.columns.iter().map(|c| c.0).collect();
            assert_eq!(names, read, "columns of the table {}", self.name);
        }
    }
}

impl PageData {
    /// Stops at a mistake of whoever filled the tables.
    pub(crate) fn assert_sound(&self) {
        assert_eq!(self.schema, SCHEMA);
        self.tables.iter().for_each(Table::assert_sound);
    }
}
