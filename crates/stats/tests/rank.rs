// SPDX-License-Identifier: GPL-2.0-only
#![expect(clippy::approx_constant, reason = "a published measurement happens to be 3.14")]

use crate::noise::Noise;
use idlewise_stats::distribution::normal_tail;
use idlewise_stats::{Interval, holm, paired_shift, signed_rank};

fn near(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * y.abs().max(1.0)
}

#[test]
fn the_published_example_comes_out() {
    // Hollander and Wolfe, table 3.1: depression before and after a tranquilizer; example 3.1: T+ 5, one-sided 0.0195
    // (R 4.5 wilcox.test, paired: V = 40 the other way round, 0.01953); 3.2: -0.46; 3.3: (-0.786, -0.010), 96.1 %.
    let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
    let d: Vec<f64> = before.iter().zip(after).map(|(x, y)| y - x).collect();
    let test = signed_rank(&d).unwrap();
    assert!(test.exact && near(test.w, 5.0) && near(test.p, 20.0 / 512.0), "{test:?}");
    assert!(near(test.superiority, 2.0 / 9.0));
    let s = paired_shift(&d, 0.95).unwrap();
    let i = s.interval.unwrap();
    assert!(near(s.estimate, -0.46) && near(i.low, -0.786) && near(i.high, -0.010), "{s:?}");
}

#[test]
fn ties_are_exact_and_many_pairs_approximated() {
    // Ranks by size: 1 1 share 1.5, 2 2 2 share 4, 3 is 6: above zero 1.5 + 4 + 4 + 6; the zero has none. Of the 64
    // choices of signs 13 leave at most 5.5 on one side: none, 1.5 (2), 3, 4 (3), 5.5 (6).
    let test = signed_rank(&[0.0, 1.0, -1.0, 2.0, 2.0, -2.0, 3.0]).unwrap();
    assert!(test.exact && near(test.w, 15.5) && near(test.p, 26.0 / 64.0), "{test:?}");
    assert!(near(test.superiority, 4.5 / 7.0) && test.pairs == 7);
    let eight = signed_rank(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0]).unwrap();
    assert!(near(eight.p, 2.0 / 256.0), "{eight:?}");
    // 60 pairs of 1 to 60, every third below zero: T- is 3 + 6 + ... 60 = 630, mean 915, sd sqrt(60 61 121 / 24).
    let d: Vec<f64> = (1..=60).map(|i| f64::from(i) * if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
    let test = signed_rank(&d).unwrap();
    let z = (915.0 - 630.0 - 0.5) / (60.0_f64 * 61.0 * 121.0 / 24.0).sqrt();
    assert!(!test.exact && near(test.p, 2.0 * normal_tail(z)), "{test:?}");
}

#[test]
fn the_distribution_is_that_of_published_tables() {
    // Half of the two-sided probability of ranks 1 to n of which those above zero sum up to `at`.
    let up_to = |n: u32, at: u32| {
        let mut left = at;
        let signed = |rank: u32| {
            let above = rank <= left;
            left -= if above { rank } else { 0 };
            f64::from(rank) * if above { 1.0 } else { -1.0 }
        };
        let test = signed_rank(&(1..=n).rev().map(signed).collect::<Vec<_>>()).unwrap();
        assert!(test.exact && test.w == f64::from(at), "{test:?}");
        test.p / 2.0
    };
    // Hollander and Wolfe, table A.4: upper tails, mirrored: n = 6 at 0 0.016, n = 8 at 3 0.020, n = 10 at 8 0.024,
    // n = 15 at 25 0.024.
    for (n, at, p) in [(6, 0, 0.016), (8, 3, 0.020), (10, 8, 0.024), (15, 25, 0.024)] {
        assert!((up_to(n, at) - p).abs() < 5e-4, "{n}: {}", up_to(n, at));
    }
    // The sum of all ranks is 1275: at most 637 and at least 638 share the whole evenly.
    let p: Vec<f64> = (0..=1275).map(|at| up_to(50, at)).collect();
    assert!((p[0] * 2.0_f64.powi(50) - 1.0).abs() < 1e-9);
    assert!(p[..638].windows(2).all(|w| w[0] <= w[1]) && near(p[637], 0.5) && p[636] < 0.5);
    assert!(p.iter().eq(p.iter().rev()), "either sign alike");
}

/// The means themselves are never kept: they would be 50 million for 10,000 pairs.
#[test]
fn the_shift_is_that_of_all_means_of_two() {
    let mut noise = Noise::new(1);
    for n in [1, 2, 3, 6, 7, 49, 50, 51, 120] {
        // Rounded, so that many are equal, and some are zeros of either sign.
        let d: Vec<f64> = (0..n).map(|_| (noise.normal() * 4.0).round() / 8.0).collect();
        let s = paired_shift(&d, 0.95).unwrap();
        let mut means: Vec<f64> =
            d.iter().enumerate().flat_map(|(i, x)| d[i..].iter().map(|y| x.midpoint(*y))).collect();
        means.sort_by(f64::total_cmp);
        assert_eq!(Some(s.estimate), idlewise_stats::median(&means), "{n}");
        let Some(i) = s.interval else { continue };
        let place = |v: f64| means.partition_point(|m| m.total_cmp(&v).is_lt());
        assert!(means.contains(&i.low) && means.contains(&i.high) && i.low <= s.estimate, "{s:?}");
        // The ends are equally far from the middle.
        assert!(means[means.len() - 1 - place(i.low)] >= i.high, "{n}: {s:?}");
    }
    let many: Vec<f64> = (0..10_000).map(f64::from).collect();
    assert!(near(paired_shift(&many, 0.95).unwrap().estimate, 4999.5));
}

#[test]
fn five_pairs_have_no_interval_and_equal_ones_no_difference() {
    assert_eq!(paired_shift(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap().interval, None);
    let six = paired_shift(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap().interval;
    assert_eq!(six, Some(Interval { low: 1.0, high: 6.0 }));
    let none = signed_rank(&[0.0; 8]).unwrap();
    assert!(near(none.p, 1.0) && near(none.superiority, 0.5), "{none:?}");
    assert_eq!(paired_shift(&[0.0; 8], 0.95).unwrap().interval, Some(Interval { low: 0.0, high: 0.0 }));
    assert_eq!((signed_rank(&[]), paired_shift(&[f64::NAN], 0.95)), (None, None));
}

#[test]
fn the_interval_covers_as_often_as_it_promises() {
    // Ten pairs of normal noise, true shift 0.3, whatever is common to both of a pair.
    let mut noise = Noise::new(1);
    let covered = (0..4000).filter(|_| {
        let d: Vec<f64> = (0..10).map(|_| 0.3 + noise.normal() - noise.normal()).collect();
        let i = paired_shift(&d, 0.95).unwrap().interval.unwrap();
        i.low <= 0.3 && 0.3 <= i.high
    });
    let share = covered.count() as f64 / 4000.0;
    // Exactly 95.12 % is what ten pairs promise: three standard errors are 1 %.
    assert!((0.941..0.962).contains(&share), "{share}");
}

#[test]
fn several_questions_make_each_answer_weaker() {
    // Holm 1979: 0.01 x 3, max(0.03, 0.02 x 2), max(0.04, 0.04).
    assert_eq!(holm(&[0.04, 0.01, 0.02]), [0.04, 0.03, 0.04]);
    assert_eq!(holm(&[]), [] as [f64; 0]);
}
