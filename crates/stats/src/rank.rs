// SPDX-License-Identifier: GPL-2.0-only
//! Pairs of measurements compared by rank: no assumption about the shape of the noise, and one wild run does little harm.
//! What both values of a pair share, such as a machine that slows down from pair to pair, takes no part.
//!
//! Wilcoxon 1945 for the test; Hodges and Lehmann 1963 for the shift and Tukey for its interval, as in Hollander and
//! Wolfe, Nonparametric Statistical Methods, chapter 3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::distribution::{normal_quantile, normal_tail};
use crate::median::{kth_least, middle, sorted};

/// Above this many pairs the normal approximation is used: it is good to three digits there.
const EXACT: usize = 50;

/// Whether the second values of pairs differ from the first, by rank.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RankTest {
    pub pairs: usize,
    /// Sum of the ranks of the differences above zero, by size without sign; differences of zero have no rank.
    pub w: f64,
    /// Two-sided probability of such a sum if differences of either sign were equally likely.
    pub p: f64,
    /// The probability is exact: at most 50 pairs.
    pub exact: bool,
    /// Probability of superiority: in which share of pairs the second value exceeds the first, 0 to 1, ties counted half;
    /// 0.5 is no effect.
    pub superiority: f64,
}

/// Wilcoxon's signed rank test of `differences`, second less first value of each pair; `None` without any. Exact for at
/// most 50 pairs, given the ranks that ties share; else by the normal approximation with the corrections for ties and
/// continuity.
#[must_use]
pub fn signed_rank(differences: &[f64]) -> Option<RankTest> {
    let all = sorted(differences);
    if all.is_empty() {
        return None;
    }
    let above = all.iter().filter(|d| **d > 0.0).count();
    let zero = all.iter().filter(|d| **d == 0.0).count();
    let superiority = (above as f64 + zero as f64 / 2.0) / all.len() as f64;
    let mut by_size: Vec<f64> = all.iter().copied().filter(|d| *d != 0.0).collect();
    by_size.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
    let n = by_size.len();
    let (mut w, mut ties, mut before) = (0.0, 0.0, 0);
    // Twice the ranks: whole numbers where ties share one.
    let mut twice = Vec::with_capacity(n);
    for same in by_size.chunk_by(|x, y| x.abs() == y.abs()) {
        let t = same.len() as f64;
        // The mean of the ranks that they share.
        let rank = before as f64 + (t + 1.0) / 2.0;
        w += rank * same.iter().filter(|d| **d > 0.0).count() as f64;
        ties += t * t * t - t;
        twice.extend(same.iter().map(|_| 2 * before + same.len() + 1));
        before += same.len();
    }
    let total = (n * (n + 1)) as f64 / 2.0;
    let least = w.min(total - w);
    let exact = n <= EXACT;
    let p = if exact {
        2.0 * cumulative(&twice)[(2.0 * least).round() as usize]
    } else {
        let variance = (n * (n + 1) * (2 * n + 1)) as f64 / 24.0 - ties / 48.0;
        if variance > 0.0 { 2.0 * normal_tail((total / 2.0 - least - 0.5) / variance.sqrt()) } else { 1.0 }
    };
    Some(RankTest { pairs: all.len(), w, p: p.min(1.0), exact, superiority })
}

/// How large differences are: the median of all means of two, and its distribution-free interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Shift {
    /// Hodges and Lehmann's estimate.
    pub estimate: f64,
    /// Where the shift lies with at least the confidence asked for; `None` for too few values to say so.
    pub interval: Option<Interval>,
}

/// The shift of `differences` with an interval of `confidence` (0 to 1); `None` without any. Fewer than six pairs have no
/// interval of 95 %.
#[must_use]
pub fn paired_shift(differences: &[f64], confidence: f64) -> Option<Shift> {
    let all = sorted(differences);
    let n = all.len();
    let means = n * (n + 1) / 2;
    let kth_mean = |k| kth_least(k, |value| means_up_to(value, &all));
    let estimate = middle(means, kth_mean)?;
    let side = (1.0 - confidence) / 2.0;
    // The k-th least and k-th greatest mean: the sum of ranks falls short of k with at most the probability of one side.
    let k = if n <= EXACT {
        let ranks: Vec<usize> = (1..=n).collect();
        cumulative(&ranks).iter().take_while(|p| **p <= side).count()
    } else {
        let middle = (n * (n + 1)) as f64 / 4.0;
        let spread = ((n * (n + 1) * (2 * n + 1)) as f64 / 24.0).sqrt();
        (middle - normal_quantile(1.0 - side) * spread).max(0.0) as usize
    };
    let interval =
        (1..=means).contains(&k).then(|| Interval { low: kth_mean(k), high: kth_mean(means + 1 - k) });
    Some(Shift { estimate, interval })
}

/// How many means of two of `values`, or of one twice, are `most` at most; the values are in order.
fn means_up_to(most: f64, values: &[f64]) -> usize {
    // The greater the one, the fewer there are for the other.
    let mut rest = values;
    let with_smaller = values.iter().enumerate().map(|(i, x)| {
        while let Some((y, smaller)) = rest.split_last()
            && x.midpoint(*y).total_cmp(&most).is_gt()
        {
            rest = smaller;
        }
        rest.len().saturating_sub(i)
    });
    with_smaller.sum()
}

/// The probability that the sum of the ranks above zero is at most 0, 1, 2 ... up to the sum of all, for differences of
/// either sign alike: the number of ways to choose some of `ranks` that sum up so.
fn cumulative(ranks: &[usize]) -> Vec<f64> {
    let mut ways = vec![1.0];
    for &rank in ranks {
        let mut next = ways.clone();
        next.resize(ways.len() + rank, 0.0);
        next.iter_mut().skip(rank).zip(&ways).for_each(|(w, less)| *w += less);
        ways = next;
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
