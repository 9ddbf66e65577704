// SPDX-License-Identifier: GPL-2.0-only
//! Two samples compared by rank: no assumption about the shape of the noise, and one wild run does little harm.
//!
//! Mann and Whitney 1947 for the test; Hodges and Lehmann 1963 for the shift and Moses for its interval, as in Hollander
//! and Wolfe, Nonparametric Statistical Methods, chapter 4.

use serde::{Deserialize, Serialize};

use crate::median::{median, sorted};
use crate::{Interval, normal_quantile, normal_tail};

/// Above this many runs in one of two samples the normal approximation is used: it is good to three digits there.
const EXACT: usize = 50;

/// Whether two samples differ, by rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTest {
    /// Pairs in which the second sample's value is greater, ties counted half.
    pub u: f64,
    /// Two-sided probability of such a difference if both samples were of one kind.
    pub p: f64,
    /// The probability is exact: few values, no ties.
    pub exact: bool,
    /// Probability of superiority: how often a value of the second sample exceeds one of the first, 0 to 1; 0.5 is no
    /// effect. Cliff's delta is twice this less one.
    pub superiority: f64,
}

/// The Mann-Whitney test of `a` against `b`; `None` if one of them is empty. Exact for at most 50 values a sample without
/// ties, else by the normal approximation with the corrections for ties and continuity.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<RankTest> {
    let (a, b) = (sorted(a), sorted(b));
    let (m, n) = (a.len(), b.len());
    if m == 0 || n == 0 {
        return None;
    }
    let pairs = (m * n) as f64;
    let score = |x: &f64| {
        b.iter()
            .map(|y| {
                if y > x {
                    1.0
                } else if y == x {
                    0.5
                } else {
                    0.0
                }
            })
            .sum::<f64>()
    };
    let u: f64 = a.iter().map(score).sum();
    let mut all = [a.as_slice(), b.as_slice()].concat();
    all.sort_by(f64::total_cmp);
    let ties: f64 = all.chunk_by(|x, y| x == y).map(|c| (c.len() as f64).powi(3) - c.len() as f64).sum();
    let exact = ties == 0.0 && m.max(n) <= EXACT;
    let least = u.min(pairs - u);
    let p = if exact {
        // Without ties U is a whole number.
        2.0 * cumulative(m, n).get(least.round() as usize).copied().unwrap_or(0.5)
    } else {
        let total = (m + n) as f64;
        let variance = pairs / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
        if variance > 0.0 { 2.0 * normal_tail((pairs / 2.0 - least - 0.5) / variance.sqrt()) } else { 1.0 }
    };
    Some(RankTest { u, p: p.min(1.0), exact, superiority: u / pairs })
}

/// By how much `b` exceeds `a`: the median of all differences, and its distribution-free interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// Hodges and Lehmann's estimate.
    pub estimate: f64,
    /// Where the shift lies with at least the confidence asked for; `None` for too few values to say so.
    pub interval: Option<Interval>,
}

/// The shift from `a` to `b` with an interval of `confidence` (0 to 1); `None` if one of them is empty.
#[must_use]
pub fn shift(a: &[f64], b: &[f64], confidence: f64) -> Option<Shift> {
    let (a, b) = (sorted(a), sorted(b));
    let (m, n) = (a.len(), b.len());
    let mut differences: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| y - x)).collect();
    differences.sort_by(f64::total_cmp);
    let estimate = median(&differences)?;
    let side = (1.0 - confidence) / 2.0;
    // The k-th least and k-th greatest difference: U falls short of k with at most the probability of one side.
    let k = if m.max(n) <= EXACT {
        cumulative(m, n).iter().take_while(|p| **p <= side).count()
    } else {
        let (pairs, total) = ((m * n) as f64, (m + n) as f64);
        let spread = (pairs * (total + 1.0) / 12.0).sqrt();
        (pairs / 2.0 - normal_quantile(1.0 - side) * spread).max(0.0) as usize
    };
    let interval = k.checked_sub(1).and_then(|i| {
        let high = differences.len().checked_sub(k)?;
        Some(Interval { low: *differences.get(i)?, high: *differences.get(high)? })
    });
    Some(Shift { estimate, interval })
}

/// The probability that U is at most 0, 1, 2 ... for samples of `m` and `n` values of one kind: the number of ways to
/// choose `m` ranks that sum up so, by the generating function of Gaussian binomials.
fn cumulative(m: usize, n: usize) -> Vec<f64> {
    let top = m * n;
    let mut ways = vec![0.0; top + 1];
    if let Some(first) = ways.first_mut() {
        *first = 1.0;
    }
    for i in 1..=m {
        // Times (1 - x^(n + i)) ...
        for at in (n + i..=top).rev() {
            let less = ways.get(at - n - i).copied().unwrap_or(0.0);
            if let Some(w) = ways.get_mut(at) {
                *w -= less;
            }
        }
        // ... over (1 - x^i).
        for at in i..=top {
            let more = ways.get(at - i).copied().unwrap_or(0.0);
            if let Some(w) = ways.get_mut(at) {
                *w += more;
            }
        }
    }
    let total: f64 = ways.iter().sum();
    let mut sum = 0.0;
    ways.iter()
        .map(|w| {
            sum += w;
            sum / total
        })
        .collect()
}

