// SPDX-License-Identifier: GPL-2.0-only
//! How far apart two distributions of lengths are.

/// The mean ratio of two distributions of positive values at the same rank, minus one, %: 0 where they are the same, 100
/// where values of one are twice those of the other. It is the distance of Wasserstein (of earth movers) between the logarithms.
/// Values come in rising order, each with how often it came; 0 counts as 1. Nothing where one has no values.
#[must_use]
pub fn length_distance_pct(a: &[(u32, u64)], b: &[(u32, u64)]) -> Option<f64> {
    let total = |of: &[(u32, u64)]| of.iter().map(|(_, n)| n).sum::<u64>();
    let (all_a, all_b) = (total(a), total(b));
    if all_a == 0 || all_b == 0 {
        return None;
    }
    let log = |value: u32| f64::from(value.max(1)).ln();
    let (mut a, mut b) = (a.iter(), b.iter());
    // How much of both is passed, in parts of `all_a * all_b`.
    let (mut at, mut sum) = (0_u128, 0.0);
    let mut next_a = (0, 0_u128);
    let mut next_b = (0, 0_u128);
    let whole = u128::from(all_a) * u128::from(all_b);
    while at < whole {
        while next_a.1 <= at {
            let (value, n) = a.next()?;
            next_a = (*value, next_a.1 + u128::from(*n) * u128::from(all_b));
        }
        while next_b.1 <= at {
            let (value, n) = b.next()?;
            next_b = (*value, next_b.1 + u128::from(*n) * u128::from(all_a));
        }
        let to = next_a.1.min(next_b.1);
        sum += (to - at) as f64 * (log(next_a.0) - log(next_b.0)).abs();
        at = to;
    }
    Some(((sum / whole as f64).exp() - 1.0) * 100.0)
}
