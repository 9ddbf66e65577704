// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::Note;
use schemars::JsonSchema;
use serde::Serialize;

use super::request::Meaning;

/// Version of the JSON that a difference gives.
pub const SCHEMA: &str = "idlewise.diff/3";

/// Counters between two snapshots, or two runs next to each other.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct DiffReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    pub version: &'static str,
    /// What the files mean.
    pub meaning: Meaning,
    /// How that is known.
    pub because: String,
    /// What was read: one or two files.
    pub files: Vec<String>,
    /// What happened: in each time between two snapshots, or in each of two runs.
    pub runs: Vec<Run>,
    /// What makes it doubtful.
    pub notes: Vec<Note>,
}

/// What happened in a time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Run {
    /// How it is called.
    pub name: String,
    /// What it depends on: `two snapshots`, `counters since boot`; `recording (with the kernel's counters)`, `recording (its
    /// own stays)`; `turbostat`, `cpupower monitor`, `powertop`: what that printed.
    pub basis: &'static str,
    /// The cpuidle driver, if known.
    pub driver: Option<String>,
    /// The cpuidle governor, if known.
    pub governor: Option<String>,
    /// How long it took, s, if known.
    pub seconds: Option<f64>,
    /// What else was measured of the whole machine in that time, in the order of its source; empty but for logs of tools.
    pub measured: Vec<LoggedValue>,
    pub all: Part,
    /// Parts of the machine that have the same idle states and capacity; empty where all have.
    pub clusters: Vec<Part>,
    pub cpus: Vec<Part>,
}

/// A value of a tool's log, under the tool's own name: `PkgWatt`, `CPU%c6`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LoggedValue {
    pub name: String,
    pub value: f64,
}

/// What some CPUs did: a machine's, a cluster's, one.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Part {
    /// `all`, `cpu0-3`, `cpu 5`.
    pub name: String,
    /// How many; 0 where the source does not say.
    pub cpus: usize,
    /// Entries, which are wakeups; null where nobody counted.
    pub usage: Option<u64>,
    /// Time in idle states, us; null where it is not known.
    pub time_us: Option<u64>,
    /// Entries that were too deep; null where nobody counted.
    pub above: Option<u64>,
    /// The same, % of entries; null without entries, or where nobody counted.
    pub above_pct: Option<f64>,
    /// Entries that were too shallow; null where nobody counted.
    pub below: Option<u64>,
    /// The same, % of entries; likewise.
    pub below_pct: Option<f64>,
    /// Refused entries; `None` where nobody counted.
    pub rejected: Option<u64>,
    /// By state, shallow to deep.
    pub states: Vec<StatePart>,
}

/// One idle state of a [`Part`].
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct StatePart {
    /// Its number in sysfs: `state3` is 3, whatever a dump lacks before it; null where the source has names only.
    pub state: Option<usize>,
    /// Its name; several, with `/` between, where CPUs name it differently.
    pub name: String,
    /// Its exit latency, us; null where it is not known, or CPUs differ.
    pub latency_us: Option<u64>,
    /// Its target residency, us; likewise.
    pub residency_us: Option<u64>,
    /// Whether it is switched off, at the end, on any CPU; null where it is not known.
    pub disabled: Option<bool>,
    /// Entries; null where nobody counted.
    pub usage: Option<u64>,
    /// Entries, % of those into any state.
    pub usage_pct: Option<f64>,
    /// Time in it, us; null where it is not known.
    pub time_us: Option<u64>,
    /// Time in it, % of the time in any state.
    pub idle_pct: Option<f64>,
    /// Entries that were too deep.
    pub above: Option<u64>,
    /// The same, % of entries into it.
    pub above_pct: Option<f64>,
    /// Entries that were too shallow.
    pub below: Option<u64>,
    /// The same, % of entries into it.
    pub below_pct: Option<f64>,
    pub rejected: Option<u64>,
}
