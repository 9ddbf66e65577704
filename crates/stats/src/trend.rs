// SPDX-License-Identifier: GPL-2.0-only
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::normal_tail;
use crate::median::{kth_least, median, middle};

/// The slopes between so many values are kept in memory; those between more are gone through again and again.
const KEPT: usize = 5_000;

/// Whether values grow or fall in the order in which they were taken.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Trend {
    /// Growth from the first to the last value by Theil and Sen's slope, in the values' unit.
    pub growth: f64,
    /// Two-sided probability of such an order without a trend, by the test of Mann and Kendall with its correction for
    /// ties, normal approximation.
    pub p: f64,
}

impl Trend {
    /// Of `values` in the order of time; `None` for fewer than five.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n < 5 || !values.iter().all(|v| v.is_finite()) {
            return None;
        }
        let pairs = || {
            let from = |(i, x)| values.iter().zip(0_usize..).skip(i + 1).map(move |(y, j)| (y - x, j - i));
            values.iter().enumerate().flat_map(from)
        };
        let sign: f64 = pairs().map(|(growth, _)| if growth == 0.0 { 0.0 } else { growth.signum() }).sum();
        let slopes = || pairs().map(|(growth, places)| growth / places as f64);
        let slope = if n <= KEPT {
            median(&slopes().collect::<Vec<_>>())
        } else {
            let up_to = |most: f64| slopes().filter(|slope| slope.total_cmp(&most).is_le()).count();
            middle(n * (n - 1) / 2, |k| kth_least(k, up_to))
        };
        let part = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
        let mut ordered = values.to_vec();
        ordered.sort_by(f64::total_cmp);
        let ties: f64 = ordered.chunk_by(|x, y| x == y).map(|c| part(c.len() as f64)).sum();
        let variance = (part(n as f64) - ties) / 18.0;
        let p = if variance > 0.0 { 2.0 * normal_tail(f64::abs(sign) / variance.sqrt()) } else { 1.0 };
        Some(Self { growth: slope? * (n - 1) as f64, p })
    }
}
