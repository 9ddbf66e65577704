// SPDX-License-Identifier: GPL-2.0-only
//! A look in Prometheus' text format, for node_exporter's textfile collector.

use std::fmt::Write as _;

use idlewise_platform::StateCounters;

use super::CounterSample;
use crate::power::Reading;

/// The first line of every file that idlewise writes, by which it knows its own.
const MARK: &str = "# Written by `idlewise top --prometheus`, which replaces this file.";

/// Whether a file with this text was written by [`textfile`].
#[must_use]
pub fn is_ours(text: &str) -> bool {
    text.lines().next() == Some(MARK)
}

/// A counter of idle states: its name, its help, its value.
type Counter = (&'static str, &'static str, fn(&StateCounters) -> Option<f64>);

const COUNTERS: [Counter; 5] = [
    ("entries_total", "Entries into an idle state (usage).", |s| s.usage.map(|n| n as f64)),
    ("residency_seconds_total", "Time in an idle state (time).", |s| s.time_us.map(|us| us as f64 / 1e6)),
    (
        "too_deep_total",
        "Entries that were too deep: a shallower state would have saved energy (above).",
        |s| s.above.map(|n| n as f64),
    ),
    (
        "too_shallow_total",
        "Entries that were too shallow: a deeper state would have saved energy \
        (below).",
        |s| s.below.map(|n| n as f64),
    ),
    ("rejected_total", "Entries that the driver or the firmware refused (rejected).", |s| {
        s.rejected.map(|n| n as f64)
    }),
];

/// The counters of a look, by CPU and state; CPUs that are offline have none. Energy counters begin anew where the
/// hardware's do, which Prometheus takes for a reset.
#[must_use]
pub fn textfile(look: &CounterSample) -> String {
    let mut out = format!("{MARK}\n");
    let (driver, governor) = (quoted(&look.machine.driver), quoted(&look.governor));
    family(&mut out, "idlewise_cpuidle_info", "gauge", "The cpuidle driver and governor.");
    line(&mut out, "idlewise_cpuidle_info", &format!("driver={driver},governor={governor}"), 1.0);
    let labels: Vec<(String, &StateCounters)> = states(look).collect();
    for (name, help, value) in COUNTERS {
        let name = format!("idlewise_cpuidle_{name}");
        let values: Vec<_> = labels.iter().filter_map(|(l, s)| Some((l, value(s)?))).collect();
        if !values.is_empty() {
            family(&mut out, &name, "counter", help);
            values.iter().for_each(|(labels, value)| line(&mut out, &name, labels, *value));
        }
    }
    let name = "idlewise_cpuidle_disabled";
    family(&mut out, name, "gauge", "Whether an idle state is switched off, by the user or the driver.");
    labels
        .iter()
        .for_each(|(l, s)| line(&mut out, name, l, f64::from(u8::from(s.disable.is_some_and(|d| d != 0)))));
    power(&mut out, look);
    out
}

fn states(look: &CounterSample) -> impl Iterator<Item = (String, &StateCounters)> {
    look.counters.cpus.iter().flat_map(move |(cpu, states)| {
        let cluster = quoted(look.machine.place_of(*cpu).map_or("", |p| &p.name));
        states.iter().enumerate().map(move |(index, s)| {
            let name = quoted(look.machine.state_name(*cpu, index));
            (format!("cpu=\"{cpu}\",cluster={cluster},state=\"{index}\",name={name}"), s)
        })
    })
}

fn power(out: &mut String, look: &CounterSample) {
    let (meters, readings) = &look.meters;
    let shown = |want: fn(Reading) -> Option<f64>| {
        let labels = |source: &str, name: &str| format!("source=\"{source}\",meter={}", quoted(name));
        let readings = meters.list.iter().zip(readings);
        readings.filter_map(|(m, r)| Some((labels(m.source, &m.name), want((*r)?)?))).collect::<Vec<_>>()
    };
    type Want = fn(Reading) -> Option<f64>;
    let energy: Want = |r| if let Reading::Energy(uj) = r { Some(uj as f64 / 1e6) } else { None };
    let watts: Want = |r| if let Reading::Power(uw) = r { Some(uw as f64 / 1e6) } else { None };
    for (name, kind, help, want) in [
        ("idlewise_energy_joules_total", "counter", "Energy by powercap (RAPL) or hwmon.", energy),
        ("idlewise_power_watts", "gauge", "Power by hwmon, or drawn from a battery.", watts),
    ] {
        let values = shown(want);
        if !values.is_empty() {
            family(out, name, kind, help);
            values.iter().for_each(|(labels, value)| line(out, name, labels, *value));
        }
    }
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &str, value: f64) {
    let _ = writeln!(out, "{name}{{{labels}}} {value}");
}

/// A label's value: quotation marks, backslashes and line ends are escaped; for other controls and for what turns
/// writing round the form has no escape, so that they are replaced.
fn quoted(text: &str) -> String {
    let replaced = |c: char| match c {
        '\n' => c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let text: String = text.chars().map(replaced).collect();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
