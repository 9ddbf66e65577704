// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::DataTable;
use idlewise_explain::{ExplainReport, Explanation, WhyDiffer};
use idlewise_governor::Value as Variable;
use idlewise_recording::TraceHead;

use crate::declared::{Declared, TEXT, row, table};

pub(crate) const COLUMNS: &[Declared] = &[
    ("moment", TEXT, "with `--why-differ`: why the moment is shown"),
    ("governor", TEXT, "the governor"),
    (
        "part",
        TEXT,
        "`assumed`, `warning`, `input`, `memory`, `reason`, `choice`, `came`, `beside` (of others)",
    ),
    ("name", TEXT, "what of it; its unit is at its end"),
    ("value", TEXT, "a number, a name or a sentence"),
];

/// One row for each thing that is known of the decision. Values are numbers, names and sentences, so they are texts.
#[must_use]
pub fn explain(r: &ExplainReport) -> DataTable {
    explanations(r.head.as_ref(), &[("", &r.explanation)])
}

/// The same of both governors at each moment.
#[must_use]
pub fn why_differ(r: &WhyDiffer) -> DataTable {
    let sides: Vec<(&str, &Explanation)> =
        r.moments.iter().flat_map(|m| [(m.why.as_str(), &m.a), (m.why.as_str(), &m.b)]).collect();
    explanations(Some(&r.head), &sides)
}

fn explanations(head: Option<&TraceHead>, sides: &[(&str, &Explanation)]) -> DataTable {
    let mut t = table(COLUMNS);
    for (moment, e) in sides {
        let mut row =
            |part: &str, name: &str, value: String| t.push(row![*moment, &e.governor, part, name, value]);
        if let Some(assumption) = head.and_then(TraceHead::assumption) {
            row("assumed", "recording", assumption);
        }
        for warning in head.iter().flat_map(|h| &h.warnings) {
            row("warning", "recording", warning.words.clone());
        }
        for g in &e.inputs {
            row("input", g.name, g.value.to_string());
        }
        for v in &e.memory {
            flatten(&v.name, &v.value, &mut |name, value| row("memory", name, value));
        }
        for (i, reason) in (1..).zip(&e.reasons) {
            row("reason", &i.to_string(), reason.clone());
        }
        row("choice", "state", e.chosen.state.to_string());
        row("choice", "stop_tick", u8::from(e.chosen.stop_tick).to_string());
        row("choice", "asked_sleep_length", u8::from(e.chosen.asked_sleep_length).to_string());
        if let Some(came) = &e.came {
            row("came", "cause", came.cause.to_owned());
            row("came", "wake_ns", came.wake_ns.map_or_else(String::new, |ns| ns.to_string()));
            row("came", "residency_ns", came.residency_ns.to_string());
            row("came", "latency_ns", came.latency_ns.map_or_else(String::new, |ns| ns.to_string()));
            row("came", "verdict", came.verdict.to_owned());
            row("came", "tick", came.tick.to_owned());
        }
        for o in &e.others {
            let mut row =
                |name: &str, value: String| t.push(row![*moment, &o.governor, "beside", name, value]);
            if let Some(why) = &o.failure {
                row("failure", why.clone());
                continue;
            }
            row("asked_before_ns", o.asked_before_ns.to_string());
            row("state", o.state.to_string());
            row("tick", o.tick.clone());
            if let Some(came) = &o.came {
                row("residency_ns", came.residency_ns.to_string());
                row("verdict", came.verdict.to_owned());
            }
        }
    }
    t
}

fn flatten(path: &str, value: &Variable, row: &mut dyn FnMut(&str, String)) {
    match value {
        Variable::Number(n) => row(path, n.to_string()),
        Variable::Bool(b) => row(path, u8::from(*b).to_string()),
        Variable::Struct(members) => {
            members.iter().for_each(|m| flatten(&format!("{path}.{}", m.name), &m.value, row));
        }
        Variable::Array(elements) => {
            elements.iter().enumerate().for_each(|(i, e)| flatten(&format!("{path}[{i}]"), e, row));
        }
        Variable::Text(text) => row(path, text.clone()),
        Variable::Other => {}
    }
}
