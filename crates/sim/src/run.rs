// SPDX-License-Identifier: GPL-2.0-only
//! What a run is asked for, and what comes out of it.

use idlewise_model::Counted;
use idlewise_power::PowerRecord;
use idlewise_signal::pelt;
use serde::{Deserialize, Serialize};

use crate::state::load::Signal;
use crate::state::task::TaskSeen;
use idlewise_parts::energy::Energy;

/// How a run is set up beside machine and workload.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How long it runs, ns.
    pub duration_ns: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Which kernel's PELT the scheduler has.
    pub pelt: pelt::Pelt,
    /// What frequency governors read.
    pub signal: Signal,
    pub frequency: idlewise_freq::Config,
    /// Tasks begin one after the other, each up to so much later than the one before, ns, by chance.
    pub stagger_ns: u64,
}

/// What came out of a run, beside what was watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// When it ended, ns: all tasks were gone, or the time was over.
    pub end_ns: u64,
    /// Events that were processed.
    pub events: u64,
    /// Times the governor was asked.
    pub decisions: u64,
    /// Answers that were no state of the table; the nearest was taken.
    pub out_of_range: u64,
    /// By task program: what was seen of all its instances.
    pub tasks: Vec<TaskSeen>,
    /// By CPU: time that it ran tasks, the kernel's work for them included, ns.
    pub busy_ns: Vec<u64>,
    pub energy: Energy,
    /// What ceilings of clocks did, where there are some.
    pub power: Option<PowerRecord>,
    /// Work that tasks did, ns at speed 1024 times 2^20.
    pub work: i128,
    /// By device: times from asking to answer, ns, of those answered.
    pub devices: Vec<Counted>,
    /// By source: times from arrival to answer, ns.
    pub requests: Vec<Counted>,
    /// By frame kind: how long frames took, ns.
    pub frames: Vec<Counted>,
    /// When the last task was gone, ns, if all were.
    pub finished_ns: Option<u64>,
    /// Task programs that never let time pass, and were stopped.
    pub stuck: Vec<u32>,
}
