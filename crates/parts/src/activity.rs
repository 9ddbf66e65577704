// SPDX-License-Identifier: GPL-2.0-only
//! Which cores are active, for what depends on their number: ceilings of clocks.

use crate::{ClockSpec, CpuSpec, Machine};

/// Counts active cores: those of which a thread is awake, or in an idle state that counts as active.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity {
    /// By place of the CPU: the first idle state in which it is not active, and whether it is.
    cpus: Vec<(usize, bool)>,
    /// By cluster: active cores now, and the most since the last sample.
    clusters: Vec<(usize, usize)>,
    /// By clock: active CPUs now, and whether there was one since the last sample.
    clocks: Vec<(usize, bool)>,
}

impl Activity {
    /// All CPUs are active. Counts nothing where no ceiling depends on it.
    pub(crate) fn new(machine: &Machine<'_>) -> Self {
        if !machine.has_ceilings() {
            return Self::default();
        }
        let from = |c: &CpuSpec<'_>| {
            let states = machine.clusters[c.cluster].table.states();
            let clock = machine.clusters[c.cluster].clock.as_ref();
            let named = clock.and_then(|clock| clock.inactive_from.as_ref());
            let sleeps = |s: &idlewise_model::IdleState| named.map_or(!s.polling, |name| s.name == *name);
            (states.iter().position(sleeps).unwrap_or(states.len()), true)
        };
        let cores = |cluster: usize| {
            let first = |(place, c): &(usize, &CpuSpec<'_>)| c.cluster == cluster && c.core.start == *place;
            machine.cpus.iter().enumerate().filter(first).count()
        };
        let clock = |c: &ClockSpec<'_>| (c.cpus.len(), true);
        Self {
            cpus: machine.cpus.iter().map(from).collect(),
            clusters: (0..machine.clusters.len()).map(|i| (cores(i), cores(i))).collect(),
            clocks: machine.clocks.iter().map(clock).collect(),
        }
    }

    /// CPU `c` is in this idle state from now on, or in none.
    pub(crate) fn change(&mut self, machine: &Machine<'_>, c: usize, state: Option<usize>) {
        let Some((from, active)) = self.cpus.get_mut(c) else { return };
        let now = state.is_none_or(|s| s < *from);
        if std::mem::replace(active, now) == now {
            return;
        }
        let spec = &machine.cpus[c];
        let others = spec.core.clone().any(|thread| thread != c && self.cpus[thread].1);
        let (cluster, clock) = (&mut self.clusters[spec.cluster], &mut self.clocks[spec.clock]);
        if now {
            clock.0 += 1;
            clock.1 = true;
            cluster.0 += usize::from(!others);
            cluster.1 = cluster.1.max(cluster.0);
        } else {
            clock.0 -= 1;
            cluster.0 -= usize::from(!others);
        }
    }

    /// By clock: whether a CPU of it was active since the last call, and the most cores of its cluster that were at a time.
    pub(crate) fn take(&mut self, machine: &Machine<'_>) -> (Vec<bool>, Vec<usize>) {
        let active = self.clocks.iter().map(|(_, was)| *was).collect();
        let cores = machine.clocks.iter().map(|c| self.clusters[c.cluster].1).collect();
        self.clocks.iter_mut().for_each(|(now, was)| *was = *now > 0);
        self.clusters.iter_mut().for_each(|(now, most)| *most = *now);
        (active, cores)
    }
}
