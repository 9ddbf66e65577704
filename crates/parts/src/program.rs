// SPDX-License-Identifier: GPL-2.0-only
//! A workload made ready to run: each task a flat list of steps, everything that tasks share numbered by kind.

use idlewise_workload::{
    Distribution, Event, IrqCpu, Policy, ResourceId, ResourceKind, Sched, SleepTimer, Task, TimerMode,
    Workload,
};

use crate::{Costs, Machine, SimError};

/// A workload's tasks as steps, for one machine.
#[derive(Debug)]
pub struct Program {
    /// Those of the workload, in its order; behind them the one of RCU's thread, where a task needs it.
    pub tasks: Vec<TaskProgram>,
    /// The last of them is RCU's thread.
    pub rcu: bool,
    pub queues: usize,
    pub mutexes: usize,
    /// How many tasks each barrier waits for.
    pub barriers: Vec<u32>,
    /// Timers that tasks share.
    pub timers: usize,
    /// The CPU of each device's interrupt, by place; nothing for the one that asked.
    pub device_cpus: Vec<Option<u32>>,
    /// The CPU of each source's interrupt; nothing for that of the task that takes the request.
    pub source_cpus: Vec<Option<u32>>,
    /// The queue that each source's arrivals call.
    pub source_calls: Vec<Option<u32>>,
    /// Some task has limits of its utilisation, which the kernel then looks after for all.
    pub clamped: bool,
}

/// The steps of a task.
#[derive(Debug)]
pub struct TaskProgram {
    /// How many are made at the start.
    pub instances: u32,
    /// When after it, ns.
    pub delay_ns: u64,
    /// How it is scheduled.
    pub class: Class,
    /// Limits of its utilisation.
    pub clamps: Clamps,
    /// The CPUs that it may run on, by place; all where empty.
    pub cpus: Vec<u32>,
    /// What it does, from the first on.
    pub steps: Vec<Step>,
    /// Loop counters of its own.
    pub counters: usize,
    /// Timers of its own.
    pub timers: usize,
}

/// How a task is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_OTHER`.
    Fair {
        /// -20 to 19.
        nice: i8,
        /// A slice of its own, ns.
        slice_ns: Option<u64>,
    },
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`, with its priority, 1 to 99.
    Fifo(u8),
    /// `SCHED_RR`, with its priority, 1 to 99.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`.
    Deadline {
        /// Time that it may run in each period, ns.
        runtime_ns: u64,
        /// The period, ns.
        period_ns: u64,
        /// By when in a period, ns.
        deadline_ns: u64,
    },
}

/// What a task's utilisation is taken for at least and at most (uclamp), of 1024, where it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clamps {
    pub min: Option<u32>,
    pub max: Option<u32>,
}

impl Clamps {
    fn of(sched: &Sched) -> Self {
        Self { min: sched.util_min, max: sched.util_max }
    }

    /// These, and what they leave open as it was before.
    pub fn or(self, before: Self) -> Self {
        Self { min: self.min.or(before.min), max: self.max.or(before.max) }
    }
}

/// A step of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Works as long as a CPU of speed 1024 at its highest clock takes for it, times this over 1024.
    Work(Distribution, u64),
    /// Runs for so long, at whatever speed, ns.
    Run(u64),
    /// Sleeps for so long, ns.
    Sleep(Distribution, SleepTimer),
    /// Sleeps until a period has passed since the last expiry of the timer.
    Period {
        timer: TimerAt,
        /// The period, ns.
        period_ns: u64,
        /// What counts where a period was missed.
        mode: TimerMode,
    },
    /// Waits in a queue until somebody resumes it.
    Suspend(u32),
    /// Wakes those that are suspended in a queue.
    Resume(u32),
    Lock(u32),
    /// Gives a mutex back.
    Unlock(u32),
    /// Gives the mutex back, waits in the queue, takes it again.
    Wait {
        queue: u32,
        mutex: u32,
    },
    /// Wakes one that waits in a queue.
    Signal(u32),
    /// Wakes all that wait in a queue.
    Broadcast(u32),
    /// Wakes one that waits in a queue, and waits there itself.
    Sync {
        queue: u32,
        mutex: u32,
    },
    /// Waits until all have come to a barrier.
    Barrier(u32),
    Yield,
    /// Makes a task with the program of that number.
    Fork(u32),
    /// Asks a device, and waits for it.
    Io(u32),
    FrameBegin(u32),
    /// A frame is done.
    FrameEnd(u32),
    /// Takes a request of a source, or waits for one.
    Take(u32),
    /// The request of a source is answered.
    Done(u32),
    /// Asks for a limit of the exit latency, ns, or no more.
    Limit(Option<u64>),
    /// Leaves a callback of RCU.
    CallRcu,
    /// What RCU's thread does, again and again.
    GracePeriods,
    /// Is scheduled so from now on.
    Class(Class, Clamps),
    /// May run on these CPUs from now on, by place; all where empty.
    Cpus(Vec<u32>),
    /// Sets a counter; nothing is forever.
    Times {
        /// Number of the counter.
        counter: u32,
        times: Option<u64>,
    },
    /// Goes back to `to` until the counter's times are over.
    Again {
        /// Number of the counter.
        counter: u32,
        /// Number of the step.
        to: u32,
    },
}

