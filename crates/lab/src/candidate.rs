// SPDX-License-Identifier: GPL-2.0-only
//! Who can be run: a governor in C, or the engine's clairvoyant; and how a trace's CPUs are run under it.

use idlewise_governor::{Instance, Spec};
use idlewise_idle::{Hosted, Oracle};
use idlewise_model::Ledger;
use idlewise_platform::Cluster;
use idlewise_replay::{RunCounts, Setting, Workload, run};

use crate::LabError;
use crate::scene::Scene;

/// The name under which the engine's own clairvoyant runs.
pub const ORACLE: &str = "oracle";
/// A job takes CPUs until it has this many stays; loading a governor's copy costs as much as a few thousand.
const STAYS_PER_JOB: usize = 200_000;

/// One governor of a request.
#[derive(Clone)]
pub(crate) enum Candidate {
    Hosted(Spec),
    Oracle,
}

/// A run on one CPU.
pub(crate) struct Ran<L> {
    pub(crate) cpu: u32,
    pub(crate) ledger: L,
    pub(crate) counts: RunCounts,
}

impl Candidate {
    /// `name` is [`ORACLE`] or a governor with its parameters.
    pub(crate) fn parse(name: &str) -> Result<Self, LabError> {
        Ok(if name == ORACLE { Self::Oracle } else { Self::Hosted(name.parse()?) })
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Hosted(spec) => spec.to_string(),
            Self::Oracle => ORACLE.to_owned(),
        }
    }

    /// Runs `cpus` with one copy of the governor; `ledger` opens the books of each.
    pub(crate) fn run<'w, 's, L: Ledger>(
        &self,
        cpus: &[&'w Workload],
        scene: &'s Scene,
        setting: Setting,
        ledger: impl Fn(&'w Workload, &'s Cluster) -> L,
    ) -> Result<Vec<Ran<L>>, LabError> {
        let mut out = Vec::new();
        let period_ns = cpus.first().map_or(1, |w| w.grid.period_ns);
        let mut instance = match self {
            Self::Hosted(spec) => Some(Instance::load(spec, period_ns)?),
            Self::Oracle => None,
        };
        for workload in cpus {
            let Some(place) = scene.place(workload.cpu) else { continue };
            let mut ledger = ledger(workload, place);
            let counts = match &mut instance {
                Some(instance) => {
                    let slot = instance.add_cpu(workload.cpu, &place.table, place.capacity)?;
                    let mut governor = Hosted::new(instance, slot);
                    run(workload, &place.table, place.capacity, setting, &mut governor, &mut ledger)
                }
                None => {
                    let mut oracle = Oracle::new(&place.table);
                    run(workload, &place.table, place.capacity, setting, &mut oracle, &mut ledger)
                }
            };
            out.push(Ran { cpu: workload.cpu, ledger, counts });
        }
        Ok(out)
    }
}

/// The CPUs that one job takes.
pub(crate) fn chunks(workloads: &[Workload]) -> Vec<Vec<&Workload>> {
    let mut out: Vec<Vec<&Workload>> = Vec::new();
    let mut held = usize::MAX;
    for w in workloads {
        if held >= STAYS_PER_JOB {
            out.push(Vec::new());
            held = 0;
        }
        held += w.events.len();
        out.last_mut().into_iter().for_each(|chunk| chunk.push(w));
    }
    out
}
