// SPDX-License-Identifier: GPL-2.0-only
//! Does the limit of a 6 W Chromebook act in a simulation when it acted on the machine, given the load of its posted logs?
//!
//! Four logs of turbostat, in samples of 5 s (linux-pm, 2025-10-15 Senozhatsky, 41ecc6323d; 2026-02-10 Senozhatsky, 8a2b64fe20).
//! Their busy time and clock give the work of each sample; the simulation has to find when the average reaches 6 W. The powers of
//! the platform are a fit to the same logs, and the clock's governor is a candidate for HWP: with the other one the limit acts two
//! samples later in one log than the machine's did.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use idlewise_checkout::shared;
use idlewise_experiment::simulate::{SimulateReport, SimulateRequest, simulate_workload};
use idlewise_workload::Workload;

const SAMPLE_S: f64 = 5.0;
/// The load comes in pieces of so long, us. The logs do not say how it came, and the result depends on it: with 100 ms the limit first
/// acts two samples later in base, with 5 ms it also acts in sample 117 of revert and, under menu-6.1, in one of February's.
const PIECE_US: u64 = 20_000;

/// Work of each sample, as a share of what four CPUs do at 3300 MHz.
fn loads() -> Option<BTreeMap<String, Vec<f64>>> {
    let text = fs::read_to_string(shared().join("traces/power/jasper-lake-series.csv")).ok()?;
    let head: Vec<&str> = text.lines().next()?.split(',').collect();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let (log, busy, clock) = (column("log"), column("Busy%"), column("Bzy_MHz"));
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        all.entry(cells[log].to_owned()).or_default().push(number(busy) / 100.0 * number(clock) / 3300.0);
    }
    Some(all)
}

fn workload(samples: &[f64]) -> Workload {
    let mut phases = String::new();
    for (i, share) in samples.iter().enumerate() {
        let run = (share * PIECE_US as f64) as u64;
        let loops = (SAMPLE_S * 1e6) as u64 / PIECE_US;
        let apart = if i == 0 { "" } else { ", " };
        let timer = format!("\"timer\": {{ \"ref\": \"unique\", \"period\": {PIECE_US} }}");
        let _ = write!(phases, "{apart}\"s{i}\": {{ \"loop\": {loops}, \"run\": {}, {timer} }}", run.max(1));
    }
    let task =
        |c: usize| format!("\"cpu{c}\": {{ \"cpus\": [{c}], \"loop\": 1, \"phases\": {{ {phases} }} }}");
    let tasks: Vec<String> = (0..4).map(task).collect();
    let seconds = samples.len() as f64 * SAMPLE_S;
    let text = format!(
        "{{ \"tasks\": {{ {} }}, \"global\": {{ \"duration\": {seconds}, \"calibration\": \"CPU0\" }} }}",
        tasks.join(", ")
    );
    Workload::from_text("log", &text).unwrap()
}

fn simulated(samples: &[f64]) -> SimulateReport {
    let request = SimulateRequest {
        workload: "log".to_owned(),
        platform: "jasper-lake".to_owned(),
        governors: vec!["menu".to_owned()],
        cpufreq: vec!["hwp-window".to_owned()],
        signals: vec!["pelt".to_owned()],
        kernel: "6.1".to_owned(),
        seed: 1,
        repeat: 1,
        ..SimulateRequest::default()
    };
    simulate_workload(&request, &workload(samples), None, &|_, _| {}).unwrap()
}

/// The samples in which the limit first and last held the clock, from 1 on.
fn episode(report: &SimulateReport) -> Option<(u64, u64)> {
    let fact = |name: &str| report.combinations[0].fact("limit", name).unwrap().summary.mean;
    let sample = |ns: f64| (ns / 1e9 / SAMPLE_S) as u64 + 1;
    let first = fact("pl1 first limited");
    first.is_finite().then(|| (sample(first), sample(fact("pl1 last limited"))))
}

#[test]
fn the_limit_acts_in_the_samples_in_which_it_acted_and_in_no_others() {
    let Some(loads) = loads() else {
        println!("skipped: no logs in ../shared (IDLEWISE_SHARED)");
        return;
    };
    let of = |log: &str| episode(&simulated(&loads[log]));
    // On the machine: 20 to 24, and 23 to 26.
    let near = |found: Option<(u64, u64)>, (first, last): (u64, u64)| {
        let found = found.unwrap();
        assert!(
            found.0.abs_diff(first) <= 1 && found.1.abs_diff(last) <= 1,
            "{found:?}, posted {first} to {last}"
        );
    };
    near(of("oct-base"), (20, 24));
    near(of("oct-revert"), (23, 26));
    assert_eq!((of("feb-base"), of("feb-revert")), (None, None));
}
