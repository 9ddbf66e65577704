// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::Note;
use schemars::JsonSchema;
use serde::Serialize;

use super::request::Meaning;

/// Version of the JSON that a difference gives.
pub const SCHEMA: &str = "idlewise.diff/2";

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
    /// What happened: in one time between two looks, or in each of two runs.
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
    /// own stays)`.
    pub basis: &'static str,
    /// The cpuidle driver, if known.
    pub driver: Option<String>,
    /// The cpuidle governor, if known.
    pub governor: Option<String>,
    /// How long it took, s, if known.
    pub seconds: Option<f64>,
    pub all: Part,
    /// Parts of the machine that have the same idle states and capacity; empty where all have.
    pub clusters: Vec<Part>,
    pub cpus: Vec<Part>,
}

/// What some CPUs did: a machine's, a cluster's, one.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Part {
    /// `all`, `cpu0-3`, `cpu 5`.
    pub name: String,
    pub cpus: usize,
    /// Entries, which are wakeups.
    pub usage: u64,
    /// Time in idle states, us.
    pub time_us: u64,
    /// Too deep, % of entries; `None` without entries, or where nobody counted.
    pub above_pct: Option<f64>,
    /// Too shallow, % of entries; likewise.
    pub below_pct: Option<f64>,
    /// Refused entries; `None` where nobody counted.
    pub rejected: Option<u64>,
    /// By state, shallow to deep.
    pub states: Vec<StatePart>,
}

/// One idle state of a [`Part`].
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct StatePart {
    /// Its name; several, with `/` between, where CPUs name it differently.
    pub name: String,
    pub usage: u64,
    /// Entries, % of those into any state.
    pub usage_pct: Option<f64>,
    /// Time in it, us.
    pub time_us: u64,
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
