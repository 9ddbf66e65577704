// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::{Median, median};

#[test]
fn the_interval_of_a_median_takes_the_ranks_of_published_tables() {
    // Ranks from either end for 95 %: 6 -> 1, 8 -> 1, 10 -> 2, 15 -> 4, 20 -> 6 (Conover, Practical Nonparametric
    // Statistics, table A3; scipy 1.17.1 binom.cdf).
    for (n, rank) in [(6, 1), (8, 1), (10, 2), (15, 4), (20, 6)] {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        let i = Median::of(&values).unwrap().interval.unwrap();
        assert_eq!((i.low, i.high), (f64::from(rank), f64::from(n + 1 - rank)), "{n}");
    }
    assert_eq!(Median::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap().interval, None);
}

#[test]
fn medians_of_even_odd_and_no_numbers() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, f64::NAN, 3.0, 2.0]), Some(2.5));
    assert_eq!(median(&[f64::NAN]), None);
    assert_eq!(Median::of(&[]), None);
}