/// Where a timer is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerAt {
    Own(u32),
    Shared(u32),
}

impl Program {
    /// Makes `workload` ready for `machine`.
    ///
    /// # Errors
    /// [`SimError::NoCpu`] if it names CPUs that the machine does not have.
    pub fn new(workload: &Workload, machine: &Machine<'_>) -> Result<Self, SimError> {
        let numbers = Numbers::new(workload);
        let places = Places(machine);
        let maker =
            Maker { numbers: &numbers, places, costs: machine.costs, speed: machine.work_speed(workload) };
        let cpu_of = |cpu: IrqCpu, what: String| match cpu {
            IrqCpu::Task => Ok(None),
            IrqCpu::Cpu(number) => places.of(number).map(Some).ok_or(SimError::NoCpu { cpu: number, what }),
        };
        let device = |d: &idlewise_workload::Device| cpu_of(d.irq_cpu, format!("device {}", d.name));
        let source = |s: &idlewise_workload::Source| cpu_of(s.irq_cpu, format!("source {}", s.name));
        let limited = |s: &Sched| Clamps::of(s) != Clamps::default();
        let phases = |t: &Task| t.phases.iter().filter_map(|p| p.sched.as_ref()).any(limited);
        let mut tasks = workload.tasks.iter().map(|t| maker.task(t)).collect::<Result<Vec<_>, _>>()?;
        let rcu = tasks.iter().any(|t| t.steps.contains(&Step::CallRcu));
        if rcu {
            tasks.push(rcu_thread());
        }
        Ok(Self {
            clamped: workload.tasks.iter().any(|t| limited(&t.sched) || phases(t)),
            tasks,
            rcu,
            queues: numbers.queues,
            mutexes: numbers.mutexes,
            barriers: numbers.barriers.clone(),
            timers: numbers.timers,
            device_cpus: workload.devices.iter().map(device).collect::<Result<_, _>>()?,
            source_cpus: workload.sources.iter().map(source).collect::<Result<_, _>>()?,
            source_calls: workload.sources.iter().map(|s| s.resume.map(|q| numbers.of(q))).collect(),
        })
    }
}

/// RCU's thread, as kernels have it without real-time priority of its own.
fn rcu_thread() -> TaskProgram {
    let forever = Step::Times { counter: 0, times: None };
    TaskProgram {
        instances: 0,
        delay_ns: 0,
        class: Class::Fair { nice: 0, slice_ns: None },
        clamps: Clamps::default(),
        cpus: Vec::new(),
        steps: vec![forever, Step::GracePeriods, Step::Again { counter: 0, to: 1 }],
        counters: 1,
        timers: 0,
    }
}

/// Resources numbered by kind.
struct Numbers {
    number: Vec<u32>,
    own_timer: Vec<bool>,
    queues: usize,
    mutexes: usize,
    timers: usize,
    own_timers: usize,
    barriers: Vec<u32>,
}

impl Numbers {
    fn new(workload: &Workload) -> Self {
        let mut n = Self {
            number: Vec::new(),
            own_timer: Vec::new(),
            queues: 0,
            mutexes: 0,
            timers: 0,
            own_timers: 0,
            barriers: Vec::new(),
        };
        for resource in &workload.resources {
            let count = match resource.kind {
                ResourceKind::Mutex => &mut n.mutexes,
                ResourceKind::Queue => &mut n.queues,
                ResourceKind::Timer => &mut n.timers,
                ResourceKind::TaskTimer => &mut n.own_timers,
                ResourceKind::Barrier { parties } => {
                    n.barriers.push(parties);
                    n.number.push(n.barriers.len() as u32 - 1);
                    n.own_timer.push(false);
                    continue;
                }
            };
            n.number.push(*count as u32);
            *count += 1;
            n.own_timer.push(resource.kind == ResourceKind::TaskTimer);
        }
        n
    }

    /// Every index of a workload is one of its lists'.
    fn of(&self, id: ResourceId) -> u32 {
        self.number[id.index()]
    }

    fn timer(&self, id: ResourceId) -> TimerAt {
        if self.own_timer[id.index()] { TimerAt::Own(self.of(id)) } else { TimerAt::Shared(self.of(id)) }
    }
}

/// Where CPUs are, by number.
#[derive(Clone, Copy)]
struct Places<'m>(&'m Machine<'m>);

impl Places<'_> {
    fn of(self, number: u32) -> Option<u32> {
        self.0.cpus.iter().position(|c| c.number == number).map(|i| i as u32)
    }
}

struct Maker<'m> {
    numbers: &'m Numbers,
    places: Places<'m>,
    costs: Costs,
    /// Speed of the CPU whose microseconds a task's work is in.
    speed: u64,
}

