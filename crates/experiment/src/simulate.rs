// SPDX-License-Identifier: GPL-2.0-only
//! A workload on a machine under every combination of governors and signals: `idlewise simulate`.

mod answer;
mod books;
pub mod bounds;
mod clusters;
mod fact;
mod facts;
mod kernel;
mod limited;
mod meters;
mod ramps;
mod report;
mod responses;
mod scene;
mod trace;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_answer::Answer;
use idlewise_governor::{Governor, GovernorError, Instance, Loader};
use idlewise_idle::Limits;
use idlewise_model::{Note, NoteId};
use idlewise_parts::{Machine, Placement, SimError};
use idlewise_platform::{EnergyGrade, EnergyTable, Platform};
use idlewise_power::LimitSet;
use idlewise_score::{Counts, Score};
use idlewise_signal::pelt::Pelt;
use idlewise_sim::{Outcome, Setting, Signal};
use idlewise_workload::{Random, Workload};
use rayon::prelude::*;

use crate::ExperimentError;
use books::Books;
pub use clusters::{ClusterTime, Clusters};
pub use fact::{Fact, FactUnit};
use idlewise_explain::convert::Form;
use idlewise_recording::CommandError;
use idlewise_recording::candidate::Candidate;
use idlewise_recording::governors;
use idlewise_recording::limits;
use idlewise_study::breaches::breach_words;
use idlewise_study::replay::PlatformHead;
pub(crate) use kernel::Kernel;
pub use kernel::{pelt_of, signal_of};
pub use meters::{BatteryMeter, Meters, PackageMeter};
use ramps::{Ramp, Ramps};
pub use report::{Combination, FactSummary, SCHEMA, SimulateReport, SimulateRequest, SimulatedRun};
pub use responses::{Response, responses};
pub use scene::{Scene, SceneRun};
use trace::Tracer;

/// How long a workload runs that does not say it, ns.
const DURATION_NS: u64 = 10_000_000_000;

/// Tasks begin one after the other, up to so far apart, ns: the order of magnitude of making a thread.
const STAGGER_NS: u64 = 100_000;

/// Frequency governors that only kernels have that place tasks as Android 3.18 and 4.4 do.
const PLACED_BY_ANDROID: [&str; 2] = ["sched-freq", "sched-freq-4.4"];

/// Stream of chance for the phase of the tick.
const PHASE: u64 = 1 << 42;

/// A request with everything found.
struct Stage<'a> {
    machine: Machine<'a>,
    workload: &'a Workload,
    meters: Meters,
    duration_ns: u64,
    seed: u64,
    tick_ns: Option<u64>,
    trace: Option<&'a TraceTo<'a>>,
}

/// A signal by its name.
struct Named {
    name: String,
    pelt: Pelt,
    signal: Signal,
}

/// A combination to run.
struct Job<'j> {
    governor: &'j Governor,
    name: &'j str,
    limits: Limits,
    cpufreq: &'j (String, idlewise_freq::Config),
    signal: &'j Named,
    power: &'j LimitSet,
}

/// The result of a run.
type Ran = (Outcome, Vec<Counts>, Vec<Ramp>, Vec<ClusterTime>);

/// The workloads that come with idlewise, and what each stands for.
///
/// # Errors
/// [`ExperimentError::Workload`] never, unless one of them is wrong.
pub fn workloads() -> Result<Vec<(&'static str, String)>, ExperimentError> {
    let about = |(name, _): &(&'static str, &'static str)| Ok((*name, idlewise_workload::find(name)?.about));
    idlewise_workload::shipped().iter().map(about).collect()
}

/// Where a trace of a simulated run goes, as a kernel would have recorded it.
#[derive(Debug)]
pub struct TraceTo<'f> {
    pub form: Form,
    pub file: &'f File,
    /// The file's name, for errors.
    pub path: PathBuf,
}

/// What stands beside the trace of a run of `request`, so that replay knows where it was made.
#[must_use]
pub fn sidecar(request: &SimulateRequest) -> String {
    let governor = request.governors.first().map_or("", String::as_str);
    format!(
        "# SPDX-License-Identifier: GPL-2.0-only\nplatform = {:?}\ngovernor = {governor:?}\n",
        request.platform
    )
}

