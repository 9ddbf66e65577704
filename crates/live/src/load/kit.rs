// SPDX-License-Identifier: GPL-2.0-only
//! What all loads are asked for, and what several of them need.

use std::path::PathBuf;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::LiveError;

/// What a load is to do.
#[derive(Clone, Debug)]
pub struct LoadRequest {
    /// One of [`LOADS`](super::LOADS).
    pub name: String,
    pub duration: Duration,
    /// Of what is random in it.
    pub seed: u64,
    /// Where `reads` keeps its file.
    pub folder: PathBuf,
}

/// Numbers that look random: the same for the same seed (Knuth's MMIX generator, upper bits).
pub(super) struct Chance(pub(super) u64);

impl Chance {
    /// Below `top`, which is not zero.
    pub(super) fn below(&mut self, top: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % top.max(1)
    }
}

/// Works for `time` without a sleep.
pub(super) fn work(time: Duration) {
    let start = crate::clock::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The `share` (0 to 1) smallest of `values`, nearest rank, µs; 0 without any.
pub(super) fn percentile_us(values: &mut [Duration], share: f64) -> f64 {
    values.sort_unstable();
    let rank = (values.len() as f64 * share).ceil().max(1.0) as usize;
    values.get(rank - 1).map_or(0.0, |v| v.as_nanos() as f64 / 1e3)
}

/// The CPUs that this process may use.
pub(super) fn allowed_cpus() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|c| set.is_set(*c)).collect()
}

/// Keeps the calling thread on `cpu`.
pub(super) fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    // Where that is forbidden the load still runs, on whatever CPU it gets.
    let _ = sched_setaffinity(None, &set);
}

/// A thread of the load died, or a pipe broke: our own mistake, told rather than hidden.
pub(super) fn broken(what: &str) -> LiveError {
    LiveError::Broken(format!("the load's {what} broke off"))
}
