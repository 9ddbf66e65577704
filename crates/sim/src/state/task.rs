// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::Counted;
use idlewise_signal::pelt;
use idlewise_workload::Random;
use serde::{Deserialize, Serialize};

use idlewise_parts::fair;
use idlewise_parts::fair::{Entities, Entity};
use idlewise_parts::program::{Clamps, Class};

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It was not made yet.
    Unborn,
    /// It sleeps or waits for something.
    Asleep,
    /// It waits for a CPU.
    Waiting,
    /// A CPU runs it.
    Running,
    /// A deadline task that has used up its time and waits for its next period.
    Throttled,
    /// It is on its way to another CPU.
    Moving,
    Gone,
}

/// What is left of a step that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing: the next step is to be looked at.
    Nothing,
    /// Work, ns at speed 1024 times 2^20.
    Work(u64),
    /// Run time, ns.
    Time(u64),
    /// The same as `Work`, before the step's system call; at the end of it only that is left.
    Way(u64),
    Call,
}

/// What was seen of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSeen {
    /// Times it was woken up.
    pub wakeups: u64,
    /// Times it was given a CPU.
    pub runs: u64,
    /// Time it had one, ns.
    pub run_ns: u64,
    /// Times it went to another CPU.
    pub migrations: u64,
    /// From being woken up to running, ns, as the scheduler's trace events have it.
    pub wakeup_latency_ns: Counted,
    /// From what it waited for (a timer's time, a device's or another CPU's interrupt) to running, ns: what a slow idle
    /// state adds is in it.
    pub response_ns: Counted,
}

/// One task's state during a run.
#[derive(Debug)]
pub(crate) struct Task {
    /// Whose steps it takes.
    pub(crate) program: u32,
    pub(crate) state: State,
    pub(crate) class: Class,
    pub(crate) clamps: Clamps,
    pub(crate) entity: Entity,
    pub(crate) pelt: pelt::Task,
    /// Its number in WALT.
    pub(crate) walt: u32,
    /// Where it runs, waits or ran last.
    pub(crate) cpu: u32,
    /// Where it was before that.
    pub(crate) recent: u32,
    pub(crate) is_new: bool,
    /// The CPUs that it may run on, in order; all where empty.
    pub(crate) cpus: Vec<u32>,
    pub(crate) step: u32,
    pub(crate) left: Left,
    pub(crate) counters: Vec<u64>,
    /// When it began, ns.
    pub(crate) begun_ns: u64,
    /// When each of its own timers last expired, ns.
    pub(crate) timers: Vec<Option<u64>>,
    /// Timers of earlier turns are nobody's.
    pub(crate) turn: u32,
    pub(crate) random: Random,
    /// When it was woken up, ns, while it waits for a CPU after that.
    pub(crate) woken_at_ns: Option<u64>,
    /// When what it waited for came about, ns.
    pub(crate) called_at_ns: u64,
    /// The mutex that it has to take when it runs again.
    pub(crate) wants: Option<u32>,
    /// It waits for a device.
    pub(crate) in_io: bool,
    /// The limit of exit latencies that it asks for, ns.
    pub(crate) limit_ns: Option<u64>,
    /// Requests that it works on: their source, and when they came, ns.
    pub(crate) requests: Vec<(u32, u64)>,
    /// The CPU that it has to go to once it has stopped running.
    pub(crate) push_to: Option<u32>,
    /// Time left in this period of a deadline task, in this turn of one of equal real-time tasks, ns.
    pub(crate) budget_ns: u64,
    /// Of a deadline task, ns.
    pub(crate) deadline_at_ns: u64,
    pub(crate) seen: TaskSeen,
}

impl Task {
    pub(crate) fn entity_of(class: Class) -> Entity {
        match class {
            Class::Fair { nice, slice_ns } => {
                Entity::new(fair::weight(Some(nice)), false, slice_ns.unwrap_or(0))
            }
            Class::Idle => Entity::new(fair::weight(None), true, 0),
            _ => Entity::new(fair::NICE_0, false, 0),
        }
    }

    /// Whether it may run on `cpu`.
    #[inline]
    pub(crate) fn may_run_on(&self, cpu: u32) -> bool {
        self.cpus.is_empty() || self.cpus.binary_search(&cpu).is_ok()
    }

    /// Scheduled before all fair tasks: the larger, the earlier. 0 for fair ones.
    #[inline]
    pub(crate) fn rank(&self) -> u32 {
        match self.class {
            Class::Fair { .. } | Class::Idle => 0,
            Class::Fifo(p) | Class::RoundRobin(p) => 1 + u32::from(p),
            Class::Deadline { .. } => 1000,
        }
    }

    /// What its utilisation is taken for at least and at most. Real-time tasks want it all if they do not say otherwise.
    pub(crate) fn clamps(&self) -> (u64, u64) {
        let least = if (1..1000).contains(&self.rank()) { 1024 } else { 0 };
        (u64::from(self.clamps.min.unwrap_or(least)), u64::from(self.clamps.max.unwrap_or(1024)))
    }

    /// Whether it is fair, and so part of PELT's fair averages.
    #[inline]
    pub(crate) fn is_fair(&self) -> bool {
        self.rank() == 0
    }
}

/// All tasks, by number.
#[derive(Debug, Default)]
pub(crate) struct Tasks(pub(crate) Vec<Task>);

impl std::ops::Index<u32> for Tasks {
    type Output = Task;
    #[inline]
    fn index(&self, task: u32) -> &Task {
        &self.0[task as usize]
    }
}

impl std::ops::IndexMut<u32> for Tasks {
    #[inline]
    fn index_mut(&mut self, task: u32) -> &mut Task {
        &mut self.0[task as usize]
    }
}

impl Entities for Tasks {
    #[inline]
    fn entity(&self, task: u32) -> &Entity {
        &self[task].entity
    }
    #[inline]
    fn entity_mut(&mut self, task: u32) -> &mut Entity {
        &mut self[task].entity
    }
}
