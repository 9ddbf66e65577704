// SPDX-License-Identifier: GPL-2.0-only
//! What placing and balancing keep.

use idlewise_platform::{EnergyModel, Kernel};
use idlewise_signal::pelt;

use crate::run::Setting;
use idlewise_parts::{Machine, Placement, Placing, SimError};

/// A time that a CPU's idle times are averaged to at most, ns: twice the cost of a migration (`sched_migration_cost_ns`).
pub(crate) const AVG_IDLE_MAX_NS: u64 = 1_000_000;

/// Most that an energy model of 6.1 may have: domains times states and CPUs.
const COMPLEXITY_MAX: usize = 2048;

/// What placing and balancing keep.
#[derive(Debug)]
pub(crate) struct Placer {
    /// By clock; empty where placement does not ask for energy.
    pub(crate) models: Vec<EnergyModel>,
    /// The PELT of the run, but always with the limits distinguished: the utilisation of energy sums is without limits.
    pub(crate) energy_pelt: pelt::Pelt,
    /// CPUs differ in capacity.
    pub(crate) asymmetric: bool,
    pub(crate) clusters: Vec<Vec<usize>>,
    /// Some CPU has more to do than fits, so that energy does not matter.
    pub(crate) overutilized: bool,
    /// Some CPU has tasks that wait, or one that does not fit.
    pub(crate) overloaded: bool,
    /// Some idle CPU's averages have not faded.
    pub(crate) blocked: bool,
    /// Some CPU stopped its tick since it was worked out when idle CPUs look for work next.
    pub(crate) next_unknown: bool,
    /// When they are aged next, and when idle CPUs look for work next, ticks.
    pub(crate) next_blocked: u64,
    pub(crate) next_idle: u64,
    /// By cluster: how many CPUs a waking task looks at.
    pub(crate) scan: Vec<usize>,
    pub(crate) cpus: Vec<PerCpu>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PerCpu {
    pub(crate) avg_idle_ns: u64,
    pub(crate) idle_since_ns: Option<u64>,
    /// Load of the task that runs and is too large, else 0.
    pub(crate) misfit: u64,
    /// A task that runs here and shall go to another CPU.
    pub(crate) push: Option<(u32, u32)>,
    /// What it was woken up for by another CPU.
    pub(crate) kick: Kick,
    /// Among those whose tick is stopped; until its next tick while it is busy, however often it runs between ticks.
    pub(crate) listed: bool,
    /// For its cluster and for the machine.
    pub(crate) levels: [Level; 2],
}

/// When a CPU balances one of its domains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// Tick of the last time.
    pub(crate) last: u64,
    /// Ms to the next: from the number of CPUs to twice that.
    pub(crate) wait_ms: u64,
    pub(crate) least_ms: u64,
    /// Times in a row that nothing could be moved.
    pub(crate) failed: u32,
}

/// What an idle CPU is woken up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kick {
    /// To age the averages of idle CPUs.
    pub(crate) age: bool,
    /// To look for work for them.
    pub(crate) balance: bool,
    /// To work out when to look next.
    pub(crate) next: bool,
}

impl Placer {
    /// # Errors
    /// [`SimError::NoEnergyModel`] if placement is to be energy-aware and cannot be.
    pub(crate) fn new(machine: &Machine<'_>, setting: &Setting) -> Result<Self, SimError> {
        let mut clusters = vec![Vec::new(); machine.cpus.iter().map(|c| c.cache + 1).max().unwrap_or(0)];
        for (c, spec) in machine.cpus.iter().enumerate() {
            clusters[spec.cache].push(c);
        }
        let capacity = |c: &idlewise_parts::CpuSpec<'_>| c.capacity;
        let asymmetric = machine.cpus.iter().map(capacity).min() != machine.cpus.iter().map(capacity).max();
        let config = pelt::Config { limits_apart: true, ..*setting.pelt.config() };
        let per_cpu = |spec: &idlewise_parts::CpuSpec<'_>| PerCpu {
            avg_idle_ns: AVG_IDLE_MAX_NS,
            idle_since_ns: None,
            misfit: 0,
            push: None,
            kick: Kick::default(),
            listed: false,
            levels: [Level::new(clusters[spec.cache].len()), Level::new(machine.cpus.len())],
        };
        let energy_pelt = match pelt::Pelt::new(config) {
            Ok(pelt) => pelt,
            Err(why) => unreachable!("a valid PELT with limits of its own: {why}"),
        };
        Ok(Self {
            models: models(machine, setting, asymmetric)?,
            energy_pelt,
            asymmetric,
            scan: clusters.iter().map(Vec::len).collect(),
            cpus: machine.cpus.iter().map(per_cpu).collect(),
            clusters,
            overutilized: false,
            overloaded: false,
            blocked: false,
            next_unknown: false,
            next_blocked: 0,
            next_idle: 0,
        })
    }

    /// Where waking tasks are placed by energy now.
    pub(crate) fn minds_energy(&self) -> bool {
        !self.models.is_empty() && !self.overutilized
    }
}

impl Level {
    pub(crate) fn new(cpus: usize) -> Self {
        let ms = cpus as u64;
        Self { last: 0, wait_ms: ms, least_ms: ms, failed: 0 }
    }
}

/// The energy models of all clocks; none where placement is not energy-aware.
fn models(machine: &Machine<'_>, setting: &Setting, asymmetric: bool) -> Result<Vec<EnergyModel>, SimError> {
    let placing = &machine.placing;
    if placing.placement == Placement::Plain {
        return Ok(Vec::new());
    }
    let old = placing.placement == Placement::Android;
    let kernel = if !old && setting.pelt.config().limits_apart { Kernel::V6_12 } else { Kernel::V6_1 };
    let auto = placing.placement != Placement::EnergyAware;
    if auto && !(asymmetric && setting.frequency.info().follows_scheduler) {
        return Ok(Vec::new());
    }
    let mut models = Vec::new();
    for clock in &machine.clocks {
        let cluster = machine.clusters.get(clock.cluster);
        let invariant = cluster.and_then(|c| c.clock.as_ref()).is_some_and(|c| c.invariant);
        let model = cluster.and_then(|c| EnergyModel::new(c, kernel));
        match model {
            Some(model) if invariant || !auto => models.push(scaled(model, placing, clock.cluster)),
            _ if auto => return Ok(Vec::new()),
            _ => {
                let cluster = cluster.map_or_else(String::new, |c| c.name.clone());
                return Err(SimError::NoEnergyModel { cluster });
            }
        }
    }
    let parts = machine.cpus.len() + models.iter().map(|m| m.states.len()).sum::<usize>();
    if auto && kernel == Kernel::V6_1 && models.len() * parts > COMPLEXITY_MAX {
        models.clear();
    }
    Ok(models)
}

fn scaled(mut model: EnergyModel, placing: &Placing, cluster: usize) -> EnergyModel {
    let scale = u64::from(placing.model_scale.get(cluster).copied().unwrap_or(1000));
    for state in &mut model.states {
        state.power_uw = state.power_uw.saturating_mul(scale) / 1000;
        state.cost = state.cost.saturating_mul(scale) / 1000;
    }
    model
}
