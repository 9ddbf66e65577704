// SPDX-License-Identifier: GPL-2.0-only
//! What is asked of a simulation, and what it answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use idlewise_answer::Answer;
use idlewise_model::Note;
use idlewise_stats::{Mode, PairedChange, Summary, two_modes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fact, FactUnit, Meters};
use idlewise_recording::governors::ForeignHead;
use idlewise_study::replay::PlatformHead;

/// Version of the JSON that a simulation gives.
pub const SCHEMA: &str = "idlewise.simulate/2";

/// The workload, the machine and the governors to simulate.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SimulateRequest {
    /// The workload: a name of `idlewise simulate --list`, or a file in rt-app's grammar.
    pub workload: String,
    pub platform: String,
    /// Values of the platform's file that are others, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, String>,
    /// Governors of idle states, with their parameters.
    pub governors: Vec<String>,
    /// Folders of kernel trees, for governors such as `linux:6.12/teo`.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "idlewise_recording::json_paths::paths"
    )]
    pub kernel_trees: Vec<PathBuf>,
    pub cpufreq: Vec<String>,
    /// Signals that these read.
    pub signals: Vec<String>,
    /// The kernel whose PELT and fair scheduler the machine has.
    pub kernel: String,
    /// Ticks a second; what the platform says where nothing is given.
    pub hz: Option<u32>,
    /// Number of CPUs, if the platform does not fix it.
    pub cpus: Option<usize>,
    /// How long, ns; what the workload says where nothing is given.
    pub duration_ns: Option<u64>,
    /// Seed of the first run.
    pub seed: u64,
    /// Runs of each combination; each has the next seed.
    pub repeat: u64,
    /// The combination that the others are compared with, by its governor; the first where nothing is given.
    pub baseline: Option<String>,
    /// What a battery supplies beside the CPUs, mW; what the platform says where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_mw: Option<u64>,
    /// Limits of the package's power, as `--power-limit` takes them; what the platform says where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit: Option<String>,
}

/// What came of the simulated runs, one entry per combination of governors.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SimulateReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    /// What was asked; it can be asked again.
    pub request: SimulateRequest,
    pub platform: PlatformHead,
    /// How far the weakest number can be trusted that energies depend on.
    pub energy_grade: String,
    /// Powers are mW; else relative.
    pub energy_measured: bool,
    /// Which meters it has: of these facts `rapl` and `battery` are.
    pub meters: Meters,
    /// CPUs that it has.
    pub cpus: usize,
    pub hz: u32,
    /// How long each run was, ns, unless its tasks ended before.
    pub duration_ns: u64,
    /// Where the governors came from that are none of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignHead>,
    /// What of the workload is not modelled, or only roughly.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Which combination the others are compared with.
    pub baseline: usize,
    /// The machine's own power limits that hold besides those that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_limits: Option<String>,
    /// In the order of the request: idle governors, then frequency governors, then signals, then power limits.
    pub combinations: Vec<Combination>,
    /// What they come to.
    pub answer: Answer,
}

impl SimulateReport {
    /// What tells the combination `c` from the others.
    #[must_use]
    pub fn name(&self, c: &Combination) -> String {
        let parts = [
            (&c.governor, self.request.governors.len() > 1),
            (&c.cpufreq, self.request.cpufreq.len() > 1),
            (&c.signal, self.request.signals.len() > 1),
            (&c.limit_name, !c.limit_name.is_empty()),
        ];
        let differ: Vec<&str> =
            parts.iter().filter(|(_, differs)| *differs).map(|(name, _)| name.as_str()).collect();
        if differ.is_empty() { c.governor.clone() } else { differ.join(" / ") }
    }
}

/// Idle governor, frequency governor and signal, and what came of them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Combination {
    pub governor: String,
    pub cpufreq: String,
    /// The signal that it reads.
    pub signal: String,
    /// The power limits that were asked for, one value of each range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit: Option<String>,
    /// What of them tells it from the others of a range.
    #[serde(skip)]
    pub limit_name: String,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What to know about the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// What all runs say of each number.
    pub facts: Vec<FactSummary>,
    pub runs: Vec<SimulatedRun>,
}

/// A number over all runs of a combination.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct FactSummary {
    /// What it is about.
    pub about: String,
    pub name: String,
    pub unit: FactUnit,
    #[serde(flatten)]
    pub summary: Summary,
    /// The groups, low and high, into which the runs fall, where they do: the mean is near no run then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<[Mode; 2]>,
    /// Against the baseline, run by run of the same seed; nothing for the baseline itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<PairedChange>,
}

impl FactSummary {
    /// What `values` of all runs say of `fact`.
    #[must_use]
    pub fn of(fact: &Fact, values: &[f64]) -> Self {
        let summary = Summary::of(values);
        // What differs by less is one number to whoever reads it.
        let nothing = NOTHING * summary.mean.abs();
        let nothing = if fact.unit == FactUnit::Percent { nothing.max(NOTHING_POINTS) } else { nothing };
        Self {
            about: fact.about.clone(),
            name: fact.name.clone(),
            unit: fact.unit,
            summary,
            modes: two_modes(values, nothing),
            change: None,
        }
    }
}

/// Groups of runs that lie closer together are not distinguished: this share of the mean ...
const NOTHING: f64 = 0.02;
/// ... or so many percentage points.
const NOTHING_POINTS: f64 = 0.1;

/// The runs of one combination of governors and settings.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SimulatedRun {
    pub seed: u64,
    /// Events that were processed.
    pub events: u64,
    /// Times the idle governor was asked.
    pub decisions: u64,
    /// Its numbers, in the order of [`Combination::facts`].
    pub values: Vec<f64>,
}

impl Combination {
    /// Compares each number with that of the run of `base` with the same seed.
    pub(super) fn compare(&mut self, base: &Self) {
        for (at, fact) in self.facts.iter_mut().enumerate() {
            let there = base.facts.iter().position(|f| f.about == fact.about && f.name == fact.name);
            let pair = |run: &SimulatedRun| {
                let before = base.runs.iter().find(|b| b.seed == run.seed)?;
                Some((*before.values.get(there?)?, *run.values.get(at)?))
            };
            fact.change = PairedChange::of(&self.runs.iter().filter_map(pair).collect::<Vec<_>>());
        }
    }

    /// The summary of a number.
    #[must_use]
    pub fn fact(&self, about: &str, name: &str) -> Option<&FactSummary> {
        self.facts.iter().find(|f| f.about == about && f.name == name)
    }
}
