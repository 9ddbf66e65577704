// SPDX-License-Identifier: GPL-2.0-only
//! What WALT keeps of a CPU and of a task, as C lays it out. Only C writes these.

/// Windows that a task's history holds.
pub const HISTORY: usize = 5;

/// Time that interrupts took from a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct IrqLoad {
    /// Mean of the time before the last jiffy, ns.
    pub avg_ns: u64,
    /// In that jiffy, ns.
    pub curr_ns: u64,
    /// Of the last report.
    pub jiffy: u64,
}

/// WALT's account of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Cpu {
    /// Start of the open window, as of the last event on this CPU.
    pub window_start_ns: u64,
    /// Busy time in the open window.
    pub curr_sum_ns: u64,
    /// Busy time in the last complete window.
    pub prev_sum_ns: u64,
    /// Demand of the tasks that run or wait here.
    pub demand_sum_ns: u64,
    /// Time that interrupts took.
    pub irq_load: IrqLoad,
    /// What it runs at.
    pub freq_khz: u32,
    /// The most that it can run at, 0 if unknown.
    pub max_freq_khz: u32,
    /// Capacity at that, 1 to 1024.
    pub capacity: u32,
    /// Capacity at `freq_khz`.
    pub capacity_curr: u32,
    /// Number of the task that it runs; its own number if it is idle.
    pub curr: u32,
    /// It accounts: its windows have begun.
    pub started: bool,
    /// Tasks that ran here wait for I/O.
    pub io_wait: bool,
}

/// WALT's account of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    /// Time of its last event.
    pub mark_ns: u64,
    /// Demand in the open window.
    pub sum_ns: u32,
    /// What its next window is expected to need.
    pub demand_ns: u32,
    /// Demand in the last windows that had any, the latest first.
    pub history_ns: [u32; HISTORY],
    /// Its share of the CPU's busy time in the open window.
    pub curr_ns: u32,
    /// Its share in the window before.
    pub prev_ns: u32,
    /// Where it runs, waits or ran last.
    pub cpu: u32,
    /// It had an event: `mark_ns` is a time.
    pub seen: bool,
    /// A CPU's idle task.
    pub idle: bool,
    /// On its way out: it has no demand any more.
    pub exiting: bool,
    /// It runs or waits for a CPU.
    pub queued: bool,
    /// Between waking up and being queued.
    pub waking: bool,
}
