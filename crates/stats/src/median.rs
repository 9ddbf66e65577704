// SPDX-License-Identifier: GPL-2.0-only
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::distribution::heads_at_most;

/// Those of `values` that are numbers, in order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut out: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    out.sort_by(f64::total_cmp);
    out
}

/// The middle of `values`, or of the two in the middle their mean; `None` without any.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let values = sorted(values);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values.get(values.len() / 2 - 1).map(|lower| lower.midpoint(upper))
}

/// The middle of several values and what is known of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Median {
    pub n: usize,
    pub median: f64,
    /// The least of them.
    pub min: f64,
    pub max: f64,
    /// Where the true median lies with at least 95 % probability, whatever the distribution: two of the values, chosen
    /// by the binomial distribution. Fewer than six values cannot tell.
    pub interval: Option<Interval>,
}

impl Median {
    /// Of those of `values` that are numbers; `None` without any.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let values = sorted(values);
        let median = median(&values)?;
        let n = values.len();
        let (min, max) = (*values.first()?, *values.last()?);
        // The k-th value from either end: fewer than k of n values fall below the median with at most 2.5 %.
        let k = (0..n).take_while(|k| heads_at_most(*k, n) <= 0.025).count();
        let interval = k
            .checked_sub(1)
            .and_then(|i| Some(Interval { low: *values.get(i)?, high: *values.get(n.checked_sub(k)?)? }));
        Some(Self { n, median, min, max, interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_takes_the_ranks_of_published_tables() {
        // Ranks from either end for 95 %: 6 -> 1, 8 -> 1, 10 -> 2, 15 -> 4, 20 -> 6 (Conover, Practical Nonparametric
        // Statistics, table A3; scipy 1.17.1 binom.cdf).
        for (n, rank) in [(6, 1), (8, 1), (10, 2), (15, 4), (20, 6)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let i = Median::of(&values).unwrap().interval.unwrap();
            assert_eq!((i.low, i.high), (f64::from(rank), f64::from(n + 1 - rank)), "{n}");
        }
        assert_eq!(Median::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap().interval, None);
    }

    #[test]
    fn medians_of_even_odd_and_no_numbers() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, f64::NAN, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[f64::NAN]), None);
        assert_eq!(Median::of(&[]), None);
    }
}
