// SPDX-License-Identifier: GPL-2.0-only
//! What tables of several reports have in common.

use idlewise_report::{Table, UNKNOWN, percent, span};
use idlewise_score::{Measure, Place, Score, Unit};

/// What a row or column of `measure` is called, where energies are in `energy_unit`.
pub(crate) fn label(measure: &Measure, energy_unit: &str) -> String {
    match measure.unit {
        Unit::Energy => format!("{} [{energy_unit}]", measure.label),
        _ => measure.label.to_owned(),
    }
}

/// A value that may not be known.
pub(crate) fn shown_or_unknown<T>(value: Option<T>, shown: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), shown)
}

pub(crate) fn state_table(title: &str, rows: &[(&str, &Score)]) -> Table {
    let head = ["CPUs", "state", "entries", "residency", "% of idle", "too deep", "too shallow", "rejected"];
    let mut t = Table::new(title, head.map(str::to_owned).to_vec());
    t.text_columns = 2;
    for (name, score) in rows {
        for (i, s) in score.states.iter().enumerate() {
            t.rows.push(vec![
                (*name).to_owned(),
                format!("{i} {}", s.name),
                s.entries.to_string(),
                span(s.residency_ns),
                percent(s.residency_pct),
                s.above.to_string(),
                s.below.to_string(),
                s.rejected.to_string(),
            ]);
        }
    }
    t
}

/// Whether tables have a row of it only where there is any.
pub(crate) fn is_where_any(measure: &Measure) -> bool {
    measure.is_in(Place::WhereAny) || measure.is_in(Place::Fault)
}
