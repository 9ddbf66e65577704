// SPDX-License-Identifier: GPL-2.0-only
//! The only place where Rust and the signals' C meet: tables of CPUs and tasks that belong to Rust, and calls that are
//! given pointers to them.
#![expect(unsafe_code, reason = "calls the C functions of signals/")]

use std::ffi::c_int;
use std::ptr;

use crate::walt::{Config, Cpu, IrqLoad, Task};

pub(crate) mod pelt;

/// `struct walt`.
#[derive(Debug)]
#[repr(C)]
struct Raw {
    config: Config,
    nr_cpus: u32,
    nr_tasks: u32,
    cpus: *mut Cpu,
    tasks: *mut Task,
    window_start_ns: u64,
    started: bool,
}

unsafe extern "C" {
    fn walt_config_android(config: *mut Config);
    fn walt_config_rfc(config: *mut Config);
    fn walt_config_check(config: *const Config) -> c_int;
    fn walt_window_in_ticks(window_ns: u32, tick_ns: u32) -> u32;
    fn walt_task_util(config: *const Config, task: *const Task) -> u32;
    fn walt_cpu_util(config: *const Config, cpu: *const Cpu) -> u32;
    fn walt_cpu_util_freq(config: *const Config, cpu: *const Cpu) -> u32;
    fn walt_irqload_add(irqload: *mut IrqLoad, irq_ns: u64, jiffy: u64);
    fn walt_irqload(irqload: *const IrqLoad, jiffy: u64) -> u64;
    fn walt_irqload_high(irqload: *const IrqLoad, jiffy: u64) -> bool;

    fn walt_init(walt: *mut Raw) -> c_int;
    fn walt_add_cpu(walt: *mut Raw, cpu: u32, capacity: u32, max_freq_khz: u32) -> c_int;
    fn walt_new_task(walt: *mut Raw, task: u32, cpu: u32, load_pct: u32) -> c_int;
    fn walt_start(walt: *mut Raw, now_ns: u64) -> c_int;
    fn walt_tick(walt: *mut Raw, cpu: u32, now_ns: u64) -> c_int;
    fn walt_wake(walt: *mut Raw, task: u32, now_ns: u64) -> c_int;
    fn walt_migrate(walt: *mut Raw, task: u32, to: u32, now_ns: u64) -> c_int;
    fn walt_enqueue(walt: *mut Raw, task: u32) -> c_int;
    fn walt_switch(walt: *mut Raw, cpu: u32, next: u32, sleeps: bool, now_ns: u64) -> c_int;
    fn walt_irq(walt: *mut Raw, cpu: u32, irq_ns: u64, now_ns: u64) -> c_int;
    fn walt_freq(walt: *mut Raw, cpu: u32, freq_khz: u32, now_ns: u64) -> c_int;
    fn walt_io_wait(walt: *mut Raw, cpu: u32, waits: bool) -> c_int;
    fn walt_exit(walt: *mut Raw, task: u32) -> c_int;
    fn walt_forget(walt: *mut Raw, task: u32) -> c_int;
}

/// What a call asks for; the arguments of the function of that name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    AddCpu { cpu: u32, capacity: u32, max_freq_khz: u32 },
    NewTask { task: u32, cpu: u32, load_pct: u32 },
    Start { now_ns: u64 },
    Tick { cpu: u32, now_ns: u64 },
    Wake { task: u32, now_ns: u64 },
    Migrate { task: u32, to: u32, now_ns: u64 },
    Enqueue { task: u32 },
    Switch { cpu: u32, next: u32, sleeps: bool, now_ns: u64 },
    Irq { cpu: u32, irq_ns: u64, now_ns: u64 },
    Freq { cpu: u32, freq_khz: u32, now_ns: u64 },
    IoWait { cpu: u32, waits: bool },
    Exit { task: u32 },
    Forget { task: u32 },
}

/// A `struct walt` with the memory that it needs.
#[derive(Debug)]
pub(crate) struct System {
    raw: Raw,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
}

// SAFETY: the pointers in `raw` are written before each call and are of no use after it; all else belongs to the System.
unsafe impl Send for System {}
// SAFETY: nothing is changed, and no pointer in `raw` is read, through a shared reference.
unsafe impl Sync for System {}

impl System {
    /// `nr_cpus` idle CPUs of full capacity; nothing if `config` is out of range or there is no CPU.
    pub(crate) fn new(config: Config, nr_cpus: u32) -> Option<Self> {
        let cpus = vec![Cpu::default(); nr_cpus as usize];
        let tasks = vec![Task::default(); nr_cpus as usize];
        let raw = Raw {
            config,
            nr_cpus,
            nr_tasks: nr_cpus,
            cpus: ptr::null_mut(),
            tasks: ptr::null_mut(),
            window_start_ns: 0,
            started: false,
        };
        let mut system = Self { raw, cpus, tasks };
        let raw = system.ready();
        // SAFETY: as in `call`.
        let done = unsafe { walt_init(raw) };
        (done == 0).then_some(system)
    }

    pub(crate) fn config(&self) -> &Config {
        &self.raw.config
    }

    pub(crate) fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// Idle tasks first, one for each CPU.
    pub(crate) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Room for one more task, which [`Call::NewTask`] makes one; its number, if there is one left.
    pub(crate) fn grow(&mut self) -> Option<u32> {
        let number = self.raw.nr_tasks;
        self.raw.nr_tasks = number.checked_add(1)?;
        self.tasks.push(Task::default());
        Some(number)
    }

