// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::{DataTable, Value};
use idlewise_score::{Measure, Place};
use idlewise_study::compare::{CompareReport, Comparison, Cost, PartingCost};

use crate::declared::{Declared, NUMBER, TEXT, row, table};
use crate::said::Said;
use crate::scored::measured;

pub(crate) const COLUMNS: &[Declared] = &[
    ("trace", TEXT, "the recording, or `all traces`"),
    ("governor_a", TEXT, "governor A"),
    ("governor_b", TEXT, "governor B"),
    ("part", TEXT, "`all`, and the CPUs or clusters asked for"),
    (
        "by",
        TEXT,
        "`metric`: a measure; `parting`: waits by how the choices differ; `cause`: waits by what ended them",
    ),
    ("kind", TEXT, "of a parting, how the choices differ; of a cause, which"),
    ("a_state", TEXT, "of a parting, the state that A chose"),
    ("b_state", TEXT, "of a parting, the state that B chose"),
    ("quantity", TEXT, "what is counted, with its unit"),
    ("a", NUMBER, "of governor A"),
    ("b", NUMBER, "of governor B"),
];

/// One row for each trace, part, way to sort the waits (`by`), and quantity of A and B: long, to be filtered and
/// pivoted. Rows of one `by` add up; `metric` rows are the scores.
#[must_use]
pub fn compare(r: &CompareReport) -> DataTable {
    let mut t = table(COLUMNS.iter().chain(Said::COLUMNS));
    for trace in &r.traces {
        comparison(&mut t, r, &trace.head.name, &Said::of([&trace.head]), &trace.comparison);
    }
    if let Some(together) = &r.together {
        comparison(&mut t, r, "all traces", &Said::of(r.traces.iter().map(|t| &t.head)), together);
    }
    t
}

fn comparison(table: &mut DataTable, r: &CompareReport, trace: &str, said: &Said, c: &Comparison) {
    let mut add = |by: &str, kind: [&str; 3], quantity: &str, [a, b]: [Value; 2]| {
        let [kind, a_state, b_state] = kind;
        let mut cells = row![trace, &r.a, &r.b, &c.part, by, kind, a_state, b_state, quantity];
        cells.extend([a, b]);
        cells.extend(said.cells());
        table.push(cells);
    };
    let unit = &c.a.score.energy_unit;
    for m in &c.changes {
        let name = format!("{}{}", m.measure.name, m.measure.unit.suffix(unit));
        add("metric", [""; 3], &name, [m.a, m.b].map(Value::from));
    }
    for m in Measure::all_in(Place::Fault) {
        add("metric", [""; 3], m.name, [&c.a, &c.b].map(|run| measured((m.of)(&run.score))));
    }
    for PartingCost { kind, a_state, b_state, a_keeps_tick, cost } in &c.partings {
        let kind = match a_keeps_tick {
            Some(true) => "tick-kept-by-a",
            Some(false) => "tick-kept-by-b",
            None => kind,
        };
        let states = [a_state, b_state].map(|s| s.as_deref().unwrap_or(""));
        for (quantity, both) in costs(cost) {
            add("parting", [kind, states[0], states[1]], quantity, both);
        }
    }
    for cause in &c.causes {
        for (quantity, both) in costs(&cause.cost) {
            add("cause", [&cause.cause, "", ""], quantity, both);
        }
    }
    c.groups.iter().for_each(|g| comparison(table, r, trace, said, g));
}

fn costs(c: &Cost) -> [(&'static str, [Value; 2]); 7] {
    let quantities: [(&str, u128, u128); 7] = [
        ("waits", c.waits.into(), c.waits.into()),
        ("wait_ns", c.wait_ns.into(), c.wait_ns.into()),
        ("decisions", c.a.decisions.into(), c.b.decisions.into()),
        ("too_deep", c.a.above.into(), c.b.above.into()),
        ("too_shallow", c.a.below.into(), c.b.below.into()),
        ("latency_ns", c.a.latency_ns.into(), c.b.latency_ns.into()),
        ("energy_fj", c.a.energy_fj, c.b.energy_fj),
    ];
    quantities.map(|(name, a, b)| (name, [a, b].map(Value::from)))
}
