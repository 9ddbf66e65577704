// SPDX-License-Identifier: GPL-2.0-only
//! The machine at work: events in order of time, interrupts, context switches.
//!
//! A CPU does one thing at a time ([`Mode`]). What takes a known time is a segment, whose end is an event; an interrupt
//! that comes while a task works or the idle task polls begins a new one, and one that comes while the kernel is busy
//! waits. Everything has its effect at the end of the segment that stands for it.

use std::collections::VecDeque;

use idlewise_governor::Instance;
use idlewise_idle::{Hosted, IdleCpu};
use idlewise_model::{Counted, TickGrid, WakeCause};
use idlewise_signal::pelt;
use idlewise_workload::{Random, Workload};

use crate::run::{Outcome, Setting};
use crate::state::Sim;
use crate::state::cpu::{Cpu, Mode, Then};
use crate::state::load::Load;
use crate::state::placer::Placer;
use crate::state::task::{Left, State, Task, TaskSeen, Tasks};
use crate::state::turns::Turns;
use idlewise_parts::ceilings::Ceilings;
use idlewise_parts::clock::Clock;
use idlewise_parts::device::{Devices, Sources};
use idlewise_parts::energy::Meter;
use idlewise_parts::program::Program;
use idlewise_parts::queue::{Irq, Queue, QueuedEvent};
use idlewise_parts::rcu::Rcu;
use idlewise_parts::timers::{NEVER_NS, Waiter};
use idlewise_parts::watch::{HrtimerOf, IrqKind, SimEvent, Watch};
use idlewise_parts::{Machine, SimError, UPTIME_NS};

/// The lockup detector looks so often, ns (two fifths of `kernel.watchdog_thresh`, 10 s). It is there where a state is refused that a
/// CPU without timers is given: such a CPU asks for it all the time, and a kernel's have this timer at least.
const WATCHDOG_NS: u64 = 4_000_000_000;

/// Runs `workload` on `machine` with `governor` for the time of `setting`.
///
/// # Errors
/// [`SimError`] where the workload asks for what the machine does not have, or a governor refuses.
pub fn simulate<W: Watch>(
    machine: &Machine<'_>,
    workload: &Workload,
    setting: &Setting,
    governor: &mut Instance,
    watch: &mut W,
) -> Result<Outcome, SimError> {
    let program = Program::new(workload, machine)?;
    let mut sim = Sim::new(machine, workload, &program, setting, governor, watch)?;
    sim.run(setting.duration_ns);
    match sim.failure.take() {
        Some(why) => Err(why),
        None => Ok(sim.finish()),
    }
}

