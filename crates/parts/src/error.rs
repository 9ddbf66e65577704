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
    /// Requests wait without end.
    #[error(
        "workload `{workload}`: {waiting} requests of its sources are not answered at {}.{:06} s, the last one of source \
         `{source_name}`: expected no more, since each is kept until it is; let requests come less often, or give them more tasks",
        .at_ns / 1_000_000_000, .at_ns % 1_000_000_000 / 1000
    )]
    TooManyRequests {
        /// The name of the workload.
        workload: String,
        /// The name of the source that one more request comes from.
        source_name: String,
        /// How many are not answered, of all sources together.
        waiting: u32,
        /// When, ns.
        at_ns: u64,
    },
    /// Frames are begun without end.
    #[error(
        "workload `{workload}`: {open} frames have begun and not ended at {}.{:06} s, when one more of kind `{frame}` begins: expected no \
         more, since each is kept until it ends; end those that are begun (`idlewise-frame-end`), or begin them less often",
        .at_ns / 1_000_000_000, .at_ns % 1_000_000_000 / 1000
    )]
    TooManyFrames {
        /// The name of the workload.
        workload: String,
        /// The name of the kind of the next one.
        frame: String,
        /// How many of all kinds have begun and not ended.
        open: u32,
        /// When, ns.
        at_ns: u64,
    },
    /// Who looks on cannot go on, such as a trace that cannot be written.
    #[error("{0}")]
    Watch(String),
}
