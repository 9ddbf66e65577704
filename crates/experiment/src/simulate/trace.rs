// SPDX-License-Identifier: GPL-2.0-only
//! A simulated run as a kernel would have traced it.

use std::collections::BTreeSet;
use std::io::{self, Write};

use idlewise_model::{
    Entry, Event, EventKind, HrtimerMode, Ipi, Ledger, Miss, Outcome, TickGrid, TimerFlags, Vector,
};
use idlewise_parts::{HrtimerOf, IrqKind, Machine, SimEvent, UPTIME_NS, Watch};
use idlewise_trace::TraceMeta;
use idlewise_trace::write::{FtraceText, Names, PerfettoWriter};
use idlewise_workload::Workload;

use idlewise_explain::convert::Form;

const IDLE: i32 = 0;
/// Process ids of tasks begin here.
const FIRST_PID: i32 = 1000;
/// Interrupt numbers: the timer's, the first device's, the first source's.
const TIMER_IRQ: i32 = 11;
const IPI_IRQ: i32 = 16;
const FIRST_DEVICE: i32 = 100;
const FIRST_SOURCE: i32 = 500;
/// The softirqs of the wheel and of RCU.
const TIMER_SOFTIRQ: u32 = 1;
const SCHED_SOFTIRQ: u32 = 7;
const RCU_SOFTIRQ: u32 = 9;
/// Kernel functions by the addresses that stand for them here.
const TICK: u64 = 0xffff_8000_8010_0000;
const WAKE: u64 = 0xffff_8000_8010_1000;
const TIMEOUT: u64 = 0xffff_8000_8010_2000;
const SERVER: u64 = 0xffff_8000_8010_3000;
const ANSWER: u64 = 0xffff_8000_8010_4000;
const WATCHDOG: u64 = 0xffff_8000_8010_5000;
/// Timers, by CPU, by task, and of devices by the task that waits.
const TICK_TIMERS: u64 = 0xffff_0000_1000_0000;
const SERVER_TIMERS: u64 = 0xffff_0000_1800_0000;
const WATCHDOG_TIMERS: u64 = 0xffff_0000_1c00_0000;
const TASK_TIMERS: u64 = 0xffff_0000_2000_0000;
const DEVICE_TIMERS: u64 = 0xffff_0000_4000_0000;
/// Bytes from one to the next.
const TIMER_SIZE: u64 = 0x80;
/// `HRTIMER_MODE_ABS` with `PINNED` and `HARD`, as the tick has it; with `HARD`, as the fair server and the lockup detector;
/// `ABS` alone, as sleeping tasks do.
const TICK_MODE: HrtimerMode = HrtimerMode(0x0a);
const SERVER_MODE: HrtimerMode = HrtimerMode(0x08);
const TASK_MODE: HrtimerMode = HrtimerMode(0);
/// A wheel timer that stays on its CPU (`TIMER_PINNED`).
const PINNED: u32 = 0x10_0000;
const RCU_THREAD: &str = "rcu_preempt";
/// `TASK_INTERRUPTIBLE`, and `TASK_UNINTERRUPTIBLE`, in which tasks wait for I/O.
const SLEEPS: u64 = 1;
const WAITS: u64 = 2;

/// Writes what it sees.
pub(crate) struct Tracer<W: Write> {
    out: Out<W>,
    names: TaskNames,
    /// CPU numbers by place.
    cpus: Vec<u32>,
    /// What runs on each CPU, by place.
    running: Vec<i32>,
    /// Whether each is in an idle state, by place.
    idles: Vec<bool>,
    /// Tasks that were woken for each while it idled, and that it has not queued yet.
    on_their_way: Vec<Vec<i32>>,
    /// Tasks that wait for I/O.
    in_io: BTreeSet<i32>,
    /// Tasks that have not been queued yet.
    new: BTreeSet<i32>,
    grid: TickGrid,
    interrupts: Interrupts,
    /// On the machine's clock.
    now_ns: u64,
    failed: Option<io::Error>,
}

/// The events that a kind of processor has for its own interrupts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interrupts {
    /// Arm: the timer's is one of a driver, those between CPUs have events of their own.
    Ipi,
    /// POWER: those between CPUs are a driver's, too. The timer's has an event of its own there; here a driver's stands for it.
    Drivers,
    /// x86: all have vectors.
    Vectors,
}

