// SPDX-License-Identifier: GPL-2.0-only
//! A recording or a workload on a machine: what a result of it is kept by, what has to be known of it, how a governor is run on it.

use idlewise_conform::settle_io_waits;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use idlewise_collect::{RecordingFile, open_recording};
use idlewise_conform::own_governor::kernels_own;
use idlewise_corpus::hash_of;
use idlewise_governor::Offered;
use idlewise_platform::{Cluster, Platform};
use idlewise_recording::candidate::chunks;
use idlewise_recording::description::Description;
use idlewise_recording::input_files::is_tape;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, ReplaySetup, TraceHead};
use idlewise_replay::{Setting, Workload};
use idlewise_score::{Score, Tally};

use crate::facts::CaseFacts;
use crate::key::Key;
use crate::numbers::{Numbers, Outcome};
use crate::simulated::Simulated;
use crate::space::Variant;

/// A recording to replay on a machine, or a workload to simulate on it.
pub(crate) struct Case {
    /// The recording, or the workload with its seed.
    pub(crate) name: String,
    /// The request names it itself, not a folder that it is in.
    pub(crate) by_user: bool,
    /// The machine, where the request names it.
    pub(crate) platform: Option<String>,
    pub(crate) key: Key,
    /// How long a run takes against that of another case of its kind: bytes of a recording, ns of all CPUs of a workload.
    pub(crate) size: u64,
    input: Input,
}

enum Input {
    Recording {
        file: Box<RecordingFile>,
        /// With machines as the request calls them.
        named: Box<ReplaySetup>,
        /// With machines where they are.
        setup: Box<ReplaySetup>,
    },
    Workload(Arc<Simulated>),
}

/// Where the files of machines are, by what the request calls them; others are where it says.
pub(crate) type MachineFiles = BTreeMap<String, String>;

/// A case that can be run: its recording in memory, or as much of it as that holds at a time.
pub(crate) enum OpenCase {
    Recording(Box<OpenRecording>),
    Workload(Arc<Simulated>),
}

pub(crate) struct OpenRecording {
    pub(crate) placement: Placement,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) setting: Setting,
}

/// The first part of a case, to see how long it takes.
pub(crate) enum Trial<'c> {
    Recording { of: &'c OpenRecording, workloads: Vec<Workload> },
    Workload(Box<Simulated>),
}

impl Case {
    /// Of a file, which is read through for what it is kept by.
    ///
    /// # Errors
    /// [`CommandError`] when the file or a machine cannot be read or found.
    pub(crate) fn new(
        file: &RecordingFile,
        platform: Option<&String>,
        setup: &ReplaySetup,
        machines: &MachineFiles,
    ) -> Result<Self, CommandError> {
        let here = |name: &String| machines.get(name).unwrap_or(name).clone();
        let mut setup = setup.clone();
        setup.platform = platform.cloned();
        let of_corpus = file.recorded_on.clone();
        setup.recording.recorded_on = of_corpus.or(setup.recording.recorded_on);
        let named = setup.clone();
        for name in [&mut setup.platform, &mut setup.recording.recorded_on] {
            *name = name.as_ref().map(here);
        }
        let (key, size) = content(&file.path, &named, &setup)?;
        let input = Input::Recording {
            file: Box::new(file.clone()),
            named: Box::new(named),
            setup: Box::new(setup.clone()),
        };
        Ok(Self { size, input, ..Self::known(file, platform, setup, key) })
    }

    /// Of a file that was read elsewhere.
    pub(crate) fn known(
        file: &RecordingFile,
        platform: Option<&String>,
        setup: ReplaySetup,
        key: Key,
    ) -> Self {
        Self {
            name: file.name.clone(),
            by_user: file.by_user,
            platform: platform.cloned(),
            key,
            size: 0,
            input: Input::Recording {
                file: Box::new(file.clone()),
                named: Box::new(setup.clone()),
                setup: Box::new(setup),
            },
        }
    }

    /// Of a workload on a machine with a seed.
    pub(crate) fn simulated(simulated: Simulated) -> Self {
        Self {
            name: simulated.name(),
            by_user: true,
            platform: Some(simulated.platform.clone()),
            key: simulated.key(),
            size: simulated.scene.duration_ns.saturating_mul(simulated.scene.cpus as u64),
            input: Input::Workload(Arc::new(simulated)),
        }
    }

    /// Whether there is a bound on it that knows when each idle period ends.
    pub(crate) fn has_bound(&self) -> bool {
        matches!(self.input, Input::Recording { .. })
    }

    /// The index of a corpus says on what it was recorded.
    pub(crate) fn of_corpus(&self) -> bool {
        matches!(&self.input, Input::Recording { file, .. } if file.recorded_on.is_some())
    }

