// SPDX-License-Identifier: GPL-2.0-only
//! What a package draws in addition to its CPUs and clusters, by the idle state that all its CPUs allow it: caches, memory
//! controller, graphics.

use crate::Machine;

/// Counts the time for which a package is awake and in each of its idle states.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// Awake, then in each level.
    powers_uw: Vec<u64>,
    /// Besides for each CPU that is awake.
    each_awake_uw: u64,
    awake: u64,
    cpus: Vec<Cpu>,
    /// By number of levels: how many CPUs allow just so many.
    allow: Vec<usize>,
    /// The level that all of them allow.
    level: usize,
    /// What it draws besides while awake, for its temperature, uW; less than nothing where it is cool.
    leaks_uw: i64,
    since_ns: u64,
}

#[derive(Debug)]
struct Cpu {
    /// The first idle state in which it allows each level.
    states: Vec<usize>,
    /// How many levels it allows.
    allowed: usize,
    awake: bool,
}

impl Package {
    /// All CPUs are awake.
    pub(crate) fn new(machine: &Machine<'_>) -> Self {
        let Some(package) = &machine.package else { return Self::default() };
        let cpu = |c: &crate::CpuSpec<'_>| {
            let states = package.level_states(&machine.clusters[c.cluster].table);
            Cpu { states, allowed: 0, awake: true }
        };
        let cpus: Vec<Cpu> = machine.cpus.iter().map(cpu).collect();
        let (awake, each_awake_uw) = (cpus.len() as u64, package.each_awake_uw);
        let powers_uw = package.powers_uw();
        let mut allow = vec![0; powers_uw.len()];
        allow[0] = cpus.len();
        Self { powers_uw, allow, each_awake_uw, awake, cpus, level: 0, leaks_uw: 0, since_ns: 0 }
    }

    /// What was drawn since the last call, fJ or the tables' relative equivalent.
    pub(crate) fn drawn_fj(&mut self, now_ns: u64) -> u128 {
        let ns = now_ns.saturating_sub(self.since_ns);
        self.since_ns = self.since_ns.max(now_ns);
        let Some(power_uw) = self.powers_uw.get(self.level) else { return 0 };
        let power_uw =
            if self.level == 0 { power_uw.saturating_add_signed(self.leaks_uw) } else { *power_uw };
        u128::from(power_uw + self.each_awake_uw * self.awake) * u128::from(ns)
    }

    /// It leaks so much from now on; gives what was drawn until then.
    pub(crate) fn leak(&mut self, now_ns: u64, more_uw: i64) -> u128 {
        let drawn = self.drawn_fj(now_ns);
        self.leaks_uw = more_uw;
        drawn
    }

    /// CPU `c` is in this idle state from now on, or in none; gives what was drawn until then.
    pub(crate) fn change(&mut self, c: usize, now_ns: u64, state: Option<usize>) -> u128 {
        let Some(cpu) = self.cpus.get_mut(c) else { return 0 };
        let now = (state.map_or(0, |s| cpu.states.partition_point(|from| *from <= s)), state.is_none());
        let before = (cpu.allowed, cpu.awake);
        if before == now {
            return 0;
        }
        (cpu.allowed, cpu.awake) = now;
        let drawn = self.drawn_fj(now_ns);
        self.allow[before.0] -= 1;
        self.allow[now.0] += 1;
        let Some(level) = self.allow.iter().position(|cpus| *cpus > 0) else {
            unreachable!("each CPU allows some level")
        };
        self.level = level;
        self.awake = self.awake + u64::from(now.1) - u64::from(before.1);
        drawn
    }
}