impl<'a, W: Watch> Sim<'a, W> {
    fn new(
        machine: &'a Machine<'a>,
        workload: &'a Workload,
        program: &'a Program,
        setting: &Setting,
        governor: &'a mut Instance,
        watch: &'a mut W,
    ) -> Result<Self, SimError> {
        let mut cpus = Vec::new();
        for spec in &machine.cpus {
            let slot = governor.add_cpu(spec.number, spec.table, spec.capacity)?;
            let idle = IdleCpu::new(spec.number, spec.table, machine.grid).with_clock_at(UPTIME_NS);
            cpus.push(Cpu::new(idle, slot, spec.capacity, machine.grid.after(0)));
        }
        let mut sim = Self {
            now_ns: 0,
            machine,
            workload,
            program,
            governor,
            watch,
            queue: Queue::default(),
            load: Load::new(setting.pelt, setting.signal, program.clamped, machine)?,
            placer: Placer::new(machine, setting)?,
            clocks: Clock::all(machine, &setting.frequency)?,
            meter: Meter::new(machine),
            ceilings: Ceilings::new(machine),
            turns: machine.one_thread.then(Turns::new),
            devices: Devices::new(workload, setting.seed),
            sources: Sources::new(workload, setting.seed),
            requests: 0,
            waiters: vec![Vec::new(); program.queues],
            mutexes: vec![(None, Vec::new()); program.mutexes],
            barriers: vec![Vec::new(); program.barriers.len()],
            rcu: Rcu::new(machine.cpus.len(), machine.grid),
            rcu_thread: None,
            frames: vec![VecDeque::new(); workload.frames.len()],
            frames_open: 0,
            timers: vec![None; program.timers],
            chance: Random::stream(setting.seed, u64::MAX),
            limit_ns: machine.limits.latency_ns,
            seed: setting.seed,
            alive: 0,
            begun: 0,
            failure: None,
            out: Outcome {
                tasks: vec![TaskSeen::default(); program.tasks.len()],
                frames: vec![Counted::default(); workload.frames.len()],
                ..Outcome::default()
            },
            cpus,
            tasks: Tasks::default(),
        };
        for c in 0..sim.cpus.len() {
            let cpu = &mut sim.cpus[c];
            let table = machine.cpus[c].table;
            let off = table.disabled_by_default() | machine.limits.disabled;
            cpu.idle.set_disabled(&mut Hosted::new(sim.governor, cpu.slot), off);
            if table.refused() != 0 {
                sim.set_watchdog(c);
            }
            sim.segment(c, 0, Then::Switched);
        }
        sim.start_clocks();
        if let Some(ceilings) = &sim.ceilings {
            sim.queue.push(ceilings.next_ns(), QueuedEvent::PowerSample);
        }
        sim.load.tell(|w| w.start(0));
        let mut begin_ns = 0;
        for (number, spec) in (0..).zip(&program.tasks) {
            for _ in 0..spec.instances {
                let task = sim.make(number);
                begin_ns += sim.chance.draw() % (setting.stagger_ns + 1);
                sim.queue.push(begin_ns + spec.delay_ns, QueuedEvent::Start { task });
            }
        }
        sim.begun = sim.alive;
        if program.rcu {
            // It has been there, asleep, since the kernel began; no run waits for its end.
            let number = program.tasks.len() as u32 - 1;
            let task = sim.make(number);
            sim.tasks[task].state = State::Asleep;
            sim.watch.seen(0, sim.tasks[task].cpu, SimEvent::Made { task, program: number });
            (sim.rcu_thread, sim.alive) = (Some(task), sim.begun);
        }
        sim.begin_arrivals();
        sim.queue.push(setting.duration_ns, QueuedEvent::End);
        Ok(sim)
    }

    fn run(&mut self, duration_ns: u64) {
        while let Some((at_ns, what)) = self.queue.pop().filter(|_| self.failure.is_none()) {
            self.now_ns = at_ns;
            self.out.events += 1;
            match what {
                QueuedEvent::Segment { cpu, turn } => {
                    let c = cpu as usize;
                    if self.cpus[c].turn == turn {
                        self.segment_over(c);
                    } else {
                        self.out.events -= 1;
                    }
                }
                QueuedEvent::Timer { cpu, turn } => {
                    let c = cpu as usize;
                    if self.cpus[c].timer_turn == turn {
                        self.timer_in_turns();
                        self.cpus[c].timer_at_ns = NEVER_NS;
                        self.interrupt(c, Irq::Timer);
                    } else {
                        self.out.events -= 1;
                    }
                }
                QueuedEvent::Interrupt { cpu, irq } => self.interrupt(cpu as usize, irq),
                QueuedEvent::Start { task } => self.start(task),
                QueuedEvent::Arrival { source, left } => self.arrival(source, left),
                QueuedEvent::ClockSet { clock, turn } => self.clock_is_set(clock as usize, turn),
                QueuedEvent::ClockTimer { clock, turn } => self.clock_timer(clock as usize, turn),
                QueuedEvent::PowerSample => self.power_sample(),
                QueuedEvent::Turn { turn } => self.next_turn(turn),
                QueuedEvent::End => break,
            }
            if self.alive == 0 && self.out.finished_ns.is_some() {
                break;
            }
        }
        self.out.end_ns = self.now_ns.min(duration_ns);
    }