/// Simulates what `request` asks for; of its one run, a trace goes to `trace`. `progress` hears of every finished run: done and of how many.
///
/// # Errors
/// [`ExperimentError`] when workload, platform, governor or signal cannot be found or used.
pub fn simulate(
    request: &SimulateRequest,
    trace: Option<&TraceTo<'_>>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<SimulateReport, ExperimentError> {
    simulate_workload(request, &idlewise_workload::find(&request.workload)?, trace, progress)
}

/// The same on a machine that was read already; the request's name of it is only repeated. Where it is known how long after
/// the tasks' start the tick comes, ns, all tasks start together.
pub(crate) fn simulate_on(
    platform: &Platform,
    request: &SimulateRequest,
    workload: &Workload,
    tick_ns: Option<u64>,
    trace: Option<&TraceTo<'_>>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<SimulateReport, ExperimentError> {
    bounds::check(request)?;
    let runs = request.governors.len() * request.cpufreq.len() * request.signals.len();
    let ranged = request.power_limit.as_ref().is_some_and(|limit| limit.contains(".."));
    if trace.is_some() && (runs != 1 || ranged || request.repeat > 1) {
        let why = "a trace is of one run: give one governor, one frequency governor, one signal, one power limit and no --repeat";
        return Err(CommandError::conflict(&["--trace"], why).into());
    }
    let candidates = candidates(request)?;
    each_once("--cpufreq", &request.cpufreq)?;
    each_once("--signal", &request.signals)?;
    let kernel = Kernel::parse(&request.kernel)?;
    let hz = hz(request, platform)?;
    let machine = machine_of(request, platform, kernel, hz)?;
    let rows = limited::rows(request, platform, &machine)?;
    let stage = Stage { tick_ns, trace, ..Stage::of(request, platform, machine, workload) };
    let cpufreq = frequency_governors(request)?;
    let signals = signals(request, kernel)?;
    let mut jobs = Vec::new();
    for candidate in &candidates {
        let Candidate::Hosted { governor, name, limits } = candidate else { continue };
        limits::check(name, *limits, stage.machine.clusters)?;
        for cpufreq in &cpufreq {
            for signal in &signals {
                let job = |power| Job { governor, name, limits: *limits, cpufreq, signal, power };
                jobs.extend(rows.iter().map(job));
            }
        }
    }
    let baseline = baseline(request.baseline.as_deref(), &jobs)?;
    let mut combinations = stage.run_all(&jobs, request.repeat, progress)?;
    if let Some(base) = combinations.get(baseline).cloned() {
        let others = combinations.iter_mut().enumerate().filter(|(i, _)| *i != baseline);
        others.for_each(|(_, c)| c.compare(&base));
    }
    let weakest = stage.energies().map(|e| e.grade).min().unwrap_or(EnergyGrade::DerivedFromBreakEven);
    let mut report = SimulateReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: request.clone(),
        energy_grade: weakest.label().to_owned(),
        energy_measured: weakest.in_watts(),
        platform: PlatformHead::of(platform, stage.energies()),
        meters: stage.meters.clone(),
        cpus: stage.machine.cpus.len(),
        hz,
        duration_ns: stage.duration_ns,
        foreign: governors::foreign(&candidates),
        notes: workload
            .notes
            .iter()
            .map(|n| NoteId::Workload.note(n))
            .chain(without_clock(&stage.machine))
            .collect(),
        baseline,
        own_limits: rows.first().map(|r| r.own.clone()).filter(|own| !own.is_empty()),
        combinations,
        answer: Answer::default(),
    };
    report.answer = answer::answer(&report);
    Ok(report)
}

/// The same with a workload that was read already; the request's name of it is only repeated.
pub fn simulate_workload(
    request: &SimulateRequest,
    workload: &Workload,
    trace: Option<&TraceTo<'_>>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<SimulateReport, ExperimentError> {
    let platform = idlewise_platform::find(&request.platform)?.changed(&request.changes)?;
    simulate_on(&platform, request, workload, None, trace, progress)
}

