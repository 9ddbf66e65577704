// SPDX-License-Identifier: GPL-2.0-only
//! What PELT keeps of a task and of a CPU, as C lays it out.

use super::config::Speed;

/// Sums that decay, and the averages last published from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Avg {
    /// Up to when the sums are kept, ns of their clock.
    pub last_ns: u64,
    /// Of the time that load was there, times the load.
    pub load_sum: u64,
    /// Of the time running or waiting, times 1024.
    pub runnable_sum: u64,
    /// `load_sum` as an average, times the weight.
    pub load: u64,
    /// `runnable_sum` as an average: 0 to 1024 for each task.
    pub runnable: u64,
    /// `util_sum` as an average: 0 to 1024.
    pub util: u64,
    /// Of the time running, times 1024.
    pub util_sum: u32,
    /// Units (1024 ns) of the open period that have passed, below 1024.
    pub frac: u32,
}

impl Avg {
    /// Nothing yet, at the beginning of a period.
    #[must_use]
    pub fn at(last_ns: u64) -> Self {
        Self { last_ns, ..Self::default() }
    }
}

/// The times that a CPU's averages are kept on, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Clock {
    pub wall_ns: u64,
    /// Without interrupts and the time that a hypervisor took.
    pub task_ns: u64,
    /// The same, as much faster as the settings have it.
    pub fast_ns: u64,
    /// The same, slower while a slow CPU runs.
    pub pelt_ns: u64,
    /// What running slowly took from idling for good.
    pub lost_ns: u64,
    /// `wall_ns` when the CPU last was seen idle.
    pub idle_wall_ns: u64,
    /// The averages' time then.
    pub idle_now_ns: u64,
}

/// The PELT averages of one fair task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    pub(crate) avg: Avg,
    pub(crate) weight: u32,
    pub(crate) estimate: u32,
    pub(crate) estimate_avg: u32,
    pub(crate) attached: bool,
    pub(crate) queued: bool,
    pub(crate) lags: bool,
    pub(crate) running: bool,
}

impl Task {
    pub(crate) const ZERO: Self = Self {
        avg: Avg {
            last_ns: 0,
            load_sum: 0,
            runnable_sum: 0,
            load: 0,
            runnable: 0,
            util: 0,
            util_sum: 0,
            frac: 0,
        },
        weight: 0,
        estimate: 0,
        estimate_avg: 0,
        attached: false,
        queued: false,
        lags: false,
        running: false,
    };

    /// Its own averages, as old as its last event.
    #[must_use]
    pub fn avg(&self) -> &Avg {
        &self.avg
    }

    /// 1024 for nice 0.
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// It runs, waits, or sleeps and lags.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.queued
    }

    /// Its CPU runs it.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// It is part of the sums of the queue where it ran last.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        self.attached
    }
}

/// A CPU with its run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Rq {
    pub(crate) clock: Clock,
    pub(crate) speed: Speed,
    pub(crate) fair: Avg,
    pub(crate) rt: Avg,
    pub(crate) dl: Avg,
    pub(crate) irq: Avg,
    pub(crate) hw: Avg,
    pub(crate) weight: u64,
    pub(crate) gone_load: u64,
    pub(crate) gone_runnable: u64,
    pub(crate) gone_util: u64,
    pub(crate) hw_lost: u64,
    pub(crate) nr_runnable: u32,
    pub(crate) estimate: u32,
    pub(crate) class: u32,
    pub(crate) gone: bool,
}

impl Rq {
    pub(crate) const ZERO: Self = Self {
        clock: Clock {
            wall_ns: 0,
            task_ns: 0,
            fast_ns: 0,
            pelt_ns: 0,
            lost_ns: 0,
            idle_wall_ns: 0,
            idle_now_ns: 0,
        },
        speed: Speed::FULL,
        fair: Task::ZERO.avg,
        rt: Task::ZERO.avg,
        dl: Task::ZERO.avg,
        irq: Task::ZERO.avg,
        hw: Task::ZERO.avg,
        weight: 0,
        gone_load: 0,
        gone_runnable: 0,
        gone_util: 0,
        hw_lost: 0,
        nr_runnable: 0,
        estimate: 0,
        class: 0,
        gone: false,
    };

    /// How fast it is.
    #[must_use]
    pub fn speed(&self) -> Speed {
        self.speed
    }

    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Of fair tasks, those included that sleep where they ran last.
    #[must_use]
    pub fn fair(&self) -> &Avg {
        &self.fair
    }

    #[must_use]
    pub fn real_time(&self) -> &Avg {
        &self.rt
    }

    #[must_use]
    pub fn deadline(&self) -> &Avg {
        &self.dl
    }

    /// Of interrupts and the hypervisor.
    #[must_use]
    pub fn irq(&self) -> &Avg {
        &self.irq
    }

    /// Of the capacity that heat or firmware took; its load is what is meant.
    #[must_use]
    pub fn hardware(&self) -> &Avg {
        &self.hw
    }

    /// Weight of the tasks queued.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Tasks that run or wait.
    #[must_use]
    pub fn runnable_tasks(&self) -> u32 {
        self.nr_runnable
    }

    /// Estimates of these, added up.
    #[must_use]
    pub fn estimate(&self) -> u32 {
        self.estimate
    }
}

/// What else decides how fast a CPU has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Limits {
    /// What deadline tasks were promised, of 1024.
    pub deadline_bandwidth: u32,
    /// Least utilisation that a task on the queue asks for.
    pub clamp_min: u32,
    /// Most that they are allowed together.
    pub clamp_max: u32,
    /// Tasks have such limits at all.
    pub clamps: bool,
    /// A real-time task runs or waits.
    pub real_time: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline_bandwidth: 0, clamp_min: 0, clamp_max: 1024, clamps: false, real_time: false }
    }
}

/// How fast a CPU has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Need {
    /// For the work that there is, 0 to its capacity.
    pub util: u64,
    /// No less than this; 0 where limits are not distinguished.
    pub min: u64,
    /// No more than this; the capacity where limits are not distinguished.
    pub max: u64,
}

/// Why a task leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Leave {
    /// It waits for something.
    Sleeps,
    /// The same, but it stays queued for a while, as from 6.12 on.
    Lags,
    /// It goes to another CPU, and takes its part of the sums along.
    Migrates,
    /// It will be queued here again at once.
    Returns,
}

/// Where a task is, seen from a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// It runs, waits or ran last here.
    pub is_here: bool,
    pub goes_here: bool,
}
