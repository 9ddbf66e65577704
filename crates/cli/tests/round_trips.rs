// SPDX-License-Identifier: GPL-2.0-only
//! Simulated, written as a trace and read again: does a replay repeat what the simulated kernel chose?

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

#[test]
fn a_replay_repeats_what_a_simulated_kernel_chose() {
    let folder = tempfile::tempdir().unwrap();
    for (platform, workload, governor) in RUNS {
        let path = folder.path().join(format!("{workload}-{platform}-{governor}.txt"));
        let on = ["--platform", platform, "--governor", governor, "--seconds", "3", "--write-trace"];
        let output = idlewise().args(["simulate", workload]).args(on).arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", words(&output.stderr));
        let output = idlewise().arg("info").arg(&path).output().unwrap();
        let said = words(&output.stdout);
        let share = said.split_once("choices: state ").and_then(|(_, rest)| rest.split(" %").next());
        let share: f64 = share.and_then(|s| s.trim_start_matches('>').parse().ok()).expect(&said);
        assert!(share >= 99.0, "{workload} on {platform}, {governor}: {said}");
    }
}
