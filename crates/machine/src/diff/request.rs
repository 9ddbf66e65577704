// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use idlewise_recording::RecordingOptions;
use schemars::JsonSchema;
use serde::Serialize;

/// What two files mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Meaning {
    /// Two snapshots of one machine: show what happened between them.
    Looks,
    /// Two runs: show how the second differs from the first.
    Runs,
}

/// The files to subtract or compare.
#[derive(Clone, Debug, Default)]
pub struct DiffRequest {
    /// The earlier look, the run to start from, or a file that holds both looks.
    pub before: PathBuf,
    /// The later snapshot, or the run to compare.
    pub after: Option<PathBuf>,
    /// What the files mean, where it is not to be found out.
    pub meaning: Option<Meaning>,
    /// The CPUs of a file that names none, in its order.
    pub cpus: Vec<u32>,
    /// On which machine recordings were made.
    pub recording: RecordingOptions,
}
