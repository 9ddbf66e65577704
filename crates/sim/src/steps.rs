// SPDX-License-Identifier: GPL-2.0-only
//! What tasks do between working: their steps.

use idlewise_workload::{ResourceKind, SleepTimer, TimerMode};

use crate::device::sample;
use crate::state::Sim;
use crate::state::cpu::Then;
use crate::state::task::Left;
use idlewise_parts::SimError;
use idlewise_parts::program::{Step, TimerAt};
use idlewise_parts::queue::QueuedEvent;
use idlewise_parts::timers::Waiter;
use idlewise_parts::watch::{HrtimerOf, SimEvent, Watch};

/// So many steps that take no time, one after the other, are a loop that never ends.
const PATIENCE: u32 = 100_000;

/// So many more tasks are alive at most than a workload begins with. A run queue's costs grow with its tasks.
const MOST_FORKED: u32 = 8192;

/// So many tasks are made by forks in a run at most, those that ended included: each keeps its number, its state and what was
/// seen of it to the end of the run.
const MOST_FORKS: u32 = 1 << 18;

/// So many frames of all kinds together have begun and not ended, at most.
const MOST_FRAMES: u32 = 1 << 20;

impl<W: Watch> Sim<'_, W> {
    /// The next step: those that are only notes are taken at once, work begins, all others are system calls.
    pub(crate) fn begin_step(&mut self, c: usize, task: u32) {
        let program = self.program;
        let steps = &program.tasks[self.tasks[task].program as usize].steps;
        for _ in 0..PATIENCE {
            let t = &mut self.tasks[task];
            match steps.get(t.step as usize) {
                Some(Step::Work(amount, speed)) => {
                    let ns = sample(amount, &mut t.random);
                    if ns > 0 {
                        t.left = Left::Work(units(ns, *speed));
                        return self.go_on(c);
                    }
                }
                Some(Step::Run(ns)) => {
                    if *ns > 0 {
                        t.left = Left::Time(*ns);
                        return self.go_on(c);
                    }
                }
                Some(Step::Times { counter, times }) => {
                    if *times == Some(0) {
                        t.step = after_loop(steps, t.step, *counter);
                        continue;
                    }
                    t.counters[*counter as usize] = times.unwrap_or(u64::MAX);
                }
                Some(Step::Again { counter, to }) => {
                    let left = &mut t.counters[*counter as usize];
                    if *left != u64::MAX {
                        *left -= 1;
                    }
                    if *left > 0 {
                        t.step = *to;
                        continue;
                    }
                }
                // It begins with what the task waited for, so that a slow wake is part of it.
                Some(Step::FrameBegin(frame)) if self.frames_open >= MOST_FRAMES => {
                    return self.too_many_frames(*frame);
                }
                Some(Step::FrameBegin(frame)) => {
                    self.frames[*frame as usize].push_back(t.called_at_ns);
                    self.frames_open += 1;
                }
                Some(Step::FrameEnd(frame)) => {
                    if let Some(begun_ns) = self.frames[*frame as usize].pop_front() {
                        self.frames_open -= 1;
                        let ns = u32::try_from(self.now_ns - begun_ns).unwrap_or(u32::MAX);
                        self.out.frames[*frame as usize].push(ns);
                    }
                }
                _ => return self.system_call(c),
            }
            self.tasks[task].step += 1;
        }
        let program = self.tasks[task].program;
        self.out.stuck.push(program);
        self.tasks[task].step = u32::MAX;
        self.system_call(c);
    }

    fn system_call(&mut self, c: usize) {
        let way_ns = self.machine.costs.user_ns;
        if way_ns > 0
            && let Some(task) = self.cpus[c].curr
        {
            self.tasks[task].left = Left::Way(units(way_ns, 1024));
            return self.go_on(c);
        }
        self.call_kernel(c);
    }

    /// The task enters the kernel.
    pub(crate) fn call_kernel(&mut self, c: usize) {
        let costs = &self.machine.costs;
        let saved_ns = if self.only_wakes(c) { costs.block_ns } else { 0 };
        // Time passes in any case, so that no task stops it.
        self.segment(c, costs.syscall_ns.saturating_sub(saved_ns).max(1), Then::Step);
    }

    /// Whether the CPU's task is about to wake others, and does not block.
    fn only_wakes(&self, c: usize) -> bool {
        let Some(t) = self.cpus[c].curr.map(|task| &self.tasks[task]) else { return false };
        match self.program.tasks[t.program as usize].steps.get(t.step as usize) {
            Some(Step::Resume(_) | Step::Broadcast(_) | Step::Signal(_) | Step::Unlock(_)) => true,
            Some(Step::Barrier(barrier)) => self.completes(*barrier),
            _ => false,
        }
    }

    /// A system call has its effect.
    pub(crate) fn step(&mut self, c: usize) {
        let Some(task) = self.cpus[c].curr else { return };
        let program = self.program;
        let t = &mut self.tasks[task];
        let Some(step) = program.tasks[t.program as usize].steps.get(t.step as usize) else {
            return self.exit(c, task);
        };
        t.step += 1;
        t.left = Left::Nothing;
        let sleeps = match step {
            Step::Sleep(amount, SleepTimer::Hrtimer) => {
                let ns = sample(amount, &mut t.random);
                let called_ns = self.now_ns.saturating_sub(self.cpus[c].takes(self.machine.costs.block_ns));
                self.sleep_until(c, task, called_ns + ns)
            }
            Step::Sleep(amount, SleepTimer::Wheel) => {
                let ns = sample(amount, &mut t.random);
                let waiter = Waiter::Task { task, turn: t.turn };
                let at_ns = self.cpus[c].timers.add_to_wheel(self.now_ns, ns, self.machine.grid, waiter);
                self.watch.seen(self.now_ns, c as u32, SimEvent::WheelSet { task, at_ns });
                true
            }
            Step::Period { timer, period_ns, mode } => {
                self.wait_for_period(c, task, *timer, *period_ns, *mode)
            }
            Step::Suspend(queue) => {
                self.waiters[*queue as usize].push(task);
                true
            }
            Step::Resume(queue) | Step::Broadcast(queue) => {
                self.call_all(c, *queue);
                false
            }
            Step::Signal(queue) => {
                self.call_first(c, *queue);
                false
            }
            Step::Lock(mutex) => !self.lock(task, *mutex),
            Step::Unlock(mutex) => {
                self.unlock(c, task, *mutex);
                false
            }
            Step::Wait { queue, mutex } => self.wait(c, task, *queue, *mutex),
            Step::Sync { queue, mutex } => {
                self.call_first(c, *queue);
                self.wait(c, task, *queue, *mutex)
            }
            Step::Barrier(barrier) => self.wait_at_barrier(c, task, *barrier),
            Step::Yield => {
                self.cpus[c].need_resched = true;
                false
            }
            Step::Fork(_) if self.alive >= self.begun.saturating_add(MOST_FORKED) => {
                self.too_many_tasks(task);
                false
            }
            Step::Fork(_) if self.forks() >= MOST_FORKS => {
                self.failure = Some(SimError::TooManyForks {
                    task: self.name_of(task),
                    made: self.forks(),
                    at_ns: self.now_ns,
                });
                false
            }
            Step::Fork(program) => {
                let child = self.make(*program);
                self.tasks[child].cpu = c as u32;
                let delay_ns = self.program.tasks[*program as usize].delay_ns;
                self.queue.push(self.now_ns + delay_ns, QueuedEvent::Start { task: child });
                false
            }
            Step::Io(device) => {
                if self.workload.devices[*device as usize].iowait {
                    self.tasks[task].in_io = true;
                    self.cpus[c].iowait += 1;
                }
                self.submit(c, *device, task);
                true
            }
            Step::Take(source) => !self.take_request(task, *source),
            Step::Done(source) => {
                self.answer(task, *source);
                false
            }
            Step::Limit(limit_ns) => {
                self.ask_limit(c, task, *limit_ns);
                false
            }
            Step::CallRcu => {
                self.rcu.leave(c);
                false
            }
            Step::GracePeriods => {
                self.rcu_thread_runs(c, task);
                true
            }
            Step::Class(class, clamps) => {
                let t = &mut self.tasks[task];
                t.clamps = clamps.or(t.clamps);
                self.set_class(c, task, *class);
                false
            }
            Step::Cpus(cpus) => {
                self.tasks[task].cpus.clone_from(cpus);
                if !self.tasks[task].may_run_on(c as u32) {
                    let to = self.place(task, None);
                    self.push_running(c, task, to);
                }
                false
            }
            // Taken without a system call.
            Step::Work(..) | Step::Run(_) | Step::Times { .. } | Step::Again { .. } => false,
            Step::FrameBegin(_) | Step::FrameEnd(_) => false,
        };
        self.set_timer(c);
        if sleeps {
            self.block(c, task);
        } else if self.cpus[c].need_resched {
            self.schedule(c);
        } else {
            self.go_on(c);
        }
    }

    /// A timer of the task's own is set; gives that it sleeps.
    fn sleep_until(&mut self, c: usize, task: u32, at_ns: u64) -> bool {
        let t = &self.tasks[task];
        let slack_ns = if t.is_fair() { self.machine.slack_ns } else { 0 };
        self.cpus[c].timers.add(at_ns, slack_ns, Waiter::Task { task, turn: t.turn });
        let seen =
            SimEvent::TimerSet { timer: HrtimerOf::Task(task), soft_ns: at_ns, hard_ns: at_ns + slack_ns };
        self.watch.seen(self.now_ns, c as u32, seen);
        true
    }

    fn wait_for_period(
        &mut self,
        c: usize,
        task: u32,
        timer: TimerAt,
        period_ns: u64,
        mode: TimerMode,
    ) -> bool {
        let now_ns = self.now_ns;
        let t = &mut self.tasks[task];
        let begun_ns = t.begun_ns;
        let last = match timer {
            TimerAt::Own(own) => &mut t.timers[own as usize],
            TimerAt::Shared(shared) => &mut self.timers[shared as usize],
        };
        let next_ns = last.unwrap_or(begun_ns).saturating_add(period_ns);
        if next_ns <= now_ns {
            *last = Some(if mode == TimerMode::Relative { now_ns } else { next_ns });
            return false;
        }
        *last = Some(next_ns);
        self.sleep_until(c, task, next_ns)
    }

    /// Gives the mutex back and waits to be called.
    fn wait(&mut self, c: usize, task: u32, queue: u32, mutex: u32) -> bool {
        self.unlock(c, task, mutex);
        self.waiters[queue as usize].push(task);
        self.tasks[task].wants = Some(mutex);
        true
    }

    /// All that wait in a queue now are called.
    pub(crate) fn call_all(&mut self, c: usize, queue: u32) {
        let mut all = std::mem::take(&mut self.waiters[queue as usize]);
        for waiter in all.drain(..) {
            self.call(c, waiter);
        }
        // Nobody has come meanwhile: the list's memory is used again.
        self.waiters[queue as usize] = all;
    }

    fn call_first(&mut self, c: usize, queue: u32) {
        let waiters = &mut self.waiters[queue as usize];
        if !waiters.is_empty() {
            let first = waiters.remove(0);
            self.call(c, first);
        }
    }

    /// A task that waits in a queue is called: it wakes up, or waits for its mutex now.
    fn call(&mut self, c: usize, task: u32) {
        if let Some(mutex) = self.tasks[task].wants.take()
            && !self.lock(task, mutex)
        {
            return;
        }
        self.wake(task, Some(c), self.now_ns);
    }

    /// Whether the task has the mutex now; else it waits for it.
    fn lock(&mut self, task: u32, mutex: u32) -> bool {
        let (owner, waiters) = &mut self.mutexes[mutex as usize];
        match *owner {
            None => {
                *owner = Some(task);
                true
            }
            Some(other) => {
                waiters.push(task);
                if other == task {
                    self.locked_again(task, mutex);
                }
                false
            }
        }
    }

    /// How many tasks forks have made.
    fn forks(&self) -> u32 {
        self.tasks.0.len() as u32 - self.begun - u32::from(self.rcu_thread.is_some())
    }

    fn name_of(&self, task: u32) -> String {
        let program = self.tasks[task].program as usize;
        self.workload.tasks.get(program).map_or_else(String::new, |t| t.name.clone())
    }

    fn too_many_tasks(&mut self, task: u32) {
        self.failure = Some(SimError::TooManyTasks {
            task: self.name_of(task),
            alive: self.alive,
            begun: self.begun,
            at_ns: self.now_ns,
        });
    }

    fn too_many_frames(&mut self, frame: u32) {
        let frames = &self.workload.frames;
        self.failure = Some(SimError::TooManyFrames {
            workload: self.workload.name.clone(),
            frame: frames.get(frame as usize).map_or_else(String::new, |f| f.name.clone()),
            open: MOST_FRAMES,
            at_ns: self.now_ns,
        });
    }

    /// As rt-app's, the mutex is none that its owner may take twice.
    fn locked_again(&mut self, task: u32, mutex: u32) {
        let mutexes = self.workload.resources.iter().filter(|r| r.kind == ResourceKind::Mutex);
        self.failure = Some(SimError::LockedAgain {
            task: self.name_of(task),
            mutex: mutexes.into_iter().nth(mutex as usize).map_or_else(String::new, |r| r.name.clone()),
            at_ns: self.now_ns,
        });
    }

    /// The one that has waited longest has the mutex next.
    fn unlock(&mut self, c: usize, task: u32, mutex: u32) {
        let (owner, waiters) = &mut self.mutexes[mutex as usize];
        if *owner != Some(task) {
            return;
        }
        *owner = None;
        if !waiters.is_empty() {
            let next = waiters.remove(0);
            *owner = Some(next);
            self.wake(next, Some(c), self.now_ns);
        }
    }

    fn wait_at_barrier(&mut self, c: usize, task: u32, barrier: u32) -> bool {
        if !self.completes(barrier) {
            self.barriers[barrier as usize].push(task);
            return true;
        }
        for other in std::mem::take(&mut self.barriers[barrier as usize]) {
            self.wake(other, Some(c), self.now_ns);
        }
        false
    }

    /// Whether the next task that comes to the barrier is the last.
    fn completes(&self, barrier: u32) -> bool {
        let waiting = self.barriers[barrier as usize].len() as u32;
        waiting.saturating_add(1) >= self.program.barriers[barrier as usize]
    }
}

/// The step behind the loop that begins at `step`.
fn after_loop(steps: &[Step], step: u32, counter: u32) -> u32 {
    let is_end = |s: &Step| matches!(s, Step::Again { counter: c, .. } if *c == counter);
    let Some(end) = steps[step as usize..].iter().position(is_end) else {
        unreachable!("the loop at step {step} of {} has no end", steps.len())
    };
    step + end as u32 + 1
}

/// Work of `ns` at `speed` as a task keeps it. A step of more than five hours at full speed is cut to that.
fn units(ns: u64, speed: u64) -> u64 {
    ns.saturating_mul(speed).saturating_mul(1 << 10)
}