    fn finish(mut self) -> Outcome {
        for c in 0..self.cpus.len() {
            self.charge(c);
        }
        self.meter.finish(self.machine, self.out.end_ns);
        if let Some(ceilings) = &mut self.ceilings {
            ceilings.sample(self.machine, self.out.end_ns, &mut self.meter, &self.clocks);
            self.out.power = Some(ceilings.record().clone());
        }
        self.out.energy = self.meter.total;
        for task in &mut self.tasks.0 {
            let seen = &mut self.out.tasks[task.program as usize];
            seen.wakeups += task.seen.wakeups;
            seen.runs += task.seen.runs;
            seen.run_ns += task.seen.run_ns;
            seen.migrations += task.seen.migrations;
            seen.wakeup_latency_ns.append(&task.seen.wakeup_latency_ns);
            seen.response_ns.append(&task.seen.response_ns);
        }
        self.out.busy_ns = self.cpus.iter().map(|c| c.busy_ns).collect();
        self.out.devices = self.devices.latencies();
        self.out.requests = self.sources.latencies();
        self.out
    }

    /// A task with the program of that number; it is not awake.
    pub(crate) fn make(&mut self, program: u32) -> u32 {
        let spec = &self.program.tasks[program as usize];
        let number = self.tasks.0.len() as u32;
        let entity = Task::entity_of(spec.class);
        let cpu = spec.cpus.first().copied().unwrap_or(0);
        let walt = self.load.number(cpu);
        self.tasks.0.push(Task {
            program,
            state: State::Unborn,
            class: spec.class,
            clamps: spec.clamps,
            entity,
            pelt: pelt::Task::new(entity.weight as u32),
            walt,
            cpu,
            recent: cpu,
            is_new: true,
            cpus: spec.cpus.clone(),
            step: 0,
            left: Left::Nothing,
            counters: vec![0; spec.counters],
            begun_ns: 0,
            timers: vec![None; spec.timers],
            turn: 0,
            random: Random::stream(self.seed, u64::from(number)),
            woken_at_ns: None,
            called_at_ns: 0,
            wants: None,
            in_io: false,
            limit_ns: None,
            requests: Vec::new(),
            push_to: None,
            budget_ns: 0,
            deadline_at_ns: 0,
            seen: TaskSeen::default(),
        });
        self.alive += 1;
        number
    }

    fn start(&mut self, task: u32) {
        let cpu = self.tasks[task].cpu;
        let program = self.tasks[task].program;
        self.watch.seen(self.now_ns, cpu, SimEvent::Made { task, program });
        self.tasks[task].state = State::Asleep;
        self.tasks[task].begun_ns = self.now_ns;
        self.wake(task, None, self.now_ns);
    }

    /// The CPU is in the kernel for `ns` of its work.
    #[inline]
    pub(crate) fn segment(&mut self, c: usize, ns: u64, then: Then) {
        let takes = self.cpus[c].takes(ns);
        self.until(c, self.now_ns + takes, Mode::Kernel(then));
    }

    /// The CPU is in `mode` until then, if nothing comes between.
    #[inline]
    pub(crate) fn until(&mut self, c: usize, end_ns: u64, mode: Mode) {
        let cpu = &mut self.cpus[c];
        cpu.mode = mode;
        cpu.turn = cpu.turn.wrapping_add(1);
        if self.turns.is_some() {
            self.until_in_turns(c, end_ns);
        } else if end_ns < NEVER_NS {
            self.queue.push(end_ns, QueuedEvent::Segment { cpu: c as u32, turn: cpu.turn });
        }
    }

