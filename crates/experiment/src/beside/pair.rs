// SPDX-License-Identifier: GPL-2.0-only
//! A recording next to its simulation, and what is measured in both.

use schemars::JsonSchema;
use serde::Serialize;

/// Stays shorter than this, and this, and this, ns; and longer ones.
pub const STAY_LIMITS_NS: [u64; 3] = [100_000, 1_000_000, 10_000_000];

/// One recording, and the simulation of the same.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    pub recording: String,
    pub platform: String,
    /// The kernel whose scheduler is simulated.
    pub kernel: String,
    /// The idle governor of both.
    pub governor: String,
    /// CPUs that are compared: those of which the recording tells everything.
    pub cpus: Vec<u32>,
    pub real: TraceMeasures,
    /// What the simulator makes of it.
    pub simulated: TraceMeasures,
}

/// What is seen in one trace of the workload.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TraceMeasures {
    /// From 0.1 s after the first task's start to the last one's end, ns.
    pub window_ns: u64,
    /// Ends of idle stays.
    pub wakeups_per_s: f64,
    /// Those that were too deep, %.
    pub too_deep_pct: f64,
    /// Those that were too shallow, %.
    pub too_shallow_pct: f64,
    /// Ended by the tick alone, a second.
    pub ticks_per_s: f64,
    /// Each state's name, and its share of that time, %.
    pub states: Vec<(String, f64)>,
    /// Stays by their length, %: below each of [`STAY_LIMITS_NS`], and the rest.
    pub stays_pct: [f64; 4],
    /// Tasks of the workload, by name.
    pub tasks: Vec<TaskMeasures>,
}

/// A task, all its instances together.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TaskMeasures {
    pub name: String,
    /// Times it was woken up, a second.
    pub wakeups_per_s: f64,
    /// From its wake-up to running: mean, ns.
    pub latency_mean_ns: f64,
    /// Median, ns.
    pub latency_p50_ns: u64,
    /// 99th percentile, ns.
    pub latency_p99_ns: u64,
}

impl Pair {
    /// Simulated minus real, percentage points: too deep, too shallow.
    #[must_use]
    pub fn gap(&self) -> [f64; 2] {
        [
            self.simulated.too_deep_pct - self.real.too_deep_pct,
            self.simulated.too_shallow_pct - self.real.too_shallow_pct,
        ]
    }
}
