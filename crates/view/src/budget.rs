// SPDX-License-Identifier: GPL-2.0-only
//! What idle power is worth in clock under a package limit.

use idlewise_answer::{RecordingBudget, UnderLimit};
use idlewise_report::{Line, Table, number, signed};

/// A table for each recording.
pub(crate) fn tables(limit: &UnderLimit) -> impl Iterator<Item = Table> {
    let several = limit.recordings.len() > 1;
    limit.recordings.iter().map(move |r| {
        let place = if several { format!("{}: ", r.recording) } else { String::new() };
        of_recording(format!("{place}under {} (a model)", limit.name), r)
    })
}

fn of_recording(title: String, r: &RecordingBudget) -> Table {
    let head = ["governor", "idle power [W]", "freed [W]", "clock %"];
    let mut table = Table::new(title, head.map(str::to_owned).into());
    let row = |g: &idlewise_answer::GovernorBudget| {
        let [least, most] = g.clock_pct.map(|pct| signed(pct, 2));
        let clock = if least == most { least } else { format!("{least} .. {most}") };
        vec![g.governor.clone(), number(g.idle_w), signed(g.freed_w, 4), clock]
    };
    table.rows.extend(r.governors.iter().map(row));
    table
}

/// What the tables are, and are not.
pub(crate) fn model(limits: &[UnderLimit]) -> Option<Line> {
    let limit = limits.first()?;
    let [low, high] = limit.exponent;
    Some(Line::new(
        "model",
        format!(
            "what a governor frees of idle states' power, and by how much the clock rises for it while the limit binds all the \
             time: power follows the clock to the {low}th to {high}th power, and all that idle states leave of the limit, with or \
             without the package's {} W; CPUs that are not replayed draw nothing here; nothing is simulated",
            number(limit.package_w)
        ),
    ))
}