    fn segment_over(&mut self, c: usize) {
        match self.cpus[c].mode {
            Mode::Task { .. } => {
                self.pause(c);
                self.go_on(c);
            }
            Mode::Kernel(Then::Irqs) => self.handlers_done(c),
            Mode::Kernel(Then::IrqsLeft) => self.irqs_left(c),
            Mode::Kernel(_) if !self.cpus[c].pending.is_empty() && self.may_be_late(c) => self.handle_irqs(c),
            Mode::Kernel(Then::Step) => {
                self.step(c);
            }
            Mode::Kernel(Then::Switched) => self.switched(c),
            Mode::Kernel(Then::Ask) => self.ask(c),
            Mode::Kernel(Then::Enter) => self.enter(c),
            Mode::Kernel(Then::Refused) => self.refused(c),
            Mode::Kernel(Then::Leave) => self.left_idle(c),
            Mode::Exit => self.left_state(c),
            Mode::Poll => self.polled(c),
            Mode::Sleep => {}
        }
    }

    /// Interrupts that came during the segment go first, where what follows it can be found again after them.
    fn may_be_late(&self, c: usize) -> bool {
        self.cpus[c].mode == Mode::Kernel(Then::Ask)
    }

    /// An interrupt reaches the CPU.
    pub(crate) fn interrupt(&mut self, c: usize, irq: Irq) {
        self.cpus[c].pending.push(irq);
        match self.cpus[c].mode {
            Mode::Sleep => self.wake_event(c),
            // It will see them when it is its turn.
            _ if !self.has_thread(c) => {}
            Mode::Task { .. } => {
                self.pause(c);
                self.handle_irqs(c);
            }
            Mode::Poll => self.handle_irqs(c),
            Mode::Kernel(_) | Mode::Exit => {}
        }
    }

    /// Its handlers begin with those at hand.
    pub(crate) fn handle_irqs(&mut self, c: usize) {
        let costs = self.machine.costs;
        let grid_ns = self.now_ns;
        let cpu = &mut self.cpus[c];
        std::mem::swap(&mut cpu.pending, &mut cpu.handling);
        let mut ns = 0;
        for irq in &cpu.handling {
            ns += costs.irq_ns;
            ns += match irq {
                Irq::Timer => {
                    let ticks = !cpu.idle.tick_stopped() && cpu.tick_at_ns <= grid_ns;
                    let tick = if ticks { costs.tick_ns } else { 0 };
                    tick + u64::from(cpu.timers.due(grid_ns)) * costs.wake_ns
                }
                Irq::Ipi => costs.ipi_wake_ns,
                Irq::Device { .. } | Irq::Request { .. } => costs.wake_ns,
            };
        }
        if let Some(first) = self.cpus[c].handling.first() {
            self.watch.seen(self.now_ns, c as u32, SimEvent::Irq { kind: kind(*first) });
        }
        self.segment(c, ns.saturating_sub(costs.irq_exit_ns), Then::Irqs);
    }

    fn handlers_done(&mut self, c: usize) {
        let mut handling = std::mem::take(&mut self.cpus[c].handling);
        for (i, irq) in handling.drain(..).enumerate() {
            let kind = kind(irq);
            if i > 0 {
                self.watch.seen(self.now_ns, c as u32, SimEvent::Irq { kind });
            }
            match irq {
                Irq::Timer => self.timer_fired(c),
                Irq::Ipi => {
                    self.cpus[c].ipi_sent = false;
                    self.kicked(c);
                }
                Irq::Device { device, task } => self.device_done(c, device, task),
                Irq::Request { source } => self.request_came(c, source),
            }
            self.watch.seen(self.now_ns, c as u32, SimEvent::IrqDone { kind });
        }
        // Its memory is used again.
        self.cpus[c].handling = handling;
        match self.machine.costs.irq_exit_ns {
            0 => self.irqs_left(c),
            ns => self.segment(c, ns, Then::IrqsLeft),
        }
    }

    fn irqs_left(&mut self, c: usize) {
        if self.cpus[c].pending.is_empty() {
            self.set_timer(c);
            self.after_interrupt(c);
        } else {
            self.handle_irqs(c);
        }
    }

