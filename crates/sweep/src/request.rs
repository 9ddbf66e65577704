// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use idlewise_recording::{CommandError, RecordingOptions, ReplaySetup};
use idlewise_score::Measure;
use idlewise_score::measure::{ENERGY, LATENCY_MEAN};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::numbers::measures;
use crate::sample::{Draw, SampleMethod};

/// What is swept. The result does not depend on where it is computed, in how many parts and by how many threads.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SweepRequest {
    /// Governors, with values of their parameters: `teo:decay_shift=2..5`.
    pub governors: Vec<String>,
    /// The governor that all settings are compared with; the first with its defaults where nothing is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Recordings, folders of them, folders of a corpus.
    #[serde(serialize_with = "idlewise_recording::json_paths::paths")]
    #[schemars(with = "Vec<PathBuf>")]
    pub recordings: Vec<PathBuf>,
    /// Workloads to simulate, by name or as files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// Seeds of each workload, as `1..5` or `1|7`; 1 to 5 where nothing is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<String>,
    /// How long workloads are simulated, ns; what each says where nothing is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// The frequency governor of simulated machines; schedutil where nothing is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpufreq: Option<String>,
    /// The signal that it reads; pelt where nothing is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The machines to replay and simulate on; each recording's own, and pixel6, where nothing is given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    /// The machine that was recorded, of recordings that do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_on: Option<String>,
    /// Replay every CPU as one of this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Replay and simulate with so many ticks a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// Folders of kernel trees, for governors such as `linux:6.12/teo`.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "idlewise_recording::json_paths::paths")]
    #[schemars(with = "Vec<PathBuf>")]
    pub kernel_trees: Vec<PathBuf>,
    /// Draw so many settings of each governor; all are run where nothing is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<u64>,
    /// How these are drawn.
    pub method: SampleMethod,
    /// Seed of the settings that are drawn, and of the random numbers that a governor may ask for.
    pub seed: u64,
    /// The measures that the front is made of; energy and mean latency where nothing is given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub front: Vec<String>,
}

impl SweepRequest {
    /// Options of workloads do nothing where there is none.
    ///
    /// # Errors
    /// [`CommandError::Conflict`] with the first of them.
    pub(crate) fn check_workload_options(&self) -> Result<(), CommandError> {
        let given = [
            ("--seeds", "seeds", self.seeds.is_some()),
            ("--seconds", "duration_ns", self.duration_ns.is_some()),
            ("--cpufreq", "cpufreq", self.cpufreq.is_some()),
            ("--signal", "signal", self.signal.is_some()),
        ];
        let idle = given.into_iter().find(|(_, _, is_given)| *is_given && self.workloads.is_empty());
        let Some((option, field, _)) = idle else { return Ok(()) };
        let why = format!(
            "{option} (`{field}` in a plan) is for workloads, and none is given: leave it out, or name one with --workload"
        );
        Err(CommandError::conflict(&[option], why))
    }

    /// How settings are drawn, where they are.
    pub(crate) fn draw(&self) -> Option<Draw> {
        self.sample.map(|n| Draw { n, method: self.method, seed: self.seed })
    }

    /// What recordings are replayed with.
    pub(crate) fn setup(&self) -> ReplaySetup {
        let (recorded_on, hz) = (self.recorded_on.clone(), self.hz);
        ReplaySetup {
            recording: RecordingOptions { recorded_on, hz, ..RecordingOptions::default() },
            platform: None,
            cluster: self.cluster.clone(),
            kernel_trees: self.kernel_trees.clone(),
            seed: self.seed,
        }
    }

    /// The measures of the front.
    ///
    /// # Errors
    /// A sentence with the name that is none, and those that there are.
    pub(crate) fn front(&self) -> Result<Vec<&'static Measure>, String> {
        if self.front.is_empty() {
            return Ok(vec![ENERGY, LATENCY_MEAN]);
        }
        let known = measures(!self.workloads.is_empty());
        let named = |name: &String| {
            known.iter().copied().find(|m| m.name == name).ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|m| m.name).collect();
                format!("no measure of this sweep; measures are {}", names.join(", "))
            })
        };
        self.front.iter().map(named).collect()
    }
}
