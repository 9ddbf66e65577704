// SPDX-License-Identifier: GPL-2.0-only
//! What came of a sweep.

use std::collections::BTreeMap;

use idlewise_recording::governors::ForeignHead;
use idlewise_score::Measure;
use idlewise_stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;

use crate::axis::Axis;
use crate::facts::CaseFacts;
use crate::numbers::Numbers;
use crate::request::SweepRequest;

/// Version of the JSON of a sweep.
pub const SCHEMA: &str = "idlewise.sweep/1";

/// Every setting on every recording, against the baseline.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SweepReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    pub version: &'static str,
    pub request: SweepRequest,
    pub governors: Vec<SweptGovernor>,
    /// Where the governors came from that are none of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignHead>,
    pub baseline: String,
    /// Recordings and workloads, each on a machine.
    pub cases: Vec<SweepCase>,
    /// Recordings without a result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<CaseLeftOut>,
    /// Names of the measures of the front.
    pub front: Vec<&'static str>,
    /// The baseline, then the settings in the order of the request; the values of the last parameter change first.
    pub settings: Vec<SettingResult>,
}

/// A governor, and the values that its parameters take.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SweptGovernor {
    pub governor: String,
    pub parameters: Vec<Axis>,
    /// Settings that were run.
    pub settings: u64,
}

/// A recording or a workload on a machine.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SweepCase {
    pub name: String,
    #[serde(flatten)]
    pub facts: CaseFacts,
    /// Idle energy under the oracle, in `energy_unit`: the bound; nothing where a workload is simulated.
    pub oracle_energy: Option<f64>,
}

/// A recording without a result.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CaseLeftOut {
    pub name: String,
    pub why: String,
    /// The request names it itself, not a folder that it is in.
    pub named: bool,
    /// It was there when the sweep began, and vanished or changed while it ran.
    pub lost: bool,
}

impl CaseLeftOut {
    /// Whether something is not done that was asked for; what a folder holds besides recordings was not.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        self.named || self.lost
    }
}

/// A governor under one setting of its parameters.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SettingResult {
    /// With its parameters, as `--governor` takes it.
    pub setting: String,
    pub governor: String,
    pub parameters: BTreeMap<String, String>,
    /// No other setting is as good in all measures of the front, and better in one.
    pub on_front: bool,
    /// Why it has no numbers on some case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Against the baseline, one for each measure.
    pub changes: Vec<SettingChange>,
    /// One for each case.
    pub cases: Vec<CaseNumbers>,
}

/// How a setting changes a measure over all cases.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SettingChange {
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub measure: &'static Measure,
    /// The geometric mean of the ratios as a change, %; of shares the mean change, percentage points. Nothing where it is not known.
    pub mean: Option<f64>,
    /// The 95 % interval of the mean, resampled over machines, or over recordings and workloads where there is one machine, where there
    /// are five or more; of more than 300 settings those on the front have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// A setting on a case.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CaseNumbers {
    /// Nothing where it failed.
    pub numbers: Option<Numbers>,
    /// Idle energy above the oracle's, % of the oracle's.
    pub regret_pct: Option<f64>,
}

fn by_name<S: serde::Serializer>(measure: &&'static Measure, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(measure.name)
}

impl SettingResult {
    /// The mean change in `measure`, which is one that decides.
    #[must_use]
    pub fn change(&self, measure: &Measure) -> Option<f64> {
        self.changes.iter().find(|c| c.measure == measure)?.mean
    }
}
