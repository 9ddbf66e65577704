// SPDX-License-Identifier: GPL-2.0-only
//! A workload on a machine, for whoever runs many governors on it one by one.

use idlewise_platform::Platform;
use idlewise_recording::CommandError;
use idlewise_recording::candidate::Candidate;
use idlewise_recording::limits;
use idlewise_score::Score;
use idlewise_workload::Workload;

use super::{Job, Kernel, Named, SimulateRequest, Stage, facts, limited};
use super::{bounds, frequency_governors, hz, kernel, machine_of, without_clock};
use crate::ExperimentError;

/// A workload on a machine, with a seed.
#[derive(Clone, Debug)]
pub struct Scene {
    request: SimulateRequest,
    platform: Platform,
    workload: Workload,
    hz: u32,
    /// How long it is, ns, unless its tasks end before.
    pub duration_ns: u64,
    /// CPUs of the machine.
    pub cpus: usize,
    /// What its energies are worth, in short.
    pub energy_grade: &'static str,
    /// Energies are mJ; else relative.
    pub energy_measured: bool,
    /// What of workload and machine is not modelled, or only roughly.
    pub notes: Vec<String>,
}

/// What a governor did in a scene.
#[derive(Clone, Debug)]
pub struct SceneRun {
    pub score: Score,
    /// Times it was asked.
    pub decisions: u64,
    /// What the CPUs took, running and idle, mJ or relative.
    pub energy: f64,
    /// [`Scene::work`], ns; nothing where nothing of it came to an end.
    pub work_ns: Option<f64>,
}

impl Scene {
    /// The machine, workload and seed of `request`; the first of its frequency governors and signals. Its idle governors are not
    /// looked at.
    ///
    /// # Errors
    /// As [`super::simulate`].
    pub fn new(request: SimulateRequest) -> Result<Self, ExperimentError> {
        bounds::check(&request)?;
        let workload = idlewise_workload::find(&request.workload)?;
        let platform = idlewise_platform::find(&request.platform)?.changed(&request.changes)?;
        let kernel = Kernel::parse(&request.kernel)?;
        let hz = hz(&request, &platform)?;
        let machine = machine_of(&request, &platform, kernel, hz)?;
        limited::rows(&request, &platform, &machine)?;
        frequency_governors(&request)?;
        kernel::signal(&request.signals[0], kernel)?;
        let notes = workload.notes.iter().map(|n| n.to_string());
        let notes = notes.chain(without_clock(&machine).map(|n| n.to_string())).collect();
        let cpus = machine.cpus.len();
        let stage = Stage::of(&request, &platform, machine, &workload);
        let duration_ns = stage.duration_ns;
        let grade = stage.energies().map(|e| e.grade).min();
        let grade = grade.unwrap_or(idlewise_platform::EnergyGrade::DerivedFromBreakEven);
        drop(stage);
        let (energy_grade, energy_measured) = (grade.label(), grade.in_watts());
        Ok(Self { request, platform, workload, hz, duration_ns, cpus, energy_grade, energy_measured, notes })
    }

    /// The same for so long only, ns.
    #[must_use]
    pub fn shortened(&self, duration_ns: u64) -> Self {
        let request = SimulateRequest { duration_ns: Some(duration_ns), ..self.request.clone() };
        Self { request, duration_ns, ..self.clone() }
    }

    /// Runs `candidate`, whose failure is the inner error.
    ///
    /// # Errors
    /// [`ExperimentError`] where it is not the candidate that fails; also for the oracle, which no simulation has.
    pub fn run(&self, candidate: &Candidate) -> Result<Result<SceneRun, String>, ExperimentError> {
        let Candidate::Hosted { governor, name, limits } = candidate else {
            let why = "the oracle needs the time of the next event, which in a simulation depends on its own choice";
            return Err(CommandError::conflict(&["--governor"], why).into());
        };
        let kernel = Kernel::parse(&self.request.kernel)?;
        let machine = machine_of(&self.request, &self.platform, kernel, self.hz)?;
        limits::check(name, *limits, machine.clusters)?;
        let power = &limited::rows(&self.request, &self.platform, &machine)?[0];
        let stage = Stage::of(&self.request, &self.platform, machine, &self.workload);
        let (pelt, signal) = kernel::signal(&self.request.signals[0], kernel)?;
        let signal = &Named { name: self.request.signals[0].clone(), pelt, signal };
        let cpufreq = &frequency_governors(&self.request)?[0];
        let job = Job { governor, name, limits: *limits, cpufreq, signal, power };
        let (out, counts, ramps, _) = match stage.run(&job, self.request.seed) {
            Ok(ran) => ran,
            Err(ExperimentError::Command(CommandError::Governor(e)))
                if governor.is_foreign() && e.is_misbehaviour() =>
            {
                return Ok(Err(e.to_string()));
            }
            Err(ExperimentError::Run(why)) => return Ok(Err(why)),
            Err(e) => return Err(e),
        };
        let facts = facts::facts(&stage.machine, &self.workload, &stage.meters, &out, &counts, &ramps);
        let (about, name) = self.work();
        let work = facts.iter().find(|f| f.about == about && f.name == name).map(|f| f.value);
        Ok(Ok(SceneRun {
            score: facts::score(&stage.machine, &counts),
            decisions: out.decisions,
            energy: out.energy.sum_fj() as f64 / 1e12,
            work_ns: work.filter(|ns| ns.is_finite()),
        }))
    }

    /// The fact that tells best how long users wait for the work: the 99th percentile of its first frames, requests or device
    /// operations, or how late its first task wakes.
    #[must_use]
    pub fn work(&self) -> (String, &'static str) {
        let Workload { frames, sources, devices, tasks, .. } = &self.workload;
        match (frames.first(), sources.first(), devices.first(), tasks.first()) {
            (Some(frame), ..) => (format!("frames {}", frame.name), "time p99"),
            (_, Some(source), ..) => (format!("requests {}", source.name), "latency p99"),
            (_, _, Some(device), _) => (format!("device {}", device.name), "latency p99"),
            (.., task) => (format!("task {}", task.map_or("", |t| t.name.as_str())), "wakeup latency mean"),
        }
    }
}
