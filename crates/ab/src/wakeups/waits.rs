// SPDX-License-Identifier: GPL-2.0-only
//! What the wakeups of a run come to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From waking to running, of the command's own processes in one run. Its threads and children count; what it wakes beyond
/// them (kernel threads, servers) does not.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Wakeups {
    pub all: Waits,
    /// Of these, the ones that found the CPU in its idle task: the governor's part is in these.
    pub idle: Waits,
    /// CPUs of which tracing hides in more than one of ten cases when tasks begin to run: what ran there is left out.
    pub hidden_cpus: Vec<u32>,
    /// Wakeups that are left out: all of these CPUs, and the few of which another hides it.
    pub hidden: u64,
    pub events: u64,
    /// Events that came when a buffer was full.
    pub lost: u64,
    /// How much of the run is looked at, s, where that is not all: the time until the first buffer was full.
    pub until_s: Option<f64>,
}

/// A number of waits.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Waits {
    pub count: u64,
    /// Median, us (nearest rank, as all of these); 0 without any.
    pub p50_us: f64,
    /// 99th percentile, us.
    pub p99_us: f64,
    /// The longest, us.
    pub max_us: f64,
    /// How many were shorter than 1 us, 2 us, 4 us and so on, and no shorter than the step before.
    pub histogram: Vec<u64>,
}

/// Fewer wakeups than these in a run have no median, and no 99th percentile, that would mean anything.
pub(crate) const LEAST_FOR_MEDIAN: u64 = 10;
pub(crate) const LEAST_FOR_P99: u64 = 100;

/// A metric's value; nothing where there were too few such wakeups.
type Value = fn(&Wakeups) -> Option<f64>;

/// The metrics of these, by name. Less is better, in us.
pub(crate) const METRICS: [(&str, Value); 4] = [
    ("idle_wakeup_p50", |w| w.idle.median()),
    ("idle_wakeup_p99", |w| w.idle.p99()),
    ("wakeup_p50", |w| w.all.median()),
    ("wakeup_p99", |w| w.all.p99()),
];

impl Waits {
    fn median(&self) -> Option<f64> {
        (self.count >= LEAST_FOR_MEDIAN).then_some(self.p50_us)
    }

    fn p99(&self) -> Option<f64> {
        (self.count >= LEAST_FOR_P99).then_some(self.p99_us)
    }
}
