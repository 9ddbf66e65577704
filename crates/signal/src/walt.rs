// SPDX-License-Identifier: GPL-2.0-only
//! WALT, window-assisted load tracking: what it is and when it errs is in `signals/walt.c`.
//!
//! A [`Walt`] is a system of CPUs and tasks. Whoever plays the scheduler tells it what happens, with the time; times of
//! one CPU do not run backwards, and if they do, no time has passed. All times are nanoseconds; busy time and demand are
//! nanoseconds at full speed of the biggest CPU.
//!
//! ```
//! use idlewise_signal::walt::{Config, CpuSpec, Walt};
//!
//! # fn main() -> Result<(), idlewise_signal::walt::WaltError> {
//! const MS: u64 = 1_000_000;
//! let mut walt = Walt::new(Config::android(), &[CpuSpec { capacity: 1024, max_freq_khz: 2_000_000 }])?;
//! walt.start(0)?;
//! let task = walt.add_task(0, None)?;
//! walt.wake(task, 0, 5 * MS)?;
//! walt.switch(0, task, false, 5 * MS)?;
//! walt.tick(0, 20 * MS)?; // the first window of 20 ms is over: 15 ms of it were busy
//! assert_eq!(walt.frequency_util(0), Some(768));
//! # Ok(())
//! # }
//! ```

use thiserror::Error;

use crate::c::{self, Call, System};

mod account;
mod config;

pub use account::{Cpu, HISTORY, IrqLoad, Task};
pub use config::{Config, CpuSpec, Policy, Scaling};

impl Config {
    /// WALT as in Android 4.4: windows of 20 ms, demand of tasks, busy time that follows them.
    #[must_use]
    pub fn android() -> Self {
        c::android()
    }

    /// WALT as posted for Linux 4.8 (`published-documents.md` 1): windows of 10 ms, busy time of CPUs only.
    #[must_use]
    pub fn rfc() -> Self {
        c::rfc()
    }

    /// The same with a window of whole ticks of `1/hz` seconds, as Android 4.14 has it.
    #[must_use]
    pub fn in_ticks(self, hz: u32) -> Self {
        let tick_ns = 1_000_000_000u32.checked_div(hz).unwrap_or(0);
        Self { window_ns: c::window_in_ticks(self.window_ns, tick_ns), ..self }
    }

    /// Whether every field is in its range.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        c::valid(self)
    }
}

/// Why WALT did not take what it was given; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WaltError {
    /// A setting is out of its range, or there is no CPU.
    #[error("WALT needs a CPU, a window of 10 ms to 1 s and a new task's load of 0 to 100 %")]
    Config,
    /// No CPU has this number.
    #[error("there is no CPU {0}")]
    NoCpu(u32),
    /// No task has this number, or it is an idle task, of which there is nothing to tell.
    #[error("there is no task {0}")]
    NoTask(u32),
    /// The task runs, so it can neither be migrated, nor forgotten, nor run elsewhere.
    #[error("task {0} runs: it cannot be migrated, forgotten or run elsewhere")]
    Runs(u32),
    /// The windows have begun already.
    #[error("the windows have begun already")]
    Started,
}

/// A system of CPUs and tasks under WALT.
#[derive(Debug)]
pub struct Walt {
    system: System,
    /// Which numbers are tasks; those of idle tasks are not.
    alive: Vec<bool>,
    free: Vec<u32>,
}

impl Walt {
    /// A system on which nothing has happened: all CPUs idle and at full speed, no tasks.
    ///
    /// # Errors
    /// [`WaltError::Config`] if a setting is out of range or there is no CPU.
    pub fn new(config: Config, cpus: &[CpuSpec]) -> Result<Self, WaltError> {
        let count = u32::try_from(cpus.len()).map_err(|_| WaltError::Config)?;
        let mut system = System::new(config, count).ok_or(WaltError::Config)?;
        for (cpu, spec) in (0..).zip(cpus) {
            system.call(Call::AddCpu { cpu, capacity: spec.capacity, max_freq_khz: spec.max_freq_khz });
        }
        Ok(Self { system, alive: vec![false; cpus.len()], free: Vec::new() })
    }

    /// The windows of all CPUs begin. Without this, each CPU starts with its first tick, all with the phase of the first.
    ///
    /// # Errors
    /// [`WaltError::Started`].
    pub fn start(&mut self, now_ns: u64) -> Result<(), WaltError> {
        self.system.call(Call::Start { now_ns }).then_some(()).ok_or(WaltError::Started)
    }