impl Interrupts {
    /// By the names of idle states, as readers of recordings tell processors: C-states next to a polling one are x86's.
    fn of(machine: &Machine<'_>) -> Self {
        let states = machine.clusters.first().map_or(&[][..], |c| c.table.states());
        let c_state = states.get(1).is_some_and(|s| s.name.starts_with('C'));
        match states.first() {
            Some(s) if s.name == "snooze" => Self::Drivers,
            Some(s) if s.polling && c_state => Self::Vectors,
            _ => Self::Ipi,
        }
    }

    /// Entry and exit of an interrupt of `kind`, which has the number `irq` where it is a driver's.
    fn events(self, kind: IrqKind, irq: i32) -> [EventKind; 2] {
        let vector = |vector| [EventKind::VectorEntry { vector }, EventKind::VectorExit { vector }];
        match (self, kind) {
            (Self::Vectors, IrqKind::Timer) => vector(Vector::LocalTimer),
            (Self::Vectors, IrqKind::Ipi) => vector(Vector::Reschedule),
            (Self::Ipi, IrqKind::Ipi) => {
                let ipi = Ipi::Reschedule;
                [EventKind::IpiEntry { ipi }, EventKind::IpiExit { ipi }]
            }
            _ => [EventKind::IrqEntry { irq }, EventKind::IrqExit { irq }],
        }
    }
}

enum Out<W: Write> {
    Text(FtraceText<W>),
    Perfetto(Box<PerfettoWriter<W>>),
}

struct TaskNames {
    /// By task: the first 15 bytes of its program's name.
    comms: Vec<String>,
    programs: Vec<String>,
    devices: Vec<String>,
    sources: Vec<String>,
    timer: &'static str,
}

impl Names for TaskNames {
    fn comm(&self, pid: i32) -> Option<&str> {
        if pid == IDLE {
            return Some("swapper");
        }
        self.comms.get(usize::try_from(pid - FIRST_PID).ok()?).map(String::as_str)
    }

    fn symbol(&self, function: u64) -> Option<&str> {
        match function {
            TICK => Some("tick_nohz_handler"),
            WAKE => Some("hrtimer_wakeup"),
            TIMEOUT => Some("process_timeout"),
            SERVER => Some("dl_task_timer"),
            ANSWER => Some("null_cmd_timer_expired"),
            WATCHDOG => Some("watchdog_timer_fn"),
            _ => None,
        }
    }

    fn event_name(&self, _: u16) -> Option<&str> {
        None
    }

    fn irq_name(&self, irq: i32) -> Option<&str> {
        let at =
            |list: &'_ [String], first: i32| usize::try_from(irq - first).ok().filter(|i| *i < list.len());
        if irq == TIMER_IRQ {
            return Some(self.timer);
        }
        if irq == IPI_IRQ {
            return Some("IPI");
        }
        match (at(&self.sources, FIRST_SOURCE), at(&self.devices, FIRST_DEVICE)) {
            (Some(i), _) => self.sources.get(i).map(String::as_str),
            (None, Some(i)) => self.devices.get(i).map(String::as_str),
            (None, None) => None,
        }
    }
}

impl<W: Write> Tracer<W> {
    pub(crate) fn new(form: Form, out: W, machine: &Machine<'_>, workload: &Workload) -> io::Result<Self> {
        let mut meta = TraceMeta::default();
        "mono".clone_into(&mut meta.clock);
        meta.cpus = machine.cpus.iter().map(|c| c.number).collect();
        let out = match form {
            Form::Text => Out::Text(FtraceText::new(out, &meta)?),
            Form::Perfetto => Out::Perfetto(Box::new(PerfettoWriter::new(out, &meta)?)),
        };
        let short = |name: &String| name.chars().take(15).collect::<String>();
        let interrupts = Interrupts::of(machine);
        let mut tracer = Self {
            out,
            names: TaskNames {
                comms: Vec::new(),
                programs: workload.tasks.iter().map(|t| short(&t.name)).chain([RCU_THREAD.into()]).collect(),
                devices: workload.devices.iter().map(|d| d.name.clone()).collect(),
                sources: workload.sources.iter().map(|s| s.name.clone()).collect(),
                timer: if interrupts == Interrupts::Drivers { "timer" } else { "arch_timer" },
            },
            cpus: meta.cpus.clone(),
            running: vec![IDLE; meta.cpus.len()],
            idles: vec![false; meta.cpus.len()],
            on_their_way: vec![Vec::new(); meta.cpus.len()],
            in_io: BTreeSet::new(),
            new: BTreeSet::new(),
            grid: machine.grid,
            interrupts,
            now_ns: UPTIME_NS,
            failed: None,
        };
        tracer.show_wheel();
        Ok(tracer)
    }

