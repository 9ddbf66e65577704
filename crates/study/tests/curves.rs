// SPDX-License-Identifier: GPL-2.0-only
use idlewise_study::replay::curve;

/// Points that a chart can show.
const POINTS: usize = 160;

#[test]
fn a_curve_ends_with_all_and_never_falls() {
    let ranks: Vec<(u32, u64)> = (0..10_000).map(|v| (v, 1 + u64::from(v % 3))).collect();
    let points = curve(&ranks);
    assert!(points.len() <= POINTS + 2, "{}", points.len());
    assert!(points.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
    assert_eq!(points.last().map(|p| p.1), Some(1.0));
    assert_eq!(curve(&[]), []);
}
