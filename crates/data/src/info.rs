// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::{DataTable, Value};
use idlewise_study::info::Info;

use crate::declared::{Declared, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("trace", TEXT, "the recording"),
    (
        "about",
        TEXT,
        "`trace`, `cpu`, `event`, `health` (what was lost or doubtful), `recorded decisions`, `from true inputs`, `from stock events`",
    ),
    ("name", TEXT, "which CPU, event, kind of doubt, governor"),
    ("quantity", TEXT, "what is counted, with its unit"),
    ("value", NUMBER, "how many"),
];

/// One row for each quantity of the trace, of its CPUs, of its kinds of events, of what is doubtful in it: long, to be filtered and
/// pivoted. Where the machine is known, also how far governors repeat the kernel's choices.
#[must_use]
pub fn info(i: &Info) -> DataTable {
    let mut t = table(COLUMNS);
    let trace = i.path.display().to_string();
    let mut add = |about: &str, name: &str, quantities: &[(&str, Value)]| {
        for (quantity, value) in quantities {
            let mut cells = row![&trace, about, name, *quantity];
            cells.push(value.clone());
            t.push(cells);
        }
    };
    add(
        "trace",
        "",
        &[
            ("bytes", i.bytes.into()),
            ("events", i.events.into()),
            ("first_ns", i.first_ns.into()),
            ("span_ns", i.span_ns.into()),
        ],
    );
    for c in &i.cpus {
        add(
            "cpu",
            &c.cpu.to_string(),
            &[
                ("events", c.events.into()),
                ("idle_entries", c.idle_entries.into()),
                ("idle_exits", c.idle_exits.into()),
                ("switches_to_idle", c.switches_to_idle.into()),
                ("gaps", c.gaps.into()),
                ("lost_events", c.lost.into()),
                ("longest_silence_ns", c.longest_silence_ns.into()),
            ],
        );
    }
    for e in &i.counts {
        add("event", &e.name, &[("count", e.count.into())]);
    }
    for h in &i.health {
        add("health", &h.kind, &[("count", h.count.into())]);
    }
    for d in &i.decisions {
        add("recorded decisions", &d.governor, &[("count", d.count.into())]);
    }
    let Some(replayed) = &i.replayed else { return t };
    for p in &replayed.parity {
        let Ok(counts) = &p.result else { continue };
        let quantities = [("compared", counts.decisions.into()), ("same", counts.same.into())];
        add("from true inputs", &p.kernel_governor, &quantities);
    }
    if let Ok(f) = &replayed.fidelity {
        add(
            "from stock events",
            &f.governor,
            &[
                ("compared", f.decisions.into()),
                ("same_state_pct", f.same_state_pct.into()),
                ("tick_known", f.tick_known.into()),
                ("same_tick_pct", f.same_tick_pct.into()),
            ],
        );
    }
    t
}
