// SPDX-License-Identifier: GPL-2.0-only
//! How many events of a CTF trace are read a second, beside babeltrace2 on the same trace in the same run: as text, and
//! into its `sink.utils.dummy`, which only decodes.
//!
//! `IDLEWISE_BENCH_FILE` (the directory of a trace; default: one written here, as LTTng would), `IDLEWISE_BENCH_EVENTS`
//! (how many are in that, default 2000000), `IDLEWISE_BENCH_RUNS` (default 5).

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to do")]

#[path = "../tests/common/ctf.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "the tests use the rest")]
mod ctf;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use idlewise_model::{Event, EventKind, HrtimerMode, Vector};
use idlewise_trace::TraceFile;

fn env(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

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

/// Opens and reads a trace; gives the number of events and a hash of them.
fn read(path: &Path) -> (u64, u64) {
    let file = TraceFile::open(path).unwrap();
    let (mut n, mut hash) = (0u64, 0u64);
    for event in file.events().unwrap() {
        n += 1;
        hash = (hash ^ event.ts_ns ^ u64::from(event.cpu) << 56).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (n, hash)
}

fn babeltrace(path: &Path, args: &[&str]) -> f64 {
    let start = Instant::now();
    let mut command = Command::new("babeltrace2");
    command.arg(path).args(args).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success());
    start.elapsed().as_secs_f64()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    if Command::new("babeltrace2").arg("--version").output().is_err() {
        println!("skipped: no babeltrace2");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = std::env::var_os("IDLEWISE_BENCH_FILE").map_or_else(
        || {
            let events = busy_and_idle(env("IDLEWISE_BENCH_EVENTS", 2_000_000));
            let trace = ctf::Lttng { per_packet: 4000, packet_size: 4096, ..ctf::Lttng::default() };
            ctf::store(dir.path(), &trace.write(&events));
            dir.path().to_path_buf()
        },
        PathBuf::from,
    );
    let (mut ours, mut text, mut dummy) = (Vec::new(), Vec::new(), Vec::new());
    let mut result = (0, 0);
    for _ in 0..env("IDLEWISE_BENCH_RUNS", 5) {
        let start = Instant::now();
        result = read(&path);
        ours.push(start.elapsed().as_secs_f64());
        text.push(babeltrace(&path, &[]));
        dummy.push(babeltrace(&path, &["--component", "sink.utils.dummy"]));
    }
    let (ours, text, dummy) = (median(ours), median(text), median(dummy));
    let rate = |s: f64| result.0 as f64 / s;
    println!(
        "{:>10} {:>12} {:>12} {:>7} {:>12} {:>7}  hash",
        "events", "ours/s", "text/s", "ratio", "dummy/s", "ratio"
    );
    println!(
        "{:>10} {:>12.0} {:>12.0} {:>7.1} {:>12.0} {:>7.1}  {:016x}",
        result.0,
        rate(ours),
        rate(text),
        text / ours,
        rate(dummy),
        dummy / ours,
        result.1
    );
}
