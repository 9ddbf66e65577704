// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_review::BisectReport;

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("version", TEXT, "the commit, or the governor's id"),
    ("subject", TEXT, "first line of the commit's message, or what the governor does"),
    ("metric", TEXT, "the metric of the condition"),
    (
        "value",
        NUMBER,
        "what the condition's value is compared with, against the good version; empty: not known",
    ),
    ("holds", FLAG, "whether the condition holds"),
    ("change", NUMBER, "against the version before: % of its value, percentage points of shares"),
    ("change_low", NUMBER, "its 95 % interval, recordings resampled by machine, from"),
    ("change_high", NUMBER, "to"),
    ("differing", INTEGER, "recordings in which a decision differs from the version before"),
    ("culprit", FLAG, "whether the condition holds from here on to the end, and not before"),
    ("problem", TEXT, "why it is not judged"),
];

/// One row for each version whose code differs from the one before.
#[must_use]
pub fn bisect(r: &BisectReport) -> DataTable {
    let mut t = table(COLUMNS);
    for (at, step) in r.steps.iter().enumerate() {
        let effect = step.effect.as_ref();
        let differing = step.differing.and_then(|n| i64::try_from(n).ok());
        t.push(row![
            &step.name,
            &step.subject,
            effect.map(|e| e.metric),
            step.measured.as_ref().and_then(|m| m.value),
            step.measured.as_ref().map(|m| m.holds),
            effect.and_then(|e| e.mean),
            effect.and_then(|e| e.interval).map(|i| i.low),
            effect.and_then(|e| e.interval).map(|i| i.high),
            differing,
            r.culprit == Some(at),
            step.problem.as_ref().map(|p| p.words("it", "")),
        ]);
    }
    t
}
