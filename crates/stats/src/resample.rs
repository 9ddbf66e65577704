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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    #[test]
    fn the_interval_of_many_values_is_that_of_the_normal_distribution() {
        // 0 to 99: mean 49.5, standard error 28.866 / 10; resampling divides by n, not n - 1.
        let each: Vec<Vec<f64>> = (0..100).map(|v| vec![f64::from(v)]).collect();
        let i = resampled_mean(&each, 0.95).unwrap();
        assert!((i.low - (49.5 - 1.96 * 2.887)).abs() < 0.5, "{i:?}");
        assert!((i.high - (49.5 + 1.96 * 2.887)).abs() < 0.5, "{i:?}");
        assert_eq!(resampled_mean(&each, 0.95), Some(i), "the same again");
        let narrow = resampled_mean(&each, 0.5).unwrap();
        assert!(i.low < narrow.low && narrow.high < i.high);
    }

    #[test]
    fn values_of_a_group_are_no_more_evidence_than_one() {
        let single: Vec<Vec<f64>> = [1.0, 2.0, 3.0, 4.0, 7.0].iter().map(|v| vec![*v]).collect();
        let repeated: Vec<Vec<f64>> = [1.0, 2.0, 3.0, 4.0, 7.0].iter().map(|v| vec![*v; 50]).collect();
        assert_eq!(resampled_mean(&single, 0.95), resampled_mean(&repeated, 0.95));
    }

    #[test]
    fn it_covers_as_often_as_it_promises_also_with_few_groups() {
        let mut noise = Noise::new(7);
        for (groups, least) in [(5, 0.91), (8, 0.92), (20, 0.925)] {
            let covers = |noise: &mut Noise| {
                let values: Vec<Vec<f64>> = (0..groups).map(|_| vec![noise.normal()]).collect();
                resampled_mean(&values, 0.95).is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high)
            };
            let covered = (0..600).filter(|_| covers(&mut noise)).count();
            assert!(covered as f64 / 600.0 > least, "{covered} of 600 with {groups} groups");
        }
    }

    #[test]
    fn four_groups_say_nothing() {
        assert_eq!(resampled_mean(&[vec![1.0, 2.0], vec![3.0], vec![], vec![4.0], vec![5.0]], 0.95), None);
    }
}
