// SPDX-License-Identifier: GPL-2.0-only
//! Does `ab` find what is there, and nothing else? On a machine made of files, and on the real kernel where this test may switch
//! its governors.

use crate::common;

use std::process::{Command, Output};

use crate::schemas::fits;
use common::{Machine, Need, idlewise, on_every_machine};

fn ab(machine: &Machine, arguments: &[&str]) -> (Output, serde_json::Value) {
    let folder = tempfile::tempdir().unwrap();
    let out = machine
        .idlewise("ab")
        .args(["--format", "json", "--settle", "100", "--retries", "1", "--to"])
        .arg(folder.path().join("runs"))
        .args(arguments)
        .output()
        .unwrap();
    let json = serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)));
    fits(&json);
    (out, json)
}

#[test]
fn on_a_quiet_machine_a_faster_governor_is_found_and_one_that_is_the_same_is_not() {
    let Some(this) = Machine::this(&[Need::Governors]) else { return };
    let before = this.state();
    let faster = "haltpoll,haltpoll:guest_halt_poll_ns=200000";
    let load = ["--load", "ping-pong", "--seconds", "1", "--repeat", "5"];
    let (out, json) = ab(&this, &[&["--governor", faster], &load[..]].concat());
    assert_eq!(this.state(), before);
    assert_eq!(out.status.code(), Some(0));
    let cell = &json["benchmarks"][0]["metrics"][0]["cells"][1];
    let warned = json["warnings"].as_array().unwrap().iter().any(|w| w["id"] == "foreign-load");
    let disturbed = warned || cell["rounds"] != 6;
    if disturbed {
        eprintln!("skipped: whether ab finds a faster governor on this kernel: it is busy with other things");
        return;
    }
    assert_eq!(cell["verdict"], "better", "{cell}");
    assert!(cell["change"]["relative"].as_f64().unwrap() > 0.5, "{cell}");
    differs_from_itself(&this, &["--load", "ping-pong-one", "--seconds", "1"]);
    assert_eq!(this.state(), before);
}

/// One false finding in twenty is what 5 % promise: three in a row are not chance.
fn differs_from_itself(machine: &Machine, load: &[&str]) {
    let found = (0..3).all(|_| {
        let aa = ["--governor", "haltpoll", "--aa", "--warm-up", "0", "--repeat", "4"];
        let (out, json) = ab(machine, &[&aa, load].concat());
        assert_eq!(out.status.code() == Some(1), json["aa"] != serde_json::json!([]));
        json["aa"] != serde_json::json!([])
    });
    assert!(!found, "a governor differs from itself");
}

#[test]
fn a_machine_made_of_files_is_faster_under_the_governor_that_makes_it_faster() {
    // From one CPU to more than the machine of the tests has.
    for cpus in [1, 2, 256] {
        let machine = Machine::stand_in(cpus);
        let before = machine.state();
        let governor = machine.path("sys/devices/system/cpu/cpuidle/current_governor");
        // Between 100 and 106, or between 200 and 206; a number of a process is as good as chance.
        let load = format!(
            "load=case $(cat {}) in haltpoll) echo ops $((200 + $$ % 7));; *) echo ops $((100 + $$ % 7));; esac",
            governor.display()
        );
        let metric = ["--metric", "ops:higher=ops ([0-9]+)", "--benchmark", &load];
        let (out, json) =
            ab(&machine, &[&["--governor", "menu,haltpoll,ladder", "--repeat", "8"], &metric[..]].concat());
        assert_eq!((out.status.code(), machine.state()), (Some(0), before.clone()));
        let ops = &json["benchmarks"][0]["metrics"][1];
        assert_eq!((&ops["name"], &ops["cells"][1]["verdict"]), (&"ops".into(), &"better".into()), "{ops}");
        assert!(ops["cells"][1]["change"]["relative"].as_f64().unwrap() > 0.8, "{ops}");
        assert_eq!(json["head"]["cpus"], cpus);
        if cpus == 2 {
            differs_from_itself(&machine, &metric[..]);
            assert_eq!(machine.state(), before);
        }
    }
}

