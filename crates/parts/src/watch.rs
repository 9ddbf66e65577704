// SPDX-License-Identifier: GPL-2.0-only
//! What a run tells whoever watches it.

use idlewise_model::Ledger;

/// Something that happened, as a kernel would trace it. Tasks are numbers; CPUs are places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A task was made, with the program of that number.
    Made {
        /// The task.
        task: u32,
        /// Its program.
        program: u32,
    },
    /// A task is woken up, and goes to `target`.
    Waking {
        /// The task.
        task: u32,
        /// Its CPU from now on.
        target: u32,
    },
    /// A task changes its CPU.
    Migrated {
        /// The task.
        task: u32,
        /// From here.
        from: u32,
        /// To there.
        to: u32,
    },
    /// The CPU runs another task; nothing stands for its idle task.
    Switch {
        /// What it ran.
        prev: Option<u32>,
        /// That sleeps now, or is gone.
        prev_sleeps: bool,
        /// What it runs.
        next: Option<u32>,
    },
    /// An idle state is entered.
    IdleEntered {
        /// The state.
        state: u8,
    },
    /// It is left.
    IdleLeft,
    /// The tick is stopped; its timer is set to the next wheel timer, if there is one.
    TickStopped {
        /// When that is due, ns.
        wheel_at_ns: Option<u64>,
    },
    /// A timer of high resolution is set.
    TimerSet {
        /// Whose it is; nothing for the tick.
        task: Option<u32>,
        /// Its earliest time, ns.
        soft_ns: u64,
        /// Its latest time, ns.
        hard_ns: u64,
    },
    /// It has expired.
    TimerExpired {
        /// Whose it is; nothing for the tick.
        task: Option<u32>,
    },
    /// What was to be done when it expired is done.
    TimerDone {
        /// Whose it is; nothing for the tick.
        task: Option<u32>,
    },
    /// A wheel timer is set.
    WheelSet {
        /// Whose it is.
        task: u32,
        /// When it is due, ns.
        at_ns: u64,
    },
    /// The tick's handler runs what the wheel has due.
    WheelRuns,
    /// A wheel timer has expired.
    WheelExpired {
        /// Whose it is.
        task: u32,
    },
    /// What was to be done when it expired is done.
    WheelDone {
        /// Whose it is.
        task: u32,
    },
    /// The wheel has nothing more due.
    WheelRan,
    /// An interrupt's handlers begin.
    Irq {
        /// What it is.
        kind: IrqKind,
    },
    /// They are done.
    IrqDone {
        /// What it was.
        kind: IrqKind,
    },
    /// The CPU runs at another clock.
    Clock {
        /// kHz.
        khz: u32,
    },
}

/// Kinds of interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IrqKind {
    /// The CPU's timer.
    Timer,
    /// Another CPU.
    Ipi,
    /// A block device, by number.
    Device(u32),
    /// A source of requests, by number.
    Source(u32),
}

/// Looks on while a machine runs; as a [`Ledger`] it takes the idle entries.
pub trait Watch: Ledger {
    /// Something happened on the CPU at place `cpu`. Events of one CPU come in order of time.
    #[inline]
    fn seen(&mut self, at_ns: u64, cpu: u32, what: Seen) {
        let _ = (at_ns, cpu, what);
    }
}

impl<A: Watch, B: Watch> Watch for (A, B) {
    #[inline]
    fn seen(&mut self, at_ns: u64, cpu: u32, what: Seen) {
        self.0.seen(at_ns, cpu, what);
        self.1.seen(at_ns, cpu, what);
    }
}
