// SPDX-License-Identifier: GPL-2.0-only
//! Does no governor enter a state that the machine never enters?

use std::fmt::Write as _;

use idlewise_platform::EntryKind;
use idlewise_recording::{Recording, RecordingOptions, ReplaySetup};
use idlewise_report::Format;
use idlewise_study::replay::{Per, ReplayRequest};
use idlewise_testkit::{recording, request, run, setup};
use idlewise_view as view;

const GOVERNORS: [&str; 7] = ["teo-6.6", "teo-6.12", "teo", "menu", "menu-6.1", "menu-6.12", "oracle"];

/// Its `rejected` grew, so that some governor chose it: it is on. The deepest state of all is then one that no idle period is long
/// enough for, and TEO's history speaks against it at nearly every decision.
#[test]
fn suspend_to_idle_is_on_and_refused_on_the_mt8196() {
    for name in ["trace_6_12_sleep_length", "trace_mainline_tick_wakeups"] {
        let Some(path) = recording(&format!("mt8196/{name}.dat")) else { return };
        let report = run(&ReplayRequest { per: Per::All, ..request(&[&path], "mt8196", "teo", &GOVERNORS) });
        let wfi_pct = |id: &str| {
            let governor = report.traces[0].governors.iter().find(|g| g.governor == id).unwrap();
            let states = &governor.score.states;
            let total: u64 = states.iter().map(|s| s.residency_ns).sum();
            let s2idle = states.last().unwrap();
            assert_eq!((s2idle.name.as_str(), s2idle.residency_ns), ("s2idle", 0), "{id}");
            assert!(governor.score.latency.max_ns < 1_000_000, "{id}: {:?}", governor.score.latency);
            states[0].residency_ns as f64 * 100.0 / total as f64
        };
        let (old, new) = (wfi_pct("teo-6.12"), wfi_pct("teo"));
        assert!(old > 80.0 && new < old, "WFI: {old} % under teo-6.12, {new} % under teo");
        let text = view::replay(&report).render(Format::Table, &report).unwrap();
        let line = "states    s2idle of little, mid, big: every entry is refused; governors may choose it";
        assert!(text.find(line).unwrap() < text.find("\n metric").unwrap(), "{text}");
    }
}

/// A recording of one CPU on which each entry into state 1 is refused after 30 us, and says so: the kernel counts no miss
/// of theirs, but some of state 2's.
fn refusing() -> String {
    let mut text = String::from("# tracer: nop\n#\n");
    let mut line = |us: u64, what: &str| {
        writeln!(text, "          <idle>-0     [000] d..2   100.{us:06}: {what}").unwrap();
    };
    for n in 0..30 {
        let at = n * 20_000;
        let (state, stay_us) = if n % 2 == 0 { (1, 30) } else { (2, 900) };
        line(at, &format!("cpu_idle: state={state} cpu_id=0"));
        line(at + stay_us, "cpu_idle: state=4294967295 cpu_id=0");
        if state == 2 {
            line(at + stay_us + 1, "cpu_idle_miss: cpu_id=0 state=2 type=above");
        }
    }
    text
}

const MACHINE: &str = r#"
format = 1
id = "refusing"
name = "A machine that refuses"
hz = 250

[[cluster]]
name = "all"
cpus = "0"

[[cluster.state]]
name = "WFI"
exit_latency_us = 1
residency_us = 1

[[cluster.state]]
name = "retention"
exit_latency_us = 40
residency_us = 100

[[cluster.state]]
name = "off"
exit_latency_us = 200
residency_us = 1000
"#;

#[test]
fn a_state_of_which_the_recording_shows_only_refusals_is_refused_in_replay_too() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("r.txt");
    std::fs::write(&trace, refusing()).unwrap();
    let machine = dir.path().join("m.toml");
    std::fs::write(&machine, MACHINE).unwrap();
    let named = machine.display().to_string();
    let options = RecordingOptions { recorded_on: Some(named.clone()), ..RecordingOptions::default() };
    let opened = Recording::open(&trace, &options).unwrap();
    let entry: Vec<EntryKind> = opened.machine.clusters[0].info.iter().map(|i| i.entry).collect();
    assert_eq!(entry, [EntryKind::Normal, EntryKind::Refused, EntryKind::Normal], "{:?}", opened.tape.notes);
    for platform in [None, Some(named.clone())] {
        let asked = ReplayRequest {
            setup: ReplaySetup { platform, ..setup(&named, "") },
            per: Per::All,
            ..request(&[&trace], &named, "", &["deepest:disable=2", "oracle", "shallow"])
        };
        let report = run(&asked);
        assert!(report.traces[0].same_machine);
        let [deepest, oracle, shallow] = report.traces[0].governors.as_slice() else {
            panic!("three results")
        };
        assert_eq!(deepest.score.states[1].entries, 0);
        assert!(deepest.score.rejected > 100, "asked again and again: {:?}", deepest.score);
        assert_eq!(
            deepest.score.rejected_ns,
            deepest.score.rejected * 30_000,
            "each costs what it cost there"
        );
        assert!(deepest.score.energy > shallow.score.energy, "staying awake is dear");
        assert_eq!((oracle.score.states[1].entries, oracle.score.rejected), (0, 0), "who knows does not ask");
        let text = view::replay(&report).render(Format::Table, &report).unwrap();
        assert!(text.contains("states    retention of all: every entry is refused"), "{text}");
        assert!(text.contains("all of its 15 entries in the recording were refused"), "{text}");
    }
}