/// The machine of a request, where it can be what that asks for.
fn machine_of<'p>(
    request: &SimulateRequest,
    platform: &'p Platform,
    kernel: Kernel,
    hz: u32,
) -> Result<Machine<'p>, CommandError> {
    let own: usize = platform.clusters.iter().map(|c| c.cpus.len()).sum();
    let open = platform.clusters.iter().any(|c| c.any_cpu);
    if let Some(n) = request.cpus.filter(|n| !open && *n != own) {
        let why = format!("--cpus: {n}, but {} has {own} CPUs; leave it out", platform.id);
        return Err(CommandError::conflict(&["--cpus", "--platform"], why));
    }
    if request.base_mw.is_some() && platform.battery.is_none() {
        let why = format!(
            "--base-mw: {} has no battery; a platform file says so in [battery] (docs/reference/platform-format.md)",
            platform.id
        );
        return Err(CommandError::conflict(&["--base-mw", "--platform"], why));
    }
    Ok(machine(request, platform, kernel, hz))
}

/// The machine of a request under its kernel.
fn machine<'p>(request: &SimulateRequest, platform: &'p Platform, kernel: Kernel, hz: u32) -> Machine<'p> {
    let mut machine = Machine::new(platform, hz, request.cpus);
    machine.fair = kernel.fair(machine.cpus.len());
    machine.fair_server = kernel.fair_server();
    machine.placing.kick_for_next = kernel.kicks_for_next();
    machine
}

/// The governors of a request, each with a name of its own.
fn candidates(request: &SimulateRequest) -> Result<Vec<Candidate>, CommandError> {
    let candidates = governors::candidates(&request.governors, &request.kernel_trees)?;
    if candidates.iter().any(|c| matches!(c, Candidate::Bound(_))) {
        let why = "the oracle needs the time of the next event, and hindsight all of them, which in a simulation depend on their own \
                   choices. Write a trace of the run (--write-trace) and replay that trace under it";
        return Err(CommandError::conflict(&["--governor"], why));
    }
    Ok(candidates)
}

/// Which combination the others are compared with.
fn baseline(name: Option<&str>, jobs: &[Job<'_>]) -> Result<usize, CommandError> {
    let Some(name) = name else { return Ok(0) };
    let names =
        |job: &Job<'_>| [job.name, &job.cpufreq.0, &job.power.short, &job.power.name].map(str::to_owned);
    jobs.iter().position(|job| names(job).iter().any(|own| own == name)).ok_or_else(|| {
        let known: BTreeSet<String> = jobs.iter().flat_map(names).filter(|n| !n.is_empty()).collect();
        CommandError::Unknown {
            what: idlewise_recording::error::Named::SimulatedBaseline,
            name: name.to_owned(),
            known: known.into_iter().collect(),
        }
    })
}

/// What to know of clusters of which no clock is known.
fn without_clock(machine: &Machine<'_>) -> Option<Note> {
    let fixed = |c: &&idlewise_parts::ClockSpec<'_>| c.points.len() < 2;
    let mut names: Vec<&str> =
        machine.clocks.iter().filter(fixed).map(|c| machine.clusters[c.cluster].name.as_str()).collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        NoteId::NoFrequencies.note(format!(
            "the clocks of {} are not known: it runs at one speed, whatever --cpufreq says",
            names.join(", ")
        ))
    })
}

fn hz(request: &SimulateRequest, platform: &Platform) -> Result<u32, CommandError> {
    let (hz, what) = match (request.hz, platform.hz) {
        (Some(hz), _) => (hz, "--hz, ticks a second".to_owned()),
        (None, Some(hz)) => (hz, format!("{}: ticks a second (hz)", platform.id)),
        (None, None) => {
            let why = format!(
                "{}: the platform does not say how often its kernel ticks; give --hz, {} to {}",
                platform.id,
                idlewise_model::HZ.start(),
                idlewise_model::HZ.end()
            );
            return Err(CommandError::not_given("--hz", why));
        }
    };
    bounds::within(hz, &idlewise_model::HZ).map_err(|why| CommandError::argument("--hz", what, why))?;
    Ok(hz)
}