/// The runs that count.
fn counted(json: &serde_json::Value) -> Vec<&serde_json::Value> {
    json["runs"].as_array().unwrap().iter().filter(|r| r["left_out"].is_null()).collect()
}

#[test]
fn wakeups_are_those_of_the_command_and_its_children_and_no_longer_than_it_says_itself() {
    on_every_machine(&[Need::Governors, Need::Tracing], wakeups);
}

fn wakeups(machine: &Machine) {
    let before = machine.state();
    let sleeps = "sleeps=for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done";
    let (out, json) = ab(
        machine,
        &[
            "--wakeups",
            "--governor",
            "menu,haltpoll",
            "--load",
            "timer",
            "--seconds",
            "1",
            "--benchmark",
            sleeps,
            "--repeat",
            "2",
            "--foreign",
            "100",
        ],
    );
    assert_eq!(out.status.code(), Some(0));
    assert_eq!(machine.state(), before);
    for run in counted(&json) {
        let w = &run["wakeups"];
        let number = |of: &str| w[of].as_u64().unwrap();
        let all = w["all"]["count"].as_u64().unwrap() + number("hidden");
        assert!(number("lost") == 0 && number("events") >= 2 * all, "{w}");
        if let Some(files) = machine.files() {
            // Its buffers hold the same whatever runs: nothing that this benchmark did.
            assert_eq!((number("events"), all), (files.events() as u64, 0), "{w}");
            continue;
        }
        let p50 = run["values"]["wakeup_p50"].as_f64();
        let counted = w["all"]["count"].as_u64().unwrap();
        assert_eq!(p50, w["all"]["p50_us"].as_f64().filter(|_| counted >= 10));
        assert_eq!(run["values"]["wakeup_p99"].is_null(), counted < 100);
        if run["benchmark"] == "timer" {
            // A sleep that is over is late by what its wakeup takes, and by what the interrupt took before.
            let late = run["values"]["p50"].as_f64().unwrap();
            assert!(counted < 50 || p50.is_some_and(|p50| p50 <= late), "{run}");
            assert!(all >= 50, "a second of sleeps of 20 ms at the most: {w}");
        } else {
            // The shell is new; each of ten sleeps is new, sleeps once, and ends, for which the shell waits.
            assert!((21..200).contains(&all), "{w}");
        }
    }
    let metrics: Vec<&str> = json["benchmarks"][1]["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["name"].as_str().unwrap())
        .collect();
    assert_eq!(metrics, ["p50", "p99", "idle_wakeup_p50", "idle_wakeup_p99", "wakeup_p50", "wakeup_p99"]);
}

#[test]
fn a_load_that_never_asks_the_governor_is_told_and_its_tame_form_is_not() {
    if Command::new("cyclictest").arg("--help").output().is_err() {
        eprintln!("skipped: what ab says of cyclictest: it is not installed (Debian: rt-tests)");
        return;
    }
    let Some(this) = Machine::this(&[Need::Governors]) else { return };
    let before = this.state();
    for (tame, warned) in [(None, true), (Some("--laptop"), false)] {
        let cyclictest = ["--", "cyclictest", "-q", "-i", "1000", "-D", "1"];
        let common = ["--governor", "menu,haltpoll", "--repeat", "1", "--warm-up", "0", "--foreign", "100"];
        let arguments: Vec<&str> = common.into_iter().chain(cyclictest).chain(tame).collect();
        let (out, json) = ab(&this, &arguments);
        assert_eq!(out.status.code(), Some(0));
        let limit = "latency limit: cyclictest holds a limit of 0 us in 2 of 2 runs";
        let warnings = json["warnings"].as_array().unwrap();
        let found = warnings
            .iter()
            .any(|w| w["words"].as_str().unwrap().starts_with(limit) && w["id"] == "latency-limit-zero");
        assert_eq!(found, warned, "{tame:?}: {warnings:?}");
        if let Some(run) = counted(&json).first() {
            assert_eq!(run["limit_us"] == 0, warned, "{run}");
        }
    }
    assert_eq!(this.state(), before);
}

/// A session's folder, written by hand: `values` of each run, the arms in turn.
fn session(values: &[f64]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let head = serde_json::json!({
        "schema": "idlewise.ab-session/1", "kernel": "6.18.0", "driver": "haltpoll", "cpus": 2, "governor": "menu",
        "request": {
            "arms": ["menu", "ladder"], "benchmarks": [{"name": "pipe", "command": ["pipe"], "load": null}],
            "metrics": ["ops:higher=([0-9]+)"], "disable": [], "latency_limit_us": null, "set": [],
            "repeat": values.len().div_ceil(2), "warm_up": 0, "settle_ms": 0, "seed": 0, "foreign_pct": 8, "retries": 0,
            "margin_permille": 10, "aa": false,
        },
    });
    let mut text = format!("{head}\n");
    for (n, value) in values.iter().enumerate() {
        let run = serde_json::json!({
            "number": n + 1, "round": n / 2, "benchmark": "pipe", "arm": n % 2, "left_out": null, "seconds": value,
            "values": {"time": value, "ops": 100.0 / value}, "wakeups_per_s": 0.0, "too_deep_pct": null,
            "too_shallow_pct": null, "states": [], "watts": {}, "foreign_pct": 0.0, "foreign_by": [], "steal_pct": 0.0,
            "limit_us": null, "limited_by": [], "throttled": 0,
        });
        text.push_str(&format!("{run}\n"));
    }
    std::fs::write(folder.path().join("session.jsonl"), text).unwrap();
    folder
}

#[test]
fn conditions_are_written_as_those_of_compare_and_a_change_must_be_shown() {
    // ladder takes 10 % longer: shown by eight runs of each, and by two of each not.
    let long: Vec<f64> =
        (0..16).map(|n| (1.0 + 0.001 * f64::from(n)) * if n % 2 == 1 { 1.1 } else { 1.0 }).collect();
    let many = session(&long);
    let few = session(&long[..4]);
    let show = |folder: &tempfile::TempDir, condition: &str| {
        idlewise().args(["ab", "--fail-if", condition, "--show"]).arg(folder.path()).output().unwrap()
    };
    let cases = [
        ("time > +5%", 1, "FAILED", "time > +5%: +10."),
        ("time > +50ms", 1, "FAILED", " ms (1.0"),
        ("time > +20%", 0, "ok", "time > +20%: +10."),
        ("time > 1050 ms", 1, "FAILED", "time > 1050 ms: 1.1"),
        ("ops < -5%", 1, "FAILED", "ops < -5%: -9."),
        ("ops < 80", 0, "ok", "ops < 80: 90."),
    ];
    for (condition, code, word, words) in cases {
        let out = show(&many, condition);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert_eq!(out.status.code(), Some(code), "{condition}: {text}");
        assert!(text.contains(&format!("\n{word} ")) && text.contains(words), "{condition}: {text}");
    }
    let out = show(&few, "time > +5%");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(0), "{text}");
    assert!(text.contains("not shown"), "{text}");
    let text = String::from_utf8_lossy(&show(&session(&long[..1]), "time > +5%").stdout).into_owned();
    assert!(text.contains("time > +5%: nothing of it was measured"), "{text}");
    let told = |out: &Output| String::from_utf8_lossy(&out.stderr).into_owned();
    let out = show(&many, "trips > +5%");
    assert_eq!(out.status.code(), Some(2));
    assert!(told(&out).contains("at character 1: expected one of time, ops"), "{}", told(&out));
    let out = idlewise().args(["ab", "--fail-if-worse", "5", "--show"]).arg(many.path()).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(told(&out).contains("--fail-if 'time > +5%'"), "{}", told(&out));
    let out = idlewise()
        .args(["ab", "--format", "json", "--fail-if", "ops < 80", "--show"])
        .arg(many.path())
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["checks"][0]["measured"][0]["place"], "pipe under ladder");
    assert!(told(&out).contains("ok ops < 80"), "{}", told(&out));
}

