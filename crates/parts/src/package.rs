// SPDX-License-Identifier: GPL-2.0-only
//! What a package draws beside its CPUs and clusters while any CPU keeps it from sleeping: caches, memory controller, graphics.

use crate::Machine;

/// Counts the time for which a package is awake.
#[derive(Debug, Default)]
pub(crate) struct Package {
    awake_uw: u64,
    /// By place of the CPU: the first idle state in which it lets the package sleep, and whether it does.
    cpus: Vec<(usize, bool)>,
    /// CPUs that do not.
    awake: usize,
    since_ns: u64,
}

impl Package {
    /// All CPUs are awake.
    pub(crate) fn new(machine: &Machine<'_>) -> Self {
        let Some(package) = &machine.package else { return Self::default() };
        let from = |c: &crate::CpuSpec<'_>| (package.from(&machine.clusters[c.cluster].table), false);
        let cpus: Vec<_> = machine.cpus.iter().map(from).collect();
        Self { awake_uw: package.awake_uw, awake: cpus.len(), cpus, since_ns: 0 }
    }

    /// What was drawn since the last call, fJ or the tables' relative equivalent.
    pub(crate) fn drawn_fj(&mut self, now_ns: u64) -> u128 {
        let ns = now_ns.saturating_sub(self.since_ns);
        self.since_ns = self.since_ns.max(now_ns);
        if self.awake > 0 { u128::from(self.awake_uw) * u128::from(ns) } else { 0 }
    }

    /// CPU `c` is in this idle state from now on, or in none; gives what was drawn until then.
    pub(crate) fn change(&mut self, c: usize, now_ns: u64, state: Option<usize>) -> u128 {
        let Some((from, lets)) = self.cpus.get_mut(c) else { return 0 };
        let now = state.is_some_and(|s| s >= *from);
        if *lets == now {
            return 0;
        }
        *lets = now;
        let drawn = self.drawn_fj(now_ns);
        self.awake = if now { self.awake - 1 } else { self.awake + 1 };
        drawn
    }
}
