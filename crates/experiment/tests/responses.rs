// SPDX-License-Identifier: GPL-2.0-only
use idlewise_experiment::simulate::{Response, SimulateRequest, responses};
use idlewise_signal::walt;

const MS: u64 = 1_000_000;

/// How `signal` follows the loads, and how schedutil does that reads it.
fn of(signal: &str) -> Vec<Response> {
    let one = |name: &str| vec![name.to_owned()];
    let request = SimulateRequest {
        platform: "pixel6".to_owned(),
        governors: one("menu"),
        cpufreq: one("schedutil"),
        signals: one(signal),
        kernel: "6.12".to_owned(),
        hz: Some(250),
        ..SimulateRequest::default()
    };
    responses(&request).unwrap()
}

/// The utilisation that `signal` has under `load`.
fn points(signal: &str, load: &str) -> Vec<(u64, f64)> {
    of(signal).into_iter().find(|r| r.subject == signal && r.load == load).unwrap().points
}

fn at(points: &[(u64, f64)], ms: u64) -> f64 {
    points.iter().find(|(at_ns, _)| *at_ns == ms * MS).unwrap().1
}

/// After a half life half of the way is done: 32 periods of 1024 us are 32.8 ms.
#[test]
fn pelt_needs_its_half_life_for_half_of_the_step() {
    let points = points("pelt", "step");
    // The kernel's sums lose a little; the first period counts when it is over.
    assert!((at(&points, 34) - 512.0).abs() < 16.0, "{}", at(&points, 34));
    assert!(at(&points, 300) > 1000.0);
    let left = at(&points, 332) / at(&points, 300);
    assert!((left - 0.5).abs() < 0.02, "{left}");
    assert!(at(&points, 600) < 8.0);
}

/// A full window is seen when it is over.
#[test]
fn walt_follows_a_step_a_window_later() {
    let config = walt::Config::android();
    let window_ms = u64::from(config.window_ns) / MS;
    let points = points("walt", "step");
    assert!(at(&points, 2 * window_ms + 4) > 1000.0, "{points:?}");
    assert!(at(&points, 600) < 100.0, "{points:?}");
}

#[test]
fn a_ramp_ends_higher_than_it_begins_and_loads_are_workloads() {
    for signal in ["pelt", "walt-rfc"] {
        let points = points(signal, "ramp");
        assert!(at(&points, 60) < 400.0 && at(&points, 480) > 600.0, "{points:?}");
    }
    // Each is simulated, too: the clock rises under its one task.
    let clocks: Vec<Response> = of("pelt").into_iter().filter(|r| r.unit == "MHz").collect();
    assert_eq!(clocks.iter().map(|r| r.load).collect::<Vec<_>>(), ["step", "ramp"]);
    for Response { points, .. } in clocks {
        let first = points[0];
        assert!(first.0 == 0 && points.iter().any(|(_, mhz)| *mhz > 2.0 * first.1), "{points:?}");
    }
}
