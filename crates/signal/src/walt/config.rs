// SPDX-License-Identifier: GPL-2.0-only
//! Which WALT it is, and on which CPUs.

/// How a task's demand follows from its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Policy {
    Recent,
    /// The largest of the history.
    Max,
    /// The latest one or the mean, whichever is larger.
    MaxRecentAvg,
    /// The mean of the history.
    Avg,
}

/// What a nanosecond counts on a slow clock or a small CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Scaling {
    /// Frequency by highest frequency, rounded up; all CPUs are alike (RFC).
    Frequency,
    /// The same, then times the CPU's capacity (Android 3.18 to 4.9).
    Efficiency,
    /// The CPU's capacity at its frequency, in one step (Android 4.14).
    Capacity,
}

/// Which WALT this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Config {
    /// Length of a window, 10 ms to 1 s.
    pub window_ns: u32,
    /// How demand follows from a task's history.
    pub policy: Policy,
    /// What a nanosecond counts.
    pub scaling: Scaling,
    /// Demand of a new task, per cent of a window, 0 to 100.
    pub init_load_pct: u32,
    /// Keep histories and demands of tasks; the RFC has none.
    pub task_demand: bool,
    /// A task takes its share of busy time along when it migrates.
    pub follow_tasks: bool,
    /// Waiting for a CPU counts as demand.
    pub account_wait_time: bool,
    /// Waiting for a CPU counts as busy time.
    pub freq_account_wait_time: bool,
    /// An idle CPU whose tasks wait for I/O counts as busy.
    pub io_is_busy: bool,
    /// Utilisation for placement is busy time, not demand.
    pub place_by_busy_time: bool,
    /// Utilisation is divided by the window, not by the window >> 10.
    pub exact_util: bool,
}

impl Config {
    pub(crate) const ZERO: Self = Self {
        window_ns: 0,
        policy: Policy::Recent,
        scaling: Scaling::Frequency,
        init_load_pct: 0,
        task_demand: false,
        follow_tasks: false,
        account_wait_time: false,
        freq_account_wait_time: false,
        io_is_busy: false,
        place_by_busy_time: false,
        exact_util: false,
    };
}

/// A CPU as it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSpec {
    /// Of the CPU at its highest frequency; 1024 is the biggest CPU's. Taken into 1 to 1024.
    pub capacity: u32,
    /// That frequency in kHz; 0 if unknown, and then it always runs at full speed.
    pub max_freq_khz: u32,
}
