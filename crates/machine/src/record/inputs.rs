// SPDX-License-Identifier: GPL-2.0-only
//! The governor's true inputs next to a recording.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use idlewise_recorder::bpf::{self, Counts};
use schemars::JsonSchema;
use serde::Serialize;

use idlewise_recording::CommandError;
use idlewise_recording::sidecar::InputsBeside;

/// The table in the folder where all lies that was captured.
pub(super) const TABLE: &str = "inputs.csv";

/// Where the governor's inputs go, next to the recording `path`.
#[must_use]
pub fn inputs_beside(path: &Path) -> PathBuf {
    path.with_extension(TABLE)
}

/// Inputs that were recorded and still lie where they were captured.
#[derive(Debug)]
pub(super) struct TakenInputs {
    pub(super) recorded: bpf::Recorded,
    pub(super) captured: PathBuf,
    /// Where they are to go.
    pub(super) to: PathBuf,
}

/// What was recorded of the governor's inputs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct InputsRecorded {
    /// The table of decisions.
    pub path: PathBuf,
    /// Its size, bytes.
    pub bytes: u64,
    /// What was seen in all.
    pub counts: Counts,
    /// What was seen on each CPU that could be recorded.
    pub cpus: BTreeMap<u32, Counts>,
    /// Why no governor can be compared with them; none where one can.
    pub unproven: Option<String>,
}

/// The part `[made.inputs]` of a recording's description.
#[derive(Debug, Serialize)]
pub(super) struct InputsMade {
    governor: String,
    #[serde(flatten)]
    counts: Counts,
    /// Decisions of each CPU.
    cpus: BTreeMap<String, u64>,
}

impl TakenInputs {
    /// As the recording's description names them.
    pub(super) fn beside(&self) -> InputsBeside {
        let file = self.to.file_name().map(PathBuf::from).unwrap_or_default();
        InputsBeside { file, unproven: self.recorded.unproven.clone() }
    }

    pub(super) fn made(&self) -> InputsMade {
        let cpus = self.recorded.cpus.iter().map(|(cpu, c)| (format!("cpu{cpu}"), c.entered)).collect();
        InputsMade { governor: self.recorded.governor.clone(), counts: self.recorded.counts, cpus }
    }

    pub(super) fn report(&self) -> InputsRecorded {
        InputsRecorded {
            path: self.to.clone(),
            bytes: std::fs::metadata(&self.to).map_or(0, |m| m.len()),
            counts: self.recorded.counts,
            cpus: self.recorded.cpus.clone(),
            unproven: self.recorded.unproven.clone(),
        }
    }

    /// Copies the captured table to `file`, which is empty.
    pub(super) fn write(&self, file: &File) -> Result<(), CommandError> {
        let fail = |e: io::Error| CommandError::file(&self.captured, e);
        let mut from = File::open(&self.captured).map_err(fail)?;
        io::copy(&mut from, &mut &*file).map(drop).map_err(fail)
    }
}
