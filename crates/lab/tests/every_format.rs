// SPDX-License-Identifier: GPL-2.0-only
//! Does the same recording give the same tape, to the nanosecond, in every format that the public tools put it into?

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]

mod common;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::open;
use idlewise_model::{CpuTape, Tape};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

/// Runs a public tool with its output in `out`; says so where it is not here.
fn made(command: &[&str], out: &Path) -> bool {
    let (program, args) = command.split_first().unwrap();
    let file = File::create(out).unwrap();
    match Command::new(program).args(args).stdin(Stdio::null()).stdout(file).stderr(Stdio::null()).status() {
        Ok(status) => {
            assert!(status.success(), "{command:?}");
            true
        }
        Err(e) => {
            println!("skipped: {program}: {e}");
            false
        }
    }
}

fn tape(path: &Path) -> Tape {
    open(path, "kvm-guest", "menu").tape
}

/// The CPUs that can be used; what is said of the others is about their events.
fn usable(tape: &Tape) -> Vec<&CpuTape> {
    tape.cpus.iter().filter(|c| !c.pieces.is_empty()).collect()
}

fn same(what: &str, a: &Tape, b: &Tape) {
    let stays: usize = usable(a).iter().map(|c| c.pieces.len()).sum();
    assert!(stays > 20, "{what}: {stays} stays");
    assert_eq!(usable(a).len(), usable(b).len(), "{what}");
    for (a, b) in usable(a).into_iter().zip(usable(b)) {
        assert_eq!(a.pieces.len(), b.pieces.len(), "{what}, CPU {}", a.cpu);
        for (n, (a, b)) in a.pieces.iter().zip(&b.pieces).enumerate() {
            assert_eq!(a, b, "{what}, stay {n}");
        }
        assert_eq!((a.tick, &a.latency), (b.tick, &b.latency), "{what}");
    }
    println!("{what}: {stays} stays the same");
}

#[test]
fn what_trace_cmd_makes_of_a_recording_gives_its_tape() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["mixed.dat", "sleeploop.dat"] {
        let recording = data(name);
        let at = recording.to_str().unwrap();
        let original = tape(&recording);
        let text = dir.path().join("report.txt");
        for options in [&["-t", "-R"][..], &["-t", "-N"], &["-t"]] {
            let command: Vec<&str> =
                ["trace-cmd", "report"].iter().chain(options).copied().chain(["-i", at]).collect();
            if made(&command, &text) {
                same(&format!("{name}, report {}", options.join(" ")), &original, &tape(&text));
            }
        }
        for version in ["6", "7"] {
            let to = dir.path().join("other.dat");
            let command = [
                "trace-cmd",
                "convert",
                "-i",
                at,
                "-o",
                to.to_str().unwrap(),
                "--file-version",
                version,
                "--compression",
                "none",
            ];
            if made(&command, &dir.path().join("log")) {
                same(&format!("{name}, version {version}"), &original, &tape(&to));
            }
        }
    }
}

#[test]
fn what_perf_makes_of_a_recording_gives_its_tape() {
    let dir = tempfile::tempdir().unwrap();
    let recording = data("perf/idle.data");
    let at = recording.to_str().unwrap();
    let original = tape(&recording);
    let text = dir.path().join("script.txt");
    if made(&["perf", "script", "--ns", "-i", at], &text) {
        same("perf script", &original, &tape(&text));
    }
    let ctf = dir.path().join("ctf");
    if made(
        &["perf", "data", "convert", "-i", at, "--to-ctf", ctf.to_str().unwrap()],
        &dir.path().join("log"),
    ) {
        same("perf data convert --to-ctf", &original, &tape(&ctf));
    }
}
