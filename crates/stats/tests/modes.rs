// SPDX-License-Identifier: GPL-2.0-only
use crate::noise::Noise;
use idlewise_stats::two_modes;

#[test]
fn two_groups_are_found_and_one_wild_run_is_none() {
    let [low, high] = two_modes(&[44.8, 38.3, 44.7, 44.9, 38.4, 44.8], 0.1).unwrap();
    assert_eq!((low.n, high.n), (2, 4));
    assert!((low.mean - 38.35).abs() < 1e-9 && (high.min, high.max) == (44.7, 44.9));
    assert_eq!(two_modes(&[44.8, 38.3, 44.7, 44.9, 44.6, 44.8], 0.1), None, "a wild run");
    assert_eq!(two_modes(&[1.0, 1.0, 9.0], 0.1), None, "too few");
    assert_eq!(two_modes(&[1.0, 1.1, 9.0, 9.1], 0.1).unwrap().map(|m| m.n), [2, 2]);
    assert_eq!(two_modes(&[1.0, 2.0, 9.0, 9.1], 0.1), None, "of 4 values that is chance");
    // Five simulated runs, mW: an interval about their mean, 40.2 with 12.4 on either side, holds hardly a value between.
    assert_eq!(two_modes(&[32.1, 33.3, 51.3, 51.3, 32.4], 0.8).unwrap().map(|m| m.n), [3, 2]);
    assert_eq!(two_modes(&[59.93, 59.93, 59.97, 59.97, 59.97], 1.2), None, "a gap that does not matter");
    assert_eq!(two_modes(&[1.0, 1.0, 9.0, 9.0, 9.0], 0.1).unwrap()[1].n, 3);
}

#[test]
fn values_of_one_kind_are_rarely_taken_for_two() {
    let mut noise = Noise::new(11);
    type Kind = fn(&mut Noise) -> f64;
    let kinds: [(&str, Kind); 4] = [
        ("uniform", |noise| noise.uniform()),
        ("normal", |noise| noise.normal()),
        ("exponential", |noise| -noise.uniform().ln()),
        ("log-normal", |noise| noise.normal().exp()),
    ];
    for n in [4, 5, 6, 7, 8, 10, 15, 20, 30] {
        for (name, draw) in kinds {
            let sample = |noise: &mut Noise| (0..n).map(|_| draw(noise)).collect::<Vec<_>>();
            let found = (0..4000).filter(|_| two_modes(&sample(&mut noise), 0.0).is_some()).count();
            assert!(found < 40, "{n} {name}: {found} of 4000");
        }
    }
}

#[test]
fn two_kinds_are_found() {
    let mut noise = Noise::new(12);
    // Half of the runs lie 20 standard deviations away; of 10 runs two or more are on either side in 98 of 100.
    let mut two = || {
        let v: Vec<f64> =
            (0..10).map(|_| noise.normal() + if noise.uniform() < 0.5 { 40.0 } else { 0.0 }).collect();
        two_modes(&v, 0.0).is_some()
    };
    let found = (0..1000).filter(|_| two()).count();
    assert!(found > 850, "{found}");
}
