// SPDX-License-Identifier: GPL-2.0-only
use crate::{DeviceId, Distribution, FrameId, ResourceId, SourceId, TaskId};

/// One thing that a task does. Those of rt-app first, then those of the extension.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Work: as long as this takes on the calibration CPU at its highest clock. Slower CPUs and clocks take longer.
    /// (`run`; `idlewise-run` where it varies.)
    Run {
        /// The work, in ns of that CPU.
        work: Distribution,
    },
    /// Busy for this much CPU time, whatever the CPU's speed.
    Runtime {
        /// CPU time, ns.
        ns: u64,
    },
    /// Sleep, counted from now. (`sleep`; `idlewise-sleep` and `idlewise-wheel-sleep` where it varies.)
    Sleep {
        /// How long, ns.
        time: Distribution,
        /// What wakes the task.
        timer: SleepTimer,
    },
    /// Sleep until a timer's next expiry. An expiry is the one before plus the period of this use; the first is the
    /// start of the task that uses the timer first (after its delay) plus the period. Where it has passed already
    /// there is no sleep.
    Timer {
        /// A [`Timer`](crate::ResourceKind::Timer) or [`TaskTimer`](crate::ResourceKind::TaskTimer).
        timer: ResourceId,
        period_ns: u64,
        /// What an expiry that has passed does to the next one.
        mode: TimerMode,
    },
    /// Writes to the task's buffer in memory.
    Mem {
        bytes: u64,
    },
    /// Writes to [`Global::io_device`](crate::Global::io_device) by `write()`.
    IoRun {
        bytes: u64,
    },
    /// Takes the mutex, then waits in the queue with the mutex released, then takes and releases the mutex.
    Suspend {
        queue: ResourceId,
        /// The mutex of the same name.
        mutex: ResourceId,
    },
    /// Takes the mutex, wakes all that wait in the queue, releases the mutex. Is not remembered when nobody waits.
    Resume {
        queue: ResourceId,
        /// The mutex of the same name.
        mutex: ResourceId,
    },
    /// Takes a mutex, waiting for it where it is held.
    Lock {
        mutex: ResourceId,
    },
    Unlock {
        mutex: ResourceId,
    },
    /// Releases the mutex and waits in the queue; takes the mutex again when woken.
    Wait {
        queue: ResourceId,
        /// Held by the task, as for `pthread_cond_wait`.
        mutex: ResourceId,
    },
    /// Wakes the first that waits in the queue.
    Signal {
        queue: ResourceId,
    },
    /// Wakes all that wait in the queue.
    Broadcast {
        queue: ResourceId,
    },
    /// [`Signal`](Self::Signal), then [`Wait`](Self::Wait), on one queue. The mutex is the task's already.
    Sync {
        /// Whom to wake, and where to wait.
        queue: ResourceId,
        /// Held by the task.
        mutex: ResourceId,
    },
    /// Waits until all parties are here.
    Barrier {
        /// A [`Barrier`](crate::ResourceKind::Barrier).
        barrier: ResourceId,
    },
    /// `sched_yield()`.
    Yield,
    /// Makes one more task of that description, which begins now (after its delay).
    Fork {
        task: TaskId,
    },
    /// Reads from a device and waits for the answer.
    Read {
        device: DeviceId,
        bytes: u64,
    },
    /// Writes to a device, past the page cache, and waits for the answer.
    Write {
        device: DeviceId,
        bytes: u64,
    },
    /// A frame begins, at the instant when what the task last waited for came about: its timer's expiry (also one of an
    /// absolute timer that had passed), a wake by another task, a device's answer. So a slow wake is part of the frame.
    FrameBegin {
        frame: FrameId,
    },
    /// The oldest frame of that kind that has begun is done, whichever task began it.
    FrameEnd {
        frame: FrameId,
    },
    /// Takes the oldest request of a source, waiting where there is none. Those who wait are served in the order in
    /// which they came.
    Take {
        source: SourceId,
    },
    /// The oldest request that this task took from the source is answered; its latency counts from its arrival.
    Done {
        source: SourceId,
    },
    /// The task asks that no CPU needs longer than this to leave an idle state, as a process does by `/dev/cpu_dma_latency`, or
    /// asks no more. The least that is asked for holds.
    LatencyLimit {
        /// The limit, ns; none: no request.
        limit_ns: Option<u64>,
    },
    /// What the task does leaves a callback of RCU on its CPU: this keeps its tick in idle until a grace period has passed.
    CallRcu,
}

/// What wakes a sleeping task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepTimer {
    /// A high-resolution timer, as `nanosleep()`.
    Hrtimer,
    /// The kernel's timer wheel, as `msleep()`: expires with a tick, late by up to a granule.
    Wheel,
}

/// What an expiry that has passed before the task came does to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerMode {
    /// The next period begins now.
    Relative,
    /// Expiries stay on their grid; a task that is late catches up.
    Absolute,
}
