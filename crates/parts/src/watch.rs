// SPDX-License-Identifier: GPL-2.0-only
//! What a run tells whoever watches it.

use idlewise_model::Ledger;

/// Something that happened, as a kernel would trace it. Tasks are numbers; CPUs are places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimEvent {
    /// A task was made, with the program of that number.
    Made {
        task: u32,
        program: u32,
    },
    /// A task is woken up, and goes to `target`.
    Waking {
        task: u32,
        /// Its CPU from now on.
        target: u32,
    },
    /// A task changes its CPU.
    Migrated {
        task: u32,
        from: u32,
        to: u32,
    },
    /// The CPU runs another task; nothing stands for its idle task.
    Switch {
        prev: Option<u32>,
        /// That sleeps now, or is gone.
        prev_sleeps: bool,
        /// It counts as waiting for I/O until it is woken.
        prev_in_io: bool,
        next: Option<u32>,
    },
    /// An idle state is entered.
    IdleEntered {
        state: u8,
    },
    IdleLeft,
    /// The tick is stopped; its timer is set to the next wheel timer, if there is one.
    TickStopped {
        /// When that is due, ns.
        wheel_at_ns: Option<u64>,
    },
    /// A timer of high resolution is set.
    TimerSet {
        timer: HrtimerOf,
        /// Its earliest time, ns.
        soft_ns: u64,
        /// Its latest time, ns.
        hard_ns: u64,
    },
    TimerExpired {
        timer: HrtimerOf,
    },
    /// One that was set will not expire.
    TimerCancelled {
        timer: HrtimerOf,
    },
    /// What was to be done when it expired is done.
    TimerDone {
        timer: HrtimerOf,
    },
    /// A wheel timer is set.
    WheelSet {
        task: u32,
        /// When it is due, ns.
        at_ns: u64,
    },
    /// A wheel timer that was set will not expire.
    WheelCancelled {
        task: u32,
    },
    /// The tick's handler runs what the wheel has due.
    WheelRuns,
    /// A wheel timer has expired.
    WheelExpired {
        task: u32,
    },
    /// What was to be done when it expired is done.
    WheelDone {
        task: u32,
    },
    /// The wheel has nothing more due.
    WheelRan,
    /// A tick has raised RCU's softirq, which runs now.
    RcuRuns,
    /// The scheduler's softirq runs, which balances.
    Balances,
    /// An interrupt's handlers begin.
    Irq {
        kind: IrqKind,
    },
    IrqDone {
        kind: IrqKind,
    },
    /// The CPU runs at another clock.
    Clock {
        /// kHz.
        khz: u32,
    },
}

/// Whose a timer of high resolution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HrtimerOf {
    /// Of the CPU's tick.
    Tick,
    /// Of a task that sleeps, by number.
    Task(u32),
    /// Of a device that answers by it, by the number of the task that waits.
    Device(u32),
    /// Of the CPU's fair server.
    FairServer,
    /// The CPU's lockup detector.
    Watchdog,
}

/// The kinds of interrupts that a run reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IrqKind {
    Timer,
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
    fn seen(&mut self, at_ns: u64, cpu: u32, what: SimEvent) {
        let _ = (at_ns, cpu, what);
    }
}

impl<A: Watch, B: Watch> Watch for (A, B) {
    #[inline]
    fn seen(&mut self, at_ns: u64, cpu: u32, what: SimEvent) {
        self.0.seen(at_ns, cpu, what);
        self.1.seen(at_ns, cpu, what);
    }
}
