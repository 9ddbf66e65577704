// SPDX-License-Identifier: GPL-2.0-only
//! What a replay is asked, and what it answers.

use std::borrow::Cow;
use std::path::PathBuf;

use idlewise_answer::{Answer, UnderLimit};
use idlewise_conform::recorded_governors::RecordedGovernor;
use idlewise_model::{NotKnown, Note, PiecesError, known};
use idlewise_platform::{EnergyGrade, EnergyTable, Platform};
use idlewise_recording::governors::ForeignHead;
use idlewise_recording::placement::{Per, Placement};
use idlewise_recording::{FidelityHead, Recording, ReplaySetup, TraceHead};
use idlewise_score::{Measure, Place, Score, Unit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// Version of the JSON that a replay gives; it changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "idlewise.replay/2";

/// The traces, the governors and the machine of a replay.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReplayRequest {
    #[serde(serialize_with = "idlewise_recording::json_paths::paths")]
    #[schemars(with = "Vec<PathBuf>")]
    pub traces: Vec<PathBuf>,
    #[serde(flatten)]
    pub setup: ReplaySetup,
    /// Governors with their parameters, and [`super::ORACLE`].
    pub governors: Vec<String>,
    /// The governor that the others are compared with; the first where nothing is given.
    pub baseline: Option<String>,
    /// How to break the result down.
    pub per: Per,
    /// Replay also with the least and the greatest sleep lengths that the recordings allow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitivity: bool,
    /// A package limit under which idle power is worth clock, as `--power-limit` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit: Option<String>,
}

/// The score of every governor on every trace, with what is known of the traces.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReplayReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    /// What was asked; it can be asked again.
    pub request: ReplayRequest,
    /// The machine that was replayed on.
    pub platform: PlatformHead,
    pub baseline: String,
    /// What it comes to.
    pub answer: Answer,
    /// Where the governors came from that are none of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignHead>,
    /// One for each trace.
    pub traces: Vec<TraceResult>,
    /// All traces together, where there are several.
    pub together: Option<Vec<GovernorResult>>,
    /// What idle power is worth in clock under each limit that was asked for. A model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_limits: Vec<UnderLimit>,
}

/// The machine that was replayed on.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PlatformHead {
    pub id: String,
    pub name: String,
    /// XXH3-64 of its platform file.
    pub hash: String,
    /// States that no governor can enter, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_entered: Vec<String>,
    /// What the energy figures depend on.
    pub energy_basis: Vec<String>,
    /// What speaks against them, in short; nothing where all powers are measured.
    #[serde(skip)]
    pub energy_doubt: Option<&'static str>,
}

/// The results of one trace.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TraceResult {
    pub head: TraceHead,
    /// Whether it was replayed on the machine that was recorded.
    pub same_machine: bool,
    /// Governors that the kernel ran, fed with the recorded inputs of their decisions, where the trace has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parity: Vec<RecordedGovernor>,
    /// How far replay makes the kernel's own choices.
    #[serde(flatten, serialize_with = "known::fidelity")]
    #[schemars(with = "known::FidelityOrWhy<FidelityHead>")]
    pub fidelity: Result<FidelityHead, NotKnown>,
    /// Sleep lengths that are not certain, and what depends on them.
    pub sensitivity: Sensitivity,
    /// One for each governor, in the order asked.
    pub governors: Vec<GovernorResult>,
}

/// How many waits have a sleep length that is not certain, and, where that was asked for, what depends on it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Sensitivity {
    /// Waits with a sleep length that the recording only bounds, or does not tell at all.
    pub unsure_waits: u64,
    pub waits: u64,
    /// Idle entries at which the recording does not tell whether tasks in uninterruptible sleep wait for I/O.
    pub unsure_io_waits: u64,
    /// One for each metric; empty where it was not asked for, or nothing is unsure.
    pub metrics: Vec<MetricSensitivity>,
}

/// One metric under all sleep lengths that were tried.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MetricSensitivity {
    /// The name of a measure.
    pub metric: &'static str,
    /// One for each governor, in the order asked.
    pub governors: Vec<GovernorSensitivity>,
    /// Pairs of governors of which now the one, now the other has less.
    pub swaps: Vec<[String; 2]>,
}

/// A governor's value of a metric.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct GovernorSensitivity {
    /// The governor with its parameters.
    pub governor: String,
    /// With each of [`super::TRIED`]; then with the other answer to whether tasks in uninterruptible sleep wait for I/O, where a
    /// recording leaves that open.
    pub values: Vec<f64>,
}

