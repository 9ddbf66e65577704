// SPDX-License-Identifier: GPL-2.0-only
//! Does anything that a file says make the command compile, or run, C that the user did not name?
//!
//! The compiler leaves a mark when it is called: no C runs that was not compiled, and what was is kept for no other command here
//! (docs/reference/untrusted-input.md).

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use idlewise_checkout::some_of;
use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A folder as it comes by mail, with `evil.c`; and marks beside it.
struct Mail(TempDir, TcpListener);

impl Mail {
    fn new() -> Self {
        let mail = Self(tempfile::tempdir().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        for name in ["mixed.dat", "mixed.toml"] {
            fs::create_dir_all(mail.path("mail")).unwrap();
            fs::copy(root().join("tests/data").join(name), mail.path("mail").join(name)).unwrap();
            let copy = name.replace("mixed", "copy");
            fs::copy(root().join("tests/data").join(name), mail.path("mail").join(copy)).unwrap();
        }
        mail.write_evil("mail/evil.c");
        // A compiler may write to no other file than its own: it marks that it was called by a connection.
        mail.1.set_nonblocking(true).unwrap();
        let port = mail.1.local_addr().unwrap().port();
        mail.write("cc", &format!("#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port} 3>&-\nexec cc \"$@\"\n"));
        fs::set_permissions(mail.path("cc"), fs::Permissions::from_mode(0o755)).unwrap();
        mail
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text_of(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// A governor that compiles and runs.
    fn write_evil(&self, name: &str) {
        self.write(
            name,
            "// SPDX-License-Identifier: GPL-2.0-only\n#include <linux/cpuidle.h>\n#include <linux/module.h>\n\
             static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)\n{\n\
             \treturn 0;\n}\n\
             static struct cpuidle_governor it = { .name = \"it\", .rating = 42, .select = pick };\n\
             static int start(void)\n{\n\treturn cpuidle_register_governor(&it);\n}\nmodule_init(start);\n",
        );
    }

    /// The side-car of the recording, with this governor.
    fn described(&self, governor: &str) {
        for name in ["mixed", "copy"] {
            let text = format!("platform = \"kvm-guest\"\ngovernor = {governor:?}\n");
            self.write(&format!("mail/{name}.toml"), &text);
        }
    }

    /// Runs the command in the folder that came by mail, with nothing that was compiled before.
    fn idlewise(&self, args: &[&str]) -> Output {
        let kept = fs::read_dir(self.path("cache/idlewise")).into_iter().flatten().map(|e| e.unwrap().path());
        for governor in kept.filter(|path| path.extension().is_some_and(|e| e == "governor")) {
            fs::remove_file(governor).unwrap();
        }
        Command::new(env!("CARGO_BIN_EXE_idlewise"))
            .args(args)
            .current_dir(self.path("mail"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("CC", self.path("cc"))
            .output()
            .unwrap()
    }

    /// Whether a compiler was called or a benchmark run since this was last asked.
    fn is_marked(&self) -> bool {
        let compiled = self.1.incoming().map_while(Result::ok).count() > 0;
        fs::remove_file(self.path("ran")).is_ok() || compiled
    }

    /// Runs the command: it ends as it may, but leaves no mark.
    fn harmless(&self, args: &[&str]) -> (Option<i32>, String) {
        let o = self.idlewise(args);
        let said = format!("{}{}", String::from_utf8_lossy(&o.stdout), String::from_utf8_lossy(&o.stderr));
        assert!(!self.is_marked(), "{args:?} compiled or ran what only a file names: {said}");
        assert!(o.status.code().is_some_and(|code| code <= 2), "{args:?} ended with {}: {said}", o.status);
        (o.status.code(), said)
    }

    /// Runs the command: it is done.
    fn done(&self, args: &[&str]) -> String {
        let o = self.idlewise(args);
        assert_eq!(o.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&o.stderr));
        String::from_utf8(o.stdout).unwrap()
    }
}

/// What opens a recording.
const OPENING: [&[&str]; 9] = [
    &["info", "mixed.dat"],
    &["replay", "mixed.dat", "-g", "menu", "-v"],
    &["compare", "-v", "menu", "teo", "--trace", "mixed.dat"],
    &["score", "mixed.dat"],
    &["explain", "mixed.dat", "-g", "menu", "--cpu", "0", "--after", "0.03", "--others", "none"],
    &["explain", "mixed.dat", "--cpu", "0", "--why-differ", "menu,shallow"],
    &["convert", "mixed.dat", "-o", "out.txt"],
    &["tape", "mixed.dat", "-o", "out.tape"],
    &["diff", "mixed.dat", "copy.dat"],
];

#[test]
fn the_mark_is_left_where_the_user_names_the_file() {
    let mail = Mail::new();
    let said = mail.done(&["replay", "mixed.dat", "-g", "menu,./evil.c"]);
    assert!(mail.is_marked(), "nothing else here means anything: {said}");
    assert!(!mail.is_marked());
    mail.described("evil.c");
    for options in [["--kernel-governor", "evil.c"], ["-g", "evil.c"]] {
        let said = mail.done(&[&["replay", "mixed.dat"], &options[..]].concat());
        assert!(mail.is_marked(), "{options:?}: {said}");
        assert!(said.contains("evil.c repeats") || said.contains("fidelity"), "{said}");
    }
}

#[test]
fn a_side_car_names_and_does_not_run() {
    let mail = Mail::new();
    mail.write_evil("x/e.c");
    let absolute = mail.text_of("x/e.c");
    let governors = ["evil.c", "./evil.c", "evil.c:depth=1", "../x/e.c", &absolute, "linux/evil", "/"];
    let each = |governor| OPENING.iter().map(move |command| (governor, *command));
    for (governor, command) in some_of(governors.into_iter().flat_map(each).collect(), 32) {
        mail.described(governor);
        let _ = fs::remove_file(mail.path("mail/out.txt"));
        let _ = fs::remove_file(mail.path("mail/out.tape"));
        let (code, said) = mail.harmless(command);
        assert_eq!(code, Some(0), "{governor}: {command:?}: what else is asked for still works: {said}");
        let is_told = ["info", "replay", "compare"].contains(&command[0]);
        assert!(!is_told || said.contains("not known"), "{governor}: {command:?}: {said}");
        let option = if governor.starts_with("linux") { "--kernel-tree" } else { "--kernel-governor" };
        assert!(!is_told || said.contains(option), "{governor}: {command:?}: {said}");
    }
    for governor in governors {
        mail.described(governor);
        let (code, said) = mail.harmless(&["simulate", "timer", "--beside", "mixed.dat"]);
        assert_eq!(code, Some(2), "{said}");
        mail.harmless(&["advise", "--trace", "mixed.dat", "--no-ab", "--root", "/nowhere"]);
    }
    // Neither do names that nothing is meant by, or a parameter that there is not.
    for governor in [":::", "menu:no_such=1", "no-such", "menu:disable=1", ""] {
        mail.described(governor);
        let (code, said) = mail.harmless(&["replay", "mixed.dat", "-g", "menu"]);
        assert_eq!(code, Some(0), "{governor}: {said}");
    }
}

#[test]
fn neither_does_a_tape() {
    let mail = Mail::new();
    mail.described("./evil.c");
    mail.done(&["tape", "mixed.dat", "-o", "evil.tape"]);
    fs::remove_file(mail.path("mail/mixed.toml")).unwrap();
    for command in OPENING.iter().filter(|c| c[0] != "convert" && c[0] != "diff") {
        let command: Vec<&str> =
            command.iter().map(|a| if *a == "mixed.dat" { "evil.tape" } else { a }).collect();
        let _ = fs::remove_file(mail.path("mail/out.tape"));
        let (_, said) = mail.harmless(&command);
        assert!(command[0] != "replay" || said.contains("--kernel-governor ./evil.c"), "{said}");
    }
}

#[test]
fn neither_do_events_of_a_trace() {
    let mail = Mail::new();
    let lab = root().join("tests/data/lab");
    let machine = format!("platform = {:?}\n", lab.join("synth4.toml").display().to_string());
    mail.done(&["convert", &lab.join("teo-util-timer.dat").display().to_string(), "-o", "plain.txt"]);
    let text = fs::read_to_string(mail.path("mail/plain.txt")).unwrap();
    assert!(text.contains("governor=teo-util"), "the overlay's events are in it");
    mail.write_evil("mail/e.c");
    mail.write("mail/events.toml", &machine);
    for governor in ["e.c", "./e.c", "iw-e.c", "linux/e", "teo:x=1"] {
        mail.write("mail/events.txt", &text.replace("governor=teo-util", &format!("governor={governor}")));
        for command in [&["info", "events.txt"][..], &["replay", "events.txt", "-g", "menu"]] {
            let (code, said) = mail.harmless(command);
            assert_eq!(code, Some(0), "{governor}: {said}");
        }
        mail.harmless(&["drive", "-g", "menu", "--decisions", "events.txt", "--platform", "events.toml"]);
        mail.harmless(&["compare", "menu", "teo", "--trace", "events.txt"]);
    }
}

const EXPERIMENT: &str = "format = 2
id = \"mailed\"
title = \"t\"
[document]
number = \"1\"
title = \"t\"
lines = \"1\"
[setup]
platform = \"pixel6\"
workload = \"timer\"
seconds = 0.01
[[column]]
name = \"a\"
baseline = true
[[row]]
name = \"r\"
unit = \"ns\"
fact = \"run / wakeups\"
published = { a = 1 }
";

#[test]
fn neither_does_an_experiment() {
    let mail = Mail::new();
    let in_setup = EXPERIMENT.replace("seconds", "governor = \"evil.c\"\nseconds");
    let in_column =
        EXPERIMENT.replace("baseline = true", "baseline = true\nsetup = { governor = \"./evil.c\" }");
    let in_row = format!("{EXPERIMENT}setup = {{ governor = {:?} }}\n", mail.text_of("mail/evil.c"));
    for text in [in_setup, in_column, in_row] {
        mail.write("mail/mailed.toml", &text);
        let (code, said) = mail.harmless(&["reproduce", "./mailed.toml"]);
        assert!(code == Some(2) && said.contains("evil.c") && said.contains("--trust"), "{said}");
        mail.idlewise(&["reproduce", "./mailed.toml", "--trust", "evil.c"]);
        assert!(mail.is_marked(), "the user may say so");
    }
}

#[test]
fn neither_does_the_folder_of_a_comparison() {
    let mail = Mail::new();
    let mark = mail.text_of("ran");
    let request = serde_json::json!({
        "arms": ["menu", "./evil.c"], "benchmarks": [{"name": "b", "command": ["touch", mark], "load": null}],
        "metrics": [], "disable": [], "latency_limit_us": null, "set": [], "repeat": 2, "warm_up": 0, "settle_ms": 0,
        "seed": 0, "foreign_pct": 8, "retries": 0, "margin_permille": 10, "aa": false
    });
    let session = |request: serde_json::Value| {
        let head = serde_json::json!({
            "schema": "idlewise.ab-session/1", "kernel": "6.1", "driver": "x", "cpus": 2, "governor": "menu",
            "request": request
        });
        mail.write("mail/session/session.jsonl", &format!("{head}\n{{\"number\":4294967295}}\n"));
    };
    session(request.clone());
    let (code, said) = mail.harmless(&["ab", "--show", "session"]);
    assert!(code == Some(0) && said.contains("1 lines of session.jsonl are not runs"), "{said}");
    let (code, said) = mail.harmless(&["ab", "--resume", "session"]);
    assert!(code == Some(2) && said.contains("not run unless you give it again"), "{said}");
    let mut set = request.clone();
    set["benchmarks"] = serde_json::json!([{"name": "wakeups", "command": ["x"], "load": "wakeups"}]);
    set["set"] = serde_json::json!([format!("{mark}=1")]);
    session(set);
    let (code, said) = mail.harmless(&["ab", "--resume", "session"]);
    assert!(code == Some(2), "{said}");
    let mut endless = request;
    endless["repeat"] = serde_json::json!(u32::MAX);
    session(endless);
    for option in ["--show", "--resume"] {
        let (code, said) = mail.harmless(&["ab", option, "session"]);
        assert!(code == Some(2) && said.contains("4294967295 rounds; expected 1 to 10000"), "{said}");
    }
}

#[test]
fn neither_does_a_result_that_is_asked_again() {
    let mail = Mail::new();
    let commands: [&[&str]; 3] = [
        &["replay", "mixed.dat", "--platform", "pixel6", "-g", "menu,./evil.c"],
        &["compare", "menu", "./evil.c", "--trace", "mixed.dat", "--platform", "pixel6"],
        &["simulate", "timer", "--seconds", "0.05", "-g", "./evil.c"],
    ];
    for command in commands {
        let text = mail.done(&[command, &["-f", "json"]].concat());
        assert!(mail.is_marked());
        let result: Value = serde_json::from_str(&text).unwrap();
        let again = |result: &Value, options: &[&str]| {
            mail.write("mail/r.json", &result.to_string());
            mail.harmless(&[&[command[0], "--again", "r.json", "-f", "json"], options].concat())
        };
        let (code, said) = again(&result, &[]);
        assert!(code == Some(2) && said.contains("--trust ./evil.c"), "{said}");
        let (code, said) = again(&result, &["--trust", "/dev/null"]);
        assert!(code == Some(2) && said.contains("--trust ./evil.c"), "{said}");
        // With nothing that it could be compared with, with a wrong hash, and with another file of the right hash.
        let mut emptied = result.clone();
        emptied["foreign"] = Value::Array(Vec::new());
        let mut without = result.clone();
        without.as_object_mut().unwrap().remove("foreign");
        for forged in [&emptied, &without] {
            let (code, said) = again(forged, &["--trust", "evil.c"]);
            assert!(code == Some(2) && said.contains("no hash"), "{said}");
        }
        let mut wrong = result.clone();
        wrong["foreign"][0]["hash"] = "0".repeat(64).into();
        wrong["foreign"][0]["sources"] = Value::Array(Vec::new());
        let mut other = result.clone();
        other["foreign"][0]["sources"][0]["hash"] = "0".repeat(64).into();
        mail.write("mail/good.c", "");
        let mut elsewhere = result.clone();
        elsewhere["foreign"][0]["sources"][0]["file"] = "good.c".into();
        elsewhere["foreign"][0]["sources"][0]["hash"] =
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".into();
        // As results of older versions have them.
        let mut old = result.clone();
        old["foreign"][0]["hash"] = "0".repeat(32).into();
        old["foreign"][0]["sources"][0]["hash"] = "0".repeat(32).into();
        for forged in [&wrong, &other, &elsewhere, &old] {
            let (code, said) = again(forged, &["--trust", "evil.c"]);
            assert!(code == Some(2) && said.contains("has changed since"), "{said}");
        }
        // A tree that nobody offered, whatever is asked for.
        let mut with_tree = result.clone();
        with_tree["request"]["kernel_trees"] = serde_json::json!(["."]);
        let (code, said) = again(&with_tree, &["--trust", "evil.c"]);
        assert!(code == Some(2) && said.contains("kernel tree") && said.contains("--trust"), "{said}");
        // The file itself, named by the user.
        mail.write("mail/r.json", &text);
        let o = mail.idlewise(&[command[0], "--again", "r.json", "-f", "json", "--trust", "evil.c"]);
        assert_eq!(String::from_utf8(o.stdout).unwrap(), text, "{}", String::from_utf8_lossy(&o.stderr));
        assert!(mail.is_marked());
        // And once more when it has changed.
        let file = fs::read_to_string(mail.path("mail/evil.c")).unwrap();
        mail.write("mail/evil.c", &format!("{file}\n"));
        let (code, said) = mail.harmless(&[command[0], "--again", "r.json", "--trust", "evil.c"]);
        assert!(code == Some(2) && said.contains("has changed since"), "{said}");
        mail.write("mail/evil.c", &file);
    }
}

#[test]
fn numbers_of_a_file_are_checked_as_options_are() {
    let mail = Mail::new();
    let with = |line: &str| EXPERIMENT.replace("seconds = 0.01", &format!("seconds = 0.01\n{line}"));
    let repeated = |n: &str| EXPERIMENT.replace("[document]", &format!("repeat = {n}\n[document]"));
    for (text, word) in [
        (with("cpus = 0"), "cpus"),
        (with("cpus = 1000000000"), "cpus"),
        (repeated("0"), "repeat = 0; expected 1 to 100"),
        (repeated("1000000000"), "repeat = 1000000000"),
        (with("hz = 0"), "hz"),
        (with("hz = 4294967295"), "hz"),
        (EXPERIMENT.replace("0.01", "0"), "seconds"),
        (EXPERIMENT.replace("0.01", "-1.0"), "seconds"),
        (EXPERIMENT.replace("0.01", "nan"), "seconds"),
        (EXPERIMENT.replace("0.01", "1e300"), "seconds"),
        (format!("{EXPERIMENT}factor = inf\n"), "factor"),
        (format!("{EXPERIMENT}tolerance = nan\n"), "tolerance"),
        (format!("{EXPERIMENT}setup = {{ compute = \"pelt-times\", hz = 0 }}\n"), "hz"),
    ] {
        mail.write("mail/mailed.toml", &text);
        let (code, said) = mail.harmless(&["reproduce", "./mailed.toml"]);
        assert!(code == Some(2) && said.contains(word), "{word}: {said}");
    }
    let text = mail.done(&["simulate", "timer", "--seconds", "0.05", "-g", "menu", "-f", "json"]);
    let result: Value = serde_json::from_str(&text).unwrap();
    for (field, value) in [
        ("cpus", Value::from(0)),
        ("cpus", Value::from(1_000_000_000_u64)),
        ("repeat", Value::from(0)),
        ("repeat", Value::from(1_000_000_000_u64)),
        ("hz", Value::from(0)),
        ("hz", Value::from(u32::MAX)),
        ("duration_ns", Value::from(0)),
        ("duration_ns", Value::from(u64::MAX)),
        ("base_mw", Value::from(u64::MAX)),
        ("seed", Value::from(u64::MAX)),
        ("power_limit", Value::from("pl1=6W:0s")),
        ("power_limit", Value::from("pl1=1W..900W/1W:1s,pl2=1W..900W/1W:1s")),
        ("power_limit", Value::from("pl1=18446744073709551616W:1s")),
    ] {
        let mut forged = result.clone();
        forged["request"][field] = value.clone();
        mail.write("mail/r.json", &forged.to_string());
        let (code, said) = mail.harmless(&["simulate", "--again", "r.json"]);
        assert_eq!(code, Some(2), "{field} = {value}: {said}");
    }
}

/// A table of one decision with these last cells.
fn decisions(cells: &str) -> String {
    "cpu,ts_entry_ns,state,latency_req0,dis0,dis1,tick_stopped_before,idle_calls_delta,n_switch_out,got_tick_prev,\
     prev_residency_ns,poll_time_limit_prev,idle_entry_rel,hrt_expires_next_rel,menu_sleep_length_ns,menu_tick_wakeup,\
     exit_rel_ns,residency_ns,disabled,entered,prev_state,poll_limit_ns\n"
        .to_owned()
        + cells
        + "\n"
}

#[test]
fn no_index_of_a_file_reaches_c_unchecked() {
    let mail = Mail::new();
    let good = "0,1000000,1,0,0,0,0,1,1,0,5000,0,0,4000000,4000000,0,100000,90000,0,1,0,8000";
    let cell = |at: usize, value: &str| {
        let mut cells: Vec<&str> = good.split(',').collect();
        cells[at] = value;
        decisions(&cells.join(","))
    };
    let drive = |governor: &str, text: &str| {
        mail.write("mail/x.csv", text);
        mail.harmless(&["drive", "-g", governor, "--decisions", "x.csv", "--platform", "kvm-guest"])
    };
    for governor in ["teo", "ladder", "teo-weighted", "menu", "teo-util", "haltpoll"] {
        let (code, said) = drive(governor, &decisions(good));
        assert!(matches!(code, Some(0 | 1)), "{governor}: {said}");
        // Nothing was checked: that is no success.
        let other =
            ["drive", "-g", governor, "--decisions", "x.csv", "--platform", "kvm-guest", "--cpu", "7"];
        let (code, said) = mail.harmless(&other);
        assert!(code == Some(2) && said.contains("no decision of CPU 7"), "{governor}: {said}");
        for (at, column) in [(2, "state"), (19, "entered"), (20, "prev_state")] {
            for value in ["100000000", "2", "-2", "255", "2147483647", "-2147483648", "9223372036854775807"] {
                let (code, said) = drive(governor, &cell(at, value));
                let named = said.contains(&format!("column {column}")) && said.contains("line 2");
                assert!(code == Some(2) && named, "{governor}, {column} {value}: {said}");
            }
        }
        for at in [1, 10, 12, 13, 14, 16, 17, 18, 21] {
            for value in ["9223372036854775807", "-9223372036854775808", "-1", "4611686018427387904", "65535"]
            {
                drive(governor, &cell(at, value));
            }
        }
        for at in [0, 2] {
            mail.write("mail/x.csv", &cell(at, "4294967295"));
            mail.harmless(&[
                "explain",
                "--decisions",
                "x.csv",
                "--line",
                "2",
                "-g",
                governor,
                "--platform",
                "kvm-guest",
            ]);
        }
    }
}
