// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::{Summary, geometric_mean};

#[test]
fn the_interval_of_a_textbook_sample_is_found() {
    // n = 5, s = 1.5811, t(4, 0.975) = 2.7764.
    let s = Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!((s.n, s.mean, s.min, s.max), (5, 3.0, 1.0, 5.0));
    assert!((s.half_width.unwrap() - 1.9633).abs() < 1e-4, "{s:?}");
    assert_eq!(Summary::of(&[7.0]).half_width, None);
    assert_eq!(Summary::of(&[f64::NAN]).n, 0);
}

#[test]
fn geometric_means_need_positive_values() {
    assert!((geometric_mean(&[1.0, 4.0, 16.0]).unwrap() - 4.0).abs() < 1e-12);
    assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    assert_eq!(geometric_mean(&[]), None);
}