fn each_once(option: &str, names: &[String]) -> Result<(), CommandError> {
    let again = names.iter().enumerate().find(|(i, name)| names.iter().take(*i).any(|n| n == *name));
    again.map_or(Ok(()), |(_, name)| {
        Err(CommandError::Twice { what: format!("{option}:"), name: name.clone() })
    })
}

fn frequency_governors(
    request: &SimulateRequest,
) -> Result<Vec<(String, idlewise_freq::Config)>, idlewise_freq::FreqError> {
    request.cpufreq.iter().map(|name| Ok((name.clone(), name.parse()?))).collect()
}

fn signals(request: &SimulateRequest, kernel: Kernel) -> Result<Vec<Named>, ExperimentError> {
    let named = |name: &String| {
        let (pelt, signal) = kernel::signal(name, kernel)?;
        Ok(Named { name: name.clone(), pelt, signal })
    };
    request.signals.iter().map(named).collect()
}

/// A run and what its watchers saw.
fn seen(out: Outcome, (books, (ramps, clusters)): (Books<'_>, (Ramps, Clusters))) -> Ran {
    let clusters = clusters.times(out.end_ns);
    (out, books.counts(), ramps.ramps(), clusters)
}

impl<'a> Stage<'a> {
    /// Of a request with its machine and workload.
    fn of(
        request: &SimulateRequest,
        platform: &Platform,
        machine: Machine<'a>,
        workload: &'a Workload,
    ) -> Self {
        Self {
            meters: Meters::new(platform, &machine, request.base_mw),
            duration_ns: request.duration_ns.or(workload.global.duration_ns).unwrap_or(DURATION_NS),
            machine,
            workload,
            seed: request.seed,
            tick_ns: None,
            trace: None,
        }
    }

    /// What the energies of a run depend on.
    fn energies(&self) -> impl Iterator<Item = &EnergyTable> {
        let points = self.machine.clocks.iter().flat_map(|c| &c.points);
        points.flat_map(|p| std::iter::once(p.energy).chain(p.shared))
    }

    fn run_all(
        &self,
        jobs: &[Job<'_>],
        repeat: u64,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<Combination>, ExperimentError> {
        let runs: Vec<(usize, u64)> =
            (0..jobs.len()).flat_map(|j| (0..repeat).map(move |r| (j, r))).collect();
        let done = AtomicUsize::new(0);
        let results: Vec<Result<Ran, ExperimentError>> = runs
            .par_iter()
            .map(|(j, r)| {
                // Whoever hears of it may end the work.
                progress(done.load(Ordering::Relaxed), runs.len());
                let result = self.run(&jobs[*j], self.seed.wrapping_add(*r));
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, runs.len());
                result
            })
            .collect();
        let mut results = results.into_iter();
        jobs.iter()
            .map(|job| {
                let own: Vec<_> = results.by_ref().take(repeat as usize).collect();
                self.combination(job, own)
            })
            .collect()
    }

    fn run(&self, job: &Job<'_>, seed: u64) -> Result<Ran, ExperimentError> {
        let setting = Setting {
            duration_ns: self.duration_ns,
            seed,
            pelt: job.signal.pelt,
            signal: job.signal.signal,
            frequency: job.cpufreq.1.clone(),
            stagger_ns: if self.tick_ns.is_some() { 0 } else { STAGGER_NS },
        };
        let mut machine = self.machine.clone();
        machine.limits = job.limits;
        machine.power_limits = job.power.limits;
        // A complete WALT knows tasks, and places them; the one that was posted knows CPUs only.
        machine.placing.by_walt = matches!(job.signal.signal, Signal::Walt(walt) if walt.task_demand);
        if PLACED_BY_ANDROID.contains(&job.cpufreq.1.info().id) {
            machine.placing.placement = Placement::Android;
        }
        // Nothing ties a load to the tick.
        let by_chance = || Random::stream(seed, PHASE).draw();
        machine.grid.phase_ns = self.tick_ns.unwrap_or_else(by_chance) % machine.grid.period_ns;
        let play = |loader: &Loader<'_>| -> Result<Result<Ran, String>, GovernorError> {
            let mut instance = loader.load(self.machine.grid.period_ns)?;
            let watch = (Books::new(&machine), (Ramps::new(&machine), Clusters::new(&machine)));
            match self.play(&machine, &setting, &mut instance, watch) {
                Ok(ran) => Ok(Ok(ran)),
                Err(SimError::Governor(e)) => Err(e),
                Err(e) => Ok(Err(e.to_string())),
            }
        };
        job.governor.run(play)?.map_err(ExperimentError::Run)
    }

    fn play(
        &self,
        machine: &Machine<'_>,
        setting: &Setting,
        governor: &mut Instance,
        mut watch: (Books<'_>, (Ramps, Clusters)),
    ) -> Result<Ran, SimError> {
        let Some(to) = self.trace else {
            let out = idlewise_sim::simulate(machine, self.workload, setting, governor, &mut watch)?;
            return Ok(seen(out, watch));
        };
        let failed = |e: std::io::Error| SimError::Watch(format!("{}: {e}", to.path.display()));
        let out = BufWriter::new(to.file);
        let tracer = Tracer::new(to.form, out, machine, self.workload).map_err(failed)?;
        let mut watch = (watch, tracer);
        let out = idlewise_sim::simulate(machine, self.workload, setting, governor, &mut watch)?;
        watch.1.finish(out.end_ns).map_err(failed)?;
        Ok(seen(out, watch.0))
    }

    fn combination(
        &self,
        job: &Job<'_>,
        runs: Vec<Result<Ran, ExperimentError>>,
    ) -> Result<Combination, ExperimentError> {
        let mut c = Combination {
            governor: job.name.to_owned(),
            cpufreq: job.cpufreq.0.clone(),
            signal: job.signal.name.clone(),
            power_limit: Some(job.power.name.clone()).filter(|name| !name.is_empty()),
            limit_name: job.power.short.clone(),
            failure: None,
            notes: Vec::new(),
            facts: Vec::new(),
            runs: Vec::new(),
        };
        let mut facts: Vec<Vec<Fact>> = Vec::new();
        for (seed, ran) in (self.seed..).zip(runs) {
            match ran {
                Ok((out, counts, ramps, clusters)) => {
                    let mut own =
                        facts::facts(&self.machine, self.workload, &self.meters, &out, &counts, &ramps);
                    own.extend(facts::clusters(&self.machine, &out, &counts, &clusters));
                    c.notes.extend(self.remarks(&out, &facts::score(&self.machine, &counts)));
                    c.runs.push(SimulatedRun {
                        seed,
                        events: out.events,
                        decisions: out.decisions,
                        values: own.iter().map(|f| f.value).collect(),
                    });
                    facts.push(own);
                }
                // It takes no other's result away.
                Err(ExperimentError::Command(CommandError::Governor(e)))
                    if job.governor.is_foreign() && e.is_misbehaviour() =>
                {
                    c.failure.get_or_insert(format!("run with seed {seed}: {e}"));
                }
                Err(e) => return Err(e),
            }
        }
        c.notes.dedup();
        for fact in facts.first().map_or(&[][..], Vec::as_slice) {
            let same = |f: &&Fact| f.about == fact.about && f.name == fact.name;
            let values: Vec<f64> =
                facts.iter().filter_map(|run| run.iter().find(same)).map(|f| f.value).collect();
            c.facts.push(FactSummary::of(fact, &values));
        }
        Ok(c)
    }

    /// What to know of a run.
    fn remarks(&self, out: &Outcome, score: &Score) -> Vec<Note> {
        let mut notes = breach_words(&score.breaches, out.decisions);
        for task in &out.stuck {
            let name = self.workload.tasks.get(*task as usize).map_or("", |t| t.name.as_str());
            let words = format!("task {name} loops without ever letting time pass; it was stopped");
            notes.push(NoteId::EndlessTask.note(words));
        }
        notes
    }
}
