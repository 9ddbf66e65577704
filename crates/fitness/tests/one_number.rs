// SPDX-License-Identifier: GPL-2.0-only
//! Is the number that of the recordings kept for it, and does what fails a check not pass?

use std::fs;

use idlewise_check::Property;
use idlewise_checkout::root;
use idlewise_corpus::Split;
use idlewise_fitness::{FitnessRequest, fitness};

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
fn it_is_the_median_over_the_recordings_of_that_part() {
    let of_linux =
        FitnessRequest { despite: vec![Property::Disabled, Property::Arithmetic], ..request("teo") };
    let result = fitness(&of_linux, &|_, _, _| ()).unwrap();
    let run = &result.run;
    assert!(result.passes(), "{:?}", result.violations);
    assert!(run.recordings.iter().all(|r| r.split == Split::Validation));
    // Half of the recordings are above it, and half below.
    let median = result.regret_median_pct.unwrap();
    let own: Vec<f64> = run.recordings.iter().map(|r| r.results[0].regret_pct).collect();
    let below = own.iter().filter(|pct| **pct < median).count();
    let above = own.iter().filter(|pct| **pct > median).count();
    assert!(own.len() > 10 && below.abs_diff(above) <= 1, "{median} of {own:?}");
    assert_eq!(run.governors, ["teo", "menu"]);
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
