// SPDX-License-Identifier: GPL-2.0-only
//! How many events a second are read, beside `trace-cmd report` on the same file in the same run; and of the same events
//! written for Perfetto, which trace-cmd does not read.
//!
//! `IDLEWISE_BENCH_FILE` (a version 7 file; default: a recording of ../shared), `IDLEWISE_BENCH_TIMES` (how often its
//! pages are repeated to make a large file, default 10), `IDLEWISE_BENCH_RUNS` (default 5).

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run has nothing to do")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use idlewise_checkout::{setting, shared};
use idlewise_madetraces::large::{plain as plain_of, repeat_pages, trace_cmd};
use idlewise_trace::TraceFile;
use idlewise_trace::write::PerfettoWriter;

fn recording() -> PathBuf {
    let default = shared().join("traces/kvm-guest/hp200_sleeploop.dat");
    std::env::var_os("IDLEWISE_BENCH_FILE").map_or(default, PathBuf::from)
}

/// Opens and reads a file; gives the number of events and a hash of them.
fn read(path: &Path) -> (u64, u64) {
    let file = TraceFile::open(path).unwrap();
    let (mut n, mut hash) = (0u64, 0u64);
    for event in file.events().unwrap() {
        n += 1;
        hash = (hash ^ event.ts_ns ^ u64::from(event.cpu) << 56).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (n, hash)
}

/// Writes the events of `path` to `out` for Perfetto; gives the time that took, reading included, s.
fn write_perfetto(path: &Path, out: &Path) -> f64 {
    let start = Instant::now();
    let file = TraceFile::open(path).unwrap();
    let out = std::io::BufWriter::new(std::fs::File::create(out).unwrap());
    let mut writer = PerfettoWriter::new(out, file.meta()).unwrap();
    let mut events = file.events().unwrap();
    while let Some(event) = events.next() {
        writer.event(&event, &events).unwrap();
    }
    writer.finish().unwrap();
    start.elapsed().as_secs_f64()
}

/// What this thread spent on a CPU so far, s; a busy machine disturbs the clock on the wall more.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let source = recording();
    if !source.is_file() || Command::new("trace-cmd").arg("--version").output().is_err() {
        println!("skipped: no {} or no trace-cmd", source.display());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (plain, large, packed) =
        (dir.path().join("1.dat"), dir.path().join("n.dat"), dir.path().join("z.dat"));
    plain_of(&source, &plain);
    let times = setting("IDLEWISE_BENCH_TIMES", 10);
    repeat_pages(&plain, &large, times);
    assert!(trace_cmd(&["convert", "--file-version", "7", "--compression", "zstd"], &large, Some(&packed)));

    let perfetto = dir.path().join("n.perfetto-trace");
    let writing = write_perfetto(&large, &perfetto);

    println!(
        "{:<34} {:>10} {:>12} {:>12} {:>12} {:>7}  hash",
        "file", "events", "ours/s", "ours/CPU s", "trace-cmd/s", "ratio"
    );
    for (name, path) in [
        ("as recorded".to_owned(), &source),
        (format!("{times} times, not compressed"), &large),
        (format!("{times} times, zstd"), &packed),
        (format!("{times} times, Perfetto"), &perfetto),
    ] {
        let (mut ours, mut on_cpu, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        let mut result = (0, 0);
        for _ in 0..setting("IDLEWISE_BENCH_RUNS", 5) {
            let (start, cpu_start) = (Instant::now(), cpu_time());
            result = read(path);
            ours.push(start.elapsed().as_secs_f64());
            on_cpu.push(cpu_time() - cpu_start);
            let start = Instant::now();
            let read = path == &perfetto || trace_cmd(&["report"], path, None);
            assert!(read);
            theirs.push(if path == &perfetto { f64::NAN } else { start.elapsed().as_secs_f64() });
        }
        let (ours, on_cpu, theirs) = (median(ours), median(on_cpu), median(theirs));
        let rate = |s: f64| result.0 as f64 / s;
        println!(
            "{name:<34} {:>10} {:>12.0} {:>12.0} {:>12.0} {:>7.1}  {:016x}",
            result.0,
            rate(ours),
            rate(on_cpu),
            rate(theirs),
            theirs / ours,
            result.1
        );
    }
    println!("written for Perfetto in {writing:.2} s");
}
