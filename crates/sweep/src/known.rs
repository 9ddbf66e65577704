// SPDX-License-Identifier: GPL-2.0-only
//! Recordings that were read elsewhere, for a sweep that has no file of them at hand.

use idlewise_collect::RecordingFile;
use serde::{Deserialize, Serialize};

use crate::key::Key;

/// A recording on a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownCase {
    pub(crate) file: RecordingFile,
    /// The machine to replay on; the recorded one where nothing is given.
    pub(crate) platform: Option<String>,
    pub(crate) content: KnownContent,
    /// Why it was not run, or not all of it, although it was found.
    pub(crate) lost: Option<String>,
}

/// What reading a recording told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KnownContent {
    /// What its results are kept by.
    Key(Key),
    /// Why it is not replayed.
    Refused(String),
}
