// SPDX-License-Identifier: GPL-2.0-only
//! What is done for CPUs whose tick is stopped: a busy CPU wakes one of them up at its tick, and that one ages the
//! averages of all and looks for work for all (`signal-behaviour.md` A7, D4).

use crate::state::Sim;
use crate::state::placer::Kick;
use idlewise_parts::watch::{SimEvent, Watch};

/// How often blocked load is aged, ns: a half-life's periods taken as ms.
const AGE_EVERY_NS: u64 = 32_000_000;

/// Idle times below this on average are too short to age others in, ns (`sched_migration_cost_ns`).
const AGE_IDLE_NS: u64 = 500_000;

impl<W: Watch> Sim<'_, W> {
    fn sleeps_without_tick(&self, c: usize) -> bool {
        self.cpus[c].is_idle() && self.placer.cpus[c].listed
    }

    fn ticks_of(&self, ns: u64) -> u64 {
        ns.div_ceil(self.machine.grid.period_ns.max(1))
    }

    /// At the tick of a busy CPU.
    pub(super) fn kick_idle(&mut self, c: usize) {
        let tick = self.tick_number();
        if self.cpus[c].curr.is_none() {
            return;
        }
        self.placer.cpus[c].listed = false;
        let age = self.placer.blocked && tick >= self.placer.next_blocked;
        let balance = tick >= self.placer.next_idle && self.wants_help(c);
        let next = self.placer.next_unknown;
        if !age && !balance && !next {
            return;
        }
        if balance {
            self.placer.next_idle = tick + 1;
        }
        let Some(idle) = (0..self.cpus.len()).find(|o| self.sleeps_without_tick(*o)) else { return };
        let before = self.placer.cpus[idle].kick;
        self.placer.cpus[idle].kick =
            Kick { age: age || balance || before.age, balance: balance || before.balance, next };
        if before == Kick::default() {
            self.send_ipi(idle);
        }
    }

    /// Whether idle CPUs should look for work.
    fn wants_help(&self, c: usize) -> bool {
        let cpu = &self.cpus[c];
        if cpu.waiting() > 0 {
            return true;
        }
        if self.placer.asymmetric {
            return self.placer.cpus[c].misfit > 0;
        }
        // More than one CPU of the cluster is busy.
        let cluster = &self.placer.clusters[self.machine.cpus[c].cache];
        cluster.iter().filter(|o| !self.placer.cpus[**o].listed).nth(1).is_some()
    }

    /// The interrupt of another CPU has come: it may be about this.
    pub(crate) fn kicked(&mut self, c: usize) {
        let kick = std::mem::take(&mut self.placer.cpus[c].kick);
        if self.cpus[c].is_idle() && self.cpus[c].need_resched {
            self.cpus[c].woken_ns.get_or_insert(self.now_ns);
        }
        if !self.cpus[c].is_idle() || self.cpus[c].need_resched {
            return;
        }
        self.placer.next_unknown &= !kick.next;
        if kick != Kick::default() {
            self.watch.seen(self.now_ns, c as u32, SimEvent::Balances);
            self.look_after_idle(c, kick.age, kick.balance);
        }
    }

    /// A CPU stopped its tick.
    pub(crate) fn tick_stopped(&mut self, c: usize) {
        if !std::mem::replace(&mut self.placer.cpus[c].listed, true) {
            self.placer.next_unknown = self.machine.placing.kick_for_next;
        }
    }

    /// A CPU has nothing to do, and found nothing.
    pub(super) fn goes_idle(&mut self, c: usize, avg_idle_ns: u64) {
        if avg_idle_ns >= AGE_IDLE_NS && self.placer.blocked && self.tick_number() >= self.placer.next_blocked
        {
            self.look_after_idle(c, true, false);
        }
        self.placer.blocked = true;
        self.placer.next_idle = self.placer.next_idle.min(self.next_balance(c));
    }

    /// `c` ages the averages of all idle CPUs, or looks for work for them, and works out when that is to be done next.
    fn look_after_idle(&mut self, c: usize, age: bool, balance: bool) {
        let (n, tick) = (self.cpus.len(), self.tick_number());
        let mut blocked = false;
        let mut next = u64::MAX;
        for o in (c + 1..n).chain(0..=c) {
            if o != c && !self.sleeps_without_tick(o) {
                continue;
            }
            blocked |= age && self.age(o, c);
            if balance && tick >= self.next_balance(o) {
                self.rebalance(o, c);
            }
            next = next.min(self.next_balance(o));
        }
        if age {
            self.placer.blocked = blocked;
            self.placer.next_blocked = tick + self.ticks_of(AGE_EVERY_NS);
        }
        self.placer.next_idle = next.max(tick + 1);
    }

    /// Ages the averages of a CPU, and asks the governor of its clock once if anything has faded by that; gives whether
    /// anything is left. `by` does it.
    pub(super) fn age(&mut self, c: usize, by: usize) -> bool {
        let cpu = &mut self.cpus[c];
        self.load.pass(cpu, self.now_ns);
        if self.load.pelt.age(&mut cpu.pelt) {
            self.ask_clock_from(c, by);
        }
        let rq = &self.cpus[c].pelt;
        let left = |avg: &idlewise_signal::pelt::Avg| avg.util > 0 || avg.load > 0;
        [rq.fair(), rq.real_time(), rq.deadline(), rq.irq()].into_iter().any(left)
    }
}
