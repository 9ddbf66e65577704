// SPDX-License-Identifier: GPL-2.0-only
//! Reports as one table of plain numbers: what `--format csv` gives to a spreadsheet or a program. Times are ns.

use idlewise_model::Note;
use idlewise_report::Table;
use idlewise_score::{Measure, Number, Place, Score, Unit};

use idlewise_recording::TraceHead;
use idlewise_study::compare::{CompareReport, Comparison, Cost, PartingCost};
use idlewise_study::replay::{GovernorResult, ReplayReport};
use idlewise_study::score::ScoreReport;

/// One row for each trace, governor and part (`all`, and the CPUs or clusters asked for).
pub(crate) fn replay(r: &ReplayReport) -> Table {
    let mut table = table(&["trace", "governor", "part", "decisions", "regret_pct"], states(r));
    let mut rows = |trace: &str, said: &Said, results: &[GovernorResult]| {
        for g in results {
            if g.failure.is_some() {
                let mut empty = vec![String::new(); table.head.len()];
                empty.splice(..3, [trace, &g.governor, "all"].map(str::to_owned));
                for (column, value) in said.columns() {
                    let at = table.head.iter().position(|name| name == column);
                    if let Some(cell) = at.and_then(|at| empty.get_mut(at)) {
                        value.clone_into(cell);
                    }
                }
                table.rows.push(empty);
                continue;
            }
            let own = [g.decisions.to_string(), plain(g.regret_pct)];
            table.rows.push(row(&[trace, &g.governor, "all", &own[0], &own[1]], said, &g.score));
            for part in &g.groups {
                table.rows.push(row(&[trace, &g.governor, &part.name, "", ""], said, &part.score));
            }
        }
    };
    for trace in &r.traces {
        rows(&trace.head.name, &Said::of([&trace.head]), &trace.governors);
    }
    if let Some(together) = &r.together {
        rows("all traces", &Said::of(r.traces.iter().map(|t| &t.head)), together);
    }
    table
}

/// One row for each part.
pub(crate) fn score(r: &ScoreReport) -> Table {
    let mut table = table(&["trace", "part"], r.score.states.len());
    let said = Said::of([&r.head]);
    table.rows.push(row(&[&r.head.name, "all"], &said, &r.score));
    for part in &r.groups {
        table.rows.push(row(&[&r.head.name, &part.name], &said, &part.score));
    }
    table
}

/// One row for each trace, part, way to sort the waits (`by`), and quantity of A and B: long, to be filtered and
/// pivoted. Rows of one `by` add up; `metric` rows are the scores.
pub(crate) fn compare(r: &CompareReport) -> Table {
    let head = ["trace", "part", "by", "kind", "a_state", "b_state", "quantity", "a", "b", ASSUMED, WARNINGS];
    let mut table = Table::new("", head.map(str::to_owned).to_vec());
    for trace in &r.traces {
        table.rows.extend(comparison(&trace.head.name, &Said::of([&trace.head]), &trace.comparison));
    }
    if let Some(together) = &r.together {
        table.rows.extend(comparison("all traces", &Said::of(r.traces.iter().map(|t| &t.head)), together));
    }
    table
}

/// What is said about the recordings behind a row; empty where nothing is.
struct Said {
    /// What was assumed by hand.
    assumed: String,
    warnings: String,
}

impl Said {
    fn of<'h>(heads: impl IntoIterator<Item = &'h TraceHead>) -> Self {
        let heads: Vec<&TraceHead> = heads.into_iter().collect();
        Self {
            assumed: heads.iter().filter_map(|h| h.assumption()).collect::<Vec<_>>().join(", and "),
            warnings: Note::words(&TraceHead::warnings(heads)).join("; "),
        }
    }

    /// In the order of the columns.
    fn columns(&self) -> [(&'static str, &str); 2] {
        [(ASSUMED, &self.assumed), (WARNINGS, &self.warnings)]
    }
}

