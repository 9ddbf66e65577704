// SPDX-License-Identifier: GPL-2.0-only
//! The deadline server of fair tasks, as Linux 6.12.117 and 6.17 and later have it.
//!
//! Each CPU keeps some time for fair tasks, should others take it all. That time is used up by fair tasks that run anyway, and
//! by the CPU's idling. A timer is set to when the rest of it has to begin at the latest. As long as fair tasks run now and
//! then, the time is always used up before, and a new period begins: so the timer never fires, but while the CPU is idle it is
//! always pending, and no next timer that a governor sees is farther away. The server stops when the timer fires in idle.

use crate::state::Sim;
use crate::state::server::FairServer;
use idlewise_parts::timers::Waiter;
use idlewise_parts::watch::{HrtimerOf, SimEvent, Watch};

/// The kernel's defaults (`/sys/kernel/debug/sched/fair_server`), ns.
const RUNTIME_NS: u64 = 50_000_000;
const PERIOD_NS: u64 = 1_000_000_000;
/// The timer is not moved by less than this, ns.
const LEAST_MOVE_NS: u64 = 1_000_000;

impl<W: Watch> Sim<'_, W> {
    /// The first fair task comes to the CPU's queue.
    pub(crate) fn fair_server_starts(&mut self, c: usize) {
        let server = self.cpus[c].server;
        if server.active || !self.machine.fair_server {
            return;
        }
        let until_ns = server.deadline_ns.saturating_sub(self.now_ns);
        // More than its share of what is left of the period.
        let overflows = server.left_ns.saturating_mul(PERIOD_NS / RUNTIME_NS) > until_ns;
        if overflows || server.left_ns == 0 {
            self.fair_server_renewed(c);
        } else {
            self.set_fair_server(c, server);
        }
    }

    /// The CPU ran a fair task, or nothing, for `ns`.
    pub(crate) fn fair_server_pays(&mut self, c: usize, ns: u64, idle: bool) {
        let server = &mut self.cpus[c].server;
        if ns == 0 || !server.active {
            return;
        }
        server.left_ns = server.left_ns.saturating_sub(ns);
        if server.left_ns == 0 && !idle {
            self.fair_server_renewed(c);
        }
    }

    /// The server's timer fires: it gives up its turn or begins anew.
    pub(crate) fn fair_server_fired(&mut self, c: usize) {
        let seen = SimEvent::TimerExpired { timer: HrtimerOf::FairServer };
        self.watch.seen(self.now_ns, c as u32, seen);
        self.charge(c);
        let server = self.cpus[c].server;
        let due_ns = server.deadline_ns.saturating_sub(server.left_ns);
        if due_ns > self.now_ns + LEAST_MOVE_NS {
            self.set_fair_server(c, server);
        } else if self.has_fair_tasks(c) {
            // That it runs them before real-time tasks is not modelled.
            self.fair_server_renewed(c);
        } else {
            self.cpus[c].server.active = false;
            // It is chosen, finds nothing to run, and stops.
            self.cpus[c].need_resched = true;
        }
        self.watch.seen(self.now_ns, c as u32, SimEvent::TimerDone { timer: HrtimerOf::FairServer });
    }

    /// Whether a fair task runs or waits on the CPU.
    pub(crate) fn has_fair_tasks(&self, c: usize) -> bool {
        let cpu = &self.cpus[c];
        !cpu.fair.waiting().is_empty() || cpu.curr.is_some_and(|t| self.tasks[t].is_fair())
    }

    fn fair_server_renewed(&mut self, c: usize) {
        if self.cpus[c].server.active {
            self.cpus[c].timers.cancel(Waiter::FairServer);
            let seen = SimEvent::TimerCancelled { timer: HrtimerOf::FairServer };
            self.watch.seen(self.now_ns, c as u32, seen);
        }
        let deadline_ns = self.now_ns + PERIOD_NS;
        self.set_fair_server(c, FairServer { active: true, deadline_ns, left_ns: RUNTIME_NS });
    }

    /// The server is active, and its timer set; no other is.
    fn set_fair_server(&mut self, c: usize, server: FairServer) {
        let at_ns = (server.deadline_ns - server.left_ns).max(self.now_ns);
        self.cpus[c].server = FairServer { active: true, ..server };
        self.cpus[c].timers.add(at_ns, 0, Waiter::FairServer);
        let seen = SimEvent::TimerSet { timer: HrtimerOf::FairServer, soft_ns: at_ns, hard_ns: at_ns };
        self.watch.seen(self.now_ns, c as u32, seen);
    }
}
