// SPDX-License-Identifier: GPL-2.0-only
use idlewise_score::measure::DECIDING;
use idlewise_score::{Better, Measure, Score, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long users wait for simulated work: what it is for a workload is in [`crate::CaseFacts::work`]. No score has it.
pub static WORK: Measure = Measure {
    name: "work",
    label: "work",
    meaning: "how long users wait for simulated work: of its frames, requests or device operations the 99th percentile, of tasks \
              the mean wakeup latency",
    unit: Unit::Time,
    better: Better::Less,
    of: |_| None,
    json: "work_ns",
    column: None,
    column_edition: 0,
    places: &[],
};

/// The measures of a sweep: those that decide, and of workloads the time of their work.
#[must_use]
pub fn measures(has_workloads: bool) -> Vec<&'static Measure> {
    DECIDING.into_iter().chain(has_workloads.then_some(&WORK)).collect()
}

// A measure that is not known is kept as `null`; where one is missing, the line that kept it is damaged.
/// The measures that decide, of a governor on a case.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Numbers {
    /// Idle energy of a recording, energy of the CPUs of a workload, in the unit of the case.
    #[serde(deserialize_with = "Option::deserialize")]
    pub energy: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub latency_mean_ns: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub latency_p99_ns: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub too_deep_pct: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub too_shallow_pct: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub wakeups: Option<f64>,
    /// How long users wait for the work of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_ns: Option<f64>,
    /// Times the governor was asked.
    pub decisions: u64,
}

/// What came of a governor on a case: its numbers, or how it failed.
pub(crate) type Outcome = Result<Numbers, String>;

impl Numbers {
    pub(crate) fn of(score: &Score, decisions: u64) -> Self {
        let value = |n: usize| Some(DECIDING[n].value(score)).filter(|v| v.is_finite());
        Self {
            energy: value(0),
            latency_mean_ns: value(1),
            latency_p99_ns: value(2),
            too_deep_pct: value(3),
            too_shallow_pct: value(4),
            wakeups: value(5),
            work_ns: None,
            decisions,
        }
    }

    /// Whether a run can have had these numbers.
    pub(crate) fn are_possible(&self) -> bool {
        let amounts = [self.energy, self.latency_mean_ns, self.latency_p99_ns, self.wakeups, self.work_ns];
        let shares = [self.too_deep_pct, self.too_shallow_pct];
        let within = |v: Option<f64>, most: f64| v.is_none_or(|v| (0.0..=most).contains(&v));
        // No run is a million years long.
        amounts.into_iter().all(|v| within(v, 1e23))
            && shares.into_iter().all(|v| within(v, 100.0))
            && self.decisions < 1 << 53
    }

    /// The value of one of [`measures`]; nothing where it is not known.
    #[must_use]
    pub fn value(&self, measure: &Measure) -> Option<f64> {
        if *measure == WORK {
            return self.work_ns;
        }
        let values = [
            self.energy,
            self.latency_mean_ns,
            self.latency_p99_ns,
            self.too_deep_pct,
            self.too_shallow_pct,
            self.wakeups,
        ];
        let at = DECIDING.iter().position(|m| *m == measure);
        values[at.unwrap_or_else(|| unreachable!("{} does not decide", measure.name))]
    }
}
