// SPDX-License-Identifier: GPL-2.0-only
//! Is every file that a command takes opened in the one place that refuses pipes and devices, and does none of them hold a
//! command up?

#![allow(clippy::disallowed_methods, reason = "a command that hangs is waited for")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Files that open what is no input of a user's: the kernel's, our own results, or what was looked at before. With how often.
const ELSEWHERE: [(&str, usize); 3] = [
    ("crates/machine/src/boot/self_test.rs", 2),
    ("crates/machine/src/boot.rs", 4),
    ("crates/machine/src/record/inputs.rs", 1),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What `idlewise ARGUMENTS` says when it refuses; within a time that is far more than it takes.
fn refused(arguments: &[&str], folder: &Path) -> String {
    refused_within(arguments, folder, None)
}

/// The same with so much memory at most, kB.
fn refused_within(arguments: &[&str], folder: &Path, memory_kb: Option<u64>) -> String {
    let mut command = Command::new("sh");
    let limit = memory_kb.map_or_else(|| "unlimited".to_owned(), |kb| kb.to_string());
    command
        .args(["-c", "ulimit -v $0; exec \"$@\"", &limit, env!("CARGO_BIN_EXE_idlewise")])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    for _ in 0..600 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    let hangs = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!hangs, "{arguments:?} hangs: {said}");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    said
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_pipe_in_place_of_any_input_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in [
        "p.dat",
        "p.txt",
        "p.toml",
        "p.csv",
        "p.json",
        "p.c",
        "copy.toml",
        "session/session.jsonl",
        "ctf/metadata",
    ] {
        pipe(&at(name));
    }
    fs::copy(root().join("tests/data/sleeploop.dat"), at("copy.dat")).unwrap();
    let trace = root().join("tests/data/sleeploop.dat");
    let trace = trace.to_str().unwrap();
    let cases: &[&[&str]] = &[
        &["info", "p.dat"],
        &["score", "p.dat"],
        &["replay", "p.dat", "--governor", "menu"],
        &["replay", "copy.dat", "--governor", "menu"],
        &["replay", trace, "--governor", "menu", "--platform", "p.toml"],
        &["replay", trace, "--governor", "./p.c"],
        &["replay", "--again", "p.json"],
        &["compare", "menu", "teo", "--trace", "p.dat"],
        &["explain", "p.dat", "--governor", "menu", "--at", "0"],
        &["convert", "p.dat", "--to", "text", "-o", "out.txt"],
        &["tape", "p.dat", "-o", "out.tape"],
        &["info", trace, "--sysfs", "p.txt"],
        &["info", trace, "--recorded-on", "p.toml"],
        &["diff", "p.txt", "p.txt"],
        &["drive", "--governor", "menu", "--decisions", "p.csv", "--platform", "pixel6"],
        &["simulate", "p.json", "--platform", "pixel6"],
        &["platform", "show", "p.toml"],
        &["reproduce", "./p.toml"],
        &["ab", "--show", "session"],
        &["ab", "--resume", "session"],
        &["advise", "--trace", "p.dat"],
        &["advise", "--trace", trace, "--ab-session", "session"],
    ];
    for case in cases {
        let said = refused(case, folder.path());
        let words = ["pipe (FIFO)", "a pipe or a device", "not a regular file"];
        assert!(words.iter().any(|w| said.contains(w)), "{case:?}: {said}");
    }
}

