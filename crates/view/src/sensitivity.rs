// SPDX-License-Identifier: GPL-2.0-only
//! What depends on sleep lengths that are not certain.

use idlewise_model::number_of;
use idlewise_report::{Line, share};

use idlewise_study::replay::{MetricSensitivity, Sensitivity, TRIED};

/// Below this share of waits with an uncertain sleep length, %, nothing is said unless asked for.
const WORTH_A_LINE_PCT: f64 = 5.0;

pub(super) fn lines(s: &Sensitivity) -> Vec<Line> {
    let unsure =
        format!("not certain for {} % of {}", share(s.unsure_pct(), 0), number_of(s.waits, "wake event"));
    if s.metrics.is_empty() {
        let worth = s.unsure_pct() >= WORTH_A_LINE_PCT;
        let hint =
            format!("sleep lengths are {unsure}: --sensitivity shows whether the ranking depends on them");
        return if worth { vec![Line::new("bounds", hint)] } else { Vec::new() };
    }
    let mut out = vec![Line::new("bounds", format!("sleep lengths are {unsure}; {} tried", TRIED.len()))];
    let mut open = "every sleep length compatible with the trace";
    if s.unsure_io_waits > 0 {
        let what = format!(
            "whether tasks in uninterruptible sleep wait for I/O is not certain at {}; both tried",
            number_of(s.unsure_io_waits, "idle entry")
        );
        out.push(Line::new("", what));
        open = "all that the trace leaves open";
    }
    out.extend(s.metrics.iter().map(|m| Line::new("", metric(m, open))));
    out
}

fn metric(m: &MetricSensitivity, open: &str) -> String {
    let name = m.metric.replace('_', " ");
    if m.swaps.is_empty() {
        return format!("the ranking by {name} holds for {open}");
    }
    let pairs: Vec<String> = m.swaps.iter().map(|[a, b]| format!("{a} and {b}")).collect();
    format!("the ranking by {name} does not hold for {open}: it changes between {}", pairs.join(", "))
}
