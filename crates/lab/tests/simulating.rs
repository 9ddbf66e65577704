// SPDX-License-Identifier: GPL-2.0-only
//! Simulations as they are asked for: does the same request give the same answer, and does every workload run?
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::path::{Path, PathBuf};

use idlewise_lab::simulate::{SimulateReport, SimulateRequest, simulate, workloads};

fn request(workload: &str) -> SimulateRequest {
    SimulateRequest {
        workload: workload.to_owned(),
        platform: "rk3399".to_owned(),
        governors: vec!["menu-6.1".to_owned(), "teo".to_owned()],
        kernel_trees: Vec::new(),
        cpufreq: vec!["schedutil".to_owned(), "ondemand".to_owned()],
        signals: vec!["pelt".to_owned(), "walt".to_owned()],
        kernel: "6.12".to_owned(),
        hz: None,
        cpus: None,
        duration_ns: Some(1_000_000_000),
        seed: 7,
        repeat: 3,
        baseline: None,
    }
}

fn run(request: &SimulateRequest) -> SimulateReport {
    simulate(request, None, &|_, _| {}).unwrap()
}

#[test]
fn the_same_request_gives_the_same_answer_on_any_number_of_threads() {
    let request = request("frames");
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        serde_json::to_string(&pool.install(|| run(&request))).unwrap()
    };
    let one = on(1);
    assert_eq!(one, on(4));
    // Other seeds are other runs.
    let other = run(&SimulateRequest { seed: 8, ..request });
    assert_ne!(one, serde_json::to_string(&other).unwrap());
}

#[test]
fn every_combination_has_a_result_of_its_own() {
    let report = run(&request("frames"));
    let names: Vec<String> =
        report.combinations.iter().map(|c| format!("{} {} {}", c.governor, c.cpufreq, c.signal)).collect();
    assert_eq!(names.len(), 8);
    assert_eq!(names[0], "menu-6.1 schedutil pelt");
    assert_eq!(names[7], "teo ondemand walt");
    let power = |i: usize| report.combinations[i].fact("energy", "power").unwrap().summary.mean;
    assert!((0..8).all(|i| power(i) > 0.0));
    // Who feeds the clock makes a difference, and who sets it.
    assert!((power(0) - power(1)).abs() > 1e-9 && (power(0) - power(2)).abs() > 1e-9);
    assert!(
        report.combinations.iter().all(|c| c.runs.len() == 3 && c.failure.is_none() && c.notes.is_empty())
    );
}

#[test]
fn every_workload_that_comes_with_idlewise_runs() {
    for (name, about) in workloads().unwrap() {
        assert!(!about.is_empty(), "{name}");
        let report = run(&SimulateRequest { repeat: 1, ..request(name) });
        for c in &report.combinations {
            assert!(c.fact("idle", "wakeups/s").unwrap().summary.mean > 1.0, "{name}");
        }
    }
}

/// Files of rt-app's own below `folder`, but for pieces that its scripts put together.
fn rt_app_files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("merge") {
            out.extend(rt_app_files(&path));
        } else if path.extension().is_some_and(|e| e == "json") {
            out.push(path);
        }
    }
    out.sort();
    out
}

#[test]
fn rt_apps_own_files_run() {
    let shared = std::env::var_os("IDLEWISE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = shared.join("traces/rt-app");
    if !folder.is_dir() {
        println!("not run: {} is missing", folder.display());
        return;
    }
    let files = rt_app_files(&folder);
    assert!(files.len() >= 20, "{files:?}");
    for path in files {
        let request = SimulateRequest {
            governors: vec!["teo".to_owned()],
            cpufreq: vec!["schedutil".to_owned()],
            signals: vec!["pelt".to_owned()],
            repeat: 1,
            platform: "pixel6".to_owned(),
            duration_ns: Some(3_000_000_000),
            ..request(path.to_str().unwrap())
        };
        let report = run(&request);
        let c = &report.combinations[0];
        assert!(c.notes.is_empty(), "{}: {:?}", path.display(), c.notes);
        assert!(c.runs[0].events > 50, "{}: {} events", path.display(), c.runs[0].events);
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_in_words() {
    let refused = |request: SimulateRequest, words: &str| {
        let e = simulate(&request, None, &|_, _| {}).unwrap_err().to_string();
        assert!(e.contains(words), "{e}");
    };
    refused(SimulateRequest { governors: vec!["oracle".into()], ..request("web") }, "the oracle knows");
    refused(SimulateRequest { signals: vec!["plet".into()], ..request("web") }, "signal `plet`");
    refused(SimulateRequest { cpufreq: vec!["shedutil".into()], ..request("web") }, "schedutil");
    refused(SimulateRequest { kernel: "4.2".into(), ..request("web") }, "before 4.3");
    refused(SimulateRequest { hz: Some(0), ..request("web") }, "--hz");
    refused(SimulateRequest { baseline: Some("menu".into()), ..request("web") }, "baseline menu");
    refused(request("no-such-load"), "no-such-load");
}
