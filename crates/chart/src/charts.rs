// SPDX-License-Identifier: GPL-2.0-only
//! The charts by name, as `--plot` takes them. What draws them is in `web/src/charts.ts`; a test compares the two lists.

use crate::contract::PageData;

/// A chart: its name, what it shows, and the table that it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chart {
    pub name: &'static str,
    pub title: &'static str,
    pub table: &'static str,
}

const fn chart(name: &'static str, title: &'static str, table: &'static str) -> Chart {
    Chart { name, title, table }
}

/// Every chart, in the order of the page.
pub const CHARTS: [Chart; 18] = [
    chart("measures", "The comparison", "measures"),
    chart("front", "Energy against mean wakeup latency", "front"),
    chart("front-p99", "Energy against the 99th percentile of wakeup latency", "front"),
    chart("misses", "Idle periods entered too deep and too shallow", "misses"),
    chart("residency", "Residency in idle states, by cluster", "residency"),
    chart("residency-cpu", "Residency in idle states, by CPU", "residency"),
    chart("periods", "Lengths of idle periods, with target residencies", "periods"),
    chart("latency", "Distribution of wakeup latency", "latency"),
    chart("divergence", "Where the governors diverge", "divergence"),
    chart("timeline", "One CPU over time", "timeline"),
    chart("response", "Responses to a step and to a ramp", "response"),
    chart("changes", "Changes", "changes"),
    chart("published", "Compared with simulation", "published"),
    chart("settings", "The front of all settings", "swept_settings"),
    chart("parameters", "What each parameter does", "setting_values"),
    chart("heat", "Two parameters together", "setting_values"),
    chart("parallel", "All settings across their parameters", "setting_values"),
    chart("points", "Every measured point", "points"),
];

/// The charts that this report has tables for.
#[must_use]
pub fn available(page: &PageData) -> Vec<Chart> {
    CHARTS.into_iter().filter(|c| page.has(c.table)).collect()
}

pub(crate) fn named(name: &str) -> Option<Chart> {
    CHARTS.into_iter().find(|c| c.name == name)
}

/// Their names, for a message.
pub(crate) fn names() -> String {
    CHARTS.map(|c| c.name).join(", ")
}
