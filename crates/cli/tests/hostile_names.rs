// SPDX-License-Identifier: GPL-2.0-only
//! Can a name in somebody's data speak to the terminal, be computed by a spreadsheet, or open a tag in a page? Clocks,
//! events, tasks, governors, states, platforms and files are named with whatever does that, and every command prints
//! them in every form.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;
use tempfile::TempDir;

/// Clears the screen, turns writing round, begins a formula, a cell, a tag; two ways to say escape.
const HOSTILE: &str = "=A1|<b>\u{1b}[2J\u{9b}5m\u{202e}\u{7}x";
/// The same with a line that looks like ours, where a name may have one.
const LINES: &str = "=A1|<b>\u{1b}[2J\u{202e}\nidlewise: all is well\r";
const FORMS: [&str; 4] = ["table", "markdown", "csv", "json"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A platform of which every name is hostile, in a file with a hostile name.
    fn platform(&self) -> String {
        let text = include_str!("../../../platforms/kvm-guest.toml");
        let name = toml_text(HOSTILE);
        let text = text.replace("\"KVM guest with the haltpoll driver\"", &name);
        let text = text.replace("name = \"all\"", &format!("name = {name}"));
        // A kernel's name of a state has 15 bytes at most.
        let state = toml_text("=A1|<b>\u{1b}[2J\u{202e}");
        let text = text.replace("\"POLL\"", &state).replace("\"haltpoll idle\"", &state);
        self.write(&format!("machine {LINES}.toml"), text)
    }

    /// A recording with hostile tasks and events, beside it what names governor and machine.
    fn trace(&self, platform: &str) -> String {
        let plain = self.at("plain.txt");
        let recording = data("sleeploop.dat");
        assert!(
            idlewise(&["convert", recording.to_str().unwrap(), "--to", "text", "-o", &plain])
                .status
                .success()
        );
        let text = fs::read_to_string(&plain).unwrap();
        let text = text.replace("sleeploop", HOSTILE).replace("hrtimer_cancel:", &format!("{HOSTILE}:"));
        let text = text.replace("clock : mono", &format!("clock : {HOSTILE}"));
        let (governor, platform) = (toml_text(HOSTILE), toml_text(platform));
        let beside = format!("platform = {platform}\ngovernor = {governor}\n");
        self.write(&format!("trace {LINES}.toml"), beside);
        self.write(&format!("trace {LINES}.txt"), text)
    }
}

