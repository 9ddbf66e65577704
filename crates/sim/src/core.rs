// SPDX-License-Identifier: GPL-2.0-only
//! What the threads of a core share: its idle state, and its speed.
//!
//! A core sleeps as deeply as its shallowest thread ([`Meter`](idlewise_parts::energy::Meter) keeps which state that is, and
//! says what it costs). A thread that wakes up pays the exit latency of the state that the core was really in, not of the one
//! that its governor chose; one that is woken while another takes the core out of its state is awake no sooner than that one.
//! The governor's statistics are those of what it chose, as in a kernel.
//!
//! A thread that sleeps or polls leaves the core to the others: kernels lower the priority of one that polls.

use crate::state::Sim;
use crate::state::cpu::{Mode, Stay};
use idlewise_parts::watch::Watch;

impl<W: Watch> Sim<'_, W> {
    /// When CPU `c`, which an interrupt wakes now, has left its idle state, ns.
    pub(crate) fn core_exit_at_ns(&mut self, c: usize, now_ns: u64) -> u64 {
        let Some(mut stay) = self.cpus[c].stay else { return now_ns };
        let core = self.machine.cpus[c].core.clone();
        let mut others_ns = now_ns;
        if core.len() > 1 {
            if let Some((reached, since_ns)) = self.meter.reached(c) {
                stay.reached = reached;
                stay.start_ns = stay.start_ns.max(since_ns);
            }
            let leaving = |o: &Stay| o.exit_at_ns;
            let others = core.filter(|o| *o != c && self.cpus[*o].mode == Mode::Exit);
            others_ns = others.filter_map(|o| self.cpus[o].stay.as_ref().map(leaving)).fold(now_ns, u64::max);
        }
        let exit_ns = self.exit_at_ns(c, &stay, now_ns).max(others_ns);
        if let Some(own) = &mut self.cpus[c].stay {
            (own.reached, own.exit_at_ns) = (stay.reached, exit_ns);
        }
        exit_ns
    }

    /// CPU `c` begins to sleep or to poll, or is awake again: the other threads of its core have more of it, or less.
    pub(crate) fn thread_rests(&mut self, c: usize, rests: bool) {
        self.cpus[c].rests = rests;
        let core = self.machine.cpus[c].core.clone();
        if core.len() > 1 {
            core.for_each(|thread| self.set_speed(thread));
        }
    }

    /// How fast a thread of the core of `c` is by how many of them are busy now, thousandths.
    pub(crate) fn core_share(&self, c: usize) -> u64 {
        let core = self.machine.cpus[c].core.clone();
        let busy = core.filter(|thread| !self.cpus[*thread].rests).count();
        self.machine.thread_speed(c, busy)
    }

    /// CPU `c` works at the speed of its clock, less what busy threads of its core take.
    pub(crate) fn set_speed(&mut self, c: usize) {
        let share = self.core_share(c);
        let cpu = &self.cpus[c];
        let speed = (cpu.speed_alone * share / 1000).max(1);
        if speed == cpu.speed {
            return;
        }
        let works = matches!(cpu.mode, Mode::Task { .. }) && self.has_thread(c);
        if works {
            self.pause(c);
        }
        self.cpus[c].speed = speed;
        if works {
            self.go_on(c);
        }
    }
}
