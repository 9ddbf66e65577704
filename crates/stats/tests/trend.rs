// SPDX-License-Identifier: GPL-2.0-only
use crate::noise::Noise;
use idlewise_stats::Trend;

#[test]
fn a_trend_is_found_as_scipy_finds_it() {
    // scipy 1.17.1: kendalltau(range(10), v, method="asymptotic"), theilslopes.
    let t = Trend::of(&[10.1, 10.0, 10.3, 10.2, 10.6, 10.4, 10.9, 10.5, 11.0, 10.7]).unwrap();
    assert!((t.p - 0.005_558_919_627_070_556).abs() < 1e-9 && (t.growth - 0.9).abs() < 1e-9, "{t:?}");
    let t = Trend::of(&[1.0, 1.0, 2.0, 2.0, 1.0, 3.0, 3.0, 2.0, 4.0, 4.0]).unwrap();
    assert!((t.p - 0.007_008_093_720_053_002).abs() < 1e-9, "{t:?}");
}

#[test]
fn steady_values_and_few_have_none() {
    assert_eq!(Trend::of(&[1.0; 8]).unwrap(), Trend { growth: 0.0, p: 1.0 });
    assert_eq!(Trend::of(&[1.0, 2.0, 3.0, 4.0]), None);
}

/// The slopes of so many values are not kept, which changes nothing.
#[test]
fn the_trend_of_many_values_is_the_middle_of_all_slopes() {
    let mut noise = Noise::new(7);
    let values: Vec<f64> = (0..5_001).map(|i| f64::from(i) * 0.001 + noise.normal()).collect();
    let (n, v) = (values.len(), &values);
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let slopes: Vec<f64> = pairs.map(|(i, j)| (v[j] - v[i]) / (j - i) as f64).collect();
    let growth = idlewise_stats::median(&slopes).unwrap() * (n - 1) as f64;
    assert_eq!(Trend::of(v).unwrap().growth, growth);
}
