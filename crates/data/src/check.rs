// SPDX-License-Identifier: GPL-2.0-only
use idlewise_check::{CheckReport, Verdict};
use idlewise_columns::DataTable;

use crate::declared::{Declared, INTEGER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("property", TEXT, "the property"),
    ("requirement", TEXT, "what a governor that has it does"),
    ("verdict", TEXT, "held, violated or not-checked"),
    ("why", TEXT, "why it was not checked"),
    ("what", TEXT, "what the governor did"),
    ("place", TEXT, "where in the code, as FILE:LINE"),
    ("machine", TEXT, "what is special about the machine"),
    ("idle_periods", INTEGER, "of the shortest sequence found"),
];

/// One row for each violation, and one for each property without any.
#[must_use]
pub fn check(r: &CheckReport) -> DataTable {
    let mut t = table(COLUMNS);
    for p in &r.properties {
        let verdict = match p.verdict {
            Verdict::Held => "held",
            Verdict::Violated => "violated",
            Verdict::NotChecked => "not-checked",
        };
        let mut found = r.findings.iter().filter(|f| f.property == p.property).peekable();
        if found.peek().is_none() {
            let why = p.why.as_deref();
            t.push(row![
                p.property.name(),
                p.requirement,
                verdict,
                why,
                None::<&str>,
                None::<&str>,
                None::<&str>,
                None::<i64>
            ]);
        }
        for f in found {
            let periods: i64 = f.story.iter().map(|row| i64::from(row.times)).sum();
            t.push(row![
                p.property.name(),
                p.requirement,
                verdict,
                None::<&str>,
                &f.what,
                f.place.as_deref(),
                &f.machine.name,
                periods,
            ]);
        }
    }
    t
}
