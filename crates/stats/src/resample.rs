// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::Random;

use crate::Interval;
use crate::distribution::{normal_tail, t_quantile};

/// Resamples of one interval. Its ends then vary by some hundredths of its width.
const RESAMPLES: usize = 5000;

/// Of the resampling, which has the same result each time.
const SEED: u64 = 1;

/// Fewer groups than this say nothing about groups that were not seen.
const LEAST_GROUPS: usize = 5;

/// The interval of `level` (0.95 is 95 %) of the mean of all values in `groups`, by resampling whole groups with replacement
/// (Efron 1979; of groups: Davison and Hinkley 1997, section 3.8): values of one group, such as recordings of one machine, are
/// alike and count together. Few groups spread less than what they are drawn from; the percentiles are those that make up for it
/// (expanded percentile interval; Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 4.1.3). The same values
/// give the same interval. `None` for fewer than five groups.
#[must_use]
pub fn resampled_mean(groups: &[Vec<f64>], level: f64) -> Option<Interval> {
    let groups: Vec<(f64, usize)> =
        groups.iter().filter(|g| !g.is_empty()).map(|g| (g.iter().sum(), g.len())).collect();
    if groups.len() < LEAST_GROUPS {
        return None;
    }
    let mut random = Random::new(SEED);
    let mean = |random: &mut Random| {
        let drawn = (0..groups.len()).map(|_| groups[random.below(groups.len() as u64) as usize]);
        let (sum, n) = drawn.fold((0.0, 0), |(sum, n), (s, k)| (sum + s, n + k));
        sum / n as f64
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| mean(&mut random)).collect();
    means.sort_by(f64::total_cmp);
    let n = groups.len() as f64;
    let t = t_quantile(groups.len() - 1, (1.0 + level) / 2.0);
    let tail = normal_tail((n / (n - 1.0)).sqrt() * t);
    let at = |share: f64| means[((RESAMPLES - 1) as f64 * share).round() as usize];
    Some(Interval { low: at(tail), high: at(1.0 - tail) })
}
