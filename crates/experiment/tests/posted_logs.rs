// SPDX-License-Identifier: GPL-2.0-only
//! Does the limit of a 6 W Chromebook act in a simulation when it acted on the machine, given the load of its posted logs?
//!
//! Four logs of turbostat, in samples of 5 s (linux-pm, 2025-10-15 Senozhatsky, 41ecc6323d; 2026-02-10 Senozhatsky, 8a2b64fe20).
//! Their busy time and clock give the work of each sample; the simulation has to find when the average reaches 6 W. The powers of
//! the platform are a fit to the same logs, and the clock's governor is a candidate for HWP: with `hwp-ewma` the limit acts two
//! samples later in one log than the machine's did.
//!
//! The same logs tell which load the clock follows.

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

/// A sample of a log: means over 5 s and four CPUs.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Share of time that CPUs were busy.
    busy: f64,
    /// Share of time that they were in C6 or C7, where a core has no power.
    gated: f64,
    /// Their clock while they were busy, MHz.
    mhz: f64,
    /// The running average of the package's power over 28 s, W.
    average_w: f64,
}

fn logs() -> Option<BTreeMap<String, Vec<Sample>>> {
    let text = fs::read_to_string(shared().join("traces/power/jasper-lake-series.csv")).ok()?;
    let head: Vec<&str> = text.lines().next()?.split(',').collect();
    let mut all: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| cells[head.iter().position(|h| *h == name).unwrap()];
        let number = |name: &str| cell(name).parse::<f64>().unwrap();
        all.entry(cell("log").to_owned()).or_default().push(Sample {
            busy: number("Busy%") / 100.0,
            gated: (number("CPU%c6") + number("CPU%c7")) / 100.0,
            mhz: number("Bzy_MHz"),
            average_w: number("ewma28_W"),
        });
    }
    Some(all)
}

/// Work of each sample, as a share of what four CPUs do at 3300 MHz.
fn loads() -> Option<BTreeMap<String, Vec<f64>>> {
    let work = |s: &Sample| s.busy * s.mhz / 3300.0;
    Some(logs()?.into_iter().map(|(log, samples)| (log, samples.iter().map(work).collect())).collect())
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

/// By how much the clock of `revert` is above that of `base` at the same `load`, MHz: least squares of a parabola and that offset, over
/// the samples in which no limit was near.
fn offset(base: &[Sample], revert: &[Sample], load: fn(&Sample) -> f64) -> f64 {
    let row = |s: &Sample, is_revert: f64| [1.0, load(s), load(s).powi(2), is_revert, s.mhz];
    let all = base.iter().map(|s| (s, 0.0)).chain(revert.iter().map(|s| (s, 1.0)));
    // The normal equations, by elimination.
    let mut m = [[0.0; 5]; 4];
    for row in all.filter(|(s, _)| s.average_w < 5.9).map(|(s, is_revert)| row(s, is_revert)) {
        for (sums, x) in m.iter_mut().zip(row) {
            sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
        }
    }
    for i in 0..4 {
        let row = m[i].map(|v| v / m[i][i]);
        for other in &mut m {
            let by = other[i];
            other.iter_mut().zip(row).for_each(|(v, r)| *v -= by * r);
        }
        m[i] = row;
    }
    m[3][4]
}

/// At the same busy time the clock of revert is higher in both pairs of logs. Over a whole log it is not at the same share of the time in
/// which cores had power; but where the gap is largest it is, so that not counting the time without power does not explain it.
#[test]
fn time_without_power_explains_the_clock_of_whole_logs_and_not_where_the_gap_is() {
    let Some(logs) = logs() else {
        println!("skipped: no logs in ../shared (IDLEWISE_SHARED)");
        return;
    };
    let busy: fn(&Sample) -> f64 = |s| s.busy;
    let powered: fn(&Sample) -> f64 = |s| s.busy / (1.0 - s.gated);
    let near = |found: f64, said: f64| assert!((found - said).abs() < 1.0, "{found}, said {said}");
    for (month, at_busy, at_powered) in [("oct", 248.0, -15.0), ("feb", 100.0, -70.0)] {
        let (base, revert) = (&logs[&format!("{month}-base")], &logs[&format!("{month}-revert")]);
        near(offset(base, revert, busy), at_busy);
        near(offset(base, revert, powered), at_powered);
    }
    let (base, revert) = (&logs["oct-base"], &logs["oct-revert"]);
    for stretch in [59..112, 157..190] {
        let found = offset(&base[stretch.clone()], &revert[stretch], powered);
        println!("{found}");
        assert!(found > 300.0, "{found}");
    }
}
