// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::{DataTable, Value};
use idlewise_experiment::beside::{BesideReport, STAY_LIMITS_NS, TraceMeasures};

use crate::declared::{Declared, NUMBER, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("recording", TEXT, "the recording"),
    ("platform", TEXT, "its machine"),
    ("kernel", TEXT, "the kernel whose scheduler is simulated"),
    ("governor", TEXT, "the idle governor of both"),
    ("about", TEXT, "`machine`, `state`, `idle periods` (by length), `task`"),
    ("name", TEXT, "which state, length, task"),
    ("quantity", TEXT, "what is measured, with its unit"),
    ("real", NUMBER, "in the recording"),
    ("simulated", NUMBER, "in the simulation"),
];

/// One row for each recording and quantity, real and simulated.
#[must_use]
pub fn beside(r: &BesideReport) -> DataTable {
    let mut t = table(COLUMNS);
    for p in &r.pairs {
        let simulated = quantities(&p.simulated);
        for (what, real) in quantities(&p.real) {
            let [about, name, quantity] = &what;
            let other = simulated.iter().find(|(other, _)| *other == what).map(|(_, value)| value.clone());
            let mut cells = row![&p.recording, &p.platform, &p.kernel, &p.governor, about, name, quantity];
            cells.extend([real, other.unwrap_or_default()]);
            t.push(cells);
        }
    }
    t
}

/// What a trace shows: about what, whose, which quantity.
fn quantities(m: &TraceMeasures) -> Vec<([String; 3], Value)> {
    let mut out = Vec::new();
    let mut add = |about: &str, name: &str, quantity: &str, value: Value| {
        out.push(([about, name, quantity].map(str::to_owned), value));
    };
    add("machine", "", "window_ns", m.window_ns.into());
    add("machine", "", "wakeups_per_s", m.wakeups_per_s.into());
    add("machine", "", "ticks_per_s", m.ticks_per_s.into());
    add("machine", "", "too_deep_pct", m.too_deep_pct.into());
    add("machine", "", "too_shallow_pct", m.too_shallow_pct.into());
    for (name, share) in &m.states {
        add("state", name, "idle_pct", (*share).into());
    }
    for (i, share) in m.stays_pct.iter().enumerate() {
        let from = i.checked_sub(1).and_then(|i| STAY_LIMITS_NS.get(i)).map_or(0, |ns| *ns);
        let to = STAY_LIMITS_NS.get(i).map_or_else(String::new, |ns| ns.to_string());
        add("idle periods", &format!("{from}-{to} ns"), "share_pct", (*share).into());
    }
    for task in &m.tasks {
        add("task", &task.name, "wakeups_per_s", task.wakeups_per_s.into());
        add("task", &task.name, "latency_mean_ns", task.latency_mean_ns.into());
        add("task", &task.name, "latency_p50_ns", task.latency_p50_ns.into());
        add("task", &task.name, "latency_p99_ns", task.latency_p99_ns.into());
    }
    out
}
