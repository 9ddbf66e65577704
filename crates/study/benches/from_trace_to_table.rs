// SPDX-License-Identifier: GPL-2.0-only
//! From a large trace to the table of four governors: how long it takes, and how much memory at most.
//!
//! The pages of tests/data/mixed.dat, over and over, make traces of `IDLEWISE_BENCH_MB` (default 100,1000,2000) in the
//! temporary directory. Each is read, and each is replayed, in a process of its own, whose memory the kernel accounts.
//! `trace-cmd report` on the smallest is the measure of speed.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run has nothing to do")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use idlewise_checkout::root;
use idlewise_madetraces::large;
use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_study::replay::{Per, ReplayRequest, replay};
use idlewise_trace::TraceFile;

const GOVERNORS: [&str; 4] = ["menu", "teo", "teo-util", "ladder"];
const MACHINE: &str = "kvm-guest";

/// Reads every event.
fn read(path: &Path) -> u64 {
    TraceFile::open(path).unwrap().events().unwrap().count() as u64
}

/// Makes the table; gives its number of decisions.
fn table(path: &Path) -> u64 {
    let request = ReplayRequest {
        traces: vec![path.to_owned()],
        setup: ReplaySetup {
            recording: RecordingOptions {
                recorded_on: Some(MACHINE.to_owned()),
                ..RecordingOptions::default()
            },
            ..ReplaySetup::default()
        },
        governors: GOVERNORS.map(str::to_owned).to_vec(),
        baseline: None,
        per: Per::All,
        sensitivity: false,
        power_limit: None,
    };
    let report = replay(&request, &|_, _| ()).unwrap();
    report.traces.iter().flat_map(|t| &t.governors).map(|g| g.decisions).sum()
}

/// The most memory that this process ever had, MB.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().split(' ').next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

/// Does one job in this process and prints what it took.
fn job(what: &str, path: &Path) {
    let start = Instant::now();
    let n = if what == "read" { read(path) } else { table(path) };
    println!("{n} {} {}", start.elapsed().as_secs_f64(), peak_mb());
}

/// Has a new process do a job: its count, s, MB.
fn in_a_process(what: &str, path: &Path) -> (u64, f64, f64) {
    let me = std::env::current_exe().unwrap();
    let out = Command::new(me).arg("--job").arg(what).arg(path).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    (words[0].parse().unwrap(), words[1].parse().unwrap(), words[2].parse().unwrap())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|a| a == "--job") {
        return job(&args[at + 1], &PathBuf::from(&args[at + 2]));
    }
    if Command::new("trace-cmd").arg("--version").output().is_err() {
        println!("skipped: no trace-cmd");
        return;
    }
    let sizes = std::env::var("IDLEWISE_BENCH_MB").unwrap_or_else(|_| "100,1000,2000".to_owned());
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain.dat");
    large::plain(&root().join("tests/data/mixed.dat"), &plain);
    let once = std::fs::metadata(&plain).unwrap().len();
    println!(
        "{:>6} {:>11} {:>8} {:>12} {:>8} {:>12} {:>9} {:>11} {:>9} {:>10}",
        "MB",
        "events",
        "read s",
        "events/s",
        "peak MB",
        "decisions",
        "table s",
        "MB/s",
        "peak MB",
        "trace-cmd"
    );
    for mb in sizes.split(',').map(|s| s.trim().parse::<u64>().unwrap()) {
        let large = dir.path().join("large.dat");
        large::repeat_pages(&plain, &large, (mb * 1_000_000 / once).max(1) as usize);
        let (events, read_s, read_mb) = in_a_process("read", &large);
        let (decisions, table_s, table_mb) = in_a_process("table", &large);
        // Beyond that trace-cmd takes minutes.
        let theirs = (mb <= 100).then(|| {
            let start = Instant::now();
            assert!(large::trace_cmd(&["report"], &large, None));
            format!("{:.1} s", start.elapsed().as_secs_f64())
        });
        println!(
            "{mb:>6} {events:>11} {read_s:>8.2} {:>12.0} {read_mb:>8.0} {decisions:>12} {table_s:>9.2} {:>11.0} {table_mb:>9.0} {:>10}",
            events as f64 / read_s,
            mb as f64 / table_s,
            theirs.unwrap_or_default()
        );
        std::fs::remove_file(&large).unwrap();
    }
}
