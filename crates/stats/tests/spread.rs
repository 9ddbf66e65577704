// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::{Interval, interval_score, quantile, rank_correlation};

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