fn comparison(trace: &str, said: &Said, c: &Comparison) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut add = |by: &str, kind: [&str; 3], quantities: Vec<(String, String, String)>| {
        for (quantity, a, b) in quantities {
            let [kind, a_state, b_state] = kind;
            let cells = [trace, c.part.as_str(), by, kind, a_state, b_state, &quantity, &a, &b];
            let said = said.columns().map(|(_, value)| value);
            rows.push(cells.iter().chain(&said).map(|cell| (*cell).to_owned()).collect());
        }
    };
    let unit = &c.a.score.energy_unit;
    let compared = c.changes.iter().map(|m| {
        let name = format!("{}{}", m.measure.name, m.measure.unit.suffix(unit));
        (name, plain(m.a), plain(m.b))
    });
    add("metric", [""; 3], compared.collect());
    let faults = Measure::all_in(Place::Fault).map(|m| {
        let [a, b] = [&c.a, &c.b].map(|run| known((m.of)(&run.score)));
        (m.name.to_owned(), a, b)
    });
    add("metric", [""; 3], faults.collect());
    for PartingCost { kind, a_state, b_state, a_keeps_tick, cost } in &c.partings {
        let kind = match a_keeps_tick {
            Some(true) => "tick-kept-by-a",
            Some(false) => "tick-kept-by-b",
            None => kind,
        };
        let state = |s: &'_ Option<String>| s.clone().unwrap_or_default();
        add("parting", [kind, &state(a_state), &state(b_state)], costs(cost));
    }
    for cause in &c.causes {
        add("cause", [&cause.cause, "", ""], costs(&cause.cost));
    }
    rows.extend(c.groups.iter().flat_map(|g| comparison(trace, said, g)));
    rows
}

fn costs(c: &Cost) -> Vec<(String, String, String)> {
    let quantities: [(&str, u128, u128); 7] = [
        ("waits", c.waits.into(), c.waits.into()),
        ("wait_ns", c.wait_ns.into(), c.wait_ns.into()),
        ("decisions", c.a.decisions.into(), c.b.decisions.into()),
        ("too_deep", c.a.above.into(), c.b.above.into()),
        ("too_shallow", c.a.below.into(), c.b.below.into()),
        ("latency_ns", c.a.latency_ns.into(), c.b.latency_ns.into()),
        ("energy_fj", c.a.energy_fj, c.b.energy_fj),
    ];
    quantities.map(|(name, a, b)| (name.to_owned(), a.to_string(), b.to_string())).to_vec()
}

/// What was assumed about the recordings by hand.
const ASSUMED: &str = "assumed";
/// What makes the recordings doubtful.
const WARNINGS: &str = "warnings";

/// After the column of a score's energy.
const ENERGY_UNIT: &str = "energy_unit";

/// The columns of a score's measures.
fn measured_columns() -> impl Iterator<Item = &'static str> {
    Measure::by_column().into_iter().flat_map(|(column, m)| {
        let unit = (m.unit == Unit::Energy).then_some(ENERGY_UNIT);
        std::iter::once(column).chain(unit)
    })
}

/// The cells below them.
fn measured_cells(s: &Score) -> impl Iterator<Item = String> {
    Measure::by_column().into_iter().flat_map(|(_, m)| {
        let unit = (m.unit == Unit::Energy).then(|| s.energy_unit.clone());
        std::iter::once(known((m.of)(s))).chain(unit)
    })
}

const STATE: [&str; 6] = ["name", "entries", "residency_ns", "above", "below", "rejected"];

fn states(r: &ReplayReport) -> usize {
    let governors = r.traces.iter().flat_map(|t| &t.governors);
    governors.map(|g| g.score.states.len()).max().unwrap_or(0)
}

fn table(first: &[&'static str], states: usize) -> Table {
    let columns = first.iter().copied().chain(measured_columns()).chain([ASSUMED, WARNINGS]);
    let mut head: Vec<String> = columns.map(str::to_owned).collect();
    for i in 0..states {
        head.extend(STATE.iter().map(|what| format!("state{i}_{what}")));
    }
    Table::new("", head)
}

/// A number for a program; empty where it is none.
pub(crate) fn plain(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}

fn known(value: Option<Number>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn row(first: &[&str], said: &Said, s: &Score) -> Vec<String> {
    let mut cells: Vec<String> = first.iter().map(|c| (*c).to_owned()).collect();
    cells.extend(measured_cells(s));
    cells.extend(said.columns().map(|(_, value)| value.to_owned()));
    for state in &s.states {
        cells.push(state.name.clone());
        let numbers = [state.entries, state.residency_ns, state.above, state.below, state.rejected];
        cells.extend(numbers.map(|n| n.to_string()));
    }
    cells
}
