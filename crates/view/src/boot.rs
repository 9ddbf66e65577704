// SPDX-License-Identifier: GPL-2.0-only
use idlewise_report::{Line, Report, Table, percent};

use crate::cells::shown_or_unknown;
use crate::replay::governor_tables;
use idlewise_machine::boot::{BootReport, Cell, RecordingCheck, SelfTest};
use idlewise_recording::placement::Per;

/// The table of the workloads of guests: of each its name, and what it does.
#[must_use]
pub fn guest_workloads<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Report {
    let mut table = Table::new("", vec!["workload".to_owned(), "what it does".to_owned()]);
    table.text_columns = 2;
    table.rows.extend(all.map(|(name, what)| vec![name.to_owned(), what.to_owned()]));
    Report { tables: vec![table], ..Report::default() }
}

/// The tables of booted runs: as those of a replay, one for each platform and workload.
#[must_use]
pub fn boot(r: &BootReport, per: Per) -> Report {
    let mut out = Report { data: Some(idlewise_data::boot(r)), ..Report::default() };
    out.preamble
        .push(Line::new("kernel", format!("{} ({}), booted by QEMU {}", r.kernel, r.kernel_id, r.qemu)));
    out.preamble.push(Line::new(
        "model",
        "a real kernel on virtual CPUs: the kernel's own choices are scored, without replay. Every \
         instruction takes the same time, so time awake means little; use it for idle times, choices, ticks \
         and wakeup latencies",
    ));
    for cell in &r.cells {
        out.preamble.extend(cell.complaints.iter().map(|c| Line::new("failed", c)));
        let start = cell.start.map_or_else(String::new, |n| format!(", start {n}"));
        let title = format!(
            "{} ({}, {} CPUs), {} for {} s{start}",
            cell.platform, cell.driver, cell.cpus, cell.workload, cell.seconds
        );
        out.tables.extend(governor_tables(&title, &cell.governors, &r.baseline, per));
        out.tables.push(checks(cell));
        out.footer.push(Line::new("recorded", cell.folder.display().to_string()));
    }
    out.footer.push(Line::plain(format!("in brackets: against {}", r.baseline)));
    out.footer.push(Line::new(
        "checks",
        "true inputs: the governor in user space, fed with the inputs of the kernel's, makes the same choices; stock events: \
         the same from what any kernel records; counters: above, below, usage, rejected in the trace are those of sysfs",
    ));
    out
}

/// How the recordings of a cell agree with what else is known of them.
fn checks(cell: &Cell) -> Table {
    let mut head = vec!["check".to_owned()];
    head.extend(cell.checks.iter().map(|c| c.governor.clone()));
    let mut table = Table::new("", head);
    let mut row = |name: &str, words: &dyn Fn(&RecordingCheck) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(cell.checks.iter().map(words));
        table.rows.push(cells);
    };
    row("same from true inputs", &|c| match c.parity.as_ref().map(|p| &p.result) {
        Some(Ok(counts)) => format!("{}/{}", counts.same, counts.decisions),
        Some(Err(why)) => why.to_string(),
        None => "not recorded".to_owned(),
    });
    row("same from stock events", &|c| match &c.fidelity {
        Ok(f) => format!("{} %", shown_or_unknown(f.same_state_pct, percent)),
        Err(why) => why.to_string(),
    });
    row("counters", &|c| match &c.counters {
        Some(counters) if counters.same() => "equal".to_owned(),
        Some(_) => "DIFFER".to_owned(),
        None => "not read".to_owned(),
    });
    table
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
    Report { tables: vec![table], data: Some(idlewise_data::self_test(r)), ..Report::default() }
}
