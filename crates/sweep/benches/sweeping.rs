// SPDX-License-Identifier: GPL-2.0-only
//! Does a sweep make as many decisions a second on every core as one long replay, and does it hold few recordings in memory?
//!
//! The idle periods of tests/data/mixed.dat, over and over, make tapes of `IDLEWISE_BENCH_PERIODS` idle periods (default 95000). One of
//! ten times the length is replayed by one thread; then so many tapes as there are cores, and ten times as many, are swept with
//! `IDLEWISE_BENCH_SETTINGS` settings (default 64), each in a process of its own, whose memory the kernel accounts.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to do")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use idlewise_checkout::root;
use idlewise_model::Piece;
use idlewise_platform::Cluster;
use idlewise_recording::candidate::Candidate;
use idlewise_recording::placement::Placement;
use idlewise_recording::{Recording, RecordingOptions, ReplaySetup, governors};
use idlewise_replay::{Setting, Workload};
use idlewise_score::Tally;
use idlewise_sweep::{Keeping, SweepListener, SweepRequest, Swept, sweep};

const PLATFORM: &str = "pixel6";
const GOVERNOR: &str = "teo";
/// The long replay is done so often: a fifth of a second is not enough for a clock of 10 ms.
const ROUNDS: usize = 20;

fn asked(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Writes a tape of about `periods` idle periods; number `n` differs from the others.
fn make(periods: u64, n: u64, to: &Path) {
    let mixed = root().join("tests/data/mixed.dat");
    let mut recording = Recording::open(&mixed, &RecordingOptions::default()).unwrap();
    for cpu in &mut recording.tape.cpus {
        let once: Vec<Piece> = cpu.pieces.to_vec().unwrap();
        let Some((first, last)) = once.first().zip(once.last()) else { continue };
        // The ticks stay where they were.
        let span = (last.start_ns + last.wake_ns + 1_000_000_000 - first.start_ns)
            .next_multiple_of(cpu.tick.period_ns);
        let times = periods.div_ceil(once.len() as u64) + n % 2;
        let shifted = |round: u64| {
            let by = round * span;
            once.iter().map(move |p| Piece { start_ns: p.start_ns + by, ..*p })
        };
        cpu.pieces = (0..times).flat_map(shifted).skip(n as usize).collect::<Vec<Piece>>().into();
    }
    std::fs::write(to, recording.tape_bytes().unwrap()).unwrap();
}

fn tally<'p>(_: &Workload, place: &'p Cluster) -> Tally<'p> {
    Tally::new(&place.table, &place.energy)
}

/// Decisions of one replay by one thread, s, and s on a core.
fn one_long_replay(tape: &Path) -> (u64, f64, f64) {
    let setup = ReplaySetup { platform: Some(PLATFORM.to_owned()), ..ReplaySetup::default() };
    let placement = Placement::open_one(tape, &setup).unwrap();
    let workloads = placement.workloads(placement.first().unwrap()).unwrap();
    let candidate: Candidate = governors::candidates(&[GOVERNOR.to_owned()], &[]).unwrap().remove(0);
    let cpus: Vec<&Workload> = workloads.iter().collect();
    let (start, before) = (Instant::now(), core_seconds());
    let mut decisions = 0;
    for _ in 0..ROUNDS {
        let runs = candidate.run(&cpus, &placement, Setting::new(false, 0), tally).unwrap();
        decisions += runs.cpus.iter().map(|ran| ran.counts.decisions).sum::<u64>();
    }
    (decisions, start.elapsed().as_secs_f64(), core_seconds() - before)
}

/// Decisions of a sweep of all `tapes`, s, and s on cores.
fn swept(tapes: &[PathBuf], settings: u64) -> (u64, f64, f64) {
    let request = SweepRequest {
        governors: vec![format!("{GOVERNOR}:residency_threshold_ns=0..{}/1000", (settings - 1) * 1000)],
        recordings: tapes.to_vec(),
        platforms: vec![PLATFORM.to_owned()],
        ..SweepRequest::default()
    };
    let listener = SweepListener { progress: &|_, _, _| (), estimated: &|_| (), warned: &|_| () };
    let (start, before) = (Instant::now(), core_seconds());
    let done = sweep(&request, &Keeping::default(), &listener).unwrap();
    let (seconds, on_cores) = (start.elapsed().as_secs_f64(), core_seconds() - before);
    let Swept::All(report) = done else { unreachable!("{done:?}") };
    let numbers = report.settings.iter().flat_map(|s| &s.cases).filter_map(|case| case.numbers);
    (numbers.map(|n| n.decisions).sum(), seconds, on_cores)
}

/// The most memory that this process ever had, MB.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().split(' ').next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

/// Time that all threads of this process had a core, s.
fn core_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // After the name, which may hold anything: user and system time are the 12th and 13th.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // 100 a second on every Linux that shows them to programs.
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

/// Has a new process do a job: its decisions, s, s on cores, MB.
fn in_a_process(what: &str, tapes: &[PathBuf]) -> (u64, f64, f64, f64) {
    let me = std::env::current_exe().unwrap();
    let out = Command::new(me).arg("--job").arg(what).args(tapes).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |n: usize| words[n].parse::<f64>().unwrap();
    (words[0].parse().unwrap(), number(1), number(2), number(3))
}

fn main() {
    let settings = asked("IDLEWISE_BENCH_SETTINGS", 64);
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|a| a == "--job") {
        let tapes: Vec<PathBuf> = args[at + 2..].iter().map(PathBuf::from).collect();
        let (decisions, seconds, on_cores) =
            if args[at + 1] == "replay" { one_long_replay(&tapes[0]) } else { swept(&tapes, settings) };
        println!("{decisions} {seconds} {on_cores} {}", peak_mb());
        return;
    }
    let periods = asked("IDLEWISE_BENCH_PERIODS", 95_000);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("long.tape");
    make(periods * 10, 0, &long);
    let tapes: Vec<PathBuf> = (0..cores * 10).map(|n| folder.path().join(format!("{n}.tape"))).collect();
    for (n, tape) in (0_u64..).zip(&tapes) {
        make(periods, n, tape);
    }
    println!(
        "{:<28} {:>12} {:>8} {:>8} {:>12} {:>7} {:>8}",
        "", "decisions", "s", "core s", "/core s", "of one", "peak MB"
    );
    let mut one = 0.0;
    for (what, job, tapes) in [
        ("one long replay, a thread", "replay", std::slice::from_ref(&long)),
        ("sweep, a tape for each core", "sweep", &tapes[..cores]),
        ("sweep, ten for each core", "sweep", &tapes[..]),
        ("one long replay again", "replay", std::slice::from_ref(&long)),
    ] {
        let (decisions, seconds, on_cores, mb) = in_a_process(job, tapes);
        let speed = decisions as f64 / on_cores;
        if one == 0.0 {
            one = speed;
        }
        let of_one = speed * 100.0 / one;
        println!(
            "{what:<28} {decisions:>12} {seconds:>8.2} {on_cores:>8.2} {speed:>12.0} {of_one:>6.0}% {mb:>8.0}"
        );
    }
}
