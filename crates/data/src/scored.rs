// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::{DataTable, Value};
use idlewise_recording::TraceHead;
use idlewise_score::measure::{ENERGY, LATENCY_MEAN};
use idlewise_score::{Measure, Number, Score, Unit};
use idlewise_study::replay::{GovernorResult, ReplayReport};
use idlewise_study::score::ScoreReport;

use crate::declared::{Declared, INTEGER, NUMBER, TEXT, row, with_states};
use crate::said::Said;

/// Columns of a replay before those of the measures.
pub(crate) const REPLAYED: &[Declared] = &[
    ("trace", TEXT, "the recording, or `all traces`"),
    ("governor", TEXT, "the governor"),
    ("part", TEXT, "`all`, and the CPUs or clusters asked for"),
    ("decisions", INTEGER, "times it was asked"),
    ("regret_pct", NUMBER, "energy above the oracle's, % of the oracle's"),
];

/// Columns of a judged recording before those of the measures.
pub(crate) const JUDGED: &[Declared] =
    &[("trace", TEXT, "the recording"), ("part", TEXT, "`all`, and the CPUs or clusters asked for")];

/// One row for each trace, governor and part (`all`, and the CPUs or clusters asked for).
#[must_use]
pub fn replay(r: &ReplayReport) -> DataTable {
    let results = r.traces.iter().flat_map(|t| &t.governors).chain(r.together.iter().flatten());
    let mut t = Scored::new(REPLAYED, results.flat_map(scores));
    let mut rows = |trace: &str, heads: &[&TraceHead], results: &[GovernorResult]| {
        let said = Said::of(heads.iter().copied());
        for g in results {
            if g.failure.is_some() {
                t.push(row![trace, &g.governor, "all", (), ()], None, &said);
                continue;
            }
            let all = row![trace, &g.governor, "all", g.decisions, g.regret_pct];
            t.push(all, Some(&g.score), &said);
            for part in &g.groups {
                t.push(row![trace, &g.governor, &part.name, (), ()], Some(&part.score), &said);
            }
        }
    };
    for trace in &r.traces {
        rows(&trace.head.name, &[&trace.head], &trace.governors);
    }
    if let Some(together) = &r.together {
        rows("all traces", &r.traces.iter().map(|t| &t.head).collect::<Vec<_>>(), together);
    }
    t.table
}

/// The scores of a result, and of its parts.
pub(crate) fn scores(g: &GovernorResult) -> impl Iterator<Item = &Score> {
    std::iter::once(&g.score).chain(g.groups.iter().map(|part| &part.score))
}

/// One row for each part.
#[must_use]
pub fn score(r: &ScoreReport) -> DataTable {
    let mut t = Scored::new(JUDGED, std::iter::once(&r.score).chain(r.groups.iter().map(|g| &g.score)));
    let said = Said::of([&r.head]);
    t.push(row![&r.head.name, "all"], Some(&r.score), &said);
    for part in &r.groups {
        t.push(row![&r.head.name, &part.name], Some(&part.score), &said);
    }
    t.table
}

/// A table with the measures of a score in each row.
pub(crate) struct Scored {
    pub(crate) table: DataTable,
}

/// Columns of each state.
pub(crate) const STATE: &[Declared] = &[
    ("name", TEXT, "its name"),
    ("entries", INTEGER, "entries into it"),
    ("residency_ns", INTEGER, "time in it, ns"),
    ("above", INTEGER, "entries that were too deep"),
    ("below", INTEGER, "entries that were too shallow"),
    ("rejected", INTEGER, "entries that the driver refused"),
];

impl Scored {
    /// An empty table: the columns `first`, then those of the measures, of what is said, of as many states as any of `scores` has.
    pub(crate) fn new<'s>(first: &[Declared], scores: impl IntoIterator<Item = &'s Score>) -> Self {
        let states = scores.into_iter().map(|s| s.states.len()).max().unwrap_or(0);
        let columns = first.iter().copied().chain(measured_columns()).chain(Said::COLUMNS.iter().copied());
        Self { table: with_states(columns, STATE, states) }
    }

    /// Appends the cells `first` and those of `score`.
    pub(crate) fn push(&mut self, first: Vec<Value>, score: Option<&Score>, said: &Said) {
        let mut cells = first;
        match score {
            Some(score) => cells.extend(measured_cells(score)),
            None => cells.resize(cells.len() + measured_columns().count(), Value::Nothing),
        }
        cells.extend(said.cells());
        for s in score.iter().flat_map(|s| &s.states) {
            cells.extend(row![&s.name, s.entries, s.residency_ns, s.above, s.below, s.rejected]);
        }
        self.table.push(cells);
    }
}

/// Columns of the measures.
pub(crate) fn measured_columns() -> impl Iterator<Item = Declared> {
    Measure::by_column().into_iter().flat_map(|(column, m)| {
        let kind = match m.unit {
            Unit::Count | Unit::Span => INTEGER,
            Unit::Time if m.name != LATENCY_MEAN.name => INTEGER,
            Unit::Time | Unit::Share | Unit::Energy => NUMBER,
        };
        let unit = (m.name == ENERGY.name).then_some(("energy_unit", TEXT, "mJ, or relative"));
        std::iter::once((column, kind, m.meaning)).chain(unit)
    })
}

/// The cells below them.
fn measured_cells(s: &Score) -> impl Iterator<Item = Value> {
    Measure::by_column().into_iter().flat_map(|(_, m)| {
        let unit = (m.name == ENERGY.name).then(|| Value::from(&s.energy_unit));
        std::iter::once(measured((m.of)(s))).chain(unit)
    })
}

pub(crate) fn measured(value: Option<Number>) -> Value {
    match value {
        Some(Number::Whole(n)) => n.into(),
        Some(Number::Real(v)) => v.into(),
        None => Value::Nothing,
    }
}