impl Maker<'_> {
    fn task(&self, task: &Task) -> Result<TaskProgram, SimError> {
        let cpus = self.cpus(task.cpus.as_deref(), &task.name)?;
        let mut steps = Vec::new();
        let mut counters = 0;
        let mut open = |steps: &mut Vec<Step>, times| {
            steps.push(Step::Times { counter: counters, times });
            counters += 1;
            (counters - 1, steps.len() as u32)
        };
        let (outer, begin) = open(&mut steps, task.loops);
        for phase in &task.phases {
            if let Some(sched) = phase.sched {
                steps.push(Step::Class(class(sched.policy), Clamps::of(&sched)));
            }
            if phase.cpus.is_some() || task.phases.iter().any(|p| p.cpus.is_some()) {
                let own = phase.cpus.as_deref().or(task.cpus.as_deref());
                steps.push(Step::Cpus(self.cpus(own, &task.name)?));
            }
            let inner = (phase.loops != Some(1)).then(|| open(&mut steps, phase.loops));
            if self.costs.loop_ns > 0 {
                steps.push(Step::Work(Distribution::Constant(self.costs.loop_ns), 1024));
            }
            for event in &phase.events {
                self.event(event, &mut steps);
            }
            if let Some((counter, to)) = inner {
                steps.push(Step::Again { counter, to });
            }
        }
        steps.push(Step::Again { counter: outer, to: begin });
        Ok(TaskProgram {
            instances: task.instances,
            delay_ns: task.delay_ns,
            class: class(task.sched.policy),
            clamps: Clamps::of(&task.sched),
            cpus,
            steps,
            counters: counters as usize,
            timers: self.numbers.own_timers,
        })
    }

    fn cpus(&self, cpus: Option<&[u32]>, task: &str) -> Result<Vec<u32>, SimError> {
        let mut places: Vec<u32> =
            cpus.unwrap_or_default().iter().filter_map(|number| self.places.of(*number)).collect();
        places.sort_unstable();
        match cpus.and_then(<[u32]>::first) {
            // As the kernel does: what there is of the set counts, and an empty rest is refused.
            Some(cpu) if places.is_empty() => {
                Err(SimError::NoCpu { cpu: *cpu, what: format!("task {task}") })
            }
            _ => Ok(places),
        }
    }

    fn event(&self, event: &Event, steps: &mut Vec<Step>) {
        let n = |id: &ResourceId| self.numbers.of(*id);
        let fixed = |ns| Step::Work(Distribution::Constant(ns), 1024);
        steps.push(match event {
            Event::Run { work } => Step::Work(work.clone(), self.speed),
            Event::Runtime { ns } => Step::Run(*ns),
            Event::Sleep { time, timer } => Step::Sleep(time.clone(), *timer),
            Event::Timer { timer, period_ns, mode } => {
                Step::Period { timer: self.numbers.timer(*timer), period_ns: *period_ns, mode: *mode }
            }
            Event::Mem { bytes } => fixed(bytes.saturating_mul(1000) / self.costs.mem_bytes_per_us.max(1)),
            Event::IoRun { bytes } => {
                fixed(self.costs.syscall_ns + bytes.saturating_mul(1000) / self.costs.mem_bytes_per_us.max(1))
            }
            Event::Suspend { queue, .. } => Step::Suspend(n(queue)),
            Event::Resume { queue, .. } => Step::Resume(n(queue)),
            Event::Lock { mutex } => Step::Lock(n(mutex)),
            Event::Unlock { mutex } => Step::Unlock(n(mutex)),
            Event::Wait { queue, mutex } => Step::Wait { queue: n(queue), mutex: n(mutex) },
            Event::Signal { queue } => Step::Signal(n(queue)),
            Event::Broadcast { queue } => Step::Broadcast(n(queue)),
            Event::Sync { queue, mutex } => Step::Sync { queue: n(queue), mutex: n(mutex) },
            Event::Barrier { barrier } => Step::Barrier(n(barrier)),
            Event::Yield => Step::Yield,
            Event::Fork { task } => Step::Fork(task.0),
            Event::Read { device, .. } | Event::Write { device, .. } => Step::Io(device.0),
            Event::FrameBegin { frame } => Step::FrameBegin(frame.0),
            Event::FrameEnd { frame } => Step::FrameEnd(frame.0),
            Event::Take { source } => Step::Take(source.0),
            Event::Done { source } => Step::Done(source.0),
            Event::LatencyLimit { limit_ns } => Step::Limit(*limit_ns),
            Event::CallRcu => Step::CallRcu,
        });
    }
}

fn class(policy: Policy) -> Class {
    let nice = |n: i32| n.clamp(-20, 19) as i8;
    let rank = |p: u32| p.clamp(1, 99) as u8;
    match policy {
        Policy::Other { nice: n, slice_ns } => Class::Fair { nice: nice(n), slice_ns },
        Policy::Batch { nice: n } => Class::Fair { nice: nice(n), slice_ns: None },
        Policy::Idle => Class::Idle,
        Policy::Fifo { priority } => Class::Fifo(rank(priority)),
        Policy::RoundRobin { priority } => Class::RoundRobin(rank(priority)),
        Policy::Deadline { runtime_ns, deadline_ns, period_ns } => {
            Class::Deadline { runtime_ns, period_ns, deadline_ns }
        }
    }
}
