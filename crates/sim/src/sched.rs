// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler: waking, queueing, choosing, switching.

use idlewise_freq::Event;
use idlewise_signal::pelt::{Leave, Next};

use crate::state::Sim;
use crate::state::cpu::{Mode, Then};
use crate::state::task::{Left, State};
use idlewise_parts::program::Class;
use idlewise_parts::queue::{Irq, QueuedEvent};
use idlewise_parts::timers::Waiter;
use idlewise_parts::watch::{SimEvent, Watch};

/// How long one of equal real-time tasks runs before another's turn, ns (`sched_rr_timeslice_ms`).
const TURN_NS: u64 = 100_000_000;

impl<W: Watch> Sim<'_, W> {
    /// Charges the task that a CPU runs for its time so far.
    pub(crate) fn charge(&mut self, c: usize) {
        let cpu = &mut self.cpus[c];
        let ns = self.now_ns - cpu.charged_ns;
        cpu.charged_ns = self.now_ns;
        let Some(task) = cpu.curr else { return self.fair_server_pays(c, ns, true) };
        cpu.busy_ns += ns;
        let t = &mut self.tasks[task];
        t.seen.run_ns += ns;
        match t.class {
            Class::Fair { .. } | Class::Idle => {
                if cpu.fair.ran(self.machine.fair, &mut self.tasks, task, ns) {
                    cpu.need_resched = true;
                }
                self.fair_server_pays(c, ns, false);
            }
            Class::Fifo(_) => {}
            Class::RoundRobin(_) | Class::Deadline { .. } => t.budget_ns = t.budget_ns.saturating_sub(ns),
        }
    }

    /// At the tick: the turn of one of equal real-time tasks may be over.
    pub(crate) fn turn_over(&mut self, c: usize, task: u32) {
        let t = &mut self.tasks[task];
        if matches!(t.class, Class::RoundRobin(_)) && t.budget_ns == 0 {
            t.budget_ns = TURN_NS;
            let rank = t.rank();
            if self.cpus[c].first.iter().any(|w| self.tasks[*w].rank() == rank) {
                self.cpus[c].need_resched = true;
            }
        }
    }

    /// Wakes `task` up; `by` is the CPU that does. What it waited for came about at `called_ns`.
    pub(crate) fn wake(&mut self, task: u32, by: Option<usize>, called_ns: u64) {
        // Twice in a queue, it would count twice in its sums.
        let state = self.tasks[task].state;
        assert!(matches!(state, State::Asleep | State::Unborn), "task {task} is woken up and is {state:?}");
        let target = self.place(task, by);
        let now_ns = self.now_ns;
        let t = &mut self.tasks[task];
        t.turn = t.turn.wrapping_add(1);
        t.seen.wakeups += 1;
        t.woken_at_ns = Some(now_ns);
        t.called_at_ns = called_ns;
        let from = t.cpu;
        let iowait = t.in_io;
        if t.in_io {
            t.in_io = false;
            let cpu = &mut self.cpus[from as usize];
            cpu.iowait = cpu.iowait.saturating_sub(1);
        }
        self.watch.seen(now_ns, by.map_or(target, |b| b as u32), SimEvent::Waking { task, target });
        if target != from {
            if !t.is_new && t.is_fair() {
                self.load.pelt.remove(&mut self.cpus[from as usize].pelt, &mut t.pelt, now_ns);
            }
            self.moved(task, from, target);
        }
        if let Class::Deadline { runtime_ns, deadline_ns, .. } = self.tasks[task].class {
            let t = &mut self.tasks[task];
            if now_ns >= t.deadline_at_ns {
                t.deadline_at_ns = now_ns + deadline_ns;
                t.budget_ns = runtime_ns;
            }
        }
        let walt = self.tasks[task].walt;
        self.load.tell(|w| w.wake(walt, target, now_ns));
        if iowait {
            self.ask_clock(target as usize, true);
        }
        let is_new = self.tasks[task].is_new;
        self.enqueue(task);
        self.tell_clock(target as usize, Event::Wake);
        self.preempt(task, by);
        // Other CPUs have theirs woken up by the interrupt that they send.
        let cpu = &mut self.cpus[target as usize];
        if cpu.curr.is_none() && (is_new || by == Some(target as usize)) {
            cpu.woken_ns.get_or_insert(now_ns);
        }
    }

    fn moved(&mut self, task: u32, from: u32, to: u32) {
        let t = &mut self.tasks[task];
        t.cpu = to;
        t.seen.migrations += 1;
        let (old, new) = (&self.cpus[from as usize].fair, &self.cpus[to as usize].fair);
        old.hand_over(new, self.machine.fair, &mut t.entity);
        self.watch.seen(self.now_ns, to, SimEvent::Migrated { task, from, to });
    }

    /// `task` waits on its CPU from now on.
    fn enqueue(&mut self, task: u32) {
        let c = self.tasks[task].cpu as usize;
        self.charge(c);
        let cpu = &mut self.cpus[c];
        self.load.pass(cpu, self.now_ns);
        let t = &mut self.tasks[task];
        t.state = State::Waiting;
        if !t.is_fair() {
            t.is_new = false;
            cpu.first.push(task);
            let deadline = t.rank() >= 1000;
            self.ask_clock_first(c, deadline);
            return;
        }
        let is_new = t.is_new;
        if is_new {
            t.is_new = false;
            self.load.pelt.start(&cpu.pelt, &mut t.pelt);
        }
        if !self.has_fair_tasks(c) {
            self.fair_server_starts(c);
        }
        let (cpu, t) = (&mut self.cpus[c], &mut self.tasks[task]);
        let changed = self.load.pelt.enqueue(&mut cpu.pelt, &mut t.pelt);
        let curr = cpu.curr.filter(|curr| self.tasks[*curr].is_fair());
        cpu.fair.join(self.machine.fair, &mut self.tasks, task, curr);
        if changed {
            self.ask_clock(c, false);
        }
        self.was_queued(c, is_new);
    }

    /// `task`, which runs or waits, does so no longer.
    fn dequeue(&mut self, task: u32, why: Leave) {
        let c = self.tasks[task].cpu as usize;
        self.charge(c);
        let cpu = &mut self.cpus[c];
        self.load.pass(cpu, self.now_ns);
        let t = &mut self.tasks[task];
        if !t.is_fair() {
            cpu.first.retain(|w| *w != task);
            return;
        }
        let changed = self.load.pelt.dequeue(&mut cpu.pelt, &mut t.pelt, why);
        let curr = cpu.curr.filter(|curr| self.tasks[*curr].is_fair());
        cpu.fair.leave(self.machine.fair, &mut self.tasks, task, curr);
        if changed {
            self.ask_clock(c, false);
        }
    }

    /// The CPU of `task`, which waits there, learns whether it should run it now.
    fn preempt(&mut self, task: u32, by: Option<usize>) {
        let c = self.tasks[task].cpu as usize;
        let better = match self.cpus[c].curr {
            None => true,
            Some(curr) => self.is_before(c, task, curr),
        };
        if better {
            self.resched(c, by);
        }
    }

    fn is_before(&self, c: usize, task: u32, curr: u32) -> bool {
        let (t, r) = (&self.tasks[task], &self.tasks[curr]);
        match (t.rank(), r.rank()) {
            (0, 0) => self.cpus[c].fair.preempts(self.machine.fair, &self.tasks, task, curr),
            (a, b) if a == b => a >= 1000 && t.deadline_at_ns < r.deadline_at_ns,
            (a, b) => a > b,
        }
    }

    /// CPU `c` shall look at its queue; `by` says so, another one by an interrupt.
    pub(crate) fn resched(&mut self, c: usize, by: Option<usize>) {
        self.cpus[c].need_resched = true;
        if by == Some(c) {
            return;
        }
        match self.cpus[c].mode {
            // It sees the flag.
            Mode::Poll => self.until(c, self.now_ns, Mode::Poll),
            // The last look at the flag was before the governor was asked.
            Mode::Task { .. } | Mode::Sleep | Mode::Exit | Mode::Kernel(Then::Enter | Then::Refused) => {
                self.send_ipi(c);
            }
            Mode::Kernel(_) => {}
        }
    }

    /// An interrupt of another CPU is on its way to `c`, if none is yet.
    pub(crate) fn send_ipi(&mut self, c: usize) {
        if !self.cpus[c].ipi_sent {
            self.cpus[c].ipi_sent = true;
            let at_ns = self.now_ns + self.machine.costs.ipi_ns;
            self.queue.push(at_ns, QueuedEvent::Interrupt { cpu: c as u32, irq: Irq::Ipi });
        }
    }

    /// Chooses what the CPU runs next, and switches to it. What ran before has been dequeued if it sleeps.
    pub(crate) fn schedule(&mut self, c: usize) {
        self.charge(c);
        if let Some((task, to)) = self.take_push(c) {
            self.push_running(c, task, to);
        }
        self.cpus[c].need_resched = false;
        let prev = self.cpus[c].curr;
        // A kernel spares the clock's update at the switch that a wakeup asks for.
        let woken_ns = self.cpus[c].woken_ns.take().filter(|_| prev.is_none());
        self.load.pass(&mut self.cpus[c], woken_ns.unwrap_or(self.now_ns));
        let runs = prev.filter(|p| self.tasks[*p].state == State::Running);
        if let Some(p) = runs {
            self.tasks[p].state = State::Waiting;
            if self.tasks[p].is_fair() {
                self.cpus[c].fair.put(&self.tasks, p);
            } else {
                self.put_first(c, p);
            }
        }
        // Nothing runs while others look at the queue.
        self.cpus[c].curr = None;
        if prev.is_some_and(|p| self.tasks[p].rank() > 0) {
            self.pull_first(c);
        }
        let mut next = self.pick(c);
        if next.is_none() {
            self.runs_dry(c);
            next = self.pick(c);
        }
        // What came is chosen from already.
        self.cpus[c].need_resched = false;
        if let Some(n) = next {
            self.tasks[n].state = State::Running;
            self.is_busy_again(c);
        }
        self.cpus[c].curr = next;
        self.mark_misfit(c);
        if next.is_some() && next == prev {
            self.go_on(c);
            return;
        }
        self.switch_load(c, prev, next);
        let to = next.map_or(c as u32, |n| self.tasks[n].walt);
        let (sleeps, now_ns) = (runs.is_none(), self.now_ns);
        self.load.tell(|w| w.switch(c as u32, to, sleeps, now_ns));
        if next.is_none() {
            // The idle task reads its clock as soon as it has the CPU.
            self.cpus[c].idle.begin_visit(now_ns);
        }
        // One that is pushed to another CPU goes on there.
        let prev_sleeps = runs.is_none() && prev.is_some_and(|p| self.tasks[p].state != State::Moving);
        if prev.is_some() || next.is_some() {
            let prev_in_io = prev_sleeps && prev.is_some_and(|p| self.tasks[p].in_io);
            let what = SimEvent::Switch { prev, prev_sleeps, prev_in_io, next };
            self.watch.seen(self.now_ns, c as u32, what);
        }
        if let Some(p) = prev
            && let Some(to) = self.tasks[p].push_to.take()
        {
            self.moved(p, c as u32, to);
            let walt = self.tasks[p].walt;
            self.load.tell(|w| w.wake(walt, to, now_ns));
            self.enqueue(p);
            self.preempt(p, Some(c));
        }
        // What ran before may be among them, so it has to have stopped for all who listen.
        if !self.cpus[c].first.is_empty() {
            self.push_first(c);
        }
        self.segment(c, self.machine.costs.switch_ns, Then::Switched);
    }

    fn switch_load(&mut self, c: usize, prev: Option<u32>, next: Option<u32>) {
        let cpu = &mut self.cpus[c];
        let is_fair = |t: u32, tasks: &crate::state::task::Tasks| tasks[t].is_fair();
        let fair_prev = prev.filter(|p| is_fair(*p, &self.tasks));
        let fair_next = next.filter(|n| is_fair(*n, &self.tasks));
        let faded = next.is_none() && self.load.pelt.age(&mut cpu.pelt);
        let (prev, next_task) = match (fair_prev, fair_next) {
            (Some(p), Some(n)) => {
                let Ok([p, n]) = self.tasks.0.get_disjoint_mut([p as usize, n as usize]) else { return };
                (Some(&mut p.pelt), Some(&mut n.pelt))
            }
            (Some(p), None) => (Some(&mut self.tasks[p].pelt), None),
            (None, Some(n)) => (None, Some(&mut self.tasks[n].pelt)),
            (None, None) => (None, None),
        };
        let next = match (next_task, next) {
            (Some(task), _) => Next::Fair(task),
            (None, None) => Next::Idle,
            (None, Some(_)) => Next::RealTime,
        };
        if self.load.pelt.switch(&mut cpu.pelt, prev, next) || faded {
            self.ask_clock(c, false);
        }
    }

    /// A real-time or deadline task that was running waits: before those of its kind, but for one whose turn is over.
    fn put_first(&mut self, c: usize, task: u32) {
        let t = &self.tasks[task];
        if matches!(t.class, Class::RoundRobin(_)) && t.budget_ns == TURN_NS {
            self.cpus[c].first.push(task);
        } else {
            self.cpus[c].first.insert(0, task);
        }
    }

    fn pick(&mut self, c: usize) -> Option<u32> {
        let cpu = &mut self.cpus[c];
        if !cpu.first.is_empty() {
            let key = |task: u32| {
                let t = &self.tasks[task];
                (u32::MAX - t.rank(), t.deadline_at_ns)
            };
            let best = cpu.first.iter().enumerate().min_by_key(|(i, t)| (key(**t), *i)).map(|(i, _)| i);
            return best.map(|i| cpu.first.remove(i));
        }
        cpu.fair.next(self.machine.fair, &mut self.tasks)
    }

    /// A switch is done.
    pub(crate) fn switched(&mut self, c: usize) {
        let Some(task) = self.cpus[c].curr else {
            self.begin_idle(c);
            return;
        };
        let now_ns = self.now_ns;
        let t = &mut self.tasks[task];
        t.seen.runs += 1;
        if let Some(woken_ns) = t.woken_at_ns.take() {
            let short = |ns: u64| u32::try_from(ns).unwrap_or(u32::MAX);
            t.seen.wakeup_latency_ns.push(short(now_ns - woken_ns));
            t.seen.response_ns.push(short(now_ns - t.called_at_ns));
        }
        if let Class::Deadline { .. } = t.class {
            let (at_ns, turn) = (now_ns + t.budget_ns.max(1), t.turn);
            self.cpus[c].timers.add(at_ns, 0, Waiter::Budget { task, turn });
            self.set_timer(c);
        }
        if self.cpus[c].need_resched { self.schedule(c) } else { self.go_on(c) }
    }

    /// The task that runs goes to sleep: another one runs.
    pub(crate) fn block(&mut self, c: usize, task: u32) {
        self.dequeue(task, Leave::Sleeps);
        self.tasks[task].state = State::Asleep;
        let last = self.cpus[c].waiting() == 0;
        self.tell_clock(c, if last { Event::LastSleep } else { Event::Sleep });
        self.schedule(c);
    }

    /// The task that runs is over.
    pub(crate) fn exit(&mut self, c: usize, task: u32) {
        self.dequeue(task, Leave::Sleeps);
        let t = &mut self.tasks[task];
        t.state = State::Gone;
        self.alive -= 1;
        self.ask_limit(c, task, None);
        if self.alive == 0 {
            self.out.finished_ns = Some(self.now_ns);
        }
        let walt = self.tasks[task].walt;
        self.load.tell(|w| w.exit(walt));
        self.schedule(c);
        let t = &mut self.tasks[task];
        self.load.pelt.remove(&mut self.cpus[c].pelt, &mut t.pelt, self.now_ns);
    }

    /// A deadline task's time in this period is used up, or a new period begins. Timers that were set when it began to run here
    /// before may come earlier, and say nothing.
    pub(crate) fn budget_back(&mut self, c: usize, task: u32, turn: u32) {
        let Class::Deadline { runtime_ns, period_ns, deadline_ns } = self.tasks[task].class else { return };
        if self.tasks[task].turn != turn || self.tasks[task].cpu as usize != c {
            return;
        }
        let start_ns = self.tasks[task].deadline_at_ns - deadline_ns + period_ns;
        let runs = self.cpus[c].curr == Some(task);
        match self.tasks[task].state {
            State::Running => {
                self.charge(c);
                if self.tasks[task].budget_ns > 0 {
                    return;
                }
            }
            State::Throttled if self.now_ns >= start_ns => {}
            _ => return,
        }
        if start_ns > self.now_ns {
            // Until the next period it is as if it slept.
            self.tasks[task].state = State::Throttled;
            self.cpus[c].timers.add(start_ns, 0, Waiter::Budget { task, turn });
            self.cpus[c].need_resched = true;
            return;
        }
        let t = &mut self.tasks[task];
        t.budget_ns = runtime_ns;
        t.deadline_at_ns = self.now_ns + deadline_ns;
        if runs {
            // It has not been switched out since.
            t.state = State::Running;
            self.cpus[c].timers.add(self.now_ns + runtime_ns, 0, Waiter::Budget { task, turn });
        } else {
            let (walt, now_ns) = (t.walt, self.now_ns);
            self.load.tell(|w| w.wake(walt, c as u32, now_ns));
            self.enqueue(task);
            self.preempt(task, Some(c));
        }
    }

    /// `task`, which runs on `c`, goes to `to` as soon as it may.
    pub(crate) fn push_running(&mut self, c: usize, task: u32, to: u32) {
        self.dequeue(task, Leave::Migrates);
        self.tasks[task].push_to = Some(to);
        self.tasks[task].state = State::Moving;
        self.cpus[c].need_resched = true;
    }

    /// `task`, which waits, goes to `to`.
    pub(crate) fn push_waiting(&mut self, task: u32, to: u32, by: Option<usize>) {
        let from = self.tasks[task].cpu;
        self.dequeue(task, Leave::Migrates);
        self.moved(task, from, to);
        let (walt, now_ns) = (self.tasks[task].walt, self.now_ns);
        self.load.tell(|w| w.migrate(walt, to, now_ns));
        self.enqueue(task);
        self.tell_clock(to as usize, Event::Balance);
        self.preempt(task, by);
    }

    /// The task that runs is scheduled otherwise from now on.
    pub(crate) fn set_class(&mut self, c: usize, task: u32, class: Class) {
        let was_fair = self.tasks[task].is_fair();
        self.charge(c);
        let t = &mut self.tasks[task];
        let started = t.entity;
        t.class = class;
        t.entity = crate::state::task::Task::entity_of(class).started_as(&started);
        t.budget_ns = match class {
            Class::RoundRobin(_) => TURN_NS,
            Class::Deadline { runtime_ns, .. } => runtime_ns,
            _ => 0,
        };
        if let Class::Deadline { deadline_ns, .. } = class {
            t.deadline_at_ns = self.now_ns + deadline_ns;
        }
        let is_fair = t.is_fair();
        if was_fair == is_fair {
            return;
        }
        // PELT has it leave one class and join the other.
        let cpu = &mut self.cpus[c];
        self.load.pass(cpu, self.now_ns);
        let t = &mut self.tasks[task];
        if was_fair {
            self.load.pelt.dequeue(&mut cpu.pelt, &mut t.pelt, Leave::Sleeps);
            self.load.pelt.switch(&mut cpu.pelt, Some(&mut t.pelt), Next::RealTime);
        } else {
            self.load.pelt.enqueue(&mut cpu.pelt, &mut t.pelt);
            self.load.pelt.switch(&mut cpu.pelt, None, Next::Fair(&mut t.pelt));
        }
        cpu.need_resched = true;
    }

    /// The task goes on with what it was doing, or with its next step.
    pub(crate) fn go_on(&mut self, c: usize) {
        let Some(task) = self.cpus[c].curr else { return };
        let speed = self.cpus[c].speed;
        if let Left::Work(work) | Left::Way(work) = &mut self.tasks[task].left {
            let cold = std::mem::take(&mut self.cpus[c].cold_ns).saturating_mul(speed);
            *work = work.saturating_add(cold);
            // What fills caches again is no work.
            self.out.work -= i128::from(cold);
        }
        let ns = match self.tasks[task].left {
            Left::Nothing => return self.begin_step(c, task),
            Left::Call => return self.call_kernel(c),
            Left::Work(work) | Left::Way(work) => work.div_ceil(speed),
            Left::Time(ns) => ns,
        };
        let since_ns = self.now_ns;
        self.until(c, since_ns + ns, Mode::Task { since_ns });
        if !self.cpus[c].pending.is_empty() && self.has_thread(c) {
            self.handle_irqs(c);
        }
    }

    /// What the task has done so far is done.
    pub(crate) fn pause(&mut self, c: usize) {
        if !self.has_thread(c) {
            return;
        }
        let cpu = &self.cpus[c];
        let (Mode::Task { since_ns }, Some(task)) = (cpu.mode, cpu.curr) else { return };
        let ns = self.now_ns - since_ns;
        let t = &mut self.tasks[task];
        let left = match t.left {
            Left::Nothing | Left::Call => return,
            Left::Work(work) => {
                self.out.work += i128::from(work.min(ns * cpu.speed));
                Left::Work(work.saturating_sub(ns * cpu.speed))
            }
            Left::Way(work) => Left::Way(work.saturating_sub(ns * cpu.speed)),
            Left::Time(time) => Left::Time(time.saturating_sub(ns)),
        };
        t.left = match left {
            Left::Work(0) | Left::Time(0) => {
                t.step += 1;
                Left::Nothing
            }
            Left::Way(0) => Left::Call,
            more => more,
        };
    }
}
