// SPDX-License-Identifier: GPL-2.0-only
//! `idlewise check`: does the exit status say what was found, and is it the same twice?

use std::fs;

use serde_json::Value;

use crate::common::{idlewise, words};

/// Exit status, standard output and standard error.
fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let o = idlewise().args(args).output().unwrap();
    (o.status.code(), words(&o.stdout), words(&o.stderr))
}

#[test]
fn the_exit_status_says_whether_something_was_found() {
    let (status, shown, _) = run(&["check", "deepest", "--property", "index,disabled"]);
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.starts_with("deepest: no violation found\n"), "{shown}");
    let (status, shown, _) = run(&["check", "menu-6.1", "--property", "latency"]);
    assert_eq!(status, Some(1), "{shown}");
    for part in [
        "menu-6.1: violates 1 of 1 properties\n",
        "latency   VIOLATED",
        "== latency: chose state",
        "the machine: ",
        "target residency",
        "the idle periods, from a fresh start",
        "is off",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let (status, _, said) = run(&["check", "menu-6.2"]);
    assert!(status == Some(2) && said.contains("did you mean `menu-6.1`?"), "{said}");
    let (status, _, said) = run(&["check", "menu", "--property", "diasbled"]);
    assert!(status == Some(2) && said.contains("a similar value exists: 'disabled'"), "{said}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_other_sequences() {
    let json = |seed: &str| run(&["check", "menu-6.1", "-p", "latency", "--seed", seed, "-f", "json"]).1;
    assert_eq!(json("7"), json("7"));
    let [first, second] = ["7", "8"].map(|seed| serde_json::from_str::<Value>(&json(seed)).unwrap());
    assert_eq!(first["properties"], second["properties"]);
    assert_ne!(first["findings"][0]["story"], second["findings"][0]["story"]);
}

#[test]
fn more_seconds_are_no_fewer_decisions() {
    let decisions = |more: &[&str]| {
        let args = [&["check", "shallow", "-p", "index", "-f", "json"], more].concat();
        serde_json::from_str::<Value>(&run(&args).1).unwrap()["decisions"].as_u64().unwrap()
    };
    // On a busy machine a second may be over before the first round is.
    assert!(decisions(&["--seconds", "1"]) >= decisions(&[]));
}

#[test]
fn a_kunit_test_is_written_where_a_kernel_can_show_it() {
    let folder = tempfile::tempdir().unwrap();
    let patch = folder.path().join("found.patch");
    let path = patch.to_str().unwrap();
    let (status, shown, _) = run(&["check", "menu-6.1", "-p", "latency", "--kunit", path]);
    assert!(status == Some(1) && shown.ends_with(&format!("KUnit test: {path}\n")), "{shown}");
    let text = fs::read_to_string(&patch).unwrap();
    let head = "--- /dev/null\n+++ b/drivers/cpuidle/governors/menu-6.1-check-test.c\n";
    assert!(text.starts_with(head) && text.contains("KUNIT_EXPECT_LE"), "{text}");
    let (status, _, said) = run(&["check", "menu-6.1", "-p", "latency", "--kunit", path]);
    assert!(status == Some(2) && said.contains("found.patch"), "{said}");
    let none = folder.path().join("none.patch");
    let (status, shown, _) = run(&["check", "deepest", "-p", "latency", "--kunit", none.to_str().unwrap()]);
    assert!(status == Some(0) && shown.contains("nothing is written"), "{shown}");
    assert!(!none.exists());
    let (_, shown, _) =
        run(&["check", "menu-6.1", "-p", "latency", "--kunit", "-", "-o", &format!("{path}.json")]);
    assert!(shown.starts_with(head), "{shown}");
}