/// Holm's correction for several questions to one experiment: the probabilities, in the order given, each made so much
/// greater that one false finding among all of them is as rare as a probability says.
#[must_use]
pub fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = ps.iter().copied().enumerate().collect();
    order.sort_by(|x, y| x.1.total_cmp(&y.1));
    let mut out = vec![1.0; ps.len()];
    let mut least = 0.0_f64;
    for (rank, (i, p)) in order.into_iter().enumerate() {
        least = least.max(p * (ps.len() - rank) as f64).min(1.0);
        if let Some(slot) = out.get_mut(i) {
            *slot = least;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(x: f64, y: f64) -> bool {
        (x - y).abs() <= 1e-9 * y.abs().max(1.0)
    }

    /// Hollander and Wolfe, table 4.1: permeability constants of the human chorioamnion, at term and at 12 to 26 weeks.
    const TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLY: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    #[test]
    fn the_published_example_comes_out() {
        // One-sided 0.1272 (Hollander and Wolfe, example 4.1); scipy 1.17.1 mannwhitneyu, exact: U 35 of the first
        // sample, two-sided 0.2544122544122544.
        let test = mann_whitney(&TERM, &EARLY).unwrap();
        assert!(test.exact && near(test.u, 15.0) && near(test.p, 0.254_412_254_412_254_4), "{test:?}");
        assert!(near(test.superiority, 0.3));
        // Example 4.3: -0.305, and (-0.76, 0.15) with 96 %.
        let s = shift(&TERM, &EARLY, 0.95).unwrap();
        let i = s.interval.unwrap();
        assert!(near(s.estimate, -0.305) && near(i.low, -0.76) && near(i.high, 0.15), "{s:?}");
        // With 90 %: the 12th difference from either end, by scipy's distribution of U.
        let i = shift(&TERM, &EARLY, 0.90).unwrap().interval.unwrap();
        assert!(near(i.low, -0.72) && near(i.high, 0.08), "{i:?}");
    }

    #[test]
    fn ties_and_many_values_are_approximated_as_scipy_does() {
        // scipy 1.17.1 mannwhitneyu, method="asymptotic".
        let a = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0, 5.0, 6.0, 7.0];
        let b = [2.0, 3.0, 4.0, 4.0, 5.0, 6.0, 6.0, 7.0, 8.0, 8.0, 9.0, 9.0];
        let test = mann_whitney(&a, &b).unwrap();
        assert!(
            !test.exact && near(test.u, 132.0 - 31.0) && near(test.p, 0.032_459_547_094_111_32),
            "{test:?}"
        );
        let a: Vec<f64> = (0..60).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|v| v * 1.1 + 3.05).collect();
        let test = mann_whitney(&a, &b).unwrap();
        assert!(near(test.u, 3600.0 - 1476.0) && near(test.p, 0.089_520_095_572_886_66), "{test:?}");
    }

    #[test]
    fn six_runs_each_are_exact() {
        // scipy 1.17.1: U 3, p 0.015151515151515152.
        let a = [5.1, 4.9, 5.6, 5.8, 5.2, 5.0];
        let b = [5.9, 6.1, 5.7, 6.3, 5.3, 6.0];
        let test = mann_whitney(&a, &b).unwrap();
        assert!(near(test.u, 33.0) && near(test.p, 0.015_151_515_151_515_152), "{test:?}");
        let i = shift(&a, &b, 0.95).unwrap().interval.unwrap();
        assert!(near(i.low, 0.1) && near(i.high, 1.1), "{i:?}");
    }

    #[test]
    fn three_runs_each_have_no_interval_and_equal_samples_no_difference() {
        assert_eq!(shift(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0], 0.95).unwrap().interval, None);
        assert!(near(mann_whitney(&[1.0; 5], &[1.0; 5]).unwrap().p, 1.0));
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(shift(&[f64::NAN], &[1.0], 0.95), None);
    }

    #[test]
    fn every_count_of_the_distribution_is_whole_up_to_fifty_runs() {
        // The least p of 50 against 50 is 2 / C(100, 50) = 1.98e-29.
        let p = cumulative(50, 50);
        assert!((p[0] / 9.911_653e-30 - 1.0).abs() < 1e-3, "{}", p[0]);
        assert!(p.windows(2).all(|w| w[0] <= w[1]) && near(p[2500], 1.0));
    }

    #[test]
    fn the_interval_covers_as_often_as_it_promises() {
        // Uniform noise of a fixed generator (Knuth's MMIX constants): 8 against 8, true shift 0.3.
        let mut x = 1_u64;
        let mut next = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 11) as f64 / (1_u64 << 53) as f64
        };
        let covered = (0..4000).filter(|_| {
            let a: Vec<f64> = (0..8).map(|_| next()).collect();
            let b: Vec<f64> = (0..8).map(|_| next() + 0.3).collect();
            let i = shift(&a, &b, 0.95).unwrap().interval.unwrap();
            i.low <= 0.3 && 0.3 <= i.high
        });
        let share = covered.count() as f64 / 4000.0;
        // Exactly 95.01 % is the least that 8 against 8 can promise above 95 %: three standard errors are 1.1 %.
        assert!((0.94..0.975).contains(&share), "{share}");
    }

    #[test]
    fn several_questions_make_each_answer_weaker() {
        // Holm 1979: 0.01 x 3, max(0.03, 0.02 x 2), max(0.04, 0.04).
        assert_eq!(holm(&[0.04, 0.01, 0.02]), [0.04, 0.03, 0.04]);
        assert_eq!(holm(&[]), [] as [f64; 0]);
    }
}
