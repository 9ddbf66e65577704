// SPDX-License-Identifier: GPL-2.0-only
use idlewise_report::{Line, Report, Table};

use super::governor_tables;
use crate::boot::{BootReport, SelfTest};
use crate::replay::Per;

/// The tables of booted runs: as those of a replay, one for each platform and workload.
#[must_use]
pub fn boot(r: &BootReport, per: Per) -> Report {
    let mut out = Report::default();
    out.preamble
        .push(Line::new("kernel", format!("{} ({}), booted by QEMU {}", r.kernel, r.kernel_id, r.qemu)));
    out.preamble.push(Line::new(
        "model",
        "a real kernel on virtual CPUs: its own choices are judged, nothing is replayed. One instruction takes as long as \
         any other, so time awake means little; idle times, choices, ticks and wakeup latencies are what it is for",
    ));
    for cell in &r.cells {
        out.preamble.extend(cell.complaints.iter().map(|c| Line::new("failed", c)));
        let title = format!(
            "{} ({}, {} CPUs), {} for {} s",
            cell.platform, cell.driver, cell.cpus, cell.workload, cell.seconds
        );
        out.tables.extend(governor_tables(&title, &cell.governors, &r.baseline, per));
        out.footer.push(Line::new("recorded", cell.folder.display().to_string()));
    }
    out.footer.push(Line::plain(format!("in brackets: against {}", r.baseline)));
    out
}

/// A self-test, a line for each check.
#[must_use]
pub fn self_test(r: &SelfTest) -> Report {
    let mut table = Table::new("", ["", "check", "found"].map(str::to_owned).to_vec());
    table.text_columns = 3;
    for check in &r.checks {
        let verdict = if check.holds { "holds" } else { "FAILS" };
        table.rows.push(vec![verdict.to_owned(), check.what.clone(), check.found.clone()]);
    }
    Report { tables: vec![table], ..Report::default() }
}
