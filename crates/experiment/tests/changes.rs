// SPDX-License-Identifier: GPL-2.0-only
//! Values of a platform that a request changes, and what they do.

use std::collections::BTreeMap;

use idlewise_experiment::simulate::{SimulateReport, SimulateRequest, simulate_workload};
use idlewise_workload::Workload;

/// 1 ms of BIG's work every 20 ms, once clocks have been set.
const LOAD: &str = r#"{ "tasks" : { "t" : { "delay" : 20000, "cpus" : [6], "run" : 1000, "timer" : { "ref" : "unique", "period" : 20000 } } },
    "global" : { "calibration" : "CPU6" } }"#;

fn run(governor: &str, changes: &[(&str, &str)]) -> SimulateReport {
    let request = SimulateRequest {
        workload: "load".to_owned(),
        platform: "pixel6".to_owned(),
        changes: changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>(),
        governors: vec![governor.to_owned()],
        cpufreq: vec!["performance".to_owned()],
        signals: vec!["pelt".to_owned()],
        kernel: "6.12".to_owned(),
        duration_ns: Some(2_000_000_000),
        repeat: 1,
        ..SimulateRequest::default()
    };
    let workload = Workload::from_text("load", LOAD).unwrap();
    simulate_workload(&request, &workload, None, &|_, _| {}).unwrap()
}

fn fact(r: &SimulateReport, about: &str, name: &str) -> f64 {
    r.combinations[0].fact(about, name).unwrap().summary.mean
}

#[test]
fn a_state_that_loses_caches_makes_the_work_after_it_longer() {
    let refill = [("cluster.BIG.state.c2.refill_us", "300")];
    let running = |governor, changes: &[_]| fact(&run(governor, changes), "task t", "running %");
    // 99 periods of 300 us in 2 s are 1.5 points; WFI keeps caches.
    let more = running("deepest", &refill) - running("deepest", &[]);
    assert!((more - 1.5).abs() < 0.05, "{more}");
    assert_eq!(running("shallow", &refill), running("shallow", &[]));
    // The task runs as soon as before.
    let latency = |changes: &[_]| fact(&run("deepest", changes), "task t", "wakeup latency mean");
    assert_eq!(latency(&refill), latency(&[]));
}

#[test]
fn no_governor_passes_the_highest_clock_allowed() {
    let running = |changes: &[_]| fact(&run("shallow", changes), "task t", "running %");
    let slow = running(&[("cluster.BIG.clock.max_khz", "1582000")]);
    // Work at 1582 of 2802 MHz.
    let ratio = slow / running(&[]);
    assert!((ratio - 2802.0 / 1582.0).abs() < 0.02, "{ratio}");
}