/// As a string of TOML.
fn toml_text(text: &str) -> String {
    let escape = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

fn idlewise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Runs and looks at all that is printed; what of standard output.
fn harmless(args: &[&str], form: &str) -> String {
    let o = idlewise(args);
    let (out, err) = (String::from_utf8(o.stdout).unwrap(), String::from_utf8(o.stderr).unwrap());
    for text in [&out, &err] {
        let bad: String = text.chars().filter(|c| is_obeyed(*c)).collect();
        assert!(bad.is_empty(), "{args:?}: {bad:?} in {text:?}");
        assert!(!text.lines().any(|l| l == "idlewise: all is well"), "{args:?}: {text}");
    }
    match form {
        // What stands in a string may look like one.
        "json" => {
            serde_json::from_str::<serde_json::Value>(&out)
                .unwrap_or_else(|e| panic!("{args:?}: {e}: {out}"));
        }
        "csv" => {
            for line in out.lines() {
                for cell in line.split([',', '"']) {
                    assert!(!cell.starts_with(['=', '@']), "{args:?}: a formula in {line}");
                }
            }
        }
        "markdown" => assert!(!out.contains("<b>") && !out.contains("A1|"), "{args:?}: {out}"),
        _ => {}
    }
    out
}

/// The same in every form; the name is to be seen in all but CSV, which may hold numbers alone.
fn in_every_form(args: &[&str]) {
    for form in FORMS {
        let out = harmless(&[args, &["--format", form]].concat(), form);
        let name = if form == "markdown" { "=A1\\|&lt;b>" } else { "=A1|<b>" };
        assert!(form == "csv" || out.contains(name), "{args:?} {form}: no name was shown: {out}");
        assert!(!out.is_empty(), "{args:?} {form}");
    }
}

#[test]
fn names_of_a_recording_are_shown_and_never_obeyed() {
    let folder = Folder::new();
    let platform = folder.platform();
    let trace = folder.trace(&platform);
    let tape = folder.at(&format!("a{LINES}.tape"));
    harmless(&["tape", &trace, "-o", &tape], "");
    in_every_form(&["info", &trace]);
    for command in [
        &["score", &trace, "--per", "cluster"][..],
        &["replay", &trace, "-g", "menu,ladder", "--per", "state"],
        &["replay", &trace, &tape, "-g", "menu,ladder"],
        &["compare", "-g", "menu,ladder", &trace],
        &["simulate", "timer", "-p", &platform, "-g", "menu", "--seconds", "0.1", "--repeat", "1"],
    ] {
        harmless(command, "table");
        harmless(&[command, &["-f", "markdown"]].concat(), "markdown");
    }
    in_every_form(&["score", "-v", &trace, "--per", "cluster"]);
    in_every_form(&["replay", "-v", &trace, "-g", "menu,ladder", "--per", "state"]);
    in_every_form(&["compare", "-v", "menu", "ladder", "--trace", &trace, "--fail-if", "too_deep > 1%"]);
    in_every_form(&["explain", "--why-differ", "menu,ladder", &trace]);
    in_every_form(&["explain", &trace, "-g", "menu", "--others", "ladder", "--decision", "5"]);
    in_every_form(&[
        "simulate",
        "-v",
        "timer",
        "-p",
        &platform,
        "-g",
        "menu",
        "--seconds",
        "0.1",
        "--repeat",
        "1",
    ]);
    for list in ["menu,nosuch", HOSTILE, "e.c:x=\u{1b}[2J"] {
        harmless(&["replay", &trace, "-g", list], "");
    }
    let text = folder.at(&format!("b{LINES}.txt"));
    harmless(&["convert", &trace, "--to", "text", "-o", &text, "--governor", "menu"], "");
    harmless(&["info", &tape], "");
    harmless(&["advise", "--trace", &trace, "--no-ab"], "");
    harmless(&["drive", "-g", "menu", "--decisions", &trace], "");
    harmless(&["platform", "show", &platform], "");
    harmless(&["platform", "show", &platform, "--toml"], "");
    harmless(&["platform", "check", &platform], "");
    // A clock that a recording names, in binary.
    let dat = fs::read(data("sleeploop.dat")).unwrap();
    let at = dat.windows(4).position(|w| w == b"mono").unwrap();
    let patched = [&dat[..at], &b"\x1b[7m"[..], &dat[at + 4..]].concat();
    let dat = folder.write("clock.dat", patched);
    assert!(harmless(&["info", &dat], "").contains("clock \\u001b[7m"));
}

#[test]
fn names_in_errors_are_shown_and_never_obeyed() {
    let folder = Folder::new();
    let nowhere = folder.at(&format!("no {LINES}"));
    let empty = folder.write(&format!("empty {LINES}"), "");
    let broken = folder.write(&format!("broken {LINES}.toml"), format!("id = {HOSTILE}\n"));
    let csv = folder.write(&format!("{LINES}.csv"), format!("{HOSTILE},b\n1,2\n"));
    for file in [&nowhere, &empty, &broken, &csv, &folder.at("")] {
        for command in ["info", "score", "replay"] {
            harmless(&[command, file], "");
        }
        harmless(&["compare", "menu", "teo", "--trace", file], "");
        harmless(&["compare", "--again", file], "");
        harmless(&["replay", "--again", file], "");
        harmless(&["simulate", "--again", file], "");
        harmless(&["explain", file, "-g", "menu", "--decision", "1"], "");
        harmless(&["platform", "check", file], "");
        harmless(&["platform", "show", file], "");
        harmless(&["drive", "-g", "teo", "--golden", file, file], "");
        harmless(&["drive", "-g", "teo", "--decisions", file], "");
        harmless(&["drive", "--signal", "pelt", "--golden", file], "");
        harmless(&["tape", file, "-o", &nowhere], "");
        harmless(&["convert", file, "--to", "text", "-o", &nowhere], "");
        harmless(&["simulate", file, "-p", "kvm-guest"], "");
        harmless(&["reproduce", file], "");
        harmless(&["diff", file, file], "");
        harmless(&["ab", "--show", file], "");
        harmless(&["advise", "--trace", file, "--no-ab"], "");
        harmless(&["governors", "show", file], "");
        harmless(&["boot", "build", "--kernel-tree", file], "");
        harmless(&["top", "--once", "--root", file], "");
        harmless(&["info", file, "--recorded-on", file], "");
    }
    // The command line's own errors repeat what was given.
    harmless(&["info", "x", HOSTILE], "");
    harmless(&["replay", "x", "--format", LINES], "");
    harmless(&[HOSTILE], "");
}

#[test]
fn names_of_a_machine_are_shown_and_never_obeyed() {
    let folder = Folder::new();
    for (file, value) in [("name", HOSTILE), ("usage", "10"), ("time", "5000"), ("above", "1")] {
        folder.write(&format!("sys/devices/system/cpu/cpu0/cpuidle/state0/{file}"), format!("{value}\n"));
    }
    for file in ["current_driver", "current_governor", "current_governor_ro", "available_governors"] {
        folder.write(&format!("sys/devices/system/cpu/cpuidle/{file}"), format!("{HOSTILE}\n"));
    }
    let root = folder.at("");
    in_every_form(&["top", "--once", "--interval", "0.1", "--root", &root]);
    let prom = folder.at("x.prom");
    harmless(&["top", "--once", "--interval", "0.1", "--root", &root, "--prometheus", &prom], "");
    assert!(!fs::read_to_string(&prom).unwrap().contains(is_obeyed));
    let state = |n: u64| {
        let base = "/sys/devices/system/cpu/cpu0/cpuidle/state0";
        format!(
            "{base}/name:{HOSTILE}\n{base}/usage:{n}\n{base}/time:{n}00\n{base}/above:1\n{base}/below:0\n"
        )
    };
    let before = folder.write(&format!("before {LINES}"), state(10));
    let after = folder.write(&format!("after {LINES}"), state(30));
    in_every_form(&["diff", &before, &after]);
}

#[test]
fn names_of_a_session_are_shown_and_never_obeyed() {
    let folder = Folder::new();
    let request = json!({
        "arms": ["menu", HOSTILE], "benchmarks": [{"name": HOSTILE, "command": [LINES], "load": null}], "metrics": [],
        "disable": [], "latency_limit_us": null, "set": [HOSTILE], "repeat": 4, "warm_up": 0, "settle_ms": 0, "seed": 0,
        "foreign_pct": 8, "retries": 0, "margin_permille": 10, "aa": false, "wakeups": false,
    });
    let head = json!({
        "schema": "idlewise.ab-session/1", "request": request, "kernel": HOSTILE, "driver": HOSTILE, "cpus": 1,
        "governor": HOSTILE,
    });
    let mut text = format!("{head}\n");
    for number in 1..=8 {
        let state = json!({"name": HOSTILE, "entries_per_s": 1.0, "time_pct": 50.0});
        let run = json!({
            "number": number, "round": (number - 1) / 2, "benchmark": HOSTILE, "arm": number % 2,
            "left_out": if number > 7 { Some(LINES) } else { None }, "seconds": 1.0,
            "values": {"time": 1.0 + f64::from(number) / 100.0}, "wakeups_per_s": 1.0, "too_deep_pct": null,
            "too_shallow_pct": null, "states": [state], "watts": {HOSTILE: 1.0}, "foreign_pct": 20.0,
            "foreign_by": [HOSTILE], "steal_pct": 0.0, "limit_us": 5, "limited_by": [HOSTILE], "throttled": 1,
            "slowed_by": [LINES],
            "limiting": {
                "seconds": 1.0, "limited": true, "zones": 1, "reasons": [HOSTILE], "throttling": null,
                "power": [{
                    "zone": HOSTILE, "limit": LINES, "limit_w": 6.0, "window_s": 28.0, "mean_w": 5.9, "average_low_w": 5.9,
                    "average_high_w": 6.0, "acting_pct": 50.0, "unknown_pct": 10.0, "acting_from_s": 0.1, "acting_until_s": 0.9,
                }],
            },
        });
        text += &format!("{run}\n");
    }
    folder.write("session.jsonl", text);
    in_every_form(&["ab", "--show", &folder.at(""), "--every"]);
}
