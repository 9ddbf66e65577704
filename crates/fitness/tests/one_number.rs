// SPDX-License-Identifier: GPL-2.0-only
//! Is the number that of the recordings kept for it, and does what fails a check not pass?

use std::collections::BTreeSet;
use std::fs;

use idlewise_check::Property;
use idlewise_checkout::root;
use idlewise_corpus::Split;
use idlewise_fitness::{FitnessRequest, fitness};
use idlewise_stats::median;

fn request(governor: &str) -> FitnessRequest {
    FitnessRequest {
        governor: governor.to_owned(),
        corpus: root().join("corpus"),
        split: Split::Validation,
        kernel_trees: Vec::new(),
        despite: Vec::new(),
        seed: 1,
    }
}

#[test]
fn it_is_the_median_over_the_machines_of_that_part() {
    let of_linux =
        FitnessRequest { despite: vec![Property::Disabled, Property::Arithmetic], ..request("teo") };
    let result = fitness(&of_linux, &|_, _, _| ()).unwrap();
    let run = &result.run;
    assert!(result.passes(), "{:?}", result.violations);
    assert!(run.recordings.iter().all(|r| r.split == Split::Validation));
    // Half of the machines are above it, and half below; of each, half of its recordings.
    let machines: BTreeSet<&str> = run.recordings.iter().map(|r| r.machine.as_str()).collect();
    let regrets = |machine: &str| -> Vec<f64> {
        run.recordings.iter().filter(|r| r.machine == machine).map(|r| r.results[0].regret_pct).collect()
    };
    let middle = result.regret_median_pct.unwrap();
    let halves = |values: &[f64], middle: f64| {
        let below = values.iter().filter(|v| **v < middle).count();
        let above = values.iter().filter(|v| **v > middle).count();
        below.abs_diff(above) <= 1
    };
    let medians: Vec<f64> = machines.iter().map(|m| median(&regrets(m)).unwrap()).collect();
    assert!(machines.len() > 3 && halves(&medians, middle), "{middle} of {medians:?}");
    assert!(machines.iter().zip(&medians).all(|(m, median)| halves(&regrets(m), *median)));
    let named: Vec<&str> = result.medians.iter().map(|m| m.governor.as_str()).collect();
    assert_eq!(named, ["teo", "menu"]);
    assert!(result.medians.iter().all(|m| m.latency_mean_ns.is_some_and(|ns| ns > 1_000.0)));
    assert_eq!(run.governors, ["teo", "menu"]);
}

/// Regret is energy alone: the deepest state always may save some, and then costs latency.
#[test]
fn a_governor_that_never_looks_is_not_better_in_both_than_those_of_linux() {
    let result = fitness(&request("deepest"), &|_, _, _| ()).unwrap();
    let of = |id: &str| {
        let medians = result.medians.iter().find(|m| m.governor == id).unwrap();
        (medians.regret_pct.unwrap(), medians.latency_mean_ns.unwrap())
    };
    let (deepest, linux) = (of("deepest"), [of("menu"), of("teo")]);
    let better = |own: (f64, f64), than: (f64, f64)| own.0 <= than.0 && own.1 <= than.1;
    assert!(!linux.iter().any(|other| better(deepest, *other)), "{:?}", result.medians);
    assert!(linux.iter().all(|other| other.1 < deepest.1), "{:?}", result.medians);
}

#[test]
fn what_fails_a_check_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greedy.c");
    fs::copy(root().join("governors/governor.h"), folder.path().join("governor.h")).unwrap();
    let text = fs::read_to_string(root().join("governors/deepest.c")).unwrap();
    let changed = text.replace("if (s->exit_latency_ns <= latency_limit_ns)", "if (1)");
    assert!(changed != text, "deepest.c asks for the limit in other words");
    fs::write(&file, changed).unwrap();
    let result = fitness(&request(file.to_str().unwrap()), &|_, _, _| ()).unwrap();
    assert!(!result.passes() && result.regret_median_pct.is_some());
    assert!(result.violations.iter().any(|v| v.property == Property::Latency), "{:?}", result.violations);
}
