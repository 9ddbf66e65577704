// SPDX-License-Identifier: GPL-2.0-only
//! Do averages follow their formula, and do ceilings keep them at the limit?

use idlewise_power::{
    ClockDomain, Control, ControlSetup, Heat, Leakage, Limit, Limits, PowerSample, RunningAverage, Turbo,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

#[test]
fn an_average_is_exact_over_constant_power_however_it_is_cut() {
    let mut whole = RunningAverage::new(28 * S, 3_000_000);
    whole.advance(9_000_000.0, 5 * S);
    let expected = 9e6 - 6e6 * (-5.0_f64 / 28.0).exp();
    assert!((whole.uw() - expected).abs() < 1e-6, "{} {expected}", whole.uw());
    let mut cut = RunningAverage::new(28 * S, 3_000_000);
    for _ in 0..5000 {
        cut.advance(9_000_000.0, MS);
    }
    assert!((cut.uw() - whole.uw()).abs() < 1e-5, "{} {}", cut.uw(), whole.uw());
    // From a0, a load P above the limit L may run for tau ln((P - a0) / (P - L)): Intel's 1.25 TDP for 1.6 tau from 0.
    let mut intel = RunningAverage::new(28 * S, 0);
    intel.advance(1.25e6, (28e9 * 5.0_f64.ln()) as u64);
    assert!((intel.uw() - 1e6).abs() < 1e-3);
    let uw = whole.power_to_reach(6e6, S);
    whole.advance(uw, S);
    assert!((whole.uw() - 6e6).abs() < 1e-3);
}

/// Package power in samples of 5 s of a 6 W Chromebook around its one episode at PL1 (linux-pm, 2025-10-15 Senozhatsky,
/// 41ecc6323d), and the average that throttling follows: it begins in the sample in which that passes 6 W.
#[test]
fn the_average_of_a_posted_log_passes_the_limit_where_throttling_begins() {
    let base =
        [(9.49, 4.58), (8.63, 5.24), (9.07, 5.87), (7.47, 6.13), (5.57, 6.04), (5.74, 5.99), (5.67, 5.94)];
    let revert =
        [(2.15, 3.00), (6.26, 3.53), (8.67, 4.37), (8.22, 5.00), (9.00, 5.66), (8.62, 6.14), (5.61, 6.05)];
    for (samples, throttled_from) in [(base, 3), (revert, 5)] {
        let mut average = RunningAverage::new(28 * S, (samples[0].1 * 1e6) as u64);
        for (i, (watts, ewma)) in samples.iter().enumerate().skip(1) {
            average.advance(watts * 1e6, 5 * S);
            assert!((average.uw() / 1e6 - ewma).abs() < 0.02, "{i}: {} {ewma}", average.uw());
            assert!(i > throttled_from || (average.uw() > 6e6) == (i == throttled_from), "{i}");
        }
    }
}

/// 800 to 3300 MHz in steps of 100, power as f^2.8, 5 W per GHz^2.8 over 13: four cores that draw 9.9 W at the top.
fn full_uw() -> Vec<u64> {
    (8..=33).map(|f| (0.35e6 * (f64::from(f) / 10.0).powf(2.8)) as u64).collect()
}

fn setup(pl1: Option<Limit>, pl2: Option<Limit>) -> ControlSetup {
    ControlSetup {
        limits: Limits { pl1, pl2 },
        step_ns: 400_000,
        domains: vec![ClockDomain { full_uw: full_uw(), base: 3, turbo: Vec::new() }],
        idle_uw: 1_000_000,
        heat: None,
    }
}

fn limit(power_uw: u64, window_ns: u64) -> Limit {
    Limit { power_uw, window_ns, clamp: true, start_uw: None }
}

/// Plays a load, by its share of full load in each piece of time, and gives the averages' history: when, and the average.
fn play(control: &mut Control, pieces: &[(u64, u64)], window_ns: u64) -> Vec<(u64, f64, usize)> {
    let full = full_uw();
    let (mut now_ns, mut drawn, mut running) = (0, 0_u128, full.len() - 1);
    let mut average = RunningAverage::new(window_ns, 1_000_000);
    let mut history = Vec::new();
    for (share, ns) in pieces {
        let end_ns = now_ns + ns;
        while now_ns < end_ns {
            let uw = 1_000_000 + full[running] * share / 100;
            let d = control.next_ns() - now_ns;
            drawn += u128::from(uw) * u128::from(d);
            now_ns += d;
            average.advance(uw as f64, d);
            let asked = [full.len() - 1];
            control.sample(&PowerSample {
                now_ns,
                drawn_fj: drawn,
                asked: &asked,
                running: &[running],
                active: &[*share > 0],
                cores: &[4],
            });
            running = asked[0].min(control.ceiling(0));
            history.push((now_ns, average.uw(), running));
        }
    }
    assert_eq!(control.record().drawn_fj, drawn);
    history
}

/// What the largest step of the clock is worth, uW.
fn step_uw() -> f64 {
    full_uw().windows(2).map(|w| w[1] - w[0]).max().unwrap() as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// The average stays below the limit and a step, but for the stated delay.
    #[test]
    fn an_average_stays_below_its_limit_and_a_step(
        pieces in proptest::collection::vec((0_u64..=100, 1_u64..3000), 1..30),
        watts in 2_u64..9,
        window in prop_oneof![Just(976_000), Just(10 * MS), Just(300 * MS), Just(S), Just(8 * S), Just(28 * S)],
    ) {
        let pl1 = limit(watts * 1_000_000, window);
        let mut control = Control::new(setup(Some(pl1), None));
        let pieces: Vec<(u64, u64)> = pieces.iter().map(|(share, ms)| (*share, ms * MS)).collect();
        let history = play(&mut control, &pieces, window);
        let most = pl1.power_uw as f64 + step_uw();
        let mut since = None;
        for (at, average, running) in history {
            if average > most && running > 0 {
                let since = *since.get_or_insert(at);
                prop_assert!(window < S, "a window of {window} ns: {average} uW at {at}");
                prop_assert!(at - since <= control.delay_ns(0), "above since {since}, at {at}: {average} of {most}");
            } else {
                since = None;
            }
        }
    }
}

#[test]
fn a_load_above_the_limit_runs_freely_until_the_average_is_there_and_settles_at_it() {
    let pl1 = limit(6_000_000, 28 * S);
    let mut control = Control::new(setup(Some(pl1), None));
    let history = play(&mut control, &[(100, 120 * S)], 28 * S);
    let power = 1e6 + full_uw()[25] as f64;
    let free_s = 28.0 * ((power - 1e6) / (power - 6e6)).ln();
    let held = control.record().limits[0].cause;
    let first_s = held.first_ns.unwrap() as f64 / 1e9;
    assert!((first_s - free_s).abs() < 0.1, "{first_s} {free_s}");
    // 5 W for the cores are 2.58 GHz: the clock alternates between 2500 and 2600 MHz.
    let late: Vec<_> = history.iter().filter(|(at, ..)| *at > 100 * S).collect();
    assert!(late.iter().all(|(_, a, _)| (a - 6e6).abs() < 20_000.0), "{:?}", late.first());
    let points: std::collections::BTreeSet<usize> = late.iter().map(|(_, _, p)| *p).collect();
    assert_eq!(points, [17, 18].into());
    assert_eq!(held.held_ns, control.record().held_ns);
}

#[test]
fn a_limit_without_a_clamp_stops_at_the_base_clock() {
    for (clamp, lowest) in [(true, 0), (false, 3)] {
        let mut control = Control::new(setup(Some(Limit { clamp, ..limit(1_100_000, S) }), None));
        let history = play(&mut control, &[(100, 10 * S)], S);
        assert_eq!(history.last().unwrap().2, lowest);
        let seen = &control.record().limits[0];
        assert!(seen.helpless_ns > 9 * S && seen.above_ns >= seen.helpless_ns);
    }
}

#[test]
fn pl2_bounds_a_spike_within_ten_milliseconds() {
    let mut control = Control::new(setup(None, Some(limit(7_000_000, 976_000))));
    let history = play(&mut control, &[(0, 100 * MS), (100, 100 * MS), (0, 100 * MS)], 976_000);
    let above: Vec<u64> =
        history.iter().filter(|(_, a, _)| *a > 7e6 + step_uw()).map(|(at, ..)| *at).collect();
    assert!(above.iter().all(|at| (100 * MS..111 * MS).contains(at)), "{above:?}");
    assert!(!above.is_empty());
    // There is room again.
    assert_eq!(history.last().unwrap().2, 25);
}

#[test]
fn turbo_depends_on_the_number_of_active_cores() {
    let turbo = vec![Turbo { cores: 2, point: 25 }, Turbo { cores: 4, point: 23 }];
    let mut setup = setup(None, None);
    setup.domains[0].turbo = turbo;
    let mut control = Control::new(setup);
    let mut sample = |cores: usize, now_ns: u64, running: usize| {
        let active = [cores > 0];
        control.sample(&PowerSample {
            now_ns,
            drawn_fj: 0,
            asked: &[25],
            running: &[running],
            active: &active,
            cores: &[cores],
        });
        control.ceiling(0)
    };
    assert_eq!(sample(2, 400_000, 25), 25);
    assert_eq!(sample(3, 800_000, 25), 23);
    assert_eq!(sample(9, 1_200_000, 23), 23);
    assert_eq!(sample(0, 1_600_000, 23), 25);
    let seen = control.record().clone();
    assert_eq!(seen.turbo.unwrap().held_ns, 400_000);
    assert_eq!((seen.turbo.unwrap().first_ns, seen.held_ns), (Some(800_000), 400_000));
    assert_eq!(seen.turbo.unwrap().last_ns, Some(1_200_000));
}

#[test]
fn a_trip_is_a_limit_of_temperature_and_leakage_doubles() {
    let leakage = Leakage { uw: 400_000, at_mc: 60_000, doubles_mk: 20_000 };
    let heat = Heat {
        ambient_mc: 25_000,
        mk_per_w: 6_000,
        window_ns: 2 * S,
        trip_mc: Some(61_000),
        leakage: Some(leakage),
    };
    // 36 K over 6 K/W.
    assert_eq!(heat.trip().unwrap().power_uw, 6_000_000);
    let mut average = RunningAverage::new(2 * S, 0);
    for (watts, more_uw) in
        [((60.0 - 25.0) / 6.0, 0), ((80.0 - 25.0) / 6.0, 400_000), ((40.0 - 25.0) / 6.0, -200_000)]
    {
        average.advance(watts * 1e6, 1000 * S);
        assert_eq!(heat.more_leakage_uw(&average), more_uw);
    }
    average.advance(1e12, 1000 * S);
    assert_eq!(heat.more_leakage_uw(&average), 1_000_000_000 - 400_000, "it has an end");
    let mut control = Control::new(ControlSetup { heat: Some(heat), ..setup(None, None) });
    let history = play(&mut control, &[(100, 30 * S), (0, 30 * S)], 2 * S);
    let hot = control.record().heat.unwrap();
    assert!((61_000..62_000).contains(&hot.peak_mc), "{hot:?}");
    assert_eq!((hot.now_mc, control.record().limits[0].name.as_str()), (31_000, "trip"));
    assert!(history.iter().any(|(_, a, p)| (a - 6e6).abs() < 10_000.0 && *p == 18));
}

/// Six cores at full load on a water-cooled desktop: package power at each clock, and the clocks between which it stayed under a
/// PL1 of 100 W and 28 s, without oscillating (linux-pm, 2021-01-18 Smythies, fa9589d736).
#[test]
fn a_steady_load_runs_at_the_clock_that_a_desktop_settled_at() {
    let watts = [72.7, 81.0, 89.0, 98.3, 107.0, 116.0];
    let full_uw: Vec<u64> = watts.iter().map(|w| (w * 1e6) as u64).collect();
    let mut control = Control::new(ControlSetup {
        domains: vec![ClockDomain { full_uw: full_uw.clone(), base: 0, turbo: Vec::new() }],
        idle_uw: 1_900_000,
        ..setup(Some(limit(100_000_000, 28 * S)), None)
    });
    let (mut now_ns, mut drawn, mut running) = (0, 0_u128, 5);
    let (mut mhz_ns, mut drawn_before) = (0, 0);
    while now_ns < 300 * S {
        let ns = control.next_ns() - now_ns;
        drawn += u128::from(full_uw[running]) * u128::from(ns);
        now_ns += ns;
        if now_ns <= 200 * S {
            drawn_before = drawn;
        } else {
            mhz_ns += (3700 + 100 * running as u64) * ns;
            assert!([3, 4].contains(&running), "{running} at {now_ns}");
        }
        let sample = PowerSample {
            now_ns,
            drawn_fj: drawn,
            asked: &[5],
            running: &[running],
            active: &[true],
            cores: &[6],
        };
        control.sample(&sample);
        running = control.ceiling(0).min(5);
    }
    let (mhz, watts) = (mhz_ns / (100 * S), (drawn - drawn_before) as f64 / 100e15);
    assert!((4016..=4042).contains(&mhz), "{mhz}");
    assert_eq!(mhz, 4019);
    assert!((watts - 99.8).abs() < 0.5, "{watts}");
}
