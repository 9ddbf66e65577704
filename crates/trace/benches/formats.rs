// SPDX-License-Identifier: GPL-2.0-only
//! How fast each other format is read, beside the format's own tool on the same file in the same run.
//!
//! CTF (written here as LTTng would, and real) against `babeltrace2` printing text and decoding only (`-c
//! sink.utils.dummy`), `perf.data` against `perf script`, text (as `trace-cmd report -t` prints it) against `wc -w`, which only
//! looks for blanks. What is printed goes nowhere. `IDLEWISE_BENCH_RUNS` (default 5), `IDLEWISE_BENCH_EVENTS` (default
//! 2000000, of the CTF that is made here). A recording or a tool that is not here is left out by name.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run has nothing to do")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use idlewise_checkout::{root, setting, shared};
use idlewise_madetraces::ctf;
use idlewise_model::{Event, EventKind, HrtimerMode, Vector};
use idlewise_trace::TraceFile;

/// What four CPUs do that wake for a timer, run a task and sleep again.
fn busy_and_idle(n: usize) -> Vec<Event> {
    let mut all = Vec::with_capacity(n);
    let mut ts_ns = 5_000_000_000;
    for round in 0u64.. {
        let cpu = (round % 4) as u32;
        let pid = 100 + (round % 50) as i32;
        let expires = (ts_ns + 4_000_000) as i64;
        let switch = |prev_pid, next_pid| EventKind::SchedSwitch {
            prev_pid,
            prev_prio: 120,
            prev_state: 1,
            next_pid,
            next_prio: 120,
        };
        for kind in [
            EventKind::CpuIdle { cpu, state: None },
            EventKind::VectorEntry { vector: Vector::LocalTimer },
            EventKind::HrtimerCancel { hrtimer: 77 },
            EventKind::HrtimerExpireEntry { hrtimer: 77, function: 7, now: expires },
            EventKind::SchedWaking { pid, target_cpu: cpu },
            EventKind::SchedWakeup { pid, target_cpu: cpu, new: false },
            EventKind::HrtimerExpireExit { hrtimer: 77 },
            EventKind::HrtimerStart {
                hrtimer: 77,
                function: 7,
                expires,
                softexpires: expires,
                mode: HrtimerMode(2),
                was_armed: None,
            },
            EventKind::VectorExit { vector: Vector::LocalTimer },
            switch(0, pid),
            EventKind::IrqEntry { irq: 19 },
            EventKind::IrqExit { irq: 19 },
            switch(pid, 0),
            EventKind::CpuIdle { cpu, state: Some(1 + (round % 3) as u32) },
        ] {
            if all.len() == n {
                return all;
            }
            ts_ns += 700 + round % 300;
            all.push(Event { ts_ns, cpu, pid: 0, kind });
        }
    }
    all
}

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
    let runs = setting("IDLEWISE_BENCH_RUNS", 5);
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

fn compare_ctf(what: &str, path: &Path) {
    let at = path.to_str().unwrap();
    let text = vec!["babeltrace2", at];
    let dummy = vec!["babeltrace2", at, "-c", "sink.utils.dummy"];
    compare(what, path, &[("babeltrace2, text", text), ("babeltrace2, dummy", dummy)]);
}

/// The trace in an archive of ../shared, unpacked into `dir`.
fn unpacked(archive: &str, dir: &Path) -> Option<PathBuf> {
    let archive = shared().join("traces/ctf").join(archive);
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
    let written = dir.path().join("written");
    let trace = ctf::Lttng { per_packet: 4000, packet_size: 4096, ..ctf::Lttng::default() };
    ctf::store(&written, &trace.write(&busy_and_idle(setting("IDLEWISE_BENCH_EVENTS", 2_000_000))));
    compare_ctf("CTF, made here", &written);
    for archive in ["ctf_many-threads.tar.zst", "ctf_uneven-streams.tar.zst"] {
        match unpacked(archive, dir.path()) {
            Some(path) => compare_ctf(archive, &path),
            None => println!("{archive:<24} left out: no ../shared (IDLEWISE_SHARED), or no tar or zstd"),
        }
    }
    let perf = dir.path().join("bench.data");
    let events = "power:cpu_idle,sched:sched_switch,sched:sched_waking,timer:*,irq:*";
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
    let source = root().join("tests/data/mixed.dat");
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
