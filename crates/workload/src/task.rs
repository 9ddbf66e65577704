// SPDX-License-Identifier: GPL-2.0-only
use crate::Event;

/// A task as the file describes it; [`instances`](Self::instances) of it exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name in the file. rt-app shows the kernel the first 15 bytes of it.
    pub name: String,
    /// Tasks made at the start. 0: only `fork` makes them.
    pub instances: u32,
    /// Wait before the first event, ns, counted from the task's creation.
    pub delay_ns: u64,
    /// How often all phases are gone through. None: for ever. Never `Some(0)`.
    pub loops: Option<u64>,
    /// How it is scheduled from the start.
    pub sched: Sched,
    /// CPUs that it may run on, ascending, without repeats, never empty. None: all.
    pub cpus: Option<Vec<u32>>,
    /// Its control group. Kept for reports: tasks are scheduled as if all were in the root group.
    pub taskgroup: Option<String>,
    /// What it does, in order; at least one.
    pub phases: Vec<Phase>,
}

/// A part of a task's life. A task without phases in the file has one, named as the task.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name in the file.
    pub name: String,
    /// How often it is gone through before the next one begins. None: for ever. Never `Some(0)`.
    pub loops: Option<u64>,
    /// How the task is scheduled from here on. None: as before.
    pub sched: Option<Sched>,
    /// CPUs from here on. None: the task's own ([`Task::cpus`]), not those of the phase before.
    pub cpus: Option<Vec<u32>>,
    /// The control group from here on. None: as before.
    pub taskgroup: Option<String>,
    /// What it does, in order; may be empty.
    pub events: Vec<Event>,
}

/// How a task is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sched {
    /// Class and place in it.
    pub policy: Policy,
    /// Least utilisation the task is taken to have (uclamp), 0 to 1024.
    pub util_min: Option<u32>,
    /// Most utilisation the task is taken to have (uclamp), 0 to 1024.
    pub util_max: Option<u32>,
}

/// The kernel's scheduling policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`.
    Other {
        /// -20 to 19.
        nice: i32,
        /// Slice that the task asks for, ns (kernels from 6.12; `dl-runtime` in the file). None: the kernel's.
        slice_ns: Option<u64>,
    },
    /// `SCHED_BATCH`.
    Batch {
        /// -20 to 19.
        nice: i32,
    },
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`.
    Fifo {
        /// 1 to 99; higher runs first.
        priority: u32,
    },
    /// `SCHED_RR`.
    RoundRobin {
        /// 1 to 99; higher runs first.
        priority: u32,
    },
    /// `SCHED_DEADLINE`: `runtime_ns <= deadline_ns <= period_ns`.
    Deadline {
        /// Budget per period, ns.
        runtime_ns: u64,
        /// From the beginning of a period, ns.
        deadline_ns: u64,
        period_ns: u64,
    },
}

impl Default for Sched {
    fn default() -> Self {
        Self { policy: Policy::Other { nice: 0, slice_ns: None }, util_min: None, util_max: None }
    }
}