    /// What the interrupts came between goes on, or something better to do.
    fn after_interrupt(&mut self, c: usize) {
        if self.cpus[c].curr.is_none() {
            self.idle_after_interrupt(c);
        } else if self.cpus[c].need_resched {
            self.schedule(c);
        } else {
            self.go_on(c);
        }
    }

    /// The handler of the CPU's timer: what has expired, and the tick if it is due.
    fn timer_fired(&mut self, c: usize) {
        let now_ns = self.now_ns;
        let mut wakes = false;
        while let Some(waiter) = self.cpus[c].timers.expired(now_ns) {
            wakes = true;
            self.expired(c, waiter, false);
        }
        if let Some(stay) = &mut self.cpus[c].stay
            && wakes
        {
            stay.cause = Some(WakeCause::Hrtimer);
        }
        let stopped = self.cpus[c].idle.tick_stopped();
        if stopped {
            if self.cpus[c].timers.wheel_at_ns() <= now_ns {
                self.watch.seen(now_ns, c as u32, SimEvent::TimerExpired { timer: HrtimerOf::Tick });
                self.watch.seen(now_ns, c as u32, SimEvent::TimerDone { timer: HrtimerOf::Tick });
                self.run_wheel(c);
            }
        } else if self.cpus[c].tick_at_ns <= now_ns {
            self.watch.seen(now_ns, c as u32, SimEvent::TimerExpired { timer: HrtimerOf::Tick });
            self.cpus[c].tick_at_ns = self.machine.grid.after(now_ns);
            self.tick(c);
            self.watch.seen(now_ns, c as u32, SimEvent::TimerDone { timer: HrtimerOf::Tick });
            self.tick_is_set(c);
            self.run_wheel(c);
            self.tick_of_rcu(c);
        }
    }

    /// The tick's timer was set to its next time.
    pub(crate) fn tick_is_set(&mut self, c: usize) {
        let at_ns = self.cpus[c].tick_at_ns;
        self.watch.seen(
            self.now_ns,
            c as u32,
            SimEvent::TimerSet { timer: HrtimerOf::Tick, soft_ns: at_ns, hard_ns: at_ns },
        );
    }

    /// The tick's handler looks at the wheel.
    fn run_wheel(&mut self, c: usize) {
        let mut ran = false;
        let mut of_rcu = self.rcu.timer_expires(self.now_ns).then_some(Waiter::Rcu);
        while let Some(waiter) = of_rcu.take().or_else(|| self.cpus[c].timers.expired_of_wheel(self.now_ns)) {
            if !ran {
                self.watch.seen(self.now_ns, c as u32, SimEvent::WheelRuns);
            }
            ran = true;
            self.expired(c, waiter, true);
        }
        if ran {
            self.watch.seen(self.now_ns, c as u32, SimEvent::WheelRan);
        }
        if let Some(stay) = &mut self.cpus[c].stay {
            stay.tick_ran = true;
            if ran && stay.cause.is_none_or(|cause| cause == WakeCause::Tick) {
                stay.cause = Some(WakeCause::Wheel);
            }
        }
    }

    fn expired(&mut self, c: usize, waiter: Waiter, of_wheel: bool) {
        match waiter {
            Waiter::Task { task, turn } => {
                if self.tasks[task].turn == turn && self.tasks[task].state == State::Asleep {
                    let [expired, done] = of_timer(of_wheel, task, HrtimerOf::Task(task));
                    self.watch.seen(self.now_ns, c as u32, expired);
                    self.wake(task, Some(c), self.called_at_ns(c));
                    self.watch.seen(self.now_ns, c as u32, done);
                }
            }
            Waiter::Budget { task, turn } => self.budget_back(c, task, turn),
            Waiter::Device { device, task } => {
                let [expired, done] = of_timer(of_wheel, task, HrtimerOf::Device(task));
                let is_seen = self.program.device_cpus[device as usize].is_none();
                if is_seen {
                    self.watch.seen(self.now_ns, c as u32, expired);
                }
                self.device_done(c, device, task);
                if is_seen {
                    self.watch.seen(self.now_ns, c as u32, done);
                }
            }
            Waiter::FairServer => self.fair_server_fired(c),
            Waiter::Watchdog => {
                self.watch.seen(self.now_ns, c as u32, SimEvent::TimerExpired { timer: HrtimerOf::Watchdog });
                self.watch.seen(self.now_ns, c as u32, SimEvent::TimerDone { timer: HrtimerOf::Watchdog });
                self.set_watchdog(c);
            }
            Waiter::Rcu => self.rcu_timer_expired(c),
        }
    }

