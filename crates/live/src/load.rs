// SPDX-License-Identifier: GPL-2.0-only
//! Quick loads for those without a benchmark: each depends on how fast a sleeping CPU is at work again, in its own way.
//!
//! A load is a process of its own, so that it is measured like any command. It prints its results, a line each:
//! `p50 34.2 us`. The same seed gives the same sequence of sleeps, sizes and places.

mod bursts;
mod frames;
mod ping_pong;
mod reads;
mod timer;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::LiveError;

/// What a load is to do.
#[derive(Clone, Debug)]
pub struct LoadRequest {
    /// One of [`LOADS`].
    pub name: String,
    /// How long.
    pub duration: Duration,
    /// Of what is random in it.
    pub seed: u64,
    /// Where `reads` keeps its file.
    pub folder: PathBuf,
}

/// A load: its name, what it does, what it measures.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// The names of its results, the unit of each, and whether more is better.
    pub results: &'static [(&'static str, &'static str, bool)],
    run: fn(&LoadRequest) -> Result<Vec<f64>, LiveError>,
}

const LATENCIES: &[(&str, &str, bool)] = &[("p50", "us", false), ("p99", "us", false)];

/// All loads.
pub const LOADS: [Load; 6] = [
    Load {
        name: "timer",
        what: "sleeps 50 us to 20 ms, again and again: how late it wakes",
        results: LATENCIES,
        run: timer::run,
    },
    Load {
        name: "ping-pong",
        what: "two threads on two CPUs hand a byte to and fro through pipes",
        results: &[("trips", "/s", true)],
        run: ping_pong::across,
    },
    Load {
        name: "ping-pong-one",
        what: "the same, both on one CPU, which never idles: a governor should not matter",
        results: &[("trips", "/s", true)],
        run: ping_pong::on_one,
    },
    Load {
        name: "frames",
        what: "60 frames a second, 2 ms of one thread, then 4 ms of another: how late each is done, how many miss",
        results: &[("p50", "us", false), ("p99", "us", false), ("missed", "%", false)],
        run: frames::run,
    },
    Load {
        name: "bursts",
        what: "every 5 to 35 ms four threads are woken for 0.2 ms of work: how long until all are done",
        results: LATENCIES,
        run: bursts::run,
    },
    Load {
        name: "reads",
        what: "4 KiB read at random places of a file of 64 MiB, past the page cache",
        results: &[("reads", "/s", true), ("p99", "us", false)],
        run: reads::run,
    },
];

/// The load of this name.
///
/// # Errors
/// When there is none; names those there are.
pub fn find(name: &str) -> Result<&'static Load, LiveError> {
    LOADS.iter().find(|l| l.name == name).ok_or_else(|| {
        let names: Vec<&str> = LOADS.iter().map(|l| l.name).collect();
        LiveError::Request(format!("unknown load `{name}`: {}", names.join(", ")))
    })
}

/// Runs a load; its results as lines of text.
///
/// # Errors
/// When there is no such load, or the machine does not let it run.
pub fn run(request: &LoadRequest) -> Result<String, LiveError> {
    let load = find(&request.name)?;
    // Sleeps are to end when they end: the slack of 50 us that a process has by default would hide the rest.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    // A load that outlives who measures it would disturb the next.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let values = (load.run)(request)?;
    let line = |((name, unit, _), value): (&(&str, &str, bool), &f64)| format!("{name} {value:.3} {unit}\n");
    Ok(load.results.iter().zip(&values).map(line).collect())
}

/// Numbers that look random: the same for the same seed (Knuth's MMIX generator, upper bits).
struct Chance(u64);

impl Chance {
    /// Below `top`, which is not zero.
    fn below(&mut self, top: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % top.max(1)
    }
}

/// Works for `time` without a sleep.
fn work(time: Duration) {
    let start = crate::clock::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The `share` (0 to 1) smallest of `values`, nearest rank, µs; 0 without any.
fn percentile_us(values: &mut [Duration], share: f64) -> f64 {
    values.sort_unstable();
    let rank = (values.len() as f64 * share).ceil().max(1.0) as usize;
    values.get(rank - 1).map_or(0.0, |v| v.as_nanos() as f64 / 1e3)
}

/// The CPUs that this process may use.
fn allowed_cpus() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|c| set.is_set(*c)).collect()
}

/// Keeps the calling thread on `cpu`.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    // Where that is forbidden the load still runs, on whatever CPU it gets.
    let _ = sched_setaffinity(None, &set);
}

/// A thread of the load died, or a pipe broke: our own mistake, told rather than hidden.
fn broken(what: &str) -> LiveError {
    LiveError::Request(format!("the load's {what} broke off"))
}
