// SPDX-License-Identifier: GPL-2.0-only
//! Doomed idle entries as text.

use idlewise_model::{Confidence, number_of};
use idlewise_report::{Line, Table, duration, percent, percent_of};

use crate::head::cpu_list;
use idlewise_study::doomed::Doomed;

/// How many there are, in a sentence.
pub(super) fn line(d: &Doomed, clock: &str) -> Line {
    let (Some(doomed), Some(lost_ns)) = (d.doomed, d.lost_ns) else {
        let why = "not known: no ipi_send_cpu, ipi_send_cpumask, ipi_raise or sched_waking event of another CPU shows when it sent these an interrupt";
        return Line::new("doomed", why);
    };
    let skew = if clock == "local" { "; by clocks of their own CPUs, which may be us apart" } else { "" };
    let but = if d.not_known.is_empty() {
        String::new()
    } else {
        format!(
            "; not known for CPUs {}: the recording has no interrupts that others sent them",
            cpu_list(&d.not_known)
        )
    };
    let counted = format!(
        "{doomed} of {} ({} %)",
        number_of(d.entries, "idle entry"),
        percent(percent_of(doomed, d.entries))
    );
    let lost = duration(lost_ns as f64);
    let is = |grade: Confidence| d.grade == Some(grade.name());
    let words = if is(Confidence::Recorded) {
        format!(
            "{counted} were ended by an interrupt that another CPU had sent before the entry; {lost} in all \
             from entry to end"
        )
    } else if is(Confidence::Derived) {
        format!(
            "derived: {counted}, {lost} in all from entry to end: another CPU had sent them an interrupt, \
             and they ended as soon as the state allows; the arrival of the interrupt is not recorded"
        )
    } else {
        format!(
            "bounded: at most {counted}, {lost} in all from entry to end: another CPU had begun to wake a \
             task for them (sched_waking), and an interrupt ended them; the sending of the interrupt is not \
             recorded"
        )
    };
    Line::new("doomed", format!("{words}{but}{skew}"))
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
