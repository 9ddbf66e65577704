// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's counters beside the trace's.

use idlewise_model::number_of;
use idlewise_report::{Line, Table, UNKNOWN, duration};

use crate::cells::shown_or_unknown;
use idlewise_recording::counters::{Both, CounterCheck};

/// Whether they are the same, in a sentence.
pub(super) fn lines(c: &CounterCheck) -> Vec<Line> {
    let all = || c.cpus.iter().flat_map(|cpu| &cpu.states);
    let differ = all().filter(|s| !s.same()).count();
    let across: u64 = c.cpus.iter().map(|cpu| cpu.across).sum();
    let compared = if all().all(|s| s.above.trace.is_none()) {
        "usage is that"
    } else {
        "usage, above, below and rejected are those"
    };
    let words = if differ == 0 {
        format!("{compared} of the trace on all CPUs; the times are within those of the events")
    } else {
        format!("{differ} of {} states differ from the trace", all().count())
    };
    let mut out = vec![Line::new("counters", words)];
    if across > 0 {
        let across = number_of(across, "idle period");
        let why = format!("not counted: {across} during which counters were read");
        out.push(Line::new("", why));
    }
    out.extend(c.notes.iter().map(|n| Line::new("note", n)));
    out
}

/// A row for each CPU and state.
pub(super) fn table(c: &CounterCheck) -> Table {
    let head = [
        "CPU",
        "state",
        "usage",
        "above",
        "below",
        "rejected",
        "above by idle period",
        "below by idle period",
        "time [us]",
        "events longer by",
    ];
    let mut t =
        Table::new("the kernel's counters (trace, where it differs)", head.map(str::to_owned).to_vec());
    t.text_columns = 2;
    for cpu in &c.cpus {
        for (i, s) in cpu.states.iter().enumerate() {
            t.rows.push(vec![
                cpu.cpu.to_string(),
                format!("{i} {}", s.name),
                both(s.usage),
                both(s.above),
                both(s.below),
                both(s.rejected),
                s.above_by_stay.to_string(),
                s.below_by_stay.to_string(),
                shown_or_unknown(s.time_us, |us| us.to_string()),
                shown_or_unknown(s.longer_ns(), duration),
            ]);
        }
    }
    t
}

/// Why a length in `tables` is not known.
pub(super) fn unknown(tables: &[Table]) -> Option<Line> {
    let is_unknown = |row: &Vec<String>| row.last().is_some_and(|cell| cell == UNKNOWN);
    let why = "events longer by: the trace or the kernel has no idle period of this state to compare, or its time is not known";
    tables.iter().any(|t| t.rows.iter().any(is_unknown)).then(|| Line::new(UNKNOWN, why))
}

fn both(b: Both) -> String {
    match (b.kernel, b.trace) {
        (None, None) => "-".to_owned(),
        (None, Some(trace)) => format!("- ({trace})"),
        (Some(kernel), None) => kernel.to_string(),
        (Some(kernel), Some(_)) if b.same() => kernel.to_string(),
        (Some(kernel), Some(trace)) => format!("{kernel} ({trace})"),
    }
}
