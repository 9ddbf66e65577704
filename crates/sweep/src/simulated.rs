// SPDX-License-Identifier: GPL-2.0-only
//! A workload on a simulated machine, as a case of a sweep.

use std::path::Path;

use idlewise_experiment::simulate::{Scene, SimulateRequest};
use idlewise_recording::CommandError;
use xxhash_rust::xxh3::xxh3_128;

use crate::axis::Axis;
use crate::facts::CaseFacts;
use crate::key::Key;
use crate::numbers::{Numbers, Outcome};
use crate::request::SweepRequest;
use crate::space::Variant;

/// Where workloads run that no machine is given for.
const PLATFORM: &str = "pixel6";
const CPUFREQ: &str = "schedutil";
const SIGNAL: &str = "pelt";
const KERNEL: &str = "6.12";
/// Seeds where none is given.
const SEEDS: &str = "1..5";
/// No more are asked for by anyone who means it.
const MOST_SEEDS: u64 = 10_000;

/// A workload on a machine with a seed.
#[derive(Clone)]
pub(crate) struct Simulated {
    pub(crate) scene: Scene,
    workload: String,
    pub(crate) platform: String,
    seed: u64,
    /// XXH3-128 of the workload's text.
    hash: u128,
    request: SimulateRequest,
    machine: String,
    id: String,
}

impl Simulated {
    /// Each workload of `request` on each of its machines with each of its seeds.
    ///
    /// # Errors
    /// [`CommandError`] where one cannot be found or used.
    pub(crate) fn all_of(request: &SweepRequest) -> Result<Vec<Self>, CommandError> {
        if request.workloads.is_empty() {
            return Ok(Vec::new());
        }
        let seeds = seeds(request.seeds.as_deref().unwrap_or(SEEDS))?;
        let mut out = Vec::new();
        let default = [PLATFORM.to_owned()];
        let platforms = if request.platforms.is_empty() { &default[..] } else { &request.platforms };
        for workload in &request.workloads {
            for platform in platforms {
                for &seed in &seeds {
                    out.push(Self::new(request, workload, platform, seed)?);
                }
            }
        }
        Ok(out)
    }

    fn new(request: &SweepRequest, workload: &str, platform: &str, seed: u64) -> Result<Self, CommandError> {
        let wrong = |e: &dyn std::fmt::Display| CommandError::argument("--workload", workload, e.to_string());
        let simulated = SimulateRequest {
            workload: workload.to_owned(),
            platform: platform.to_owned(),
            // What runs is up to each setting.
            governors: vec![String::new()],
            cpufreq: vec![request.cpufreq.clone().unwrap_or_else(|| CPUFREQ.to_owned())],
            signals: vec![request.signal.clone().unwrap_or_else(|| SIGNAL.to_owned())],
            kernel: KERNEL.to_owned(),
            hz: request.hz,
            duration_ns: request.duration_ns,
            seed,
            repeat: 1,
            ..SimulateRequest::default()
        };
        let content = || {
            let shipped = idlewise_workload::shipped().iter().find(|(name, _)| *name == workload);
            let hash = match shipped {
                Some((_, text)) => xxh3_128(text.as_bytes()),
                None => xxh3_128(&idlewise_files::read(Path::new(workload)).map_err(|e| wrong(&e))?),
            };
            let machine = idlewise_platform::find(platform)?;
            Ok::<_, CommandError>((hash, machine.to_toml(), machine.id))
        };
        let before = content().ok();
        let scene = Scene::new(simulated.clone()).map_err(|e| match e {
            idlewise_experiment::ExperimentError::Command(e) => e,
            e => wrong(&e),
        })?;
        let after = content()?;
        if before.is_some_and(|before| before != after) {
            return Err(wrong(&"it or its machine changed while it was read; sweep once more"));
        }
        let (hash, machine, id) = after;
        Ok(Self {
            scene,
            workload: workload.to_owned(),
            platform: platform.to_owned(),
            seed,
            hash,
            request: simulated,
            machine,
            id,
        })
    }

    pub(crate) fn name(&self) -> String {
        format!("{}, seed {}", self.workload, self.seed)
    }

    /// What it is kept by; not what the workload's file is called.
    pub(crate) fn key(&self) -> Key {
        let request =
            SimulateRequest { workload: String::new(), platform: String::new(), ..self.request.clone() };
        Key::of(&("workload", env!("CARGO_PKG_VERSION"), self.hash, &self.machine, request))
    }

    pub(crate) fn facts(&self) -> CaseFacts {
        CaseFacts {
            hash: format!("{:032x}", self.hash),
            recorded_on: None,
            machine: self.id.clone(),
            span_ns: self.scene.duration_ns,
            cpus: self.scene.cpus,
            energy_unit: if self.scene.energy_measured { "mJ" } else { "rel" }.to_owned(),
            energy_grade: self.scene.energy_grade.to_owned(),
            seed: Some(self.seed),
            work: Some(self.scene.work()).map(|(about, name)| format!("{about} {name}")),
            fidelity_pct: None,
            warnings: Vec::new(),
            assumes: None,
        }
    }

    /// The first `share` of its time.
    pub(crate) fn shortened(&self, share: f64) -> Self {
        let duration_ns = (self.scene.duration_ns as f64 * share).ceil() as u64;
        Self { scene: self.scene.shortened(duration_ns), ..self.clone() }
    }

    /// Simulates it under `variant`.
    ///
    /// # Errors
    /// [`CommandError`] where it is not the variant that fails.
    pub(crate) fn outcome(&self, variant: &Variant) -> Result<Outcome, CommandError> {
        let ran = self.scene.run(&variant.candidate).map_err(|e| match e {
            idlewise_experiment::ExperimentError::Command(e) => e,
            e => CommandError::argument("--workload", &self.workload, e.to_string()),
        })?;
        Ok(ran.map(|ran| {
            let mut numbers = Numbers::of(&ran.score, ran.decisions);
            numbers.energy = Some(ran.energy).filter(|e| e.is_finite());
            numbers.work_ns = ran.work_ns;
            numbers
        }))
    }
}

/// The seeds of `--seeds`.
fn seeds(text: &str) -> Result<Vec<u64>, CommandError> {
    let wrong = |why: String| CommandError::option("--seeds", text, why);
    let axis = Axis::parse("seeds", text).map_err(wrong)?;
    let len = axis.counted();
    if len > MOST_SEEDS {
        return Err(wrong(format!("{len} seeds; {MOST_SEEDS} at most")));
    }
    let mut out: Vec<u64> = Vec::new();
    for n in 0..len {
        let value = axis.value(n);
        let seed = value.parse().map_err(|_| wrong(format!("`{value}`: a seed is a whole number from 0")))?;
        if !out.contains(&seed) {
            out.push(seed);
        }
    }
    Ok(out)
}
