// SPDX-License-Identifier: GPL-2.0-only
//! Why a machine cannot run a workload.

use thiserror::Error;

/// Why a machine cannot run a workload.
#[derive(Debug, Error)]
pub enum SimError {
    /// The workload names a CPU that is not there.
    #[error("{what} names CPU {cpu}, which the machine does not have")]
    NoCpu { cpu: u32, what: String },
    /// The machine has no CPU at all.
    #[error("the machine has no CPU")]
    Empty,
    /// Placement is to be energy-aware without an energy model.
    #[error(
        "placement cannot be energy-aware: cluster {cluster} has no clock with published power, so its kernel has no \
         energy model; take another platform, or leave the placement to the kernel's rules"
    )]
    NoEnergyModel { cluster: String },
    /// A governor of idle states does not take a CPU.
    #[error(transparent)]
    Governor(#[from] idlewise_governor::GovernorError),
    /// A frequency governor cannot work with a clock.
    #[error(transparent)]
    Frequency(#[from] idlewise_freq::FreqError),
    /// WALT cannot work with its settings.
    #[error(transparent)]
    Walt(#[from] idlewise_signal::walt::WaltError),
    /// A task takes a mutex that it has.
    #[error(
        "task {task} takes mutex {mutex} at {}.{:06} s and has it already: it would wait for itself for \
         ever; release it with `unlock` before, also at the end of a loop",
        .at_ns / 1_000_000_000, .at_ns % 1_000_000_000 / 1000
    )]
    LockedAgain {
        task: String,
        mutex: String,
        /// When, ns.
        at_ns: u64,
    },
    /// Tasks make tasks without end.
    #[error(
        "task {task} forks at {}.{:06} s, when {alive} tasks are alive and the workload began with {begun}: expected {} more \
         at most; let forked tasks end (`loop`: 1), or fork fewer",
        .at_ns / 1_000_000_000, .at_ns % 1_000_000_000 / 1000, .alive - .begun
    )]
    TooManyTasks {
        /// The name of the task that forks.
        task: String,
        /// How many are alive.
        alive: u32,
        /// How many there were at the start.
        begun: u32,
        /// When, ns.
        at_ns: u64,
    },
    /// Tasks were made without end, though they end.
    #[error(
        "task {task} forks at {}.{:06} s, when forks have made {made} tasks: expected no more, since what was seen of each is \
         kept to the end; simulate a shorter time (`--seconds`), or fork less often",
        .at_ns / 1_000_000_000, .at_ns % 1_000_000_000 / 1000
    )]
    TooManyForks {
        /// The name of the task that forks.
        task: String,
        /// How many tasks forks have made, those that ended included.
        made: u32,
        /// When, ns.
        at_ns: u64,
    },
    /// Who looks on cannot go on, such as a trace that cannot be written.
    #[error("{0}")]
    Watch(String),
}
