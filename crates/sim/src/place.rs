// SPDX-License-Identifier: GPL-2.0-only
//! Where tasks go: at waking up, when a CPU runs dry, at the tick.
//!
//! A CPU is a core of its own and a cluster shares its last cache; above the clusters there is the machine, and nothing
//! above it. The rules and their constants are Linux 6.12's (`signal-behaviour.md` D2 to D4 and A7), 6.1's where the
//! PELT of the run is one from before 6.8. `docs/concepts/simulation-scheduler.md` says what is modelled and what is
//! not.
//!
//! * `wake`: fair tasks without an energy model, and new ones.
//! * `eas`: fair tasks with one, while no CPU has too much to do.
//! * `first`: real-time and deadline tasks.
//! * `balance`, with the arithmetic in `imbalance`: tasks that wait or do not fit go elsewhere.
//! * `nohz`: what is done for CPUs whose tick is stopped, ageing included.
//! * `util`: how full CPUs are and how large tasks.

mod balance;
mod eas;
mod first;
mod imbalance;
mod nohz;
mod util;
mod wake;

use idlewise_platform::{EnergyModel, Kernel};
use idlewise_signal::pelt;

use crate::engine::{Setting, Sim};
use crate::load::View;
use idlewise_parts::watch::Watch;
use idlewise_parts::{Machine, Placement, Placing, SimError};

/// A time that a CPU's idle times are averaged to at most, ns: twice the cost of a migration (`sched_migration_cost_ns`).
const AVG_IDLE_MAX_NS: u64 = 1_000_000;

/// Most that an energy model of 6.1 may have: domains times states and CPUs.
const COMPLEXITY_MAX: usize = 2048;

/// What placing and balancing keep.
#[derive(Debug)]
pub(crate) struct Placer {
    /// By clock; empty where placement does not ask for energy.
    models: Vec<EnergyModel>,
    /// The PELT of the run, but always with the limits told apart: the utilisation of energy sums is without limits.
    energy_pelt: pelt::Pelt,
    /// CPUs differ in capacity.
    asymmetric: bool,
    /// CPUs by cluster.
    clusters: Vec<Vec<usize>>,
    /// Some CPU has more to do than fits, so that energy does not matter.
    overutilized: bool,
    /// Some CPU has tasks that wait, or one that does not fit.
    overloaded: bool,
    /// Some idle CPU's averages have not faded.
    blocked: bool,
    /// Some CPU stopped its tick since it was worked out when idle CPUs look for work next.
    next_unknown: bool,
    /// When they are aged next, and when idle CPUs look for work next, ticks.
    next_blocked: u64,
    next_idle: u64,
    /// By cluster: how many CPUs a waking task looks at.
    scan: Vec<usize>,
    cpus: Vec<PerCpu>,
}

#[derive(Clone, Copy, Debug)]
struct PerCpu {
    avg_idle_ns: u64,
    idle_since_ns: Option<u64>,
    /// Load of the task that runs and is too large, else 0.
    misfit: u64,
    /// A task that runs here and shall go to another CPU.
    push: Option<(u32, u32)>,
    /// What it was woken up for by another CPU.
    kick: nohz::Kick,
    /// Among those whose tick is stopped; until its next tick while it is busy, however often it runs between ticks.
    listed: bool,
    /// For its cluster and for the machine.
    levels: [balance::Level; 2],
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
            kick: nohz::Kick::default(),
            listed: false,
            levels: [
                balance::Level::new(clusters[spec.cache].len()),
                balance::Level::new(machine.cpus.len()),
            ],
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
    fn minds_energy(&self) -> bool {
        !self.models.is_empty() && !self.overutilized
    }
}

/// The energy models of all clocks; none where placement is not energy-aware.
fn models(machine: &Machine<'_>, setting: &Setting, asymmetric: bool) -> Result<Vec<EnergyModel>, SimError> {
    let placing = &machine.placing;
    if placing.placement == Placement::Plain {
        return Ok(Vec::new());
    }
    let kernel = if setting.pelt.config().limits_apart { Kernel::V6_12 } else { Kernel::V6_1 };
    let auto = placing.placement == Placement::Auto;
    let id = setting.frequency.info().id;
    let schedutil = id.starts_with("schedutil") || id.starts_with("sched-");
    if auto && !(asymmetric && schedutil) {
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

impl<'t, W: Watch> Sim<'t, W> {
    /// The CPU for a task that wakes up, or that may no longer run where it does; `by` wakes it.
    pub(crate) fn place(&mut self, task: u32, by: Option<usize>) -> u32 {
        let t = &self.tasks[task];
        if let [only] = t.cpus.as_slice() {
            return *only;
        }
        let from = t.cpu;
        let prev = if t.may_run_on(from) { from } else { t.cpus.first().copied().unwrap_or(0) };
        // A new task asks for another class itself, once it runs.
        if t.is_new {
            return self.place_new(task, prev);
        }
        if !t.is_fair() {
            return self.place_first(task, prev, by);
        }
        let t = &mut self.tasks[task];
        self.load.pelt.sync(&self.cpus[from as usize].pelt, &mut t.pelt);
        if self.placer.minds_energy() {
            let to = self.place_by_energy(task) as u32;
            return if self.tasks[task].may_run_on(to) { to } else { prev };
        }
        self.place_plainly(task, prev, by.map_or(prev, |b| b as u32))
    }

    fn view(&self) -> View<'_, 't> {
        View { load: &self.load, cpus: &self.cpus, tasks: &self.tasks, machine: self.machine }
    }

    fn near(&self, a: u32, b: u32) -> bool {
        let cluster = |c: u32| self.machine.cpus[c as usize].cache;
        cluster(a) == cluster(b)
    }

    /// Nothing runs or waits there but what only uses what is left.
    fn is_free(&self, c: u32) -> bool {
        let cpu = &self.cpus[c as usize];
        let yields = |t: &u32| self.tasks[*t].entity.idle && self.tasks[*t].is_fair();
        cpu.first.is_empty() && cpu.curr.iter().chain(cpu.fair.waiting()).all(yields)
    }

    /// The number of the tick that it is now.
    fn tick_number(&self) -> u64 {
        self.now_ns / self.machine.grid.period_ns.max(1)
    }
}