#[test]
fn a_condition_that_means_nothing_is_refused_before_anything_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("runs");
    let out = idlewise()
        .args(["ab", "--governor", "menu,ladder", "--load", "ping-pong", "--fail-if", "tripps < 5", "--to"])
        .arg(&to)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{told}");
    assert!(told.contains("expected one of trips") && !to.exists(), "{told}");
}

#[test]
fn what_a_folder_names_is_shown_and_run_only_where_it_is_named_again_or_allowed() {
    let machine = Machine::stand_in(1);
    let folder = tempfile::tempdir().unwrap();
    let (to, mark) = (folder.path().join("runs"), folder.path().join("mark"));
    let command = ["sh".to_owned(), "-c".to_owned(), format!("echo ran >> {}", mark.display())];
    let first = ["--governor", "menu,ladder", "--repeat", "1", "--warm-up", "0", "--settle", "0", "--to"];
    let output = machine.idlewise("ab").args(first).arg(&to).arg("--").args(&command).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = to.join("session.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    let head = whole.lines().next().unwrap();
    // The session with its head changed; what was run of it, the exit status, what was said.
    let resumed = |change: &dyn Fn(&mut serde_json::Value), arguments: &[&str]| {
        let mut head: serde_json::Value = serde_json::from_str(head).unwrap();
        change(&mut head);
        std::fs::write(&file, format!("{head}\n")).unwrap();
        let _ = std::fs::remove_file(&mark);
        let output = machine.idlewise("ab").arg("--resume").arg(&to).args(arguments).output().unwrap();
        (mark.exists(), output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let same = |_: &mut serde_json::Value| ();
    let [sh, c, script] = command.each_ref().map(String::as_str);
    let (ran, code, said) = resumed(&same, &[]);
    assert_eq!((ran, code), (false, Some(2)), "{said}");
    for words in ["runs sh -c \"echo ran >>", "not run unless you give it again", "--as-recorded"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let (ran, code, said) = resumed(&same, &["--", "sh", "-c", "true"]);
    assert_eq!((ran, code), (false, Some(2)), "{said}");
    let (ran, code, said) = resumed(&same, &["--", sh, c, script]);
    assert_eq!((ran, code), (true, Some(0)), "{said}");
    let (ran, code, said) = resumed(&same, &["--as-recorded"]);
    assert_eq!((ran, code), (true, Some(0)), "{said}");
    // What calls itself a load of ours is ours that is run, and nothing else.
    let evil = folder.path().join("evil");
    std::fs::write(&evil, format!("#!/bin/sh\necho ran >> {}\n", mark.display())).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&evil).status().unwrap().success());
    let load = |words: &[&str]| {
        let command: Vec<&str> = [evil.to_str().unwrap()].into_iter().chain(words.iter().copied()).collect();
        serde_json::json!([{"name": "timer", "command": command, "load": "timer"}])
    };
    let named = load(&["load", "timer", "--seconds", "1", "--seed", "0"]);
    let (ran, code, said) = resumed(&|head| head["request"]["benchmarks"] = named.clone(), &[]);
    assert_eq!((ran, code), (false, Some(0)), "{said}");
    let odd = load(&["load", "timer"]);
    let (ran, code, said) = resumed(&|head| head["request"]["benchmarks"] = odd.clone(), &[]);
    assert_eq!((ran, code), (false, Some(2)), "{said}");
    // A parameter of any other module is a setting by root, too.
    machine.files().unwrap().write("sys/module/firmware_class/parameters/path", "/lib\n");
    let set = |head: &mut serde_json::Value| head["request"]["set"] = serde_json::json!(["path=/evil"]);
    let (ran, code, said) = resumed(&set, &["--", sh, c, script]);
    assert_eq!((ran, code), (false, Some(2)), "{said}");
    assert!(said.contains("\"path=/evil\" comes from this folder"), "{said}");
    // Who names the arms has not named that.
    let (ran, code, said) = resumed(&set, &["--governor", "menu,ladder", "--", sh, c, script]);
    assert_eq!((ran, code), (false, Some(2)), "{said}");
    let (ran, code, said) = resumed(&set, &["--set", "path=/evil", "--", sh, c, script]);
    assert_eq!((ran, code), (true, Some(0)), "{said}");
}