    /// Arms and cancels a timer of the wheel before all else: a recording without any may as well lack the events, and readers would
    /// not know that the wheel is empty.
    fn show_wheel(&mut self) {
        let Some(cpu) = self.cpus.first().copied() else { return };
        let now = self.jiffies(0);
        let expires = now + 1;
        let timer = TASK_TIMERS - TIMER_SIZE;
        self.write(
            cpu,
            IDLE,
            EventKind::TimerStart {
                timer,
                function: TIMEOUT,
                expires,
                bucket_expiry: Some(expires),
                now,
                flags: TimerFlags(cpu),
            },
        );
        self.write(cpu, IDLE, EventKind::TimerCancel { timer });
    }

    /// Everything has been seen, up to `end_ns`. Then every CPU that idles is woken, as by `idlewise record`, which visits all at its
    /// end: an idle period without an end would be none.
    pub(crate) fn finish(mut self, end_ns: u64) -> io::Result<()> {
        let idles: Vec<bool> = self.idles.clone();
        for (place, _) in (0..).zip(idles).filter(|(_, idles)| *idles) {
            for what in [
                SimEvent::IdleLeft,
                SimEvent::Irq { kind: IrqKind::Ipi },
                SimEvent::IrqDone { kind: IrqKind::Ipi },
            ] {
                self.seen(end_ns, place, what);
            }
        }
        match (self.failed, self.out) {
            (Some(e), _) => Err(e),
            (None, Out::Text(out)) => out.finish().map(|_| ()),
            (None, Out::Perfetto(out)) => out.finish().map(|_| ()),
        }
    }

    fn write(&mut self, cpu: u32, pid: i32, kind: EventKind) {
        if self.failed.is_some() {
            return;
        }
        let event = Event { ts_ns: self.now_ns, cpu, pid, kind };
        let written = match &mut self.out {
            Out::Text(out) => out.event(&event, &self.names),
            Out::Perfetto(out) => out.event(&event, &self.names),
        };
        self.failed = written.err();
    }

    /// Tasks that were woken for a CPU while it idled are queued there.
    fn arrive(&mut self, place: u32) {
        let target_cpu = self.number(place);
        let Some(tasks) = self.on_their_way.get_mut(place as usize) else { return };
        for pid in std::mem::take(tasks) {
            self.write(target_cpu, IDLE, EventKind::SchedWakeup { pid, target_cpu, new: false });
        }
    }

    fn idle(&mut self, place: u32, idles: bool) {
        if let Some(of_cpu) = self.idles.get_mut(place as usize) {
            *of_cpu = idles;
        }
    }

    fn number(&self, place: u32) -> u32 {
        self.cpus.get(place as usize).copied().unwrap_or(place)
    }

    /// A time as jiffies, as kernels of 64 bits count them: they are 2^32 after the uptime that simulations begin with.
    fn jiffies(&self, at_ns: u64) -> u64 {
        (1 << 32) - 1 + (at_ns + self.grid.period_ns).saturating_sub(self.grid.phase_ns) / self.grid.period_ns
    }
}

fn pid(task: Option<u32>) -> i32 {
    task.map_or(IDLE, |t| FIRST_PID.saturating_add_unsigned(t))
}

/// Priority of nice 0 in trace events; what a task's own is does not matter to those who read them here.
const PRIO: i32 = 120;

impl<W: Write> Ledger for Tracer<W> {
    fn entry(&mut self, e: &Entry) {
        if let Outcome::Stayed { entered, miss } = e.outcome
            && miss != Miss::None
        {
            let kind =
                EventKind::CpuIdleMiss { cpu: e.cpu, state: entered.into(), below: miss == Miss::Below };
            self.write(e.cpu, IDLE, kind);
        }
    }
}

