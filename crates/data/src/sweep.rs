// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_sweep::SweepReport;

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("setting", TEXT, "the governor with its parameters; the first is the baseline"),
    ("governor", TEXT, "the governor without parameters"),
    ("parameters", TEXT, "values by parameter, as a JSON object"),
    ("on_front", FLAG, "no other setting is as good in all measures of the front, and better in one"),
    ("recording", TEXT, "the recording, or the workload with its seed"),
    ("recorded_on", TEXT, "the machine that was recorded; nothing where a workload is simulated"),
    ("machine", TEXT, "the machine on which it was replayed or simulated"),
    ("seed", INTEGER, "of a simulation"),
    ("failure", TEXT, "why there is no result on some recording"),
    ("regret_pct", NUMBER, "idle energy above the oracle's, % of the oracle's"),
    ("energy", NUMBER, "idle energy, of a workload energy of the CPUs, in energy_unit"),
    ("energy_unit", TEXT, "mJ or rel"),
    ("latency_mean_ns", NUMBER, "wakeup latency: mean"),
    ("latency_p99_ns", NUMBER, "wakeup latency: 99th percentile"),
    ("too_deep_pct", NUMBER, "idle periods shorter than the target residency of their state"),
    ("too_shallow_pct", NUMBER, "idle periods that would have paid for a deeper state"),
    ("wakeups", NUMBER, "idle periods that ended"),
    ("work_ns", NUMBER, "how long users wait for the work of a workload"),
    ("decisions", INTEGER, "times the governor was asked"),
];

/// One row for each setting and recording.
#[must_use]
pub fn sweep(r: &SweepReport) -> DataTable {
    let mut t = table(COLUMNS);
    for s in &r.settings {
        let Ok(parameters) = serde_json::to_string(&s.parameters) else { unreachable!("texts by texts") };
        for (case, on) in s.cases.iter().zip(&r.cases) {
            let n = case.numbers.as_ref();
            t.push(row![
                &s.setting,
                &s.governor,
                &parameters,
                s.on_front,
                &on.name,
                on.facts.recorded_on.as_deref(),
                &on.facts.machine,
                on.facts.seed,
                s.failure.as_deref(),
                case.regret_pct,
                n.and_then(|n| n.energy),
                &on.facts.energy_unit,
                n.and_then(|n| n.latency_mean_ns),
                n.and_then(|n| n.latency_p99_ns),
                n.and_then(|n| n.too_deep_pct),
                n.and_then(|n| n.too_shallow_pct),
                n.and_then(|n| n.wakeups),
                n.and_then(|n| n.work_ns),
                n.map(|n| n.decisions),
            ]);
        }
    }
    t
}
