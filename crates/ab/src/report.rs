// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::Note;
use idlewise_stats::{Change, Interval, Median, Shift};
use schemars::JsonSchema;
use serde::Serialize;

use super::stored::Head;
use super::verdict::Verdict;
use super::{Run, StateUse};

/// Version of the JSON.
pub const SCHEMA: &str = "idlewise.ab/3";

/// What a session shows.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct AbReport {
    /// Version of this form.
    pub schema: &'static str,
    pub version: &'static str,
    pub machine: String,
    /// What was asked for.
    pub head: Head,
    /// In which order the runs were made, and who drew it, in words.
    pub order: String,
    /// In plain words, what makes the result doubtful.
    pub warnings: Vec<Note>,
    /// The arms' names; the first is the baseline.
    pub arms: Vec<String>,
    pub benchmarks: Vec<BenchmarkReport>,
    /// By arm other than the baseline: the geometric mean of what got better (above 0) or worse over the first metric of
    /// every benchmark, and its interval; only for several benchmarks.
    pub together: Vec<(String, f64, Option<Interval>)>,
    /// What an A/A comparison found, though there is nothing; `None` if this is none.
    pub aa: Option<Vec<Found>>,
    /// Every run, in the order of time.
    pub runs: Vec<Run>,
}

/// A metric that differs between arms that are the same.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Found {
    pub benchmark: String,
    pub metric: String,
}

/// A benchmark under all arms.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct BenchmarkReport {
    pub name: String,
    pub metrics: Vec<MetricReport>,
    /// What the idle states did meanwhile, by arm; the medians of the runs.
    pub idle: Vec<Steady>,
    /// How near limits of power and heat were, by arm.
    pub limits: Vec<ArmLimits>,
}

/// How near the limits of power and heat were in the runs of an arm.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ArmLimits {
    pub arm: String,
    /// Runs of which it is known whether something limited them.
    pub runs: usize,
    /// Runs of these in which something did.
    pub limited: usize,
    /// By limit of powercap.
    pub power: Vec<ArmPowerLimit>,
    /// Time in which a core or package was throttled because of heat, mean over the runs, %; null where no time is counted.
    pub throttled_pct: Option<f64>,
}

/// A limit of powercap in the runs of an arm.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ArmPowerLimit {
    /// Zone and limit: `package-0 PL1`.
    pub limit: String,
    pub limit_w: f64,
    /// Median over the runs of the zone's mean power, W; null where it cannot be read.
    pub mean_w: Option<f64>,
    /// The greatest running average at the end of a run, at most, W.
    pub average_most_w: Option<f64>,
    /// Time in which it held clocks down, mean over the runs, %.
    pub acting_pct: f64,
    /// Time of which that is not known, mean over the runs, %.
    pub unknown_pct: f64,
}

/// A metric under all arms.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct MetricReport {
    pub name: String,
    /// Its unit; empty where it is not known.
    pub unit: String,
    pub more_is_better: bool,
    pub cells: Vec<Cell>,
}

/// A metric under an arm.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Cell {
    pub arm: String,
    pub values: Vec<f64>,
    /// Rounds in which both it and the baseline ran: what is compared.
    pub rounds: usize,
    /// What they say; `None` without runs.
    pub median: Option<Median>,
    /// Against the baseline's run of the same round, as a factor; `None` for the baseline itself and where a value is not above zero.
    pub change: Option<Change>,
    /// The same in the metric's unit.
    pub difference: Option<Shift>,
    /// Probability of such a difference by accident (Wilcoxon's signed ranks of the rounds).
    pub p: Option<f64>,
    /// The same, corrected for all the questions that this report asks (Holm).
    pub p_corrected: Option<f64>,
    /// In which share of the rounds its run is better than the baseline's, 0 to 1.
    pub superiority: Option<f64>,
    pub verdict: Option<Verdict>,
    /// How many rounds would settle it, estimated from the spread so far.
    pub runs_to_settle: Option<u64>,
}

/// What the idle states did under an arm.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Steady {
    pub arm: String,
    pub wakeups_per_s: Option<f64>,
    /// Too deep by the kernel's count, %.
    pub too_deep_pct: Option<f64>,
    /// Too shallow, %.
    pub too_shallow_pct: Option<f64>,
    pub states: Vec<StateUse>,
    /// Mean power by meter, W.
    pub watts: BTreeMap<String, f64>,
}
