// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::distribution::{heads_at_most, normal_quantile, normal_tail, t_quantile};

fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-11, "{found:e} instead of {expected:e}");
}

#[test]
fn the_normal_distribution_is_that_of_the_tables() {
    // Abramowitz and Stegun, Handbook of Mathematical Functions, tables 26.1 (1 - P) and 26.5 (x of Q).
    for (z, tail) in [
        (0.0, 0.5),
        (1.0, 0.158_655_253_931_457),
        (-1.0, 0.841_344_746_068_543),
        (2.0, 0.022_750_131_948_179),
        (5.0, 2.866_515_718_791_94e-7),
    ] {
        assert_near(normal_tail(z), tail);
    }
    for (p, z) in [
        (0.8, 0.841_621_233_572_914),
        (0.95, 1.644_853_626_951_472),
        (0.975, 1.959_963_984_540_054),
        (0.9995, 3.290_526_731_491_926),
        (0.025, -1.959_963_984_540_054),
    ] {
        assert_near(normal_quantile(p), z);
    }
    assert_eq!(normal_quantile(0.5), 0.0);
}

#[test]
fn students_t_is_that_of_the_tables() {
    // NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2: 0.95, 0.975 and 0.999 by degrees of freedom.
    for (freedom, row) in [
        (1, [6.314, 12.706, 318.309]),
        (2, [2.920, 4.303, 22.327]),
        (3, [2.353, 3.182, 10.215]),
        (5, [2.015, 2.571, 5.893]),
        (9, [1.833, 2.262, 4.297]),
        (10, [1.812, 2.228, 4.144]),
        (30, [1.697, 2.042, 3.385]),
        (60, [1.671, 2.000, 3.232]),
        (100, [1.660, 1.984, 3.174]),
    ] {
        for (p, expected) in [0.95, 0.975, 0.999].into_iter().zip(row) {
            let t = t_quantile(freedom, p);
            assert!((t - expected).abs() < 0.0006, "{freedom} {p}: {t} instead of {expected}");
        }
    }
}

#[test]
fn students_t_of_few_degrees_is_that_of_its_formulas() {
    for p in [0.6, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9995] {
        assert_near(t_quantile(1, p), (std::f64::consts::PI * (p - 0.5)).tan());
        assert_near(t_quantile(2, p), (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt());
        let a = 4.0 * p * (1.0 - p);
        let q = (a.sqrt().acos() / 3.0).cos() / a.sqrt();
        assert_near(t_quantile(4, p), 2.0 * (q - 1.0).sqrt());
    }
    // Of many degrees it is little more than the normal distribution's: Abramowitz and Stegun, 26.7.5.
    let z = 1.959_963_984_540_054_f64;
    let more = (z.powi(3) + z) / 4.0;
    let t = t_quantile(1_000_000, 0.975);
    assert!((t - z - more / 1e6).abs() < 1e-9, "{t}");
}

#[test]
fn a_fair_coin_falls_as_its_ways_are_counted() {
    for n in 1..=60_u32 {
        let (mut ways, mut sum) = (1_u64, 0_u64);
        for k in 0..=n {
            sum += ways;
            assert_near(heads_at_most(k as usize, n as usize), sum as f64 / 2_f64.powi(n as i32));
            ways = (u128::from(ways) * u128::from(n - k) / u128::from(k + 1)) as u64;
        }
    }
    // Half of the throws and no more, of many: a half, and half of what exactly that has.
    let half = heads_at_most(50_000, 100_000);
    assert!((half - 0.5 - 0.5 / (std::f64::consts::PI * 50_000.0).sqrt()).abs() < 1e-7, "{half}");
}
