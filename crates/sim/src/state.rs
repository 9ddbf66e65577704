// SPDX-License-Identifier: GPL-2.0-only
//! What a run keeps. The other files say what happens to it: `engine` first.

pub(crate) mod cpu;
pub(crate) mod load;
pub(crate) mod placer;
pub(crate) mod server;
pub(crate) mod task;
pub(crate) mod turns;

use std::collections::VecDeque;

use idlewise_governor::Instance;
use idlewise_workload::{Random, Workload};

use crate::run::Outcome;
use idlewise_parts::ceilings::Ceilings;
use idlewise_parts::clock::Clock;
use idlewise_parts::device::{Devices, Sources};
use idlewise_parts::energy::Meter;
use idlewise_parts::program::Program;
use idlewise_parts::queue::Queue;
use idlewise_parts::rcu::Rcu;
use idlewise_parts::{Machine, SimError};

use cpu::Cpu;
use load::Load;
use placer::Placer;
use task::Tasks;
use turns::Turns;

pub(crate) struct Sim<'a, W> {
    pub(crate) now_ns: u64,
    pub(crate) machine: &'a Machine<'a>,
    pub(crate) workload: &'a Workload,
    pub(crate) program: &'a Program,
    pub(crate) governor: &'a mut Instance,
    pub(crate) watch: &'a mut W,
    pub(crate) queue: Queue,
    pub(crate) cpus: Vec<Cpu<'a>>,
    pub(crate) tasks: Tasks,
    pub(crate) load: Load,
    pub(crate) placer: Placer,
    pub(crate) clocks: Vec<Clock>,
    pub(crate) meter: Meter,
    /// What holds clocks down, where something may.
    pub(crate) ceilings: Option<Ceilings>,
    /// Whose turn it is, where CPUs take turns on one thread.
    pub(crate) turns: Option<Turns>,
    pub(crate) devices: Devices,
    pub(crate) sources: Sources,
    /// Requests of all sources that are kept: not yet taken, or not answered.
    pub(crate) requests: u32,
    /// Tasks that wait in each queue, in order of coming.
    pub(crate) waiters: Vec<Vec<u32>>,
    /// Who has each mutex, and who waits for it.
    pub(crate) mutexes: Vec<(Option<u32>, Vec<u32>)>,
    /// Who waits at each barrier.
    pub(crate) barriers: Vec<Vec<u32>>,
    pub(crate) rcu: Rcu,
    /// The task that is RCU's thread.
    pub(crate) rcu_thread: Option<u32>,
    /// Frames that have begun, by kind: when, ns.
    pub(crate) frames: Vec<VecDeque<u64>>,
    /// How many these are.
    pub(crate) frames_open: u32,
    /// When each timer that tasks share last expired, ns.
    pub(crate) timers: Vec<Option<u64>>,
    /// The limit of exit latencies that holds, ns.
    pub(crate) limit_ns: i64,
    /// Random numbers for governors that ask.
    pub(crate) chance: Random,
    pub(crate) seed: u64,
    /// Tasks that are not gone.
    pub(crate) alive: u32,
    /// Tasks that the workload begins with.
    pub(crate) begun: u32,
    /// Why it cannot go on.
    pub(crate) failure: Option<SimError>,
    pub(crate) out: Outcome,
}