/// The result of one governor.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct GovernorResult {
    /// The governor with its parameters.
    pub governor: String,
    /// Why there is no result: it crashed, did not come back, refused a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What to know about the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Times it was asked.
    pub decisions: u64,
    /// Answers that were no state of the table.
    pub out_of_range: u64,
    /// The score; left out where there is none.
    #[serde(skip_serializing_if = "Score::is_nothing")]
    pub score: Score,
    /// Energy above the oracle's, % of the oracle's.
    pub regret_pct: f64,
    /// Difference to the baseline.
    pub change: Change,
    /// The score broken down.
    pub groups: Vec<Group>,
}

/// A part of a result.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Group {
    /// "cpu 3", "BIG".
    pub name: String,
    pub score: Score,
}

/// Differences to the baseline, of each measure of [`Place::Baseline`]: shares in percentage points, the others in % of the
/// baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Change(Vec<(&'static Measure, f64)>);

impl PlatformHead {
    /// The machine of `placement`, with what is assumed of the clusters that are used.
    pub(crate) fn new(placement: &Placement) -> Self {
        Self::of(&placement.platform, placement.used().into_iter().map(|c| &c.energy))
    }

    /// `platform`, with what stands behind `energies`.
    pub fn of<'e>(platform: &Platform, energies: impl Iterator<Item = &'e EnergyTable>) -> Self {
        let mut energy_basis: Vec<String> = Vec::new();
        let mut weakest = EnergyGrade::Measured;
        for energy in energies {
            weakest = weakest.min(energy.grade);
            let line = format!("{}: {}", energy.grade.label(), energy.basis);
            if !energy_basis.contains(&line) {
                energy_basis.push(line);
            }
        }
        Self {
            id: platform.id.clone(),
            name: platform.name.clone(),
            hash: format!("{:016x}", xxhash_rust::xxh3::xxh3_64(platform.to_toml().as_bytes())),
            not_entered: idlewise_recording::refused::words(platform),
            energy_basis,
            energy_doubt: weakest.doubt(),
        }
    }
}

impl Change {
    /// No difference in anything.
    pub(super) fn none() -> Self {
        Self(Measure::all_in(Place::Baseline).map(|m| (m, 0.0)).collect())
    }

    pub(super) fn between(base: &Score, s: &Score) -> Self {
        let change = |m: &Measure| {
            let (a, b) = (m.value(s), m.value(base));
            if m.unit == Unit::Share { a - b } else { relative(a, b) }
        };
        Self(Measure::all_in(Place::Baseline).map(|m| (m, change(m))).collect())
    }

    /// The difference of `measure`, which is one of [`Place::Baseline`].
    #[must_use]
    pub fn of(&self, measure: &Measure) -> f64 {
        let Some((_, change)) = self.0.iter().find(|(m, _)| *m == measure) else {
            unreachable!("the baseline is not compared by {}", measure.name)
        };
        *change
    }

    /// Replaces the difference of `measure`.
    pub fn set(&mut self, measure: &Measure, change: f64) {
        self.0.iter_mut().filter(|(m, _)| *m == measure).for_each(|(_, old)| *old = change);
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_map(Some(self.0.len()))?;
        for (measure, change) in &self.0 {
            out.serialize_entry(&Self::name(measure), change)?;
        }
        out.end()
    }
}

impl Change {
    /// The names of measures in JSON, with what the difference is counted in.
    fn name(measure: &Measure) -> String {
        let suffix = if measure.unit == Unit::Share { "pp" } else { "pct" };
        format!("{}_{suffix}", measure.name)
    }
}

impl JsonSchema for Change {
    fn schema_name() -> Cow<'static, str> {
        "Change".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = generator.subschema_for::<f64>();
        let names: Vec<String> = Measure::all_in(Place::Baseline).map(Self::name).collect();
        let properties: serde_json::Map<String, serde_json::Value> =
            names.iter().map(|name| (name.clone(), number.clone().to_value())).collect();
        json_schema!({"type": "object", "properties": properties, "required": names})
    }
}

/// `a` above `b`, % of `b`; 0 where `b` is 0, not a number where one of them is none.
pub(super) fn relative(a: f64, b: f64) -> f64 {
    if b == 0.0 && !a.is_nan() { 0.0 } else { (a - b) * 100.0 / b }
}

impl Sensitivity {
    /// Counts the unsure waits of `recording`.
    pub(super) fn of(recording: &Recording) -> Result<Self, PiecesError> {
        let [unsure_waits, waits] = recording.unsure_waits()?;
        let unsure_io_waits = recording.unsure_io_waits()?;
        Ok(Self { unsure_waits, waits, unsure_io_waits, metrics: Vec::new() })
    }

    /// Unsure waits, % of all.
    #[must_use]
    pub fn unsure_pct(&self) -> f64 {
        if self.waits == 0 { 0.0 } else { self.unsure_waits as f64 * 100.0 / self.waits as f64 }
    }
}
