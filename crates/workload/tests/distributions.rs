// SPDX-License-Identifier: GPL-2.0-only
//! Do samples have the distribution that the file asks for, and are they the same on every machine?

use idlewise_workload::{Distribution, Event, MAX_TIME_NS, Random, Workload};

fn samples(d: &Distribution, n: usize) -> Vec<u64> {
    let mut random = Random::new(7);
    let mut all: Vec<u64> = (0..n).map(|_| d.sample_ns(&mut || random.draw())).collect();
    all.sort_unstable();
    all
}

/// As a file writes it.
fn read(text: &str) -> Distribution {
    let text = format!("{{ 'tasks': {{ 'a': {{ 'idlewise-run': {text} }} }} }}").replace('\'', "\"");
    let workload = Workload::from_text("w.json", &text).unwrap_or_else(|e| panic!("{e}"));
    match &workload.tasks[0].phases[0].events[..] {
        [Event::Run { work }] => work.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_random_numbers_are_the_published_ones() {
    // The test vector of SplitMix64 for the seed 1234567 that circulates with its reference code.
    let mut random = Random::new(1_234_567);
    let first: Vec<u64> = (0..5).map(|_| random.draw()).collect();
    let published = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    assert_eq!(first, published);
    assert_ne!(Random::stream(1, 0), Random::stream(1, 1));
    assert_ne!(Random::stream(1, 0), Random::stream(2, 0));
}

#[test]
fn means_and_quantiles_are_those_of_the_distribution() {
    let near = |found: u64, expected: f64| (found as f64 - expected).abs() < 0.02 * expected;
    for (text, [low, median, high], mean) in [
        ("100", [100e3; 3], 100e3),
        ("{ 'constant': 0.5 }", [500.0; 3], 500.0),
        ("{ 'uniform': [100, 300] }", [120e3, 200e3, 280e3], 200e3),
        ("{ 'exponential': 100 }", [10.536e3, 69.315e3, 230.26e3], 100e3),
        // Quantiles of the normal distribution at 0.1 and 0.9: -1.2816, 1.2816.
        ("{ 'lognormal': { 'median': 100, 'sigma': 0.5 } }", [52.69e3, 100e3, 189.8e3], 113.31e3),
        ("{ 'empirical': [[0, 10], [0.5, 20], [1, 100]] }", [12e3, 20e3, 84e3], 37.5e3),
    ] {
        let d = read(text);
        let all = samples(&d, 200_000);
        let found = all.iter().map(|ns| u128::from(*ns)).sum::<u128>() / all.len() as u128;
        assert!(near(u64::try_from(found).unwrap(), mean), "{text}: mean {found}");
        assert!(near(d.mean_ns(), mean), "{text}: mean_ns {}", d.mean_ns());
        for (q, expected) in [(0.1, low), (0.5, median), (0.9, high)] {
            let at = all[(q * all.len() as f64) as usize];
            assert!(near(at, expected), "{text}: quantile {q} is {at}, not {expected}");
        }
    }
}

#[test]
fn the_same_bits_give_the_same_samples_for_ever() {
    let golden = |text: &str| {
        let (d, mut random) = (read(text), Random::new(1));
        let sampled: Vec<u64> = (0..4).map(|_| d.sample_ns(&mut || random.draw())).collect();
        sampled
    };
    let found = [
        golden("{ 'uniform': [100, 300] }"),
        golden("{ 'exponential': 100 }"),
        golden("{ 'lognormal': { 'median': 100, 'sigma': 0.5 } }"),
        golden("{ 'empirical': [[0, 10], [0.5, 20], [1, 1000]] }"),
    ];
    assert_eq!(found, GOLDEN.map(Vec::from));
}

/// Ns, and what the same formulas give in Python; a change here changes every simulation that anybody has recorded.
const GOLDEN: [[u64; 4]; 4] = [
    [213_312, 249_157, 294_201, 188_872],
    [83_601, 136_956, 354_055, 58_763],
    [98_301, 28_650, 104_484, 36_292],
    [150_461, 501_732, 943_165, 18_887],
];

#[test]
fn nothing_is_longer_than_the_longest_time() {
    let wild = Distribution::Lognormal { median: MAX_TIME_NS, sigma: 10.0 };
    assert_eq!(samples(&wild, 1000)[999], MAX_TIME_NS);
    for bits in [0, u64::MAX] {
        let d = Distribution::Exponential { mean: MAX_TIME_NS };
        assert!(d.sample_ns(&mut || bits) <= MAX_TIME_NS);
        let d = Distribution::Uniform { low: 5, high: 9 };
        assert_eq!(d.sample_ns(&mut || bits), if bits == 0 { 5 } else { 9 });
        // Made by hand, not by the reader.
        assert_eq!(Distribution::Empirical { points: Vec::new() }.sample_ns(&mut || bits), 0);
    }
    assert!(Distribution::Constant(0).is_zero() && !wild.is_zero());
}