    fn ready(&mut self) -> *mut Raw {
        self.raw.cpus = self.cpus.as_mut_ptr();
        self.raw.tasks = self.tasks.as_mut_ptr();
        &raw mut self.raw
    }

    /// True if it was done, false if C refused it.
    #[inline]
    pub(crate) fn call(&mut self, call: Call) -> bool {
        let raw = self.ready();
        // SAFETY: `raw` points to a whole `struct walt` (the test of the layout compares it with C's), whose tables hold
        // `nr_cpus` and `nr_tasks` elements: `new` and `grow` change both together. Numbers are checked in C against
        // these; `curr` of a CPU and `cpu` of a task are written there only, and so are in range. Nothing else refers to
        // the tables while C works, since `self` is borrowed alone. C keeps no pointer.
        let done = unsafe {
            match call {
                Call::AddCpu { cpu, capacity, max_freq_khz } => {
                    walt_add_cpu(raw, cpu, capacity, max_freq_khz)
                }
                Call::NewTask { task, cpu, load_pct } => walt_new_task(raw, task, cpu, load_pct),
                Call::Start { now_ns } => walt_start(raw, now_ns),
                Call::Tick { cpu, now_ns } => walt_tick(raw, cpu, now_ns),
                Call::Wake { task, now_ns } => walt_wake(raw, task, now_ns),
                Call::Migrate { task, to, now_ns } => walt_migrate(raw, task, to, now_ns),
                Call::Enqueue { task } => walt_enqueue(raw, task),
                Call::Switch { cpu, next, sleeps, now_ns } => walt_switch(raw, cpu, next, sleeps, now_ns),
                Call::Irq { cpu, irq_ns, now_ns } => walt_irq(raw, cpu, irq_ns, now_ns),
                Call::Freq { cpu, freq_khz, now_ns } => walt_freq(raw, cpu, freq_khz, now_ns),
                Call::IoWait { cpu, waits } => walt_io_wait(raw, cpu, waits),
                Call::Exit { task } => walt_exit(raw, task),
                Call::Forget { task } => walt_forget(raw, task),
            }
        };
        done == 0
    }

    /// Interrupts took `irq_ns` of a CPU; false if there is no such CPU.
    pub(crate) fn add_irq_load(&mut self, cpu: u32, irq_ns: u64, jiffy: u64) -> bool {
        let Some(cpu) = self.cpus.get_mut(cpu as usize) else { return false };
        // SAFETY: points to a whole `struct walt_irqload` that is borrowed alone; C keeps no pointer.
        unsafe { walt_irqload_add(&raw mut cpu.irq_load, irq_ns, jiffy) };
        true
    }

    /// Time that interrupts took lately, and whether that is much.
    pub(crate) fn irq_load(&self, cpu: u32, jiffy: u64) -> Option<(u64, bool)> {
        let load = &raw const self.cpus.get(cpu as usize)?.irq_load;
        // SAFETY: points to a whole `struct walt_irqload` that C only reads.
        Some(unsafe { (walt_irqload(load, jiffy), walt_irqload_high(load, jiffy)) })
    }

    /// Of placement and of the frequency.
    pub(crate) fn cpu_util(&self, cpu: u32) -> Option<(u32, u32)> {
        let cpu = &raw const *self.cpus.get(cpu as usize)?;
        let config = &raw const self.raw.config;
        // SAFETY: both point to whole structures that C only reads, and the configuration was checked in `new`.
        Some(unsafe { (walt_cpu_util(config, cpu), walt_cpu_util_freq(config, cpu)) })
    }

    pub(crate) fn task_util(&self, task: u32) -> Option<u32> {
        let task = &raw const *self.tasks.get(task as usize)?;
        // SAFETY: both point to whole structures that C only reads, and the configuration was checked in `new`.
        Some(unsafe { walt_task_util(&raw const self.raw.config, task) })
    }
}

pub(crate) fn android() -> Config {
    let mut config = Config::ZERO;
    // SAFETY: points to a whole `struct walt_config`; C fills it with values of the enumerations.
    unsafe { walt_config_android(&raw mut config) };
    config
}

pub(crate) fn rfc() -> Config {
    let mut config = Config::ZERO;
    // SAFETY: as in `android`.
    unsafe { walt_config_rfc(&raw mut config) };
    config
}

pub(crate) fn valid(config: &Config) -> bool {
    // SAFETY: points to a whole `struct walt_config` that C only reads.
    unsafe { walt_config_check(config) == 0 }
}

pub(crate) fn window_in_ticks(window_ns: u32, tick_ns: u32) -> u32 {
    // SAFETY: takes and gives numbers.
    unsafe { walt_window_in_ticks(window_ns, tick_ns) }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    unsafe extern "C" {
        static idlewise_walt_layout: [u32; 11];
    }

    #[test]
    fn structures_are_laid_out_as_in_c() {
        let ours = [
            size_of::<Config>(),
            offset_of!(Config, exact_util) + 1,
            size_of::<Task>(),
            offset_of!(Task, prev_ns) + 4,
            offset_of!(Task, waking) + 1,
            size_of::<Cpu>(),
            offset_of!(Cpu, irq_load),
            offset_of!(Cpu, io_wait) + 1,
            size_of::<Raw>(),
            offset_of!(Raw, cpus),
            offset_of!(Raw, started) + 1,
        ];
        // SAFETY: src/layout.c defines it with as many elements, and nothing writes it.
        let theirs = unsafe { idlewise_walt_layout };
        assert_eq!(theirs.map(|n| n as usize), ours);
    }
}