/// A file of holes, 1 TiB, in the place of each input that is read whole; there is far less memory.
#[test]
fn a_file_that_is_larger_than_any_of_its_kind_is_refused_before_it_fills_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let session = "session/session.jsonl";
    for name in
        ["p.txt", "q.txt", "p.toml", "p.csv", "p.json", "copy.toml", session, "ctf/metadata", "p.tape"]
    {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        let start: &[u8] = if name == "p.tape" { b"IWTAPE\x01\0" } else { b"" };
        fs::write(at(name), start).unwrap();
        fs::File::options().write(true).open(at(name)).unwrap().set_len(1 << 40).unwrap();
    }
    fs::copy(root().join("tests/data/sleeploop.dat"), at("copy.dat")).unwrap();
    let trace = root().join("tests/data/sleeploop.dat");
    let trace = trace.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["replay", "copy.dat", "--governor", "menu"], "copy.toml"),
        (&["replay", trace, "--governor", "menu", "--platform", "p.toml"], "p.toml"),
        (&["replay", trace, "--governor", "menu", "--platform", "./p.txt"], "./p.txt"),
        (&["replay", "--again", "p.json"], "p.json"),
        (&["compare", "--again", "p.json"], "p.json"),
        (&["simulate", "--again", "p.json"], "p.json"),
        (&["replay", "p.tape", "--governor", "menu"], "p.tape"),
        (&["info", trace, "--sysfs", "p.txt"], "p.txt"),
        (&["info", trace, "--recorded-on", "p.toml"], "p.toml"),
        (&["score", trace, "--counters", "p.txt", "p.txt"], "p.txt"),
        (&["simulate", "p.json", "--platform", "pixel6"], "p.json"),
        (&["simulate", "periodic", "--platform", "p.toml"], "p.toml"),
        (&["platform", "show", "p.toml"], "p.toml"),
        (&["platform", "check", "p.toml"], "p.toml"),
        (&["reproduce", "./p.toml"], "p.toml"),
        (&["drive", "--governor", "menu", "--decisions", "p.csv", "--platform", "pixel6"], "p.csv"),
        (&["diff", "p.txt", "q.txt"], "p.txt"),
        (&["ab", "--show", "session"], "session.jsonl"),
        (&["ab", "--resume", "session"], "session.jsonl"),
        (&["info", "ctf"], "metadata"),
    ];
    for (case, file) in cases {
        let said = refused_within(case, folder.path(), Some(3 << 20));
        let words =
            ["larger than", "at most", "a line of more than", "no trace that idlewise reads", "not a trace"];
        assert!(said.contains(file) && words.iter().any(|w| said.contains(w)), "{case:?}: {said}");
    }
}

/// The rooms that open what users name.
const ROOMS: [&str; 14] = [
    "trace",
    "platform",
    "workload",
    "tape",
    "replay",
    "recording",
    "conform",
    "study",
    "explain",
    "experiment",
    "machine",
    "page",
    "view",
    "cli",
];

/// Rust files below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    out.sort();
    out
}

#[test]
fn inputs_are_opened_in_one_place() {
    let mut found = Vec::new();
    for room in ROOMS {
        for path in sources(&root().join("crates").join(room).join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
            let opens = ["File::open(", "fs::read(", "fs::read_to_string(", ".read(true)"];
            let count = code.lines().map(|l| opens.iter().filter(|o| l.contains(**o)).count()).sum::<usize>();
            if count > 0 && path.file_name().is_some_and(|n| n != "tests.rs") {
                found.push((path.strip_prefix(root()).unwrap().display().to_string(), count));
            }
        }
    }
    let allowed: Vec<(String, usize)> = ELSEWHERE.iter().map(|(path, n)| ((*path).to_owned(), *n)).collect();
    assert_eq!(found, allowed, "inputs go through idlewise_files; name here what is none");
}

/// Who opens a file, and then reads it to its end, sets a limit.
#[test]
fn what_is_read_to_its_end_has_a_limit() {
    let mut found = Vec::new();
    for room in ROOMS.into_iter().chain(["live"]) {
        for path in sources(&root().join("crates").join(room).join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
            let ends = [".read_to_end(", ".read_to_string(", ".read_line("];
            let opens = code.contains("idlewise_files::open(") || code.contains("idlewise_files::append(");
            let without = |l: &&str| ends.iter().any(|e| l.contains(e)) && !l.contains(".take(");
            if opens && path.file_name().is_some_and(|n| n != "tests.rs") {
                let shown = path.strip_prefix(root()).unwrap().display().to_string();
                found.extend(code.lines().filter(without).map(|l| format!("{shown}: {}", l.trim())));
            }
        }
    }
    assert_eq!(found, [""; 0], "take() sets a limit, as idlewise_files::read() does");
}