    /// A task that has never run, asleep; `load_pct` of a window is its demand to begin with, else the setting.
    /// Numbers of forgotten tasks are used again.
    ///
    /// # Errors
    /// [`WaltError::NoCpu`]; [`WaltError::NoTask`] if there are no numbers left.
    pub fn add_task(&mut self, cpu: u32, load_pct: Option<u32>) -> Result<u32, WaltError> {
        self.check_cpu(cpu)?;
        let task = match self.free.pop() {
            Some(task) => task,
            None => {
                let task = self.system.grow().ok_or(WaltError::NoTask(u32::MAX))?;
                self.alive.push(false);
                task
            }
        };
        if let Some(alive) = self.alive.get_mut(task as usize) {
            *alive = true;
        }
        self.system.call(Call::NewTask { task, cpu, load_pct: load_pct.unwrap_or(0) });
        Ok(task)
    }

    /// Time has passed for the task that runs, or for the idle CPU.
    ///
    /// # Errors
    /// [`WaltError::NoCpu`].
    #[inline]
    pub fn tick(&mut self, cpu: u32, now_ns: u64) -> Result<(), WaltError> {
        self.tell_cpu(cpu, Call::Tick { cpu, now_ns })
    }

    /// A task wakes up on `cpu`, all in one: [`Walt::waking`], [`Walt::migrate`], [`Walt::enqueue`].
    ///
    /// # Errors
    /// [`WaltError::NoTask`], [`WaltError::NoCpu`]; [`WaltError::Runs`] if it runs on another CPU.
    #[inline]
    pub fn wake(&mut self, task: u32, cpu: u32, now_ns: u64) -> Result<(), WaltError> {
        self.check_cpu(cpu)?;
        self.waking(task, now_ns)?;
        self.migrate(task, cpu, now_ns)?;
        self.enqueue(task)
    }

    /// A task that slept will be queued, on the CPU it ran on or on another. Nothing happens if it did not sleep.
    ///
    /// # Errors
    /// [`WaltError::NoTask`].
    #[inline]
    pub fn waking(&mut self, task: u32, now_ns: u64) -> Result<(), WaltError> {
        self.tell_task(task, Call::Wake { task, now_ns })
    }

    /// A task changes its CPU. Its busy time goes with it if it is queued or waking, and stays if it sleeps.
    ///
    /// # Errors
    /// [`WaltError::NoTask`], [`WaltError::NoCpu`]; [`WaltError::Runs`] if it runs.
    #[inline]
    pub fn migrate(&mut self, task: u32, to: u32, now_ns: u64) -> Result<(), WaltError> {
        self.check_cpu(to)?;
        self.tell_task(task, Call::Migrate { task, to, now_ns })
    }

    /// A task is on the run queue of its CPU.
    ///
    /// # Errors
    /// [`WaltError::NoTask`].
    #[inline]
    pub fn enqueue(&mut self, task: u32) -> Result<(), WaltError> {
        self.tell_task(task, Call::Enqueue { task })
    }

    /// A CPU runs `next` from now on; the CPU's own number is its idle task. `sleeps` says that the task that ran does
    /// not wait to run again. A `next` that was not queued here is.
    ///
    /// # Errors
    /// [`WaltError::NoCpu`], [`WaltError::NoTask`]; [`WaltError::Runs`] if `next` runs on another CPU.
    #[inline]
    pub fn switch(&mut self, cpu: u32, next: u32, sleeps: bool, now_ns: u64) -> Result<(), WaltError> {
        let call = Call::Switch { cpu, next, sleeps, now_ns };
        if next == cpu {
            self.tell_cpu(cpu, call)
        } else {
            self.check_cpu(cpu).and(self.tell_task(next, call))
        }
    }

    /// A CPU is idle from now on; `sleeps` as in [`Walt::switch`].
    ///
    /// # Errors
    /// [`WaltError::NoCpu`].
    #[inline]
    pub fn switch_to_idle(&mut self, cpu: u32, sleeps: bool, now_ns: u64) -> Result<(), WaltError> {
        self.switch(cpu, cpu, sleeps, now_ns)
    }

    /// An interrupt of `irq_ns` is over. It counts if the CPU is idle; else its time is the running task's.
    ///
    /// # Errors
    /// [`WaltError::NoCpu`].
    #[inline]
    pub fn irq(&mut self, cpu: u32, irq_ns: u64, now_ns: u64) -> Result<(), WaltError> {
        self.tell_cpu(cpu, Call::Irq { cpu, irq_ns, now_ns })
    }

