// SPDX-License-Identifier: GPL-2.0-only
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::normal_tail;
use crate::median::median;

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
        let mut sign = 0.0;
        let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
        for (i, x) in values.iter().enumerate() {
            for (j, y) in values.iter().enumerate().skip(i + 1) {
                sign += if y > x {
                    1.0
                } else if y < x {
                    -1.0
                } else {
                    0.0
                };
                slopes.push((y - x) / (j - i) as f64);
            }
        }
        let part = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
        let mut ordered = values.to_vec();
        ordered.sort_by(f64::total_cmp);
        let ties: f64 = ordered.chunk_by(|x, y| x == y).map(|c| part(c.len() as f64)).sum();
        let variance = (part(n as f64) - ties) / 18.0;
        let p = if variance > 0.0 { 2.0 * normal_tail(f64::abs(sign) / variance.sqrt()) } else { 1.0 };
        Some(Self { growth: median(&slopes)? * (n - 1) as f64, p })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_found_as_scipy_finds_it() {
        // scipy 1.17.1: kendalltau(range(10), v, method="asymptotic"), theilslopes.
        let t = Trend::of(&[10.1, 10.0, 10.3, 10.2, 10.6, 10.4, 10.9, 10.5, 11.0, 10.7]).unwrap();
        assert!((t.p - 0.005_558_919_627_070_556).abs() < 1e-9 && (t.growth - 0.9).abs() < 1e-9, "{t:?}");
        let t = Trend::of(&[1.0, 1.0, 2.0, 2.0, 1.0, 3.0, 3.0, 2.0, 4.0, 4.0]).unwrap();
        assert!((t.p - 0.007_008_093_720_053_002).abs() < 1e-9, "{t:?}");
    }

    #[test]
    fn steady_values_and_few_have_none() {
        assert_eq!(Trend::of(&[1.0; 8]).unwrap(), Trend { growth: 0.0, p: 1.0 });
        assert_eq!(Trend::of(&[1.0, 2.0, 3.0, 4.0]), None);
    }
}
