// SPDX-License-Identifier: GPL-2.0-only
//! What several runs say together.
//!
//! [`Summary`], [`PairedChange`] and [`two_modes`] are for runs of a simulation, whose noise is tame; [`Median`], [`Change`], [`Trend`] and
//! [`signed_rank`] are for measurements, whose noise is not.

mod distance;
pub mod distribution;
mod grouped;
mod median;
mod modes;
mod paired;
mod rank;
mod resample;
mod spread;
mod trend;
mod verdict;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use distance::length_distance_pct;
use distribution::t_quantile;
pub use grouped::GroupedChanges;
pub use median::{Median, median};
pub use modes::{Mode, two_modes};
pub use paired::PairedChange;
pub use rank::{RankTest, Shift, holm, paired_shift, signed_rank};
pub use resample::resampled_mean;
pub use spread::{interval_score, quantile, rank_correlation};
pub use trend::Trend;
pub use verdict::{Change, mean_change};

/// Where something lies with a stated probability.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// Several values of one thing.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Summary {
    pub n: usize,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// Half the width of the 95 % interval of the mean, by Student's t; nothing for fewer than two values.
    pub half_width: Option<f64>,
}

impl Summary {
    /// The summary of those of `values` that are numbers; that of none has no mean (NaN).
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let n = values.len();
        let Some(mean) = mean(&values) else {
            return Self { n, mean: f64::NAN, min: f64::NAN, max: f64::NAN, half_width: None };
        };
        let (min, max) = values.iter().fold((f64::MAX, f64::MIN), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
        Self { n, mean, min, max, half_width: half_width(&values) }
    }
}

/// The mean of `values`; `None` without any.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Half the width of the 95 % interval of the mean of `values`, by Student's t; `None` for fewer than two.
fn half_width(values: &[f64]) -> Option<f64> {
    let (n, mean) = (values.len(), mean(values)?);
    (n > 1).then(|| {
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        t_quantile(n - 1, 0.975) * (variance / n as f64).sqrt()
    })
}

/// The geometric mean of `values`, as benchmarks' scores are put together; nothing where one is not positive, or there
/// is none.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive = !values.is_empty() && values.iter().all(|v| *v > 0.0);
    positive.then(|| (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp())
}
