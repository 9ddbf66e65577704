// SPDX-License-Identifier: GPL-2.0-only
//! The distributions that significance tests and intervals ask.

use special::{Beta as _, Error as _};

/// Of Newton's method at most: 15 are needed where it starts farthest away, with one degree of freedom.
const STEPS: usize = 30;

/// The probability that a standard normal number exceeds `z`, 0 to 1.
#[must_use]
pub fn normal_tail(z: f64) -> f64 {
    (z / std::f64::consts::SQRT_2).compl_error() / 2.0
}

/// The number below which a standard normal number lies with `probability`, above 0 and below 1.
#[must_use]
pub fn normal_quantile(probability: f64) -> f64 {
    (2.0 * probability - 1.0).inv_error() * std::f64::consts::SQRT_2
}

/// The number below which one of Student's t distribution with `freedom` degrees (1 or more) lies with `probability`, 0.5 or more
/// and below 1.
#[must_use]
pub fn t_quantile(freedom: usize, probability: f64) -> f64 {
    let n = freedom as f64;
    let (a, b) = (n / 2.0, 0.5);
    let ln_beta = a.ln_beta(b);
    // Newton's method. The normal quantile lies below, where the distribution is concave: each step comes nearer from below.
    let mut t = normal_quantile(probability);
    for _ in 0..STEPS {
        let logarithm = (t * t / n).ln_1p();
        let tail = (-logarithm).exp().inc_beta(a, b, ln_beta) / 2.0;
        let density = (-f64::midpoint(n, 1.0) * logarithm - ln_beta).exp() / n.sqrt();
        let next = t + (tail - (1.0 - probability)) / density;
        if next <= t {
            break;
        }
        t = next;
    }
    t
}

/// The probability of at most `k` heads in `n` throws of a fair coin, 0 to 1.
#[must_use]
pub fn heads_at_most(k: usize, n: usize) -> f64 {
    if k >= n {
        return 1.0;
    }
    let (a, b) = ((n - k) as f64, k as f64 + 1.0);
    0.5.inc_beta(a, b, a.ln_beta(b))
}
