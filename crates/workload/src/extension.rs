// SPDX-License-Identifier: GPL-2.0-only
use crate::Distribution;
use crate::ids::ResourceId;

/// A block device with its service time and queue depth.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name in the file.
    pub name: String,
    /// From the begin of service to the answer, ns.
    pub latency: Distribution,
    /// Where its interrupt comes.
    pub irq_cpu: IrqCpu,
    /// Requests in service at once; more wait in the order in which they came. None: no limit.
    pub depth: Option<u32>,
    /// How the answer comes.
    pub completion: Completion,
    /// Whether a task that waits for it counts as waiting for I/O (`nr_iowait`), as for block devices; networks, GPUs and answers
    /// of other tasks do not.
    pub iowait: bool,
}

/// How a device's answer reaches a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// A device interrupt, which no timer announces.
    Irq,
    /// A high-resolution timer on that CPU, as of `null_blk` with `irqmode=2`.
    Hrtimer,
    /// The timer wheel of that CPU, as of `dm-delay`.
    WheelTimer,
}

/// The CPU that an interrupt comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IrqCpu {
    Cpu(u32),
    /// The task's own: for a device the CPU that submitted the request; for a source the CPU on which the task that
    /// takes the request ran last (CPU 0 when nobody waits).
    Task,
}

/// A kind of frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name in the file.
    pub name: String,
    /// From one frame to the next, ns; what frames a second are measured against.
    pub period_ns: u64,
    /// A frame that takes longer than this from begin to end is a jank, ns.
    pub deadline_ns: u64,
}

/// Where requests come from. Each arrival is an interrupt; the request then waits until a task takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its name in the file.
    pub name: String,
    pub arrivals: Arrivals,
    /// Where its interrupt comes.
    pub irq_cpu: IrqCpu,
    /// A queue whose waiters every arrival wakes, as `resume` would; for tasks that `suspend`.
    pub resume: Option<ResourceId>,
}

/// When the requests of a source arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Open loop: each comes this long after the one before, the first this long after the start, ns.
    Open {
        /// Constant: periodic. Exponential: Poisson.
        gap: Distribution,
    },
    /// Open loop, in bursts. The first burst begins `every` after the start.
    Bursts {
        /// From the begin of one burst to the begin of the next, ns.
        every: Distribution,
        /// Requests in a burst, at least 1.
        requests: u32,
        /// Between requests of a burst, ns.
        gap: Distribution,
    },
    /// Closed loop: each client thinks, sends a request, and thinks again when it is answered. All begin by thinking.
    Closed {
        /// How many, at least 1.
        clients: u32,
        think: Distribution,
    },
}
