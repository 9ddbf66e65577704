// SPDX-License-Identifier: GPL-2.0-only
//! Simulated, written as a trace and read again: does a replay repeat what the simulated kernel chose?

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{idlewise, words};

/// Some that need all inputs: utilisation, timers of both kinds, ticks, waits for I/O, a state that is always refused, clocks that
/// utilisation does not depend on, interrupts while the CPU polls.
const RUNS: [(&str, &str, &str); 13] = [
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
    ("msm8996", "requests", "teo-util"),
    ("kaby-lake-15w", "periodic", "teo-6.6"),
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

/// How many CPUs' last idle event in `trace` is an entry.
fn open_at_the_end(trace: &Path) -> usize {
    let text = std::fs::read_to_string(trace).unwrap();
    let events = text.lines().filter_map(|line| line.split_once(" cpu_idle: state="));
    let last: BTreeMap<&str, &str> =
        events.filter_map(|(_, rest)| rest.rsplit_once(" cpu_id=")).map(|(s, c)| (c, s)).collect();
    assert!(!last.is_empty());
    last.values().filter(|state| **state != "4294967295").count()
}

#[test]
fn every_idle_period_of_a_simulated_trace_has_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("web.txt");
    let run = ["simulate", "web", "--platform", "pixel6", "-g", "menu", "--seconds", "2", "--write-trace"];
    assert!(idlewise().args(run).arg(&trace).status().unwrap().success());
    assert_eq!(open_at_the_end(&trace), 0);
    let score = idlewise().args(["score", "--recorded-on", "pixel6"]).arg(&trace).output().unwrap();
    let said = words(&score.stdout);
    assert!(said.contains("8 CPUs") && !said.contains("left out"), "{said}");
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

#[test]
fn a_state_that_was_entered_and_is_described_as_refused_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("entered.txt");
    let run = ["simulate", "timer", "--platform", "mt8196", "--governor", "menu", "--seconds", "1"];
    assert!(idlewise().args(run).arg("--write-trace").arg(&trace).status().unwrap().success());
    let shown = idlewise().args(["platform", "show", "mt8196", "--toml"]).output().unwrap();
    let file = folder.path().join("refusing.toml");
    let wfi = "exit_latency_us = 434\nresidency_us = 6710\n";
    let text = words(&shown.stdout);
    assert!(text.contains(wfi));
    std::fs::write(&file, text.replace(wfi, &format!("{wfi}entry = \"refused\"\n"))).unwrap();
    let output = idlewise().args(["info", "--recorded-on"]).args([&file, &trace]).output().unwrap();
    let said = words(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("that every entry is refused, and"), "{said}");
}

/// "menu" is another governor in each release: that of the release is run, and where another repeats the choices, it is named.
#[test]
fn the_governor_that_is_run_is_that_of_the_release() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("reads.txt");
    let run = ["simulate", "reads", "--platform", "skylake-sp", "--governor", "menu-6.12", "--seconds", "1"];
    assert!(idlewise().args(run).arg("--write-trace").arg(&trace).status().unwrap().success());
    let side_car = trace.with_extension("toml");
    let named = std::fs::read_to_string(&side_car).unwrap();
    assert!(named.contains("governor = \"menu-6.12\""), "{named}");
    std::fs::write(&side_car, named.replace("menu-6.12", "menu")).unwrap();
    let text = std::fs::read_to_string(&trace).unwrap();
    for (release, own, better) in [
        ("6.12.117+deb13-amd64", "menu-6.12", None),
        ("6.1.0-44-amd64", "menu-6.1:rejected_endless=1", Some("menu-6.12")),
        ("7.3.0", "menu", Some("menu-6.12")),
    ] {
        std::fs::write(&trace, format!("# os release : {release}\n{text}")).unwrap();
        let replay = ["replay", "--governor", "shallow", "--format", "json"];
        let output = idlewise().args(replay).arg(&trace).output().unwrap();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let fidelity = &result["traces"][0]["fidelity"];
        assert_eq!(fidelity["governor"], own, "{release}: {fidelity}");
        assert_eq!(fidelity["better_version"]["governor"].as_str(), better, "{release}: {fidelity}");
        let same = fidelity["same_state_pct"].as_f64().unwrap();
        assert_eq!(same >= 99.0, better.is_none(), "{release}: {fidelity}");
    }
}

/// A recording on which nothing but one state was chosen shows nothing of a governor that chooses it, too.
#[test]
fn a_governor_that_is_no_better_than_a_constant_is_not_trusted_for_it() {
    let folder = tempfile::tempdir().unwrap();
    for (platform, workload, good) in [("rk3399", "timer", false), ("pixel6", "periodic", true)] {
        let trace = folder.path().join(format!("{platform}.txt"));
        let run = ["simulate", workload, "--platform", platform, "--governor", "menu", "--seconds", "3"];
        assert!(idlewise().args(run).arg("--write-trace").arg(&trace).status().unwrap().success());
        let replay = ["replay", "--governor", "menu", "--format", "json"];
        let output = idlewise().args(replay).arg(&trace).output().unwrap();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let reasons = result["answer"]["trust"]["reasons"].as_array().unwrap();
        let fidelity = reasons.iter().find(|r| r["id"] == "fidelity").unwrap();
        let said = fidelity["words"].as_str().unwrap();
        assert_eq!(fidelity["grade"], if good { "good" } else { "fair" }, "{platform}: {said}");
        assert_eq!(said.contains("no better than always"), !good, "{platform}: {said}");
    }
}
