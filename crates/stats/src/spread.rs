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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        let values = [4.0, 1.0, f64::NAN, 3.0, 2.0, 5.0];
        assert_eq!(quantile(&values, 0.5), Some(3.0));
        assert_eq!(quantile(&values, 0.05), Some(1.2));
        assert_eq!((quantile(&values, 0.0), quantile(&values, 1.0)), (Some(1.0), Some(5.0)));
        assert_eq!((quantile(&[], 0.5), quantile(&[7.0], 0.9)), (None, Some(7.0)));
    }

    #[test]
    fn an_interval_that_holds_everything_is_worth_nothing() {
        let of = |low, high| interval_score(Interval { low, high }, 10.0, 0.9);
        assert_eq!(of(9.0, 11.0), 2.0);
        assert!((of(11.0, 12.0) - 21.0).abs() < 1e-9, "{}", of(11.0, 12.0));
        assert!(of(-1000.0, 1000.0) > of(11.0, 12.0));
    }

    #[test]
    fn ranks_go_with_each_other_whatever_the_scale() {
        let pairs = |f: fn(f64) -> f64| (1..20).map(|i| (f64::from(i), f(f64::from(i)))).collect::<Vec<_>>();
        assert_eq!(rank_correlation(&pairs(f64::exp)), Some(1.0));
        assert_eq!(rank_correlation(&pairs(|x| 1.0 / x)), Some(-1.0));
        assert_eq!(rank_correlation(&pairs(|_| 1.0)), None);
        // Spearman's own formula, 1 - 6 sum d^2 / (n (n^2 - 1)), for ranks 1 2 3 4 and 2 1 4 3: 1 - 24 / 60.
        let r = rank_correlation(&[(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0)]).unwrap();
        assert!((r - 0.6).abs() < 1e-12, "{r}");
        // Equal ones share their ranks: 1.5 1.5 3 4 against 1 2 3 4.
        let r = rank_correlation(&[(1.0, 1.0), (1.0, 2.0), (3.0, 3.0), (4.0, 4.0)]).unwrap();
        assert!((r - 4.5 / (4.5_f64 * 5.0).sqrt()).abs() < 1e-12, "{r}");
    }
}
