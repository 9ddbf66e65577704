// SPDX-License-Identifier: GPL-2.0-only
//! Doomed idle entries as text.

use idlewise_report::{Line, Table, duration, percent};

use super::percent_of;
use crate::doomed::Doomed;

/// How many there are, in a sentence.
pub(super) fn line(d: &Doomed, clock: &str) -> Line {
    let (Some(doomed), Some(lost_ns)) = (d.doomed, d.lost_ns) else {
        let why = "not known: no ipi_send_cpu or sched_waking events of other CPUs tell when they sent an interrupt";
        return Line::new("doomed", why);
    };
    let skew = if clock == "local" { "; by clocks of their own CPUs, which may be us apart" } else { "" };
    Line::new(
        "doomed",
        format!(
            "{doomed} of {} idle entries ({} %) had an interrupt of another CPU on its way already, which then ended them; \
             {} in all from entry to end{skew}",
            d.entries,
            percent(percent_of(doomed, d.entries)),
            duration(lost_ns as f64)
        ),
    )
}

/// A row for each CPU and state that has some.
pub(super) fn table(d: &Doomed) -> Option<Table> {
    let head = ["CPU", "state", "doomed", "% of the CPU's entries", "time lost"];
    let mut t = Table::new("doomed entries", head.map(str::to_owned).to_vec());
    t.text_columns = 2;
    for cpu in &d.cpus {
        for s in &cpu.states {
            t.rows.push(vec![
                cpu.cpu.to_string(),
                format!("{} {}", s.state, s.name),
                s.doomed.to_string(),
                percent(percent_of(s.doomed, cpu.entries)),
                duration(s.lost_ns as f64),
            ]);
        }
    }
    (!t.rows.is_empty()).then_some(t)
}
