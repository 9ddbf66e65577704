// SPDX-License-Identifier: GPL-2.0-only
//! What is idle power worth under a package limit, by the formula, and what is refused?

use idlewise_checkout::root;
use idlewise_recording::ReplaySetup;
use idlewise_study::replay::{ReplayReport, ReplayRequest, replay};

fn asked(platform: &str, limit: &str) -> Result<ReplayReport, String> {
    let request = ReplayRequest {
        traces: vec![root().join("tests/data/mixed.dat")],
        setup: ReplaySetup { platform: Some(platform.to_owned()), ..ReplaySetup::default() },
        governors: ["shallow", "menu", "oracle"].map(str::to_owned).into(),
        power_limit: Some(limit.to_owned()),
        ..ReplayRequest::default()
    };
    replay(&request, &|_, _| {}).map_err(|e| e.to_string())
}

#[test]
fn power_that_a_governor_frees_is_clock_for_the_others() {
    let report = asked("jasper-lake", "pl1=4W..6W/2W").unwrap();
    let names: Vec<&str> = report.power_limits.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["pl1=4W:27.983872s", "pl1=6W:27.983872s"]);
    for limit in &report.power_limits {
        let recording = &limit.recordings[0];
        let [least, most] = recording.clocked_w;
        let of = |name: &str| recording.governors.iter().find(|g| g.governor == name).unwrap();
        let (shallow, menu, oracle) = (of("shallow"), of("menu"), of("oracle"));
        // The package of the 6 W Chromebook: 1.57 W awake and 0.35 W always.
        assert!((limit.package_w - 1.92).abs() < 1e-9 && (most - least - 1.92).abs() < 1e-9, "{recording:?}");
        assert!((most + shallow.idle_w - limit.limit_w).abs() < 1e-9, "{recording:?}");
        assert_eq!((shallow.freed_w, shallow.clock_pct), (0.0, [0.0, 0.0]));
        assert!(menu.freed_w > 0.0 && oracle.freed_w >= menu.freed_w, "{recording:?}");
        for g in [menu, oracle] {
            // The score's mJ over the recording's time.
            let score = &report.traces[0].governors.iter().find(|r| r.governor == g.governor).unwrap().score;
            let watts = score.energy * 1e6 / report.traces[0].head.span_ns as f64;
            assert!(
                (g.idle_w - watts).abs() < 1e-12 && (shallow.idle_w - g.idle_w - g.freed_w).abs() < 1e-12
            );
            let change = |c: f64, k: f64| 100.0 * ((1.0 + g.freed_w / c).powf(1.0 / k) - 1.0);
            let expected = [change(most, 3.5), change(least, 2.5)];
            let near = g.clock_pct.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(near && expected[0] > 0.0, "{g:?} {expected:?}");
        }
    }
    // The tighter the limit, the more a watt is worth.
    let gain = |i: usize| report.power_limits[i].recordings[0].governors[1].clock_pct;
    assert!(gain(0)[0] > gain(1)[0] && gain(0)[1] > gain(1)[1]);
}

#[test]
fn limits_that_mean_nothing_here_are_refused() {
    for (platform, limit, words) in [
        (
            "skylake-sp",
            "pl1=100W:1s",
            "needs watts, and the powers of skylake-sp are relative; expected a platform",
        ),
        (
            "jasper-lake",
            "none",
            "without a limit nothing is left to the clock; expected one, such as pl1=6W:28s",
        ),
        ("jasper-lake", "pl1=6", "has no such power; expected a power in W or mW"),
        ("pixel6", "pl1=4W", "has no window, and the platform gives none"),
        ("jasper-lake", "pl1=1W", "leaves nothing to the clock: under shallow on "),
    ] {
        let why = asked(platform, limit).unwrap_err();
        assert!(why.contains("--power-limit") && why.contains(words), "{platform} {limit}: {why}");
    }
}
