// SPDX-License-Identifier: GPL-2.0-only
//! For how long each cluster as a whole was in which state, as plots of phones show it: in the shallowest of its CPUs' states,
//! active while any of them is.

use idlewise_model::{Entry, Ledger};
use idlewise_parts::{Machine, SimEvent, Watch};
use serde::{Deserialize, Serialize};

/// The time of one cluster, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterTime {
    /// A CPU of it was awake, ns.
    pub active_ns: u64,
    /// By state, ns: all were in that or a deeper one.
    pub states_ns: Vec<u64>,
    /// The clock over all of the time, kHz times ns; of a cluster with one clock.
    pub khz_ns: u128,
}

/// Watches all clusters of a machine.
#[derive(Debug)]
pub struct Clusters {
    /// The cluster of each CPU, by place, and the idle state that it is in.
    cpus: Vec<(usize, Option<u8>)>,
    clusters: Vec<Cluster>,
}

#[derive(Debug)]
struct Cluster {
    time: ClusterTime,
    /// CPUs that are awake, and by state those that are in it.
    awake: u32,
    in_state: Vec<u32>,
    /// States that are never reached: bit i for state i.
    refused: u16,
    since_ns: u64,
    khz: u32,
    khz_since_ns: u64,
}

impl Cluster {
    fn clock(&mut self, at_ns: u64, khz: u32) {
        let ns = at_ns.saturating_sub(self.khz_since_ns);
        self.khz_since_ns = self.khz_since_ns.max(at_ns);
        self.time.khz_ns += u128::from(std::mem::replace(&mut self.khz, khz)) * u128::from(ns);
    }

    /// Counts the time until `at_ns`. CPUs' events may come a little out of order.
    fn pass(&mut self, at_ns: u64) {
        let ns = at_ns.saturating_sub(self.since_ns);
        self.since_ns = self.since_ns.max(at_ns);
        let shallowest = self.in_state.iter().position(|n| *n > 0);
        match shallowest.filter(|_| self.awake == 0).and_then(|state| self.time.states_ns.get_mut(state)) {
            Some(time) => *time += ns,
            None => self.time.active_ns += ns,
        }
    }

    fn count(&mut self, state: Option<u8>) -> Option<&mut u32> {
        match state {
            None => Some(&mut self.awake),
            Some(state) => self.in_state.get_mut(usize::from(state)),
        }
    }
}

impl Clusters {
    /// All CPUs of `machine`, awake at time 0.
    #[must_use]
    pub fn new(machine: &Machine<'_>) -> Self {
        let mut clusters: Vec<Cluster> = machine
            .clusters
            .iter()
            .map(|c| Cluster {
                time: ClusterTime { active_ns: 0, states_ns: vec![0; c.table.states().len()], khz_ns: 0 },
                awake: 0,
                in_state: vec![0; c.table.states().len()],
                refused: c.table.refused(),
                since_ns: 0,
                khz: 0,
                khz_since_ns: 0,
            })
            .collect();
        for clock in &machine.clocks {
            clusters[clock.cluster].khz = clock.points.first().map_or(0, |p| p.khz);
        }
        for cpu in &machine.cpus {
            clusters[cpu.cluster].awake += 1;
        }
        Self { cpus: machine.cpus.iter().map(|c| (c.cluster, None)).collect(), clusters }
    }

    /// What was seen until `end_ns`, by cluster.
    #[must_use]
    pub fn times(mut self, end_ns: u64) -> Vec<ClusterTime> {
        for c in &mut self.clusters {
            c.pass(end_ns);
            c.clock(end_ns, 0);
        }
        self.clusters.into_iter().map(|c| c.time).collect()
    }

    fn change(&mut self, at_ns: u64, cpu: u32, to: Option<u8>) {
        let Some((cluster, state)) = self.cpus.get_mut(cpu as usize) else { return };
        let from = std::mem::replace(state, to);
        let Some(c) = self.clusters.get_mut(*cluster).filter(|_| from != to) else { return };
        c.pass(at_ns);
        if let Some(n) = c.count(from) {
            *n = n.saturating_sub(1);
        }
        if let Some(n) = c.count(to) {
            *n += 1;
        }
    }
}

impl Ledger for Clusters {
    fn entry(&mut self, _: &Entry) {}
}

impl Watch for Clusters {
    #[inline]
    fn seen(&mut self, at_ns: u64, cpu: u32, what: SimEvent) {
        match what {
            SimEvent::IdleEntered { state } => {
                let cluster =
                    self.cpus.get(cpu as usize).and_then(|(cluster, _)| self.clusters.get(*cluster));
                if cluster.is_some_and(|c| c.refused >> state & 1 == 0) {
                    self.change(at_ns, cpu, Some(state));
                }
            }
            SimEvent::IdleLeft => self.change(at_ns, cpu, None),
            SimEvent::Clock { khz } => {
                let cluster = self.cpus.get(cpu as usize).map(|(cluster, _)| *cluster);
                if let Some(c) = cluster.and_then(|cluster| self.clusters.get_mut(cluster)) {
                    c.clock(at_ns, khz);
                }
            }
            _ => {}
        }
    }
}
