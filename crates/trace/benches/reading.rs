// SPDX-License-Identifier: GPL-2.0-only
//! How many events a second are read, beside `trace-cmd report` on the same file in the same run.
//!
//! `IDLEWISE_BENCH_FILE` (a version 7 file; default: a recording of ../shared), `IDLEWISE_BENCH_TIMES` (how often its
//! pages are repeated to make a large file, default 10), `IDLEWISE_BENCH_RUNS` (default 5).

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run has nothing to do")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use idlewise_trace::TraceFile;

fn env(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn recording() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("IDLEWISE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let default = shared.join("traces/kvm-guest/hp200_sleeploop.dat");
    std::env::var_os("IDLEWISE_BENCH_FILE").map_or(default, PathBuf::from)
}

fn trace_cmd(args: &[&str], path: &Path, out: Option<&Path>) -> bool {
    let mut command = Command::new("trace-cmd");
    command.args(args).arg("-i").arg(path).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(out) = out {
        command.arg("-o").arg(out);
    }
    command.status().is_ok_and(|s| s.success())
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

/// What this thread spent on a CPU so far, s; a busy machine disturbs the clock on the wall more.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// An uncompressed version 7 file with its pages `times` times over, each time `span_ns` later.
fn repeat_pages(mut bytes: Vec<u8>, times: usize, span_ns: u64) -> Vec<u8> {
    let zeros = |at: usize, n: usize| {
        (0..n).fold(at, |at, _| at + bytes[at..].iter().position(|b| *b == 0).unwrap() + 1)
    };
    let mut options = u64_at(&bytes, zeros(18, 2));
    let mut regions = Vec::new();
    while options != 0 {
        let mut at = options + 16;
        loop {
            let (id, n) = (bytes[at], u32_at(&bytes, at + 2));
            if id == 3 {
                let name_end = at + 14 + bytes[at + 14..].iter().position(|b| *b == 0).unwrap() + 1;
                let clock_end = name_end + bytes[name_end..].iter().position(|b| *b == 0).unwrap() + 1;
                regions.extend((0..u32_at(&bytes, clock_end + 4)).map(|i| clock_end + 12 + 20 * i));
            }
            if id == 0 {
                options = u64_at(&bytes, at + 6);
                break;
            }
            at += 6 + n;
        }
    }
    for region in regions {
        let (offset, size) = (u64_at(&bytes, region), u64_at(&bytes, region + 8));
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        let start = bytes.len() as u64;
        for k in 0..times as u64 {
            for page in (offset..offset + size).step_by(4096) {
                let time = u64_at(&bytes, page) as u64 + k * span_ns;
                bytes.extend(time.to_le_bytes());
                bytes.extend_from_within(page + 8..page + 4096);
            }
        }
        let end = bytes.len() as u64;
        bytes[region..region + 8].copy_from_slice(&start.to_le_bytes());
        bytes[region + 8..region + 16].copy_from_slice(&(end - start).to_le_bytes());
    }
    bytes
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
    assert!(trace_cmd(&["convert", "--file-version", "7", "--compression", "none"], &source, Some(&plain)));
    let file = TraceFile::open(&plain).unwrap();
    let (mut first, mut last) = (None, 0);
    for event in file.events().unwrap() {
        first = first.or(Some(event.ts_ns));
        last = event.ts_ns;
    }
    let times = env("IDLEWISE_BENCH_TIMES", 10);
    let span = last - first.unwrap_or(0) + 1_000_000;
    std::fs::write(&large, repeat_pages(std::fs::read(&plain).unwrap(), times, span)).unwrap();
    assert!(trace_cmd(&["convert", "--file-version", "7", "--compression", "zstd"], &large, Some(&packed)));

    println!(
        "{:<34} {:>10} {:>12} {:>12} {:>12} {:>7}  hash",
        "file", "events", "ours/s", "ours/CPU s", "trace-cmd/s", "ratio"
    );
    for (name, path) in [
        ("as recorded".to_owned(), &source),
        (format!("{times} times, not compressed"), &large),
        (format!("{times} times, zstd"), &packed),
    ] {
        let (mut ours, mut on_cpu, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        let mut result = (0, 0);
        for _ in 0..env("IDLEWISE_BENCH_RUNS", 5) {
            let (start, cpu_start) = (Instant::now(), cpu_time());
            result = read(path);
            ours.push(start.elapsed().as_secs_f64());
            on_cpu.push(cpu_time() - cpu_start);
            let start = Instant::now();
            assert!(trace_cmd(&["report"], path, None));
            theirs.push(start.elapsed().as_secs_f64());
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
}