    /// An error about it.
    pub(crate) fn error(&self, why: &str) -> CommandError {
        match &self.input {
            Input::Recording { file, .. } => CommandError::input(&file.path, why),
            Input::Workload(_) => CommandError::argument("--workload", &self.name, why),
        }
    }

    /// Opens it, asks `what` of it, and checks that what was read is what its results are kept by: its file, its side-car and its
    /// machines are hashed once more after they were read. Runs read none of them again: the idle periods are in memory, or in a
    /// temporary file of our own where they are many. Files that are changed and changed back while they are read pass.
    ///
    /// # Errors
    /// [`Unopened`] when the recording cannot be read, was changed since, or leaves nothing to replay.
    pub(crate) fn open_unchanged<T>(
        &self,
        what: impl FnOnce(&OpenCase) -> Result<T, CommandError>,
    ) -> Result<(OpenCase, T), Unopened> {
        let opened = self.open().and_then(|open| {
            let what = what(&open)?;
            Ok((open, what))
        });
        match (opened, self.content()) {
            (Ok(opened), Ok(now)) if now == self.key => Ok(opened),
            (Err(e), Ok(now)) if now == self.key => Err(Unopened { why: e.to_string(), lost: false }),
            (Err(e), Err(_)) | (Ok(_), Err(e)) => Err(Unopened { why: e.to_string(), lost: true }),
            (_, Ok(_)) => {
                let why = "it, its side-car or its machine changed while the sweep ran; what was read of it is not used";
                Err(Unopened { why: self.error(why).to_string(), lost: true })
            }
        }
    }

    /// What its results are kept by, of what is there now.
    fn content(&self) -> Result<Key, CommandError> {
        match &self.input {
            Input::Recording { file, named, setup } => Ok(content(&file.path, named, setup)?.0),
            Input::Workload(_) => Ok(self.key),
        }
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`CommandError`] when the recording cannot be read, or leaves nothing to replay.
    pub(crate) fn open(&self) -> Result<OpenCase, CommandError> {
        let (file, setup) = match &self.input {
            Input::Recording { file, setup, .. } => (file, setup),
            Input::Workload(simulated) => return Ok(OpenCase::Workload(Arc::clone(simulated))),
        };
        let (mut placement, _) = open_recording(&file.path, setup)?;
        settle_io_waits(&mut placement.recordings, &Offered::nothing())?;
        let recording = placement.first()?;
        let workloads = placement.workloads(recording)?;
        let setting = Setting::new(placement.same_machine(recording), setup.seed);
        Ok(OpenCase::Recording(Box::new(OpenRecording { placement, workloads, setting })))
    }
}

/// Why a case was not opened.
#[derive(Debug)]
pub(crate) struct Unopened {
    pub(crate) why: String,
    /// It is not what it was when the sweep began: it vanished or changed.
    pub(crate) lost: bool,
}

/// What results of the recording at `path` are kept by, and its length: its bytes, its side-car, the machines. `named` calls these as
/// the request does, and `here` says where they are.
fn content(path: &Path, named: &ReplaySetup, here: &ReplaySetup) -> Result<(Key, u64), CommandError> {
    let hash = hash_of(path).map_err(|e| CommandError::file(path, e))?;
    let machine = |name: &String| Ok::<_, CommandError>(idlewise_platform::find(name)?.to_toml());
    // A tape says it itself.
    let told = if is_tape(path)? { None } else { Description::of(path, None)?.told()? };
    let recorded_on = here.recording.recorded_on.as_ref().filter(|name| *name != "same");
    let sidecar = path.with_extension("toml");
    let sidecar = if sidecar.exists() { idlewise_files::read_to_string(&sidecar).ok() } else { None };
    let content = (
        env!("CARGO_PKG_VERSION"),
        hash.sha256,
        sidecar,
        told.as_ref().map(Platform::to_toml),
        recorded_on.map(machine).transpose()?,
        here.platform.as_ref().map(machine).transpose()?,
        &named.cluster,
        named.seed,
        &named.recording,
    );
    Ok((Key::of(&content), hash.bytes))
}

impl OpenCase {
    /// What has to be known of it.
    ///
    /// # Errors
    /// As [`Case::open`].
    pub(crate) fn facts(&self) -> Result<CaseFacts, CommandError> {
        match self {
            Self::Recording(recording) => recording.facts(),
            Self::Workload(simulated) => Ok(simulated.facts()),
        }
    }

    /// What comes of `variant`.
    ///
    /// # Errors
    /// [`CommandError`] where it is not the variant that fails.
    pub(crate) fn outcome(&self, variant: &Variant) -> Result<Outcome, CommandError> {
        match self {
            Self::Recording(recording) => recording.outcome(&recording.workloads, variant),
            Self::Workload(simulated) => simulated.outcome(variant),
        }
    }

