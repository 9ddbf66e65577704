// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::length_distance_pct;

#[test]
fn it_is_the_ratio_at_the_same_rank() {
    let same = [(10, 2), (1000, 1)];
    assert!(length_distance_pct(&same, &[(10, 4), (1000, 2)]).unwrap().abs() < 1e-9);
    assert!((length_distance_pct(&[(100, 7)], &[(200, 3)]).unwrap() - 100.0).abs() < 1e-9);
    // Half of them are four times as long: twice, in the geometric mean.
    let far = length_distance_pct(&[(100, 4)], &[(100, 1), (400, 1)]).unwrap();
    assert!((far - 100.0).abs() < 1e-9, "{far}");
    assert_eq!(length_distance_pct(&[], &same), None);
}

#[test]
fn it_is_the_same_either_way() {
    let (a, b) = ([(0, 3), (5, 1), (80, 9)], [(2, 10), (90, 1), (4_000_000_000, 2)]);
    assert_eq!(length_distance_pct(&a, &b), length_distance_pct(&b, &a));
}
