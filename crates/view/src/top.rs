// SPDX-License-Identifier: GPL-2.0-only
//! What a running machine did in a moment.

use idlewise_data::Grouping;
use idlewise_live::limits::Limiting;
use idlewise_live::watch::{Row, Snapshot};
use idlewise_report::{Line, Report, Table, percent};

/// The table of a snapshot.
#[must_use]
pub fn top(s: &Snapshot, by: Grouping) -> Report {
    let mut out = Report { data: Some(idlewise_data::top(s, by)), ..Report::default() };
    let or = |text: &str| if text.is_empty() { "not known".to_owned() } else { text.to_owned() };
    out.preamble.push(Line::new("machine", format!("Linux {}, {} CPUs", or(&s.kernel), s.machine.cpus)));
    out.preamble
        .push(Line::new("cpuidle", format!("governor {}, driver {}", or(&s.governor), or(&s.driver))));
    out.preamble.push(Line::new("power", power(s)));
    out.preamble.extend(limits(s));
    out.preamble.push(Line::new("time", format!("{:.3} s", s.seconds)));
    out.preamble.extend(s.notes.iter().map(|n| Line::new("note", n)));
    let mut head: Vec<String> =
        ["", "wakeups/s", "too deep %", "too shallow %", "rejected/s"].map(str::to_owned).to_vec();
    head.extend(s.machine.states.iter().map(|st| format!("{} %", st.name)));
    head.extend(["asleep %", "busy %"].map(str::to_owned));
    let mut table = Table::new("", head);
    table.rows.extend(by.rows(s).map(|r| row(r, s)));
    out.tables.push(table);
    let words = "too deep, too shallow: % of wakeups; the others: % of time; asleep: idle, in a state that \
        is known only when the idle period ends";
    out.footer.push(Line::plain(words));
    out
}

/// The meters in a line, or that there are none.
#[must_use]
pub fn power(s: &Snapshot) -> String {
    if s.power.is_empty() {
        return "not measured here (no powercap, hwmon or battery that may be read)".to_owned();
    }
    let meter = |p: &idlewise_live::power::Power| {
        p.watts.map_or_else(|| format!("{} not known", p.name), |w| format!("{} {w:.2} W", p.name))
    };
    s.power.iter().map(meter).collect::<Vec<_>>().join(", ")
}

/// Whether limits hold clocks, then each limit.
fn limits(s: &Snapshot) -> Vec<Line> {
    let words = s.limiting.iter().flat_map(Limiting::words).enumerate();
    words.map(|(i, words)| Line::new(if i == 0 { "limits" } else { "" }, words)).collect()
}

fn row(r: &Row, s: &Snapshot) -> Vec<String> {
    let optional = |n: Option<f64>| n.map_or_else(|| "-".to_owned(), percent);
    let mut cells = vec![
        r.name.clone(),
        format!("{:.1}", r.wakeups_per_s),
        optional(r.too_deep_pct),
        optional(r.too_shallow_pct),
        r.rejected_per_s.map_or_else(|| "-".to_owned(), |n| format!("{n:.1}")),
    ];
    for i in 0..s.machine.states.len() {
        cells.push(r.states.get(i).map_or_else(|| "-".to_owned(), |st| percent(st.time_pct)));
    }
    cells.extend([percent(r.asleep_pct), percent(r.busy_pct)]);
    cells
}
