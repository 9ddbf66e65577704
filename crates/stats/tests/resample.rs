// SPDX-License-Identifier: GPL-2.0-only
use crate::noise::Noise;
use idlewise_stats::resampled_mean;

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
