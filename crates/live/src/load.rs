// SPDX-License-Identifier: GPL-2.0-only
//! Quick loads for those without a benchmark: each depends on how fast a sleeping CPU is at work again, in its own way.
//!
//! A load is a process of its own, so that it is measured like any command. It prints its results, a line each:
//! `p50 34.2 us`. The same seed gives the same sequence of sleeps, sizes and places.

mod bursts;
mod frames;
mod kit;
mod ping_pong;
mod reads;
mod timer;

use std::num::NonZeroU64;

use crate::LiveError;

pub use kit::LoadRequest;

/// A load: its name, what it does, what it measures.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub name: &'static str,
    pub what: &'static str,
    /// The names of its results, the unit of each, and whether more is better.
    pub results: &'static [(&'static str, &'static str, bool)],
    run: fn(&LoadRequest) -> Result<Vec<f64>, LiveError>,
}

const LATENCIES: &[(&str, &str, bool)] = &[("p50", "us", false), ("p99", "us", false)];

/// The quick loads that `--load` offers.
pub const LOADS: [Load; 6] = [
    Load {
        name: "timer",
        what: "sleeps of 50 us to 20 ms: how late each wakeup is",
        results: LATENCIES,
        run: timer::run,
    },
    Load {
        name: "ping-pong",
        what: "two threads on two CPUs send a byte back and forth through pipes",
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
        what: "60 frames a second, 2 ms in one thread, then 4 ms in another: how late each frame is done, \
            how many miss",
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
    LOADS.iter().find(|l| l.name == name).ok_or_else(|| LiveError::NoLoad {
        name: name.to_owned(),
        known: LOADS.iter().map(|l| l.name).collect(),
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
