// SPDX-License-Identifier: GPL-2.0-only
//! Does a sweep make as many decisions a second on every core as one long replay, and does it hold few recordings in memory?
//!
//! The idle periods of tests/data/mixed.dat, over and over, make tapes of `IDLEWISE_BENCH_PERIODS` idle periods (default 95000). One of
//! ten times the length is replayed by one thread, alone and on each core at once; then so many tapes as there are cores, and ten times
//! as many, are swept, in processes of their own, whose memory the kernel accounts. A sweep's time holds reading, hashing and checking
//! each tape, which costs as much as some ten settings; a replay's does not.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to do")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use idlewise_checkout::root;
use idlewise_model::{NEVER_NS, Piece};
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
            once.iter().map(move |p| varied(Piece { start_ns: p.start_ns + by, ..*p }, n))
        };
        cpu.pieces = (0..times).flat_map(shifted).skip(n as usize).collect::<Vec<Piece>>().into();
    }
    std::fs::write(to, recording.tape_bytes().unwrap()).unwrap();
}

/// `piece` with somewhat other times, so that a tape is no smaller than recordings are.
fn varied(piece: Piece, seed: u64) -> Piece {
    let mixed = (piece.start_ns ^ seed.rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let part = |of: u32, bit: u32| (mixed.rotate_right(bit) % u64::from(of / 4 + 1)) as u32;
    let later = |timer: i64| if timer == NEVER_NS { timer } else { timer + i64::from(part(4000, 50)) };
    let response_ns = piece.response_ns - part(piece.response_ns, 11);
    Piece {
        wake_ns: piece.wake_ns - mixed.rotate_right(29) % (piece.wake_ns / 16 + 1),
        hrtimer_ns: later(piece.hrtimer_ns),
        wheel_ns: later(piece.wheel_ns),
        response_ns,
        exit_lag_ns: piece.exit_lag_ns.max(response_ns) - part(piece.exit_lag_ns - piece.response_ns, 17),
        handler_ns: piece.handler_ns - part(piece.handler_ns, 47),
        entry_lag_ns: piece.entry_lag_ns - part(piece.entry_lag_ns, 5),
        ..piece
    }
}

fn tally<'p>(_: &Workload, place: &'p Cluster) -> Tally<'p> {
    Tally::new(&place.table, &place.energy)
}

/// Decisions of one replay by one thread, and s on a core.
fn one_long_replay(tape: &Path) -> (u64, f64) {
    let setup = ReplaySetup { platform: Some(PLATFORM.to_owned()), ..ReplaySetup::default() };
    let placement = Placement::open_one(tape, &setup).unwrap();
    let workloads = placement.workloads(placement.first().unwrap()).unwrap();
    let candidate: Candidate = governors::candidates(&[GOVERNOR.to_owned()], &[]).unwrap().remove(0);
    let cpus: Vec<&Workload> = workloads.iter().collect();
    let before = core_seconds();
    let mut decisions = 0;
    for _ in 0..ROUNDS {
        let runs = candidate.run(&cpus, &placement, Setting::new(false, 0), tally).unwrap();
        decisions += runs.cpus.iter().map(|ran| ran.counts.decisions).sum::<u64>();
    }
    (decisions, core_seconds() - before)
}

/// Decisions of a sweep of all `tapes`, and s on cores.
fn swept(tapes: &[PathBuf], settings: u64) -> (u64, f64) {
    let request = SweepRequest {
        governors: vec![format!("{GOVERNOR}:residency_threshold_ns=0..{}/1000", (settings - 1) * 1000)],
        recordings: tapes.to_vec(),
        platforms: vec![PLATFORM.to_owned()],
        ..SweepRequest::default()
    };
    let listener = SweepListener { progress: &|_, _, _| (), estimated: &|_| (), warned: &|_| () };
    let before = core_seconds();
    let done = sweep(&request, &Keeping::default(), &listener).unwrap();
    let on_cores = core_seconds() - before;
    let Swept::All(report) = done else { unreachable!("{done:?}") };
    let numbers = report.settings.iter().flat_map(|s| &s.cases).filter_map(|case| case.numbers);
    (numbers.map(|n| n.decisions).sum(), on_cores)
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

/// What processes did.
#[derive(Default)]
struct Done {
    decisions: u64,
    core_seconds: f64,
    /// Of the largest.
    peak_mb: f64,
}

/// Has `at_once` new processes do the same job at the same time.
fn in_processes(at_once: usize, what: &str, tapes: &[PathBuf]) -> Done {
    let start = || {
        let mut me = Command::new(std::env::current_exe().unwrap());
        me.arg("--job").arg(what).args(tapes).stdout(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..at_once).map(|_| start()).collect();
    let mut done = Done::default();
    for process in running {
        let text = String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |n: usize| words[n].parse::<f64>().unwrap();
        done.decisions += words[0].parse::<u64>().unwrap();
        done.core_seconds += number(1);
        done.peak_mb = done.peak_mb.max(number(2));
    }
    done
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|a| a == "--job") {
        let tapes: Vec<PathBuf> = args[at + 2..].iter().map(PathBuf::from).collect();
        let (decisions, on_cores) = match args[at + 1].parse() {
            Ok(settings) => swept(&tapes, settings),
            Err(_) => one_long_replay(&tapes[0]),
        };
        println!("{decisions} {on_cores} {}", peak_mb());
        return;
    }
    // To try more tapes than fit in memory: --tapes FOLDER NUMBER.
    if let Some(at) = args.iter().position(|a| a == "--tapes") {
        let periods = asked("IDLEWISE_BENCH_PERIODS", 95_000);
        (0..args[at + 2].parse().unwrap())
            .for_each(|n| make(periods, n, &Path::new(&args[at + 1]).join(format!("{n}.tape"))));
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
    let long = std::slice::from_ref(&long);
    // Cores that work at once share memory, caches and clock: what a core can do is what it does while the others replay, too.
    let jobs = [
        ("one long replay on each core", "replay", cores, long),
        ("one long replay, alone", "replay", 1, long),
        ("sweep of a tape a core, 64 settings", "64", 1, &tapes[..cores]),
        ("sweep of ten a core, 64 settings", "64", 1, &tapes[..]),
        ("sweep of a tape a core, 256 settings", "256", 1, &tapes[..cores]),
    ];
    // In turns: the machine's speed changes within seconds.
    let rounds: Vec<Vec<Done>> = (0..asked("IDLEWISE_BENCH_ROUNDS", 7))
        .map(|_| jobs.iter().map(|(_, job, at_once, tapes)| in_processes(*at_once, job, tapes)).collect())
        .collect();
    println!(
        "{:<36} {:>12} {:>12} {:>20} {:>8}",
        "median of rounds", "decisions", "/core s", "of the first (range)", "peak MB"
    );
    for (n, (what, ..)) in jobs.iter().enumerate() {
        let speed = |done: &Done| done.decisions as f64 / done.core_seconds;
        let speeds = sorted(rounds.iter().map(|done| speed(&done[n])));
        let shares = sorted(rounds.iter().map(|done| speed(&done[n]) * 100.0 / speed(&done[0])));
        let peak_mb = sorted(rounds.iter().map(|done| done[n].peak_mb));
        let middle = rounds.len() / 2;
        println!(
            "{what:<36} {:>12} {:>12.0} {:>5.0}% ({:.0} to {:.0}) {:>9.0}",
            rounds[0][n].decisions,
            speeds[middle],
            shares[middle],
            shares[0],
            shares[shares.len() - 1],
            peak_mb[middle]
        );
    }
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = numbers.collect();
    all.sort_by(f64::total_cmp);
    all
}