impl<W: Write> Watch for Tracer<W> {
    fn seen(&mut self, at_ns: u64, place: u32, what: SimEvent) {
        self.now_ns = at_ns + UPTIME_NS;
        let cpu = self.number(place);
        let runs = self.running.get(place as usize).copied().unwrap_or(IDLE);
        let task_timer = |task: u32| TASK_TIMERS + u64::from(task) * TIMER_SIZE;
        let tick_timer = TICK_TIMERS + u64::from(place) * TIMER_SIZE;
        let timer = |timer: HrtimerOf| match timer {
            HrtimerOf::Tick => (tick_timer, TICK, TICK_MODE),
            HrtimerOf::Task(task) => (task_timer(task), WAKE, TASK_MODE),
            HrtimerOf::Device(task) => (DEVICE_TIMERS + u64::from(task) * TIMER_SIZE, ANSWER, TASK_MODE),
            HrtimerOf::FairServer => (SERVER_TIMERS + u64::from(place) * TIMER_SIZE, SERVER, SERVER_MODE),
            HrtimerOf::Watchdog => (WATCHDOG_TIMERS + u64::from(place) * TIMER_SIZE, WATCHDOG, SERVER_MODE),
        };
        let irq_of = |kind: IrqKind| match kind {
            IrqKind::Timer => TIMER_IRQ,
            IrqKind::Ipi => IPI_IRQ,
            IrqKind::Device(n) => FIRST_DEVICE.saturating_add_unsigned(n),
            IrqKind::Source(n) => FIRST_SOURCE.saturating_add_unsigned(n),
        };
        match what {
            SimEvent::Made { task, program } => {
                let name = self.names.programs[program as usize].clone();
                let at = task as usize;
                if self.names.comms.len() <= at {
                    self.names.comms.resize(at + 1, String::new());
                }
                self.names.comms[at] = name;
                self.new.insert(pid(Some(task)));
            }
            SimEvent::Waking { task, target } => {
                let (pid, target_cpu) = (pid(Some(task)), self.number(target));
                let new = self.new.remove(&pid);
                if !new {
                    self.write(cpu, runs, EventKind::SchedWaking { pid, target_cpu });
                }
                if self.in_io.remove(&pid) {
                    self.write(cpu, runs, EventKind::SchedBlockedReason { pid, io_wait: true });
                }
                // Since 6.0 a CPU that idles takes the task into its queue itself, when the interrupt has come.
                let idle = self.running.get(target as usize) == Some(&IDLE);
                match self.on_their_way.get_mut(target as usize) {
                    Some(tasks) if idle && !new && target_cpu != cpu => tasks.push(pid),
                    _ => self.write(cpu, runs, EventKind::SchedWakeup { pid, target_cpu, new }),
                }
            }
            SimEvent::Migrated { task, from, to } => {
                if self.on_their_way.get(from as usize).is_some_and(|tasks| tasks.contains(&pid(Some(task))))
                {
                    self.arrive(from);
                }
                let (orig_cpu, dest_cpu) = (self.number(from), self.number(to));
                let kind = EventKind::SchedMigrateTask { pid: pid(Some(task)), orig_cpu, dest_cpu };
                self.write(cpu, runs, kind);
            }
            SimEvent::Switch { prev, prev_sleeps, prev_in_io, next } => {
                self.arrive(place);
                let (prev_pid, next_pid) = (pid(prev), pid(next));
                let kind = EventKind::SchedSwitch {
                    prev_pid,
                    prev_prio: PRIO,
                    prev_state: match (prev_sleeps, prev_in_io) {
                        (false, _) => 0,
                        (true, false) => SLEEPS,
                        (true, true) => WAITS,
                    },
                    next_pid,
                    next_prio: PRIO,
                };
                self.write(cpu, prev_pid, kind);
                if prev_in_io {
                    self.in_io.insert(prev_pid);
                }
                if let Some(runs) = self.running.get_mut(place as usize) {
                    *runs = next_pid;
                }
            }
            SimEvent::IdleEntered { state } => {
                self.idle(place, true);
                self.write(cpu, IDLE, EventKind::CpuIdle { cpu, state: Some(state.into()) });
            }
            SimEvent::IdleLeft => {
                self.idle(place, false);
                self.write(cpu, IDLE, EventKind::CpuIdle { cpu, state: None });
            }
            SimEvent::TickStopped { wheel_at_ns } => {
                self.write(cpu, IDLE, EventKind::TickStop { success: true, dependency: 0 });
                self.write(cpu, IDLE, EventKind::HrtimerCancel { hrtimer: tick_timer });
                if let Some(at_ns) = wheel_at_ns {
                    self.write(cpu, IDLE, started(tick_timer, TICK, at_ns, at_ns, TICK_MODE));
                }
            }
            SimEvent::TimerSet { timer: of, soft_ns, hard_ns } => {
                let (hrtimer, function, mode) = timer(of);
                self.write(cpu, runs, started(hrtimer, function, soft_ns, hard_ns, mode));
            }
            SimEvent::TimerCancelled { timer: of } => {
                self.write(cpu, runs, EventKind::HrtimerCancel { hrtimer: timer(of).0 });
            }
            SimEvent::TimerExpired { timer: of } => {
                let (hrtimer, function, _) = timer(of);
                let now = on_clock(at_ns);
                self.write(cpu, runs, EventKind::HrtimerExpireEntry { hrtimer, function, now });
            }
            SimEvent::TimerDone { timer: of } => {
                self.write(cpu, runs, EventKind::HrtimerExpireExit { hrtimer: timer(of).0 });
            }
            SimEvent::WheelSet { task, at_ns: due_ns } => {
                // Timers of tasks run on their CPU here; that of RCU's thread, where a tick is.
                let is_rcu = self.names.comms.get(task as usize).is_some_and(|comm| comm == RCU_THREAD);
                let kind = EventKind::TimerStart {
                    timer: task_timer(task),
                    function: TIMEOUT,
                    expires: self.jiffies(due_ns),
                    bucket_expiry: Some(self.jiffies(due_ns)),
                    now: self.jiffies(at_ns),
                    flags: TimerFlags(if is_rcu { cpu } else { cpu | PINNED }),
                };
                self.write(cpu, runs, kind);
            }
            SimEvent::WheelCancelled { task } => {
                self.write(cpu, runs, EventKind::TimerCancel { timer: task_timer(task) });
            }
            SimEvent::WheelRuns => {
                self.write(cpu, runs, EventKind::SoftirqRaise { vec: TIMER_SOFTIRQ });
                self.write(cpu, runs, EventKind::SoftirqEntry { vec: TIMER_SOFTIRQ });
            }
            SimEvent::WheelExpired { task } => {
                let now = self.jiffies(at_ns);
                let kind = EventKind::TimerExpireEntry { timer: task_timer(task), function: TIMEOUT, now };
                self.write(cpu, runs, kind);
            }
            SimEvent::WheelDone { task } => {
                self.write(cpu, runs, EventKind::TimerExpireExit { timer: task_timer(task) });
            }
            SimEvent::WheelRan => self.write(cpu, runs, EventKind::SoftirqExit { vec: TIMER_SOFTIRQ }),
            SimEvent::RcuRuns | SimEvent::Balances => {
                let vec = if what == SimEvent::RcuRuns { RCU_SOFTIRQ } else { SCHED_SOFTIRQ };
                for kind in [
                    EventKind::SoftirqRaise { vec },
                    EventKind::SoftirqEntry { vec },
                    EventKind::SoftirqExit { vec },
                ] {
                    self.write(cpu, runs, kind);
                }
            }
            SimEvent::Irq { kind } => {
                let [entry, _] = self.interrupts.events(kind, irq_of(kind));
                self.write(cpu, runs, entry);
            }
            SimEvent::IrqDone { kind } => {
                if kind == IrqKind::Ipi {
                    self.arrive(place);
                }
                let [_, exit] = self.interrupts.events(kind, irq_of(kind));
                self.write(cpu, runs, exit);
            }
            // A machine without clocks has none.
            SimEvent::Clock { khz: 0 } => {}
            SimEvent::Clock { khz } => self.write(cpu, runs, EventKind::CpuFrequency { cpu, khz }),
        }
    }
}

/// A time of the run on the machine's clock, ns.
fn on_clock(at_ns: u64) -> i64 {
    i64::try_from(at_ns.saturating_add(UPTIME_NS)).unwrap_or(i64::MAX)
}

fn started(hrtimer: u64, function: u64, soft_ns: u64, hard_ns: u64, mode: HrtimerMode) -> EventKind {
    let (expires, softexpires) = (on_clock(hard_ns), on_clock(soft_ns));
    EventKind::HrtimerStart { hrtimer, function, expires, softexpires, mode, was_armed: None }
}
