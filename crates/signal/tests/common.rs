// SPDX-License-Identifier: GPL-2.0-only
//! A system of a few CPUs of 1 GHz, and chance that is the same every time.
#![allow(unreachable_pub, reason = "every test uses its part")]

use idlewise_signal::walt::{Config, Cpu, CpuSpec, Task, Walt};

pub const MS: u64 = 1_000_000;
pub const MS32: u32 = 1_000_000;
pub const GHZ: u32 = 1_000_000;

pub const BIG: CpuSpec = CpuSpec { capacity: 1024, max_freq_khz: GHZ };

/// Android's WALT on `cpus` big CPUs, its windows begun at 0.
pub fn android(cpus: usize) -> Walt {
    started(Config::android(), &vec![BIG; cpus])
}

pub fn started(config: Config, cpus: &[CpuSpec]) -> Walt {
    let mut walt = Walt::new(config, cpus).unwrap();
    walt.start(0).unwrap();
    walt
}

/// A task of CPU 0 that begins to run at `ms`, after the CPU idled.
pub fn running(walt: &mut Walt, ms: u64) -> u32 {
    let task = walt.add_task(0, None).unwrap();
    walt.wake(task, 0, ms * MS).unwrap();
    walt.switch(0, task, false, ms * MS).unwrap();
    task
}

pub fn cpu(walt: &Walt, cpu: usize) -> Cpu {
    walt.cpus()[cpu]
}

pub fn task(walt: &Walt, task: u32) -> Task {
    *walt.task(task).unwrap()
}

/// Busy time of a CPU in the last complete and in the open window, us.
pub fn busy_us(walt: &Walt, cpu: usize) -> (u64, u64) {
    let cpu = walt.cpus()[cpu];
    (cpu.prev_sum_ns / 1000, cpu.curr_sum_ns / 1000)
}

/// A task's share of busy time in the last complete and in the open window, us.
pub fn share_us(walt: &Walt, task: u32) -> (u32, u32) {
    let task = walt.task(task).unwrap();
    (task.prev_ns / 1000, task.curr_ns / 1000)
}

/// A task's history, us.
pub fn history_us(walt: &Walt, task: u32) -> [u32; 5] {
    walt.task(task).unwrap().history_ns.map(|ns| ns / 1000)
}

/// Marsaglia's xorshift with a product behind it.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn any(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.any() % limit
    }

    pub fn small(&mut self, limit: u32) -> u32 {
        u32::try_from(self.below(u64::from(limit))).unwrap()
    }
}
