// SPDX-License-Identifier: GPL-2.0-only
//! States that are switched off, and a limit of the exit latency, for one governor among others.

use std::path::Path;

use idlewise_experiment::simulate::{SimulateReport, SimulateRequest, simulate};
use idlewise_recording::ReplaySetup;
use idlewise_study::replay::{GovernorResult, ReplayReport, ReplayRequest};
use idlewise_testkit::{recording, refused, request, run, setup};

/// An RK3399 of which one state is off from the start.
fn without(state: &str, dir: &Path) -> String {
    let text = idlewise_platform::find("rk3399").unwrap().to_toml();
    let from = format!("name = \"{state}\"\n");
    assert!(text.contains(&from), "{text}");
    let path = dir.join("without.toml");
    std::fs::write(&path, text.replace(&from, &format!("{from}disabled = true\n"))).unwrap();
    path.to_str().unwrap().to_owned()
}

fn on(path: &Path, platform: &str, governors: &[&str]) -> ReplayReport {
    run(&ReplayRequest {
        setup: ReplaySetup {
            platform: Some(platform.to_owned()),
            cluster: Some("A53".to_owned()),
            ..setup("kvm-guest", "menu")
        },
        ..request(&[path], "kvm-guest", "menu", governors)
    })
}

fn of<'r>(report: &'r ReplayReport, name: &str) -> &'r GovernorResult {
    report.traces[0].governors.iter().find(|g| g.governor == name).unwrap()
}

/// How often each state was entered.
fn entered(result: &GovernorResult) -> Vec<u64> {
    result.score.states.iter().map(|s| s.entries).collect()
}

#[test]
fn a_state_switched_off_for_one_governor_is_one_that_the_machine_never_switched_on() {
    let Some(path) = recording("kvm-guest/rtapp60.dat") else { return };
    let dir = tempfile::tempdir().unwrap();
    for (state, name) in [(2, "cluster-sleep"), (1, "cpu-sleep"), (0, "WFI")] {
        for governor in ["menu", "teo", "ladder"] {
            let with = format!("{governor}:disable={state}");
            let ours = on(&path, "rk3399", &[governor, &with]);
            let theirs = on(&path, &without(name, dir.path()), &[governor]);
            assert_eq!(of(&ours, &with).score, of(&theirs, governor).score, "{with}");
            // Ladder begins on the lowest rung whatever is off.
            if governor != "ladder" || state > 0 {
                assert_eq!(entered(of(&ours, &with))[state], 0, "{with}");
            }
            assert!(entered(of(&ours, governor))[state] > 0, "{governor} has state {state} all the same");
        }
    }
}

#[test]
fn no_state_is_entered_that_takes_longer_than_the_limit() {
    let Some(path) = recording("kvm-guest/rtapp60.dat") else { return };
    let limits = ["menu:latency_limit_us=500", "teo:latency_limit_us=0", "menu"];
    let report = on(&path, "rk3399", &limits);
    let [some, none, all] = limits.map(|name| entered(of(&report, name)));
    assert_eq!(some[2], 0, "cluster-sleep takes 900 us");
    assert!(some[1] > 0, "cpu-sleep takes 370");
    assert_eq!((none[1], none[2]), (0, 0));
    assert!(all[2] > 0);
}

#[test]
fn a_simulation_takes_the_same_limits() {
    let dir = tempfile::tempdir().unwrap();
    let with = |platform: &str, governor: &str| -> SimulateReport {
        let request = SimulateRequest {
            workload: "frames".to_owned(),
            platform: platform.to_owned(),
            governors: vec![governor.to_owned()],
            cpufreq: vec!["schedutil".to_owned()],
            signals: vec!["pelt".to_owned()],
            kernel: "6.12".to_owned(),
            duration_ns: Some(1_000_000_000),
            seed: 7,
            repeat: 1,
            ..SimulateRequest::default()
        };
        simulate(&request, None, &|_, _| {}).unwrap()
    };
    // As text: what there is no value for is not a number, and equal to nothing.
    let values = |report: &SimulateReport| format!("{:?}", report.combinations[0].runs[0].values);
    let limited = values(&with("rk3399", "menu:disable=2"));
    assert_eq!(limited, values(&with(&without("cluster-sleep", dir.path()), "menu")));
    assert_ne!(limited, values(&with("rk3399", "menu")));
    // What takes longer than 500 us is cluster-sleep alone, but that it is on makes stays too shallow.
    let others = |report: SimulateReport| {
        let all = report.combinations[0].facts.iter();
        let others = all.filter(|f| !f.name.starts_with("too shallow %"));
        others.map(|f| format!("{} {} {:?}", f.about, f.name, f.summary)).collect::<Vec<_>>()
    };
    let facts = others(with("rk3399", "menu:latency_limit_us=500"));
    assert!(facts.len() > 20);
    assert_eq!(facts, others(with("rk3399", "menu:disable=2")));
}

#[test]
fn what_the_machine_does_not_have_cannot_be_switched_off() {
    let Some(path) = recording("kvm-guest/rtapp60.dat") else { return };
    let ask = |governor: &str| refused(&request(&[&path], "kvm-guest", "menu", &[governor]));
    let said = ask("menu:disable=4");
    assert!(said.contains("no CPU that is run has an idle state 4") && said.contains("0 to 1"), "{said}");
    let said = ask("menu:disable=0,disable=1");
    assert!(said.contains("no idle state"), "{said}");
    let said = ask("menu:disable=C1");
    assert!(said.contains("`disable=C1`"), "{said}");
}
