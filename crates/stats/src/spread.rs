// SPDX-License-Identifier: GPL-2.0-only
//! What a sample of predictions says: its quantiles, how good an interval of them is, and what they go with.

use crate::Interval;
use crate::median::sorted;

/// Below which a `share` of `values` lies, from 0 to 1, straight between two of them; those that are no numbers are left out.
/// `None` without any.
#[must_use]
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let values = sorted(values);
    let last = values.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    let (low, high) = (*values.get(below)?, *values.get(above)?);
    Some(low + (high - low) * (at - below as f64))
}

/// How good an interval that holds with probability `level` is where `value` came out: its width, and for a value outside the
/// distance times 2 / (1 - level). Less is better, and no interval gains by being another than the one believed in (Gneiting and
/// Raftery 2007, "Strictly Proper Scoring Rules, Prediction, and Estimation", section 6.2).
#[must_use]
pub fn interval_score(interval: Interval, value: f64, level: f64) -> f64 {
    let outside = (interval.low - value).max(value - interval.high).max(0.0);
    (interval.high - interval.low) + 2.0 / (1.0 - level) * outside
}

/// Spearman's rank correlation of pairs, from -1 to 1; `None` where one of both never changes or there are fewer than three pairs.
#[must_use]
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let first = ranks(pairs.iter().map(|p| p.0));
    let second = ranks(pairs.iter().map(|p| p.1));
    let middle = (pairs.len() + 1) as f64 / 2.0;
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    let scale = (sum(&first, &first) * sum(&second, &second)).sqrt();
    (scale > 0.0).then(|| (sum(&first, &second) / scale).clamp(-1.0, 1.0))
}

/// The rank of each value, the mean rank of equal ones.
fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = values.enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut out = vec![0.0; order.len()];
    for equal in order.chunk_by(|a, b| a.1 == b.1) {
        let before = order.partition_point(|o| o.1.total_cmp(&equal[0].1).is_lt());
        for (i, _) in equal {
            out[*i] = before as f64 + (equal.len() + 1) as f64 / 2.0;
        }
    }
    out
}
