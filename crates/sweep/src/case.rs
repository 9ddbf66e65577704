// SPDX-License-Identifier: GPL-2.0-only
//! A recording on a machine: what a result of it is kept by, and what has to be known of it.

use std::collections::BTreeMap;

use idlewise_collect::{RecordingFile, open_recording};
use idlewise_conform::own_governor::kernels_own;
use idlewise_corpus::hash_of;
use idlewise_governor::Offered;
use idlewise_platform::Platform;
use idlewise_recording::description::Description;
use idlewise_recording::input_files::is_tape;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, ReplaySetup, TraceHead};
use idlewise_replay::{Setting, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::key::Key;

/// A recording to replay on a machine.
pub(crate) struct Case {
    pub(crate) file: RecordingFile,
    /// The machine to replay on; the recorded one where nothing is given.
    pub(crate) platform: Option<String>,
    pub(crate) setup: ReplaySetup,
    pub(crate) key: Key,
    /// Length of the recording's file.
    pub(crate) bytes: u64,
}

/// What has to be known of a case next to its numbers.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CaseFacts {
    /// XXH3-128 of the recording.
    pub hash: String,
    /// The machine that was recorded.
    pub recorded_on: String,
    /// The machine that it is replayed on.
    pub machine: String,
    /// From first to last event, ns.
    pub span_ns: u64,
    /// CPUs that are used.
    pub cpus: usize,
    /// `mJ`, or `rel` where the powers are relative.
    pub energy_unit: String,
    /// What its energies are worth, in short.
    pub energy_grade: String,
    /// Choices of the kernel that a replay of its own governor repeats, %; nothing where that is not known.
    pub fidelity_pct: Option<f64>,
    /// What makes the numbers doubtful.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What an option assumes of the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumes: Option<String>,
}

/// Where the files of machines are, by what the request calls them; others are where it says.
pub(crate) type MachineFiles = BTreeMap<String, String>;

/// A case with its recording in memory, or as much of it as that holds at a time.
pub(crate) struct OpenCase {
    pub(crate) placement: Placement,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) setting: Setting,
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
        let hash = hash_of(&file.path).map_err(|e| CommandError::file(&file.path, e))?;
        let machine = |name: &String| Ok::<_, CommandError>(idlewise_platform::find(&here(name))?.to_toml());
        // A tape says it itself.
        let told = if is_tape(&file.path)? { None } else { Description::of(&file.path, None)?.told()? };
        let named = setup.recording.recorded_on.as_ref().filter(|name| *name != "same");
        let sidecar = file.path.with_extension("toml");
        let sidecar = if sidecar.exists() { idlewise_files::read_to_string(&sidecar).ok() } else { None };
        let content = (
            env!("CARGO_PKG_VERSION"),
            hash.sha256,
            sidecar,
            told.as_ref().map(Platform::to_toml),
            named.map(machine).transpose()?,
            platform.map(machine).transpose()?,
            &setup.cluster,
            setup.seed,
            &setup.recording,
        );
        let key = Key::of(&content);
        for name in [&mut setup.platform, &mut setup.recording.recorded_on] {
            *name = name.as_ref().map(here);
        }
        Ok(Self { file: file.clone(), platform: platform.cloned(), key, bytes: hash.bytes, setup })
    }

    /// Opens the recording.
    ///
    /// # Errors
    /// [`CommandError`] when it cannot be read, was changed since, or leaves nothing to replay.
    pub(crate) fn open(&self) -> Result<OpenCase, CommandError> {
        let (placement, _) = open_recording(&self.file.path, &self.setup)?;
        let recording = placement.first()?;
        let workloads = placement.workloads(recording)?;
        let setting = Setting::new(placement.same_machine(recording), self.setup.seed);
        Ok(OpenCase { placement, workloads, setting })
    }
}

impl OpenCase {
    /// What has to be known of it.
    ///
    /// # Errors
    /// As [`Case::open`].
    pub(crate) fn facts(&self) -> Result<CaseFacts, CommandError> {
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
            recorded_on: recording.machine.id.clone(),
            machine: self.placement.platform.id.clone(),
            span_ns: head.span_ns,
            cpus: head.cpus.len(),
            energy_unit: if units { "mJ" } else { "rel" }.to_owned(),
            energy_grade: grades.join(", "),
            fidelity_pct: fidelity.as_ref().ok().and_then(|f| f.same_state_pct),
            warnings: head.warnings.iter().map(|w| w.words.clone()).collect(),
            assumes: head.assumption(),
        })
    }
}