    /// Idle periods of the recording, or ns of the workload.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Recording(recording) => recording.workloads.iter().map(|w| w.events.len() as u64).sum(),
            Self::Workload(simulated) => simulated.scene.duration_ns,
        }
    }

    /// Whether a run reads the recording's file.
    pub(crate) fn is_read_by_runs(&self) -> bool {
        match self {
            Self::Recording(recording) => recording.workloads.iter().any(|w| w.events.in_memory().is_none()),
            Self::Workload(_) => false,
        }
    }

    /// Its first `share`, of each CPU.
    ///
    /// # Errors
    /// [`CommandError`] when the recording cannot be read.
    pub(crate) fn trial(&self, share: f64) -> Result<Trial<'_>, CommandError> {
        let recording = match self {
            Self::Recording(recording) => recording,
            Self::Workload(simulated) => return Ok(Trial::Workload(Box::new(simulated.shortened(share)))),
        };
        let shortened = |all: &Workload| -> Result<Workload, CommandError> {
            let length = (all.events.len() as f64 * share).ceil() as usize;
            let mut events = Vec::with_capacity(length);
            for block in all.events.blocks() {
                let block = block?;
                events.extend_from_slice(&block[..block.len().min(length - events.len())]);
                if events.len() == length {
                    break;
                }
            }
            let Workload { cpu, grid, tick_handler_ns, .. } = *all;
            let (latency, disabled) = (all.latency.clone(), all.disabled.clone());
            let refusals = all.refusals.clone();
            Ok(Workload { cpu, grid, tick_handler_ns, events: events.into(), latency, disabled, refusals })
        };
        let workloads = recording.workloads.iter().map(shortened).collect::<Result<_, _>>()?;
        Ok(Trial::Recording { of: recording, workloads })
    }
}

impl Trial<'_> {
    /// As [`OpenCase::outcome`].
    pub(crate) fn outcome(&self, variant: &Variant) -> Result<Outcome, CommandError> {
        match self {
            Self::Recording { of, workloads } => of.outcome(workloads, variant),
            Self::Workload(simulated) => simulated.outcome(variant),
        }
    }
}

impl OpenRecording {
    fn facts(&self) -> Result<CaseFacts, CommandError> {
        let recording = self.placement.first()?;
        let kernels = recording.kernels_governor(&Offered::nothing())?;
        let fidelity = kernels_own(recording, &kernels)?;
        let head = TraceHead::new(recording, |cpu| self.placement.missing(cpu)).with_fidelity(&fidelity);
        let used = self.placement.used();
        let mut grades: Vec<&str> = used.iter().map(|c| c.energy.grade.label()).collect();
        grades.dedup();
        let units = used.iter().all(|c| c.energy.grade.in_watts());
        Ok(CaseFacts {
            hash: head.hash.clone(),
            recorded_on: Some(recording.machine.id.clone()),
            machine: self.placement.platform.id.clone(),
            span_ns: head.span_ns,
            cpus: head.cpus.len(),
            energy_unit: if units { "mJ" } else { "rel" }.to_owned(),
            energy_grade: grades.join(", "),
            seed: None,
            work: None,
            fidelity_pct: fidelity.as_ref().ok().and_then(|f| f.same_state_pct),
            warnings: head.warnings.iter().map(|w| w.words.clone()).collect(),
            assumes: head.assumption(),
        })
    }

    /// Replays `workloads`, of all CPUs, under `variant`.
    fn outcome(&self, workloads: &[Workload], variant: &Variant) -> Result<Outcome, CommandError> {
        let mut tallies: Vec<Tally<'_>> = Vec::new();
        let mut decisions = 0;
        let candidate = &variant.candidate;
        for cpus in chunks(workloads, candidate.is_foreign()) {
            let runs = match candidate.run(&cpus, &self.placement, self.setting, tally) {
                Ok(runs) => runs,
                Err(CommandError::Governor(e)) if e.is_misbehaviour() => return Ok(Err(e.to_string())),
                Err(e @ CommandError::Argument { .. }) => return Ok(Err(e.to_string())),
                Err(e) => return Err(e),
            };
            for ran in runs.cpus {
                let Some(place) = self.placement.place(ran.cpu) else {
                    unreachable!("CPU {} ran, and the platform has no place for it", ran.cpu)
                };
                let mut tally = Tally::new(&place.table, &place.energy);
                tally.counts = ran.pages;
                tallies.push(tally);
                decisions += ran.counts.decisions;
            }
        }
        let score = Score::of(&tallies.iter().collect::<Vec<_>>());
        Ok(Ok(Numbers::of(&score, decisions)))
    }
}

fn tally<'p>(_: &Workload, place: &'p Cluster) -> Tally<'p> {
    Tally::new(&place.table, &place.energy)
}
