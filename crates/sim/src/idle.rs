// SPDX-License-Identifier: GPL-2.0-only
//! The idle task: it drives the one idle loop of the project with what wakes this machine's CPUs.

use idlewise_idle::{Hosted, Left, Moment, NEVER_AT_NS, REFUSED_NS, Timers};
use idlewise_model::{TickChoice, WakeCause};

use crate::state::Sim;
use crate::state::cpu::{Mode, Stay, Then};
use idlewise_parts::queue::Irq;
use idlewise_parts::watch::{SimEvent, Watch};

impl<W: Watch> Sim<'_, W> {
    /// The idle task was switched in.
    pub(crate) fn begin_idle(&mut self, c: usize) {
        self.cpus[c].idle_entries += 1;
        self.segment(c, self.machine.costs.idle_ns, Then::Ask);
    }

    /// The governor is asked, and the state entered; unless there is something to do by now.
    pub(crate) fn ask(&mut self, c: usize) {
        if self.cpus[c].need_resched {
            self.end_idle(c);
            return;
        }
        let util = self.load.busy(&self.cpus[c]);
        let now_ns = self.now_ns;
        let cpu = &mut self.cpus[c];
        let moment = Moment {
            start_ns: now_ns,
            timers: Timers::Pending {
                hrtimer_at_ns: cpu.timers.high_at_ns(),
                wheel_at_ns: cpu.timers.wheel_at_ns(),
                stale_event_at_ns: NEVER_AT_NS,
                tick_needed: self.rcu.needs_tick(c),
            },
            latency_limit_ns: self.limit_ns,
            util,
            iowait: cpu.iowait,
            random: (self.chance.draw() >> 32) as u32,
            wake_at_ns: NEVER_AT_NS,
            stop_pays: true,
        };
        let entered = cpu.idle.enter(&mut Hosted::new(self.governor, cpu.slot), &moment);
        self.out.decisions += 1;
        self.out.out_of_range += u64::from(entered.breach.no_state);
        cpu.stay = Some(Stay {
            state: entered.state,
            reached: entered.state,
            start_ns: now_ns,
            poll_until_ns: entered.poll_until_ns,
            wake_at_ns: now_ns,
            exit_at_ns: now_ns,
            cause: None,
            tick_ran: false,
        });
        if entered.tick == TickChoice::Stopped {
            let wheel_ns = self.cpus[c].timers.wheel_at_ns();
            let wheel_at_ns = (wheel_ns < NEVER_AT_NS).then_some(wheel_ns);
            self.watch.seen(now_ns, c as u32, SimEvent::TickStopped { wheel_at_ns });
            self.tick_stopped(c);
            if self.machine.costs.stop_tick_ns > 0 {
                self.segment(c, self.machine.costs.stop_tick_ns, Then::Enter);
                return;
            }
        }
        self.enter(c);
    }

    /// The state that was chosen is entered.
    pub(crate) fn enter(&mut self, c: usize) {
        let now_ns = self.now_ns;
        let cpu = &mut self.cpus[c];
        let Some(stay) = &mut cpu.stay else { return };
        let late_ns = now_ns - stay.start_ns;
        if late_ns > 0 {
            cpu.idle.entered_at(now_ns);
            stay.start_ns = now_ns;
            stay.poll_until_ns = stay.poll_until_ns.saturating_add(late_ns).min(NEVER_AT_NS);
        }
        let (state, poll_until_ns) = (stay.state, stay.poll_until_ns);
        let refused = cpu.idle.refuses(state);
        self.watch.seen(now_ns, c as u32, SimEvent::IdleEntered { state: state as u8 });
        if refused {
            self.set_timer(c);
            self.forget_stopped_tick(c);
            self.segment(c, REFUSED_NS, Then::Refused);
            return;
        }
        self.meter.enters(self.machine, c, now_ns, state);
        self.set_timer(c);
        self.forget_stopped_tick(c);
        if poll_until_ns == NEVER_AT_NS {
            self.cpus[c].asleep_since_ns = Some(now_ns);
            self.until(c, NEVER_AT_NS, Mode::Sleep);
        } else {
            self.until(c, poll_until_ns, Mode::Poll);
        }
        self.thread_rests(c, true);
        if !self.cpus[c].pending.is_empty() {
            self.cpu_has_interrupts(c);
        }
    }

    /// The driver has refused the state, and the CPU was awake all the time. Interrupts that came meanwhile go first.
    pub(crate) fn refused(&mut self, c: usize) {
        self.watch.seen(self.now_ns, c as u32, SimEvent::IdleLeft);
        let cpu = &mut self.cpus[c];
        if let Some(stay) = &mut cpu.stay {
            stay.exit_at_ns = self.now_ns;
        }
        if cpu.pending.is_empty() { self.after_refusal(c) } else { self.handle_irqs(c) }
    }

    /// The idle loop's clock is not read again: only interrupts do that.
    fn after_refusal(&mut self, c: usize) {
        let cpu = &mut self.cpus[c];
        let Some(stay) = cpu.stay.take() else { return };
        let governor = &mut Hosted::new(self.governor, cpu.slot);
        if stay.tick_ran {
            cpu.idle.tick_ran(governor);
        }
        cpu.idle.reject(governor, stay.exit_at_ns, self.watch);
        self.again_or_out(c);
    }

    /// A tick that came due while it was being stopped: the timer is set to a later time by now, and its interrupt is
    /// withdrawn.
    fn forget_stopped_tick(&mut self, c: usize) {
        let now_ns = self.now_ns;
        let cpu = &mut self.cpus[c];
        let due = cpu.timers.due(now_ns) > 0 || cpu.timers.wheel_at_ns() <= now_ns;
        if cpu.idle.tick_stopped() && !due {
            cpu.pending.retain(|irq| *irq != Irq::Timer);
        }
    }

    fn cpu_has_interrupts(&mut self, c: usize) {
        if self.cpus[c].mode == Mode::Sleep { self.wake_event(c) } else { self.handle_irqs(c) }
    }

    /// An interrupt wakes the CPU: it is on its way out of the state.
    pub(crate) fn wake_event(&mut self, c: usize) {
        let now_ns = self.now_ns;
        let cpu = &mut self.cpus[c];
        let Some(stay) = &mut cpu.stay else { return };
        stay.wake_at_ns = now_ns;
        stay.cause = cpu.pending.first().map(|irq| match irq {
            Irq::Timer => WakeCause::Tick,
            Irq::Ipi => WakeCause::Ipi,
            Irq::Device { .. } | Irq::Request { .. } => WakeCause::Irq,
        });
        let exit_ns = self.core_exit_at_ns(c, now_ns);
        self.meter.leaves(self.machine, c, now_ns);
        self.until(c, exit_ns, Mode::Exit);
    }

    /// When a state is left that an interrupt ends at `now_ns`, ns.
    pub(crate) fn exit_at_ns(&self, c: usize, stay: &Stay, now_ns: u64) -> u64 {
        match self.machine.measured_exit_ns(c, stay.reached) {
            Some(ns) => now_ns + ns,
            None => self.cpus[c].idle.exit_at_ns(stay.reached, stay.start_ns, now_ns),
        }
    }

    /// The state is left, handlers run.
    pub(crate) fn left_state(&mut self, c: usize) {
        if let Some(stay) = &mut self.cpus[c].stay {
            stay.exit_at_ns = self.now_ns;
        }
        if let Some(since_ns) = self.cpus[c].asleep_since_ns.take() {
            self.cpus[c].asleep_ns += self.now_ns - since_ns;
        }
        self.watch.seen(self.now_ns, c as u32, SimEvent::IdleLeft);
        self.meter.runs(self.machine, c, self.now_ns);
        if let Some(stay) = self.cpus[c].stay {
            let refill_ns = self.machine.refill_ns(c, stay.reached);
            self.cpus[c].cold_ns = self.cpus[c].cold_ns.max(refill_ns);
        }
        self.thread_rests(c, false);
        self.handle_irqs(c);
    }

    /// Handlers have run in the idle task.
    pub(crate) fn idle_after_interrupt(&mut self, c: usize) {
        let now_ns = self.now_ns;
        let Some(stay) = self.cpus[c].stay else {
            // They came before a state was entered, or after one was left.
            self.cpus[c].idle.interrupt_done(now_ns);
            self.again_or_out(c);
            return;
        };
        if self.cpus[c].idle.refuses(stay.state) {
            self.cpus[c].idle.interrupt_done(now_ns);
            self.after_refusal(c);
        } else if stay.poll_until_ns == NEVER_AT_NS {
            self.leave(c, stay, stay.cause.unwrap_or(WakeCause::Unknown), now_ns);
            self.again_or_out(c);
        } else if self.cpus[c].need_resched {
            self.leave_poll(c, stay, stay.cause.unwrap_or(WakeCause::Irq));
        } else {
            let cpu = &mut self.cpus[c];
            if stay.tick_ran {
                cpu.idle.tick_ran(&mut Hosted::new(self.governor, cpu.slot));
                if let Some(stay) = &mut cpu.stay {
                    stay.tick_ran = false;
                }
            }
            cpu.idle.interrupt_done(now_ns);
            self.until(c, stay.poll_until_ns.max(now_ns), Mode::Poll);
        }
    }

    /// The polling loop has come to its limit, or has seen that there is something to do.
    pub(crate) fn polled(&mut self, c: usize) {
        let Some(stay) = self.cpus[c].stay else { return };
        if self.cpus[c].need_resched {
            self.leave_poll(c, stay, WakeCause::Ipi);
        } else {
            self.leave_poll(c, stay, WakeCause::PollLimit);
        }
    }

    fn leave_poll(&mut self, c: usize, mut stay: Stay, cause: WakeCause) {
        stay.wake_at_ns = self.now_ns;
        stay.exit_at_ns = self.now_ns;
        self.watch.seen(self.now_ns, c as u32, SimEvent::IdleLeft);
        self.meter.runs(self.machine, c, self.now_ns);
        self.thread_rests(c, false);
        self.leave(c, stay, cause, self.now_ns);
        self.again_or_out(c);
    }

    fn leave(&mut self, c: usize, stay: Stay, cause: WakeCause, handled_at_ns: u64) {
        let cpu = &mut self.cpus[c];
        cpu.stay = None;
        let left = Left {
            entered: stay.state,
            wake_at_ns: stay.wake_at_ns,
            exit_at_ns: stay.exit_at_ns,
            running_at_ns: stay.exit_at_ns,
            handled_at_ns,
            cause,
            tick_ran: stay.tick_ran,
        };
        cpu.idle.leave(&mut Hosted::new(self.governor, cpu.slot), &left, self.watch);
    }

    /// The idle task asks again, or is switched out.
    fn again_or_out(&mut self, c: usize) {
        if self.cpus[c].need_resched {
            self.end_idle(c);
        } else {
            self.segment(c, self.machine.costs.again_ns, Then::Ask);
        }
    }

    fn end_idle(&mut self, c: usize) {
        let costs = &self.machine.costs;
        let mut tick_ns = 0;
        if self.cpus[c].idle.tick_stopped() {
            tick_ns = costs.start_tick_ns;
            // When the next one is due is worked out first: it may be due before the idle task is left.
            self.cpus[c].tick_at_ns = self.machine.grid.after(self.now_ns);
        }
        match costs.leave_ns + tick_ns {
            0 => self.left_idle(c),
            ns => self.segment(c, ns, Then::Leave),
        }
    }

    /// The idle task makes room for another one.
    pub(crate) fn left_idle(&mut self, c: usize) {
        if self.cpus[c].idle.tick_stopped() {
            self.tick_is_set(c);
        }
        self.cpus[c].idle.end_visit();
        self.set_timer(c);
        self.tell_clock_awake(c);
        self.schedule(c);
    }
}