    /// The CPU's lockup detector looks again when it is due next, which is not the same time on all CPUs.
    fn set_watchdog(&mut self, c: usize) {
        let phase_ns = (c as u64 + 1) * WATCHDOG_NS / self.cpus.len() as u64;
        let at_ns = TickGrid { period_ns: WATCHDOG_NS, phase_ns }.after(self.now_ns);
        self.cpus[c].timers.add(at_ns, 0, Waiter::Watchdog);
        let seen = SimEvent::TimerSet { timer: HrtimerOf::Watchdog, soft_ns: at_ns, hard_ns: at_ns };
        self.watch.seen(self.now_ns, c as u32, seen);
    }

    /// The timer is set to what is due next, the tick included.
    pub(crate) fn set_timer(&mut self, c: usize) {
        let cpu = &mut self.cpus[c];
        let tick_ns = if cpu.idle.tick_stopped() { cpu.timers.wheel_at_ns() } else { cpu.tick_at_ns };
        let at_ns = cpu.timers.high_at_ns().min(tick_ns);
        if at_ns != cpu.timer_at_ns {
            cpu.timer_at_ns = at_ns;
            cpu.timer_turn = cpu.timer_turn.wrapping_add(1);
            if at_ns < NEVER_NS {
                let turn = cpu.timer_turn;
                self.queue.push(at_ns.max(self.now_ns), QueuedEvent::Timer { cpu: c as u32, turn });
            }
            if self.turns.is_some() {
                self.timer_set_in_turns(c);
            }
        }
    }

    /// The scheduler's part of the tick.
    fn tick(&mut self, c: usize) {
        let now_ns = self.now_ns;
        self.charge(c);
        self.load.pass(&mut self.cpus[c], now_ns);
        self.load.tell(|w| w.tick(c as u32, now_ns));
        let Some(task) = self.cpus[c].curr else { return self.spread(c) };
        let t = &mut self.tasks[task];
        let rank = t.rank();
        let fair = t.is_fair().then_some(&mut t.pelt);
        if self.load.pelt.tick(&mut self.cpus[c].pelt, fair) && rank == 0 {
            self.ask_clock(c, false);
        }
        if rank > 0 {
            self.ask_clock_first(c, rank >= 1000);
        }
        self.tell_clock(c, idlewise_freq::Event::Tick);
        self.turn_over(c, task);
        self.spread(c);
    }
}

/// Expiry and end of a task's timer of the wheel, or of one of high resolution, as they are seen from outside.
fn of_timer(of_wheel: bool, task: u32, timer: HrtimerOf) -> [SimEvent; 2] {
    if of_wheel {
        [SimEvent::WheelExpired { task }, SimEvent::WheelDone { task }]
    } else {
        [SimEvent::TimerExpired { timer }, SimEvent::TimerDone { timer }]
    }
}

/// An interrupt as it is seen from outside.
fn kind(irq: Irq) -> IrqKind {
    match irq {
        Irq::Timer => IrqKind::Timer,
        Irq::Ipi => IrqKind::Ipi,
        Irq::Device { device, .. } => IrqKind::Device(device),
        Irq::Request { source } => IrqKind::Source(source),
    }
}
