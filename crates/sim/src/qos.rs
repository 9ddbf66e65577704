// SPDX-License-Identifier: GPL-2.0-only
//! Limits of the exit latency that tasks ask for.

use crate::state::Sim;
use idlewise_parts::watch::Watch;

impl<W: Watch> Sim<'_, W> {
    /// The task asks for a limit, or no more for one. Where another limit holds now, idle CPUs wake up and choose again, as
    /// kernels make them.
    pub(crate) fn ask_limit(&mut self, c: usize, task: u32, limit_ns: Option<u64>) {
        let own = &mut self.tasks[task].limit_ns;
        if *own == limit_ns {
            return;
        }
        *own = limit_ns;
        let asked = self.tasks.0.iter().filter_map(|t| t.limit_ns).min();
        let machine_ns = self.machine.limits.latency_ns;
        let limit_ns =
            asked.map_or(machine_ns, |ns| i64::try_from(ns).map_or(machine_ns, |ns| ns.min(machine_ns)));
        if limit_ns == self.limit_ns {
            return;
        }
        self.limit_ns = limit_ns;
        for idle in (0..self.cpus.len()).filter(|idle| *idle != c) {
            if self.cpus[idle].curr.is_none() {
                self.resched(idle, Some(c));
            }
        }
    }
}
