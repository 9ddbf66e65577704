// SPDX-License-Identifier: GPL-2.0-only
//! Clocks: each asks its frequency governor, and changes when it says so.

use idlewise_freq::{Answer, Change, Event, Hook, Policy};

use crate::state::Sim;
use crate::state::cpu::Mode;
use crate::state::load::View;
use idlewise_parts::queue::QueuedEvent;
use idlewise_parts::watch::{SimEvent, Watch};

impl<W: Watch> Sim<'_, W> {
    /// The governors take over, and the CPUs have the speeds of their clocks.
    pub(crate) fn start_clocks(&mut self) {
        for clock in 0..self.clocks.len() {
            self.apply(clock, self.clocks[clock].point);
            self.with_policy(clock, |policy, view| policy.start(0, view));
        }
    }

    /// Asks the governor of a clock something, and does what it answers.
    #[inline]
    fn with_policy(&mut self, clock: usize, ask: impl FnOnce(&mut Policy, &View<'_, '_>) -> Answer) {
        let Some(policy) = &mut self.clocks[clock].policy else { return };
        let view = View { load: &self.load, cpus: &self.cpus, tasks: &self.tasks, machine: self.machine };
        let answer = ask(policy, &view);
        match answer.change {
            Change::None => {}
            Change::Now { khz } => self.set_clock(clock, khz),
            Change::Start { ends_ns, .. } => {
                let k = &mut self.clocks[clock];
                k.done_turn = k.done_turn.wrapping_add(1);
                let turn = k.done_turn;
                self.queue
                    .push(ends_ns.max(self.now_ns), QueuedEvent::ClockSet { clock: clock as u32, turn });
            }
        }
        if answer.timers {
            self.set_clock_timer(clock);
        }
    }

    /// The utilisation of a CPU has changed: the governor of its clock is asked.
    #[inline]
    pub(crate) fn ask_clock(&mut self, c: usize, iowait: bool) {
        self.ask_clock_about(Hook { iowait, ..Hook::fair(c as u32, self.now_ns) });
    }

    /// The same, found by another CPU.
    pub(crate) fn ask_clock_from(&mut self, c: usize, by: usize) {
        self.ask_clock_about(Hook { from: by as u32, ..Hook::fair(c as u32, self.now_ns) });
    }

    #[inline]
    fn ask_clock_about(&mut self, hook: Hook) {
        let clock = self.machine.cpus[hook.cpu as usize].clock;
        self.with_policy(clock, |policy, view| policy.hook(&hook, view));
    }

    /// Real-time and deadline tasks have call sites of their own.
    pub(crate) fn ask_clock_first(&mut self, c: usize, deadline: bool) {
        let clock = self.machine.cpus[c].clock;
        let t_ns = self.now_ns;
        let hook = Hook { cpu: c as u32, from: c as u32, t_ns, iowait: false, rt: !deadline, dl: deadline };
        self.with_policy(clock, |policy, view| policy.hook(&hook, view));
    }

    /// What only governors of their own listen to.
    #[inline]
    pub(crate) fn tell_clock(&mut self, c: usize, event: Event) {
        let clock = self.machine.cpus[c].clock;
        let now_ns = self.now_ns;
        self.with_policy(clock, |policy, view| policy.event(c as u32, now_ns, event, view));
    }

    /// A CPU is no longer idle.
    #[inline]
    pub(crate) fn tell_clock_awake(&mut self, c: usize) {
        let clock = self.machine.cpus[c].clock;
        let now_ns = self.now_ns;
        self.with_policy(clock, |policy, view| policy.idle_end(c as u32, now_ns, view));
    }

    /// A change that took its time is over.
    pub(crate) fn clock_is_set(&mut self, clock: usize, turn: u32) {
        if self.clocks[clock].done_turn != turn {
            return;
        }
        let now_ns = self.now_ns;
        let moving = self.clocks[clock].policy.as_ref().and_then(Policy::moving);
        self.with_policy(clock, |policy, view| policy.transition_done(now_ns, view));
        if let Some(moving) = moving {
            self.set_clock(clock, moving.khz);
        }
    }

    /// A timer of the governor's own.
    pub(crate) fn clock_timer(&mut self, clock: usize, turn: u32) {
        if self.clocks[clock].turn != turn {
            return;
        }
        let now_ns = self.now_ns;
        for c in self.machine.clocks[clock].cpus.clone() {
            let idle = self.cpus[c].curr.is_none();
            let due = self.clocks[clock].policy.as_ref().and_then(|p| p.next_timer(c as u32, idle));
            if due.is_some_and(|at_ns| at_ns <= now_ns) {
                self.with_policy(clock, |policy, view| policy.timer(c as u32, now_ns, view));
            }
        }
        self.set_clock_timer(clock);
    }

    fn set_clock_timer(&mut self, clock: usize) {
        let Some(policy) = &self.clocks[clock].policy else { return };
        let due = |c: &usize| policy.next_timer(*c as u32, self.cpus[*c].curr.is_none());
        let Some(at_ns) = self.machine.clocks[clock].cpus.iter().filter_map(due).min() else { return };
        let k = &mut self.clocks[clock];
        k.turn = k.turn.wrapping_add(1);
        let turn = k.turn;
        self.queue.push(at_ns.max(self.now_ns), QueuedEvent::ClockTimer { clock: clock as u32, turn });
    }

    fn set_clock(&mut self, clock: usize, khz: u32) {
        let points = &self.machine.clocks[clock].points;
        let Some(point) = points.iter().position(|p| p.khz == khz) else { return };
        self.clocks[clock].asked = point;
        self.hold_clock(clock);
    }

    /// A clock runs as its governor set it, or as the ceiling allows.
    fn hold_clock(&mut self, clock: usize) {
        let asked = self.clocks[clock].asked;
        let point = self.ceilings.as_ref().map_or(asked, |l| l.point(clock, asked));
        if point != self.clocks[clock].point {
            self.apply(clock, point);
        }
    }

    /// Power limits are sampled, and the clocks follow their ceilings.
    pub(crate) fn power_sample(&mut self) {
        let Some(ceilings) = &mut self.ceilings else { return };
        ceilings.sample(self.machine, self.now_ns, &mut self.meter, &self.clocks);
        self.queue.push(ceilings.next_ns(), QueuedEvent::PowerSample);
        (0..self.clocks.len()).for_each(|clock| self.hold_clock(clock));
    }

    /// A clock is at that point from now on.
    fn apply(&mut self, clock: usize, point: usize) {
        let machine = self.machine;
        let spec = &machine.clocks[clock];
        let (Some(at), Some(top)) = (spec.points.get(point), spec.points.last()) else { return };
        self.clocks[clock].point = point;
        self.meter.set_point(machine, clock, self.now_ns, point);
        let invariant = machine.clusters[spec.cluster].clock.as_ref().is_some_and(|c| c.invariant);
        let frequency = if invariant { (u64::from(at.khz) << 10) / u64::from(top.khz.max(1)) } else { 1024 };
        for &c in &spec.cpus {
            let works = matches!(self.cpus[c].mode, Mode::Task { .. }) && self.has_thread(c);
            if works {
                self.pause(c);
            }
            self.load.pass(&mut self.cpus[c], self.now_ns);
            let share = self.core_share(c);
            let cpu = &mut self.cpus[c];
            cpu.speed_alone = (u64::from(machine.cpus[c].speed) * at.speed).max(1);
            cpu.speed = (cpu.speed_alone * share / 1000).max(1);
            let capacity = machine.cpus[c].capacity;
            cpu.pelt.set_speed(idlewise_signal::pelt::Speed { capacity, frequency: frequency as u32 });
            let now_ns = self.now_ns;
            self.load.tell(|w| w.set_frequency(c as u32, at.khz, now_ns));
            self.watch.seen(now_ns, c as u32, SimEvent::Clock { khz: at.khz });
            if works {
                self.go_on(c);
            }
        }
    }
}
