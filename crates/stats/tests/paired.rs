// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::PairedChange;

#[test]
fn what_pairs_share_does_not_hide_their_change() {
    // Student's own example: additional hours of sleep under two drugs, paired by patient (Biometrika 6, 1908, p. 20):
    // mean 1.58, standard error 0.38896, t(9, 0.975) 2.26216.
    let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
    let pairs: Vec<(f64, f64)> = first.into_iter().zip(second).collect();
    let c = PairedChange::of(&pairs).unwrap();
    assert_eq!(c.n, 10);
    assert!((c.difference - 1.58).abs() < 1e-9 && (c.half_width.unwrap() - 0.879_885).abs() < 1e-5, "{c:?}");
    assert!((c.relative.unwrap() - 1.58 / 0.75).abs() < 1e-9, "{c:?}");
}

#[test]
fn a_constant_factor_and_a_constant_difference_have_no_spread() {
    let c = PairedChange::of(&[(1.0, 1.1), (2.0, 2.2), (5.0, 5.5)]).unwrap();
    assert!((c.relative.unwrap() - 0.1).abs() < 1e-12 && c.relative_half_width.unwrap() < 1e-12, "{c:?}");
    assert!(c.half_width.unwrap() > 0.1);
    let c = PairedChange::of(&[(-3.0, -2.0), (0.0, 1.0), (4.0, 5.0)]).unwrap();
    assert_eq!((c.difference, c.half_width), (1.0, Some(0.0)));
}

#[test]
fn what_cannot_be_said_is_not() {
    let one = PairedChange::of(&[(0.0, 2.0)]).unwrap();
    assert_eq!((one.half_width, one.relative, one.relative_half_width), (None, None, None));
    assert_eq!(PairedChange::of(&[(f64::NAN, 1.0)]), None);
    assert_eq!(PairedChange::of(&[(f64::NAN, 1.0), (1.0, 2.0)]).unwrap().n, 1);
}
