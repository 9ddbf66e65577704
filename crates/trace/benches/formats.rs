// SPDX-License-Identifier: GPL-2.0-only
//! How fast each other format is read, beside the format's own tool on the same file in the same run.
//!
//! CTF against `babeltrace2` printing text and decoding only (`-c sink.utils.dummy`), `perf.data` against `perf script`,
//! text (as `trace-cmd report -t` prints it) against `wc -w`, which only looks for blanks. What is printed goes nowhere.
//! `IDLEWISE_BENCH_RUNS` (default 5). A recording or a tool that is not here is left out by name.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run has nothing to do")]

mod common;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use idlewise_trace::TraceFile;

/// Seconds that a command takes; `None` if it is not here or fails.
fn takes(command: &[&str]) -> Option<f64> {
    let (program, args) = command.split_first()?;
    let start = Instant::now();
    let status = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|s| s.success()).then(|| start.elapsed().as_secs_f64())
}

/// Opens and reads a trace; gives the number of events and the seconds.
fn read(path: &Path) -> (u64, f64) {
    let start = Instant::now();
    let n = TraceFile::open(path).unwrap().events().unwrap().count() as u64;
    (n, start.elapsed().as_secs_f64())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// One row for each of `theirs`: a name and a command.
fn compare(what: &str, path: &Path, theirs: &[(&str, Vec<&str>)]) {
    let runs = common::env("IDLEWISE_BENCH_RUNS", 5);
    for (tool, command) in theirs {
        let (mut ours_s, mut theirs_s, mut events) = (Vec::new(), Vec::new(), 0);
        for _ in 0..runs {
            let (n, s) = read(path);
            events = n;
            ours_s.push(s);
            theirs_s.extend(takes(command));
        }
        if theirs_s.is_empty() {
            println!("{what:<24} left out: {tool} is not here or cannot read it");
            continue;
        }
        let (ours, theirs) = (median(ours_s), median(theirs_s));
        println!(
            "{what:<24} {events:>9} {:>12.0} {tool:<22} {:>12.0} {:>7.1}",
            events as f64 / ours,
            events as f64 / theirs,
            theirs / ours
        );
    }
}

/// The trace in an archive of ../shared, unpacked into `dir`.
fn unpacked(archive: &str, dir: &Path) -> Option<PathBuf> {
    let archive = common::shared().join("traces/ctf").join(archive);
    let to = dir.join(archive.file_stem()?);
    std::fs::create_dir_all(&to).ok()?;
    takes(&["tar", "-C", to.to_str()?, "-xf", archive.to_str()?])?;
    Some(to)
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    println!(
        "{:<24} {:>9} {:>12} {:<22} {:>12} {:>7}",
        "file", "events", "ours/s", "against", "theirs/s", "ratio"
    );
    for archive in ["ctf_many-threads.tar.zst", "ctf_uneven-streams.tar.zst"] {
        let Some(path) = unpacked(archive, dir.path()) else {
            println!("{archive:<24} left out: no ../shared (IDLEWISE_SHARED), or no tar or zstd");
            continue;
        };
        let at = path.to_str().unwrap();
        let text = vec!["babeltrace2", at];
        let dummy = vec!["babeltrace2", at, "-c", "sink.utils.dummy"];
        compare(archive, &path, &[("babeltrace2, text", text), ("babeltrace2, dummy", dummy)]);
    }
    let perf = dir.path().join("bench.data");
    let events = "power:cpu_idle,sched:*,timer:*,irq:*,irq_vectors:*";
    let at = perf.to_str().unwrap();
    // Work for the scheduler, so that there is something to read.
    let record = [
        "perf", "record", "-q", "-a", "-e", events, "-o", at, "perf", "bench", "-f", "simple", "sched",
        "pipe",
    ];
    match takes(&record) {
        Some(_) => compare("perf.data", &perf, &[("perf script", vec!["perf", "script", "--ns", "-i", at])]),
        None => println!("{:<24} left out: no perf, or it may not record here", "perf.data"),
    }
    let text = dir.path().join("report.txt");
    let source = common::root().join("tests/data/mixed.dat");
    let report = Command::new("trace-cmd")
        .args(["report", "-t", "-i"])
        .arg(source)
        .stdout(File::create(&text).unwrap())
        .stderr(Stdio::null())
        .status();
    if report.is_ok_and(|s| s.success()) {
        compare("trace-cmd report -t", &text, &[("wc -w", vec!["wc", "-w", text.to_str().unwrap()])]);
    } else {
        println!("{:<24} left out: no trace-cmd", "trace-cmd report -t");
    }
}