    /// A CPU runs at `freq_khz` from now on; to be called for each CPU of a clock.
    ///
    /// # Errors
    /// [`WaltError::NoCpu`].
    #[inline]
    pub fn set_frequency(&mut self, cpu: u32, freq_khz: u32, now_ns: u64) -> Result<(), WaltError> {
        self.tell_cpu(cpu, Call::Freq { cpu, freq_khz, now_ns })
    }

    /// Whether tasks that ran on a CPU wait for I/O; matters with [`Config::io_is_busy`] only.
    ///
    /// # Errors
    /// [`WaltError::NoCpu`].
    #[inline]
    pub fn set_io_wait(&mut self, cpu: u32, waits: bool) -> Result<(), WaltError> {
        self.tell_cpu(cpu, Call::IoWait { cpu, waits })
    }

    /// A task is on its way out: from now on it has no demand.
    ///
    /// # Errors
    /// [`WaltError::NoTask`].
    pub fn exit(&mut self, task: u32) -> Result<(), WaltError> {
        self.tell_task(task, Call::Exit { task })
    }

    /// A task is gone, and its number is free.
    ///
    /// # Errors
    /// [`WaltError::NoTask`]; [`WaltError::Runs`] if it runs.
    pub fn forget(&mut self, task: u32) -> Result<(), WaltError> {
        self.tell_task(task, Call::Forget { task })?;
        if let Some(alive) = self.alive.get_mut(task as usize) {
            *alive = false;
            self.free.push(task);
        }
        Ok(())
    }

    /// Interrupts took `irq_ns` of a CPU in this jiffy.
    ///
    /// # Errors
    /// [`WaltError::NoCpu`].
    pub fn add_irq_load(&mut self, cpu: u32, irq_ns: u64, jiffy: u64) -> Result<(), WaltError> {
        self.system.add_irq_load(cpu, irq_ns, jiffy).then_some(()).ok_or(WaltError::NoCpu(cpu))
    }

    /// Time that interrupts took of a CPU lately, ns, and whether that is a reason to keep tasks away.
    #[must_use]
    pub fn irq_load(&self, cpu: u32, jiffy: u64) -> Option<(u64, bool)> {
        self.system.irq_load(cpu, jiffy)
    }

    /// How full a CPU is, to place tasks: 0 to its capacity.
    #[must_use]
    pub fn placement_util(&self, cpu: u32) -> Option<u32> {
        self.system.cpu_util(cpu).map(|(placement, _)| placement)
    }

    /// How busy a CPU was in its last complete window, to choose its frequency: 0 to its capacity. Only events end a
    /// window: a CPU that sleeps keeps its last one.
    #[must_use]
    pub fn frequency_util(&self, cpu: u32) -> Option<u32> {
        self.system.cpu_util(cpu).map(|(_, frequency)| frequency)
    }

    /// A task's demand as a utilisation: 0 to 1024.
    #[must_use]
    pub fn task_util(&self, task: u32) -> Option<u32> {
        self.system.task_util(task)
    }

    #[must_use]
    pub fn config(&self) -> &Config {
        self.system.config()
    }

    /// The accounts of all CPUs, by number.
    #[must_use]
    pub fn cpus(&self) -> &[Cpu] {
        self.system.cpus()
    }

    /// The account of a task or, by the number of a CPU, of its idle task.
    #[must_use]
    pub fn task(&self, task: u32) -> Option<&Task> {
        self.system.tasks().get(task as usize)
    }

    fn check_cpu(&self, cpu: u32) -> Result<(), WaltError> {
        if (cpu as usize) < self.system.cpus().len() { Ok(()) } else { Err(WaltError::NoCpu(cpu)) }
    }

    #[inline]
    fn tell_cpu(&mut self, cpu: u32, call: Call) -> Result<(), WaltError> {
        self.system.call(call).then_some(()).ok_or(WaltError::NoCpu(cpu))
    }

    #[inline]
    fn tell_task(&mut self, task: u32, call: Call) -> Result<(), WaltError> {
        match self.alive.get(task as usize) {
            Some(true) => self.system.call(call).then_some(()).ok_or(WaltError::Runs(task)),
            _ => Err(WaltError::NoTask(task)),
        }
    }
}
