// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::{DataTable, Value};
use idlewise_machine::advise::Advice;

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("governor", TEXT, "the governor"),
    ("in_kernel", FLAG, "whether this kernel has it"),
    ("answer", FLAG, "whether it is the one that is recommended"),
    ("wakeups", INTEGER, "replayed: idle periods that ended"),
    ("too_deep_pct", NUMBER, "replayed: too deep, % of wakeups"),
    ("too_shallow_pct", NUMBER, "replayed: too shallow, % of wakeups"),
    ("ticks_kept", INTEGER, "replayed: entries at which the tick ran on"),
    ("ticks_stopped", INTEGER, "replayed: entries at which the tick was stopped"),
    ("latency_mean_ns", NUMBER, "replayed: mean wakeup latency, ns"),
    ("latency_p99_ns", INTEGER, "replayed: its 99th percentile, ns"),
    ("energy", NUMBER, "replayed: idle energy, in `energy_unit`"),
    ("energy_unit", TEXT, "mJ, or relative"),
    ("energy_change_pct", NUMBER, "replayed: change of the energy against the governor that ran, %"),
    ("benchmark", TEXT, "measured: the benchmark"),
    ("metric", TEXT, "measured: its first metric"),
    ("change", NUMBER, "measured: relative change of that, 1 for 100 %"),
    ("change_low", NUMBER, "95 % interval of the change, from"),
    ("change_high", NUMBER, "to"),
    ("p_corrected", NUMBER, "p-value of the change, corrected for the number of comparisons"),
    ("verdict", TEXT, "what the change comes to"),
];

/// One row for each governor: how its replay went, and how it was measured.
#[must_use]
pub fn advise(a: &Advice) -> DataTable {
    let mut t = table(COLUMNS);
    let margin = a.ab.as_ref().map_or(0, |ab| ab.margin_permille);
    for governor in &a.rows {
        let is_answer = governor.governor == a.answer.governor;
        let mut cells = row![&governor.governor, governor.in_kernel, is_answer];
        match &governor.replay {
            Some(Ok(r)) => cells.extend(row![
                r.wakeups,
                r.too_deep_pct,
                r.too_shallow_pct,
                r.ticks_kept,
                r.ticks_stopped,
                r.latency_mean_ns,
                r.latency_p99_ns,
                r.energy,
                &r.energy_unit,
                r.energy_change_pct,
            ]),
            _ => cells.resize(cells.len() + 10, Value::Nothing),
        }
        let first = governor.compared.iter().find(|c| c.first);
        let change = first.and_then(|c| c.change.as_ref());
        let interval = change.and_then(|c| c.interval);
        cells.extend(row![
            first.map(|c| &c.benchmark),
            first.map(|c| &c.metric),
            change.map(|c| c.relative),
            interval.map(|i| i.low),
            interval.map(|i| i.high),
            first.and_then(|c| c.p),
            first.and_then(|c| c.verdict).map(|v| v.words(margin)),
        ]);
        t.push(cells);
    }
    t
}
