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

/// The middle of `n` values, of which `kth` gives the k-th least, from 1; `None` without any.
pub(crate) fn middle(n: usize, kth: impl Fn(usize) -> f64) -> Option<f64> {
    let upper = (n > 0).then(|| kth(n / 2 + 1))?;
    Some(if n % 2 == 1 { upper } else { kth(n / 2).midpoint(upper) })
}

/// The `k`-th least, from 1, of values that are too many to be kept: `up_to` counts those that are a number at most, in the order
/// of [`f64::total_cmp`].
pub(crate) fn kth_least(k: usize, up_to: impl Fn(f64) -> usize) -> f64 {
    // In this order they are integers.
    let value = |order: i64| f64::from_bits((order ^ (order >> 63 & i64::MAX)).cast_unsigned());
    let (mut less, mut enough) = (i64::MIN, i64::MAX);
    while less < enough {
        // Rounded down, whatever the sign.
        let between = (less & enough) + ((less ^ enough) >> 1);
        if up_to(value(between)) < k { less = between + 1 } else { enough = between }
    }
    value(enough)
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
