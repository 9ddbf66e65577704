// SPDX-License-Identifier: GPL-2.0-only
//! Simulated, written as a trace and read again: does a replay repeat what the simulated kernel chose?

use std::path::Path;

use crate::common::{idlewise, words};

/// Some that need all inputs: utilisation, timers of both kinds, ticks, waits for I/O, a state that is always refused, clocks that
/// utilisation does not depend on, interrupts while the CPU polls.
const RUNS: [(&str, &str, &str); 11] = [
    ("pixel6", "frames", "teo-util"),
    ("pixel6", "web", "teo-6.6"),
    ("zen-server", "periodic", "teo-fixed"),
    ("zen-server", "requests", "teo-6.6"),
    ("zen-server", "timer", "teo-util-v1"),
    ("broadwell", "timer", "menu-6.1"),
    ("skylake-sp", "reads", "menu-6.1"),
    ("mt8196", "web", "teo-fixed"),
    ("sandy-bridge", "web", "teo-6.6"),
    ("imx8mm", "frames", "teo-util"),
    ("alder-lake-n", "pingpong", "teo-fixed"),
];

/// How much of the kernel's choices of states a replay of `governor` repeats that is simulated on `platform`, %.
fn repeated(folder: &Path, (platform, workload, governor): (&str, &str, &str), seconds: &str) -> f64 {
    let path = folder.join(format!("{workload}-{governor}.txt"));
    let on = ["--platform", platform, "--governor", governor, "--seconds", seconds, "--write-trace"];
    let output = idlewise().args(["simulate", workload]).args(on).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", words(&output.stderr));
    let output = idlewise().args(["info", "--recorded-on", platform]).arg(&path).output().unwrap();
    let said = words(&output.stdout);
    let share = said.split_once("choices: state ").and_then(|(_, rest)| rest.split(" %").next());
    share.and_then(|s| s.trim_start_matches('>').parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn a_replay_repeats_what_a_simulated_kernel_chose() {
    for run in RUNS {
        let folder = tempfile::tempdir().unwrap();
        let share = repeated(folder.path(), run, "3");
        assert!(share >= 99.0, "{run:?}: {share}");
    }
}

/// A refusal takes longer than the state's target residency, or no event counts too deep ones.
#[test]
fn a_state_that_the_machine_always_refuses_is_known_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let shown = idlewise().args(["platform", "show", "mt8196", "--toml"]).output().unwrap();
    let file = folder.path().join("refusing.toml");
    let text = words(&shown.stdout);
    let refusing = text.replace(
        "exit_latency_us = 349\nresidency_us = 6710\n",
        "exit_latency_us = 2\nresidency_us = 2\nentry = \"refused\"\n",
    );
    assert_ne!(text, refusing);
    std::fs::write(&file, refusing).unwrap();
    let share = repeated(folder.path(), (file.to_str().unwrap(), "reads", "menu-6.1"), "1");
    assert!(share >= 99.0, "{share}");
    repeated(folder.path(), ("mt8196", "timer", "deepest"), "1");
    let score =
        idlewise().args(["score", "-v"]).arg(folder.path().join("timer-deepest.txt")).output().unwrap();
    let said = words(&score.stdout);
    let row = said.lines().find(|line| line.contains(" s2idle ")).unwrap_or_else(|| panic!("{said}"));
    assert!(!row.contains("100.00"), "nothing is slept in it: {row}");
}
