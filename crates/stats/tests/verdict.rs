// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::{Change, Interval, mean_change, signed_rank};

/// Nine pairs that drift to three times their value; the second value `ratio` times the first, within `spread`.
fn around(ratio: f64, spread: f64) -> Vec<(f64, f64)> {
    let noise = [1.0, -3.0, 2.0, 0.5, -4.0, 4.0, -2.0, 3.0, -1.0];
    let pair = |(i, e): (usize, &f64)| {
        let level = 100.0 * (1.0 + i as f64 / 4.0);
        (level, level * ratio * (1.0 + spread * e / 4.0))
    };
    noise.iter().enumerate().map(pair).collect()
}

fn swapped(pairs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    pairs.iter().map(|(a, b)| (*b, *a)).collect()
}

#[test]
fn no_difference_is_shown_or_not() {
    let quiet = Change::of(&around(1.001, 0.002)).unwrap();
    assert!(quiet.equivalent(0.01) && quiet.no_worse(0.01, false) && quiet.no_worse(0.01, true));
    let noisy = Change::of(&around(1.001, 0.1)).unwrap();
    assert!(!noisy.equivalent(0.01) && !noisy.no_worse(0.01, false));
    assert!(noisy.runs_to_settle(9, 0.01).unwrap() > 100, "{:?}", noisy.runs_to_settle(9, 0.01));
    let faster = Change::of(&around(0.8, 0.05)).unwrap();
    assert!(!faster.equivalent(0.01) && faster.no_worse(0.01, false) && !faster.no_worse(0.01, true));
    assert!(faster.test.p < 0.004 && faster.runs_to_settle(9, 0.01).unwrap() <= 9);
}

#[test]
fn changes_are_factors() {
    let c = Change::of(&around(2.0, 0.0)).unwrap();
    assert!((c.relative - 1.0).abs() < 1e-9, "{c:?}");
    let back = Change::of(&swapped(&around(2.0, 0.0))).unwrap();
    assert!((back.relative + 0.5).abs() < 1e-9, "{back:?}");
    assert!((c.inverse().relative - back.relative).abs() < 1e-9);
    assert!((c.inverse().interval.unwrap().low - back.interval.unwrap().low).abs() < 1e-9);
    let (mean, interval) = mean_change(&[c, back]).unwrap();
    assert!(mean.abs() < 1e-9 && interval.unwrap().low <= 0.0 && interval.unwrap().high >= 0.0);
    let noisy = Change::of(&around(2.0, 0.1)).unwrap();
    let (mean, interval) = mean_change(&[noisy, noisy.inverse()]).unwrap();
    assert!(mean.abs() < 1e-9 && interval.unwrap().low < -0.01 && interval.unwrap().high > 0.01);
    assert_eq!(Change::of(&[(1.0, 2.0), (0.0, 1.0)]), None);
    assert_eq!(mean_change(&[]), None);
}

#[test]
fn the_number_of_runs_is_the_one_of_the_normal_distribution() {
    // Two samples of n with standard deviation s tell a difference d with 80 % at n = 2 (1.96 + 0.84)^2 (s/d)^2,
    // and the interval's half width is 1.96 s sqrt(2/n): for n = 8, s = 0.01 it is 0.0098; d = 0.005 needs 62.8.
    let half = 1.959_963_985_f64 * 0.01 * 0.5;
    let interval = Interval { low: (0.005 - half).exp_m1(), high: (0.005 + half).exp_m1() };
    let test = signed_rank(&[1.0]).unwrap();
    let c = Change { relative: 0.005_f64.exp_m1(), interval: Some(interval), one_sided: None, test };
    assert_eq!(c.runs_to_settle(8, 0.0), Some(63));
}
