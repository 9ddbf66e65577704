// SPDX-License-Identifier: GPL-2.0-only
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What has to be known of a case next to its numbers.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CaseFacts {
    /// XXH3-128 of the recording, or of the workload's text.
    pub hash: String,
    /// The machine that was recorded; nothing where a workload is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_on: Option<String>,
    /// The machine that it is replayed or simulated on.
    pub machine: String,
    /// From first to last event, or as long as the simulation is, ns.
    pub span_ns: u64,
    /// CPUs that are used.
    pub cpus: usize,
    /// `mJ`, or `rel` where the powers are relative.
    pub energy_unit: String,
    /// What its energies are worth, in short.
    pub energy_grade: String,
    /// Seed of a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The time of the work that `work_ns` is, such as `frames ui time p99`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// Choices of the kernel that a replay of its own governor repeats, %; nothing where that is not known.
    #[serde(deserialize_with = "Option::deserialize")]
    pub fidelity_pct: Option<f64>,
    /// What makes the numbers doubtful.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What an option assumes of the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumes: Option<String>,
}
