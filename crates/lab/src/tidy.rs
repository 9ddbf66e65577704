// SPDX-License-Identifier: GPL-2.0-only
//! Reports as one table of plain numbers: what `--format csv` gives to a spreadsheet or a program. Times are ns.

use idlewise_report::Table;
use idlewise_score::Score;

use crate::replay::{GovernorResult, ReplayReport};
use crate::score::ScoreReport;

/// One row for each trace, governor and part (`all`, and the CPUs or clusters asked for).
pub(crate) fn replay(r: &ReplayReport) -> Table {
    let mut table = table(&["trace", "governor", "part", "decisions", "regret_pct"], states(r));
    let mut rows = |trace: &str, results: &[GovernorResult]| {
        for g in results {
            let own = [g.decisions.to_string(), g.regret_pct.to_string()];
            table.rows.push(row(&[trace, &g.governor, "all", &own[0], &own[1]], &g.score));
            for part in &g.groups {
                table.rows.push(row(&[trace, &g.governor, &part.name, "", ""], &part.score));
            }
        }
    };
    for trace in &r.traces {
        rows(&trace.head.name, &trace.governors);
    }
    if let Some(together) = &r.together {
        rows("all traces", together);
    }
    table
}

/// One row for each part.
pub(crate) fn score(r: &ScoreReport) -> Table {
    let mut table = table(&["trace", "part"], r.score.states.len());
    table.rows.push(row(&[&r.head.name, "all"], &r.score));
    for part in &r.groups {
        table.rows.push(row(&[&r.head.name, &part.name], &part.score));
    }
    table
}

const NUMBERS: [&str; 15] = [
    "wakeups",
    "too_deep_pct",
    "too_shallow_pct",
    "rejected",
    "idle_ns",
    "tick_wakes",
    "tick_kept",
    "tick_stopped",
    "during_exit",
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "energy",
    "energy_unit",
];

const STATE: [&str; 6] = ["name", "entries", "residency_ns", "above", "below", "rejected"];

fn states(r: &ReplayReport) -> usize {
    let governors = r.traces.iter().flat_map(|t| &t.governors);
    governors.map(|g| g.score.states.len()).max().unwrap_or(0)
}

fn table(first: &[&str], states: usize) -> Table {
    let mut head: Vec<String> = first.iter().chain(&NUMBERS).map(|s| (*s).to_owned()).collect();
    for i in 0..states {
        head.extend(STATE.iter().map(|what| format!("state{i}_{what}")));
    }
    Table::new("", head)
}

fn row(first: &[&str], s: &Score) -> Vec<String> {
    let mut cells: Vec<String> = first.iter().map(|c| (*c).to_owned()).collect();
    cells.extend([
        s.wakeups.to_string(),
        s.too_deep_pct.to_string(),
        s.too_shallow_pct.to_string(),
        s.rejected.to_string(),
        s.idle_ns.to_string(),
        s.ticks.to_string(),
        s.ticks_kept.to_string(),
        s.ticks_stopped.to_string(),
        s.overtaken.to_string(),
        s.latency.mean_ns.to_string(),
        s.latency.p50_ns.to_string(),
        s.latency.p99_ns.to_string(),
        s.latency.max_ns.to_string(),
        s.energy.to_string(),
        s.energy_unit.clone(),
    ]);
    for state in &s.states {
        cells.push(state.name.clone());
        let numbers = [state.entries, state.residency_ns, state.above, state.below, state.rejected];
        cells.extend(numbers.map(|n| n.to_string()));
    }
    cells
}
