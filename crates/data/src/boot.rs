// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_machine::boot::{BootReport, SelfTest};

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, table};
use crate::said::Said;
use crate::scored::{Scored, scores};

/// Columns before those of the measures.
pub(crate) const COLUMNS: &[Declared] = &[
    ("platform", TEXT, "machine that the guest stands for"),
    ("driver", TEXT, "cpuidle driver of the guest"),
    ("cpus", INTEGER, "CPUs of the guest"),
    ("workload", TEXT, "the workload"),
    ("duration_s", INTEGER, "its duration, s of the guest"),
    ("start", INTEGER, "which of several starts"),
    ("governor", TEXT, "the governor"),
    ("part", TEXT, "`all`, and the CPUs or clusters asked for"),
    ("decisions", INTEGER, "times it was asked"),
    (
        "true_inputs_compared",
        INTEGER,
        "choices compared with those of the governor in user space, fed with the kernel's inputs",
    ),
    ("true_inputs_same", INTEGER, "of these, the same"),
    ("same_state_pct", NUMBER, "choices with the same state, replayed from stock events, %"),
    ("counters_same", FLAG, "whether the trace agrees with the kernel's counters"),
];

pub(crate) const CHECKS: &[Declared] = &[
    ("check", TEXT, "what is checked"),
    ("holds", FLAG, "whether it holds"),
    ("found", TEXT, "what was found"),
];

/// One row for each platform, workload, governor and part, with how its recording agrees with what else is known of it.
#[must_use]
pub fn boot(r: &BootReport) -> DataTable {
    let mut t = Scored::new(COLUMNS, r.cells.iter().flat_map(|c| &c.governors).flat_map(scores));
    for cell in &r.cells {
        for (i, g) in cell.governors.iter().enumerate() {
            let before = |part: &str| {
                row![
                    &cell.platform,
                    &cell.driver,
                    cell.cpus,
                    &cell.workload,
                    cell.seconds,
                    cell.start,
                    &g.governor,
                    part
                ]
            };
            let check = cell.checks.get(i);
            let parity = check.and_then(|c| c.parity.as_ref()?.result.as_ref().ok());
            let mut all = before("all");
            all.extend(row![
                g.failure.is_none().then_some(g.decisions),
                parity.map(|p| p.decisions),
                parity.map(|p| p.same),
                check.and_then(|c| c.fidelity.as_ref().ok()?.same_state_pct),
                check.and_then(|c| Some(c.counters.as_ref()?.same())),
            ]);
            let known = g.failure.is_none() && !g.score.is_nothing();
            t.push(all, known.then_some(&g.score), &Said::default());
            for part in &g.groups {
                let mut cells = before(&part.name);
                cells.extend(row![(), (), (), (), ()]);
                t.push(cells, Some(&part.score), &Said::default());
            }
        }
    }
    t.table
}

/// One row for each check of the self-test.
#[must_use]
pub fn self_test(r: &SelfTest) -> DataTable {
    let mut t = table(CHECKS);
    r.checks.iter().for_each(|c| t.push(row![&c.what, c.holds, &c.found]));
    t
}
