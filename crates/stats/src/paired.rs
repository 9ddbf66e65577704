// SPDX-License-Identifier: GPL-2.0-only
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{half_width, mean};

/// The change from the first to the second value of pairs that share their chance (a simulation's seed), so that what is
/// common to both of a pair does not hide it. Intervals are of 95 %, by Student's t.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PairedChange {
    pub n: usize,
    /// Mean of the differences.
    pub difference: f64,
    /// Half the width of its interval; nothing for fewer than two pairs.
    pub half_width: Option<f64>,
    /// Ratio of the means less one: 0.05 is 5 % more. Nothing where the first mean is 0.
    pub relative: Option<f64>,
    /// Half the width of its interval, from the spread around that ratio (the delta method).
    pub relative_half_width: Option<f64>,
}

impl PairedChange {
    /// Of those of `pairs` of which both are numbers; `None` without any.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let pairs: Vec<(f64, f64)> =
            pairs.iter().copied().filter(|(a, b)| a.is_finite() && b.is_finite()).collect();
        let of = |value: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            pairs.iter().map(|(a, b)| value(*a, *b)).collect()
        };
        let differences = of(&|a, b| b - a);
        let difference = mean(&differences)?;
        let before = mean(&of(&|a, _| a)).filter(|m| *m != 0.0);
        let relative = before.map(|before| difference / before);
        let around = relative.and_then(|r| half_width(&of(&|a, b| b - (1.0 + r) * a)));
        Some(Self {
            n: pairs.len(),
            difference,
            half_width: half_width(&differences),
            relative,
            relative_half_width: before.and_then(|before| Some(around? / before.abs())),
        })
    }
}
