// SPDX-License-Identifier: GPL-2.0-only
//! What the options of a command say about a recording.

use std::path::{Path, PathBuf};

use idlewise_governor::{Governor, Spec};
use idlewise_tape::Limits;
use idlewise_trace::{Choice, Meter, TraceError, TraceFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::CommandError;
use crate::kernel_governor::{OTHER, other};

/// What to know about a recording besides its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RecordingOptions {
    /// The machine that was recorded: a platform's id, a platform file or a sysfs dump; `same`: that of `replayed_on`.
    pub recorded_on: Option<String>,
    /// `recorded_on` was given as `--sysfs`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_sysfs: bool,
    /// The idle governor that the kernel ran.
    pub kernel_governor: Option<String>,
    /// The trace instance to read, of a file that holds several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The machine that is replayed on, for `recorded_on` to refer to.
    #[serde(skip)]
    pub replayed_on: Option<String>,
    /// CPUs to take although their trace is not what the kernel counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub despite_counters: Vec<u32>,
    /// Take all CPUs so, whatever the kernel counted: who asks compares both.
    #[serde(skip)]
    pub whatever_counted: bool,
    /// How much of a trace's idle stays to hold in memory; no answer depends on it.
    #[serde(skip)]
    pub limits: Limits,
    /// Counts what is read of traces, for whoever waits.
    #[serde(skip)]
    pub meter: Meter,
    /// Replay with so many ticks a second, whatever the recording shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
}

/// What a replay runs with besides its traces and governors. Every request that replays has these fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ReplaySetup {
    /// What is known about the traces beside their files.
    pub recording: RecordingOptions,
    /// The machine to replay on; the recorded one where nothing is given.
    pub platform: Option<String>,
    /// Put every CPU on this cluster of the machine.
    pub cluster: Option<String>,
    /// Folders of kernel trees, for governors such as `linux:6.12/teo`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "crate::json_paths::paths")]
    #[schemars(with = "Vec<PathBuf>")]
    pub kernel_trees: Vec<PathBuf>,
    /// Seed of the random numbers that a governor may ask for.
    pub seed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

impl RecordingOptions {
    /// The option that names the machine.
    pub(crate) fn machine_option(&self) -> &'static str {
        if self.by_sysfs { SYSFS } else { RECORDED_ON }
    }
}

/// The options that name the machine that was recorded.
pub(crate) const RECORDED_ON: &str = "--recorded-on";
pub(crate) const SYSFS: &str = "--sysfs";

impl RecordingOptions {
    /// The first option among these that was given.
    #[must_use]
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--recorded-on or --sysfs", self.recorded_on.is_some()),
            ("--kernel-governor", self.kernel_governor.is_some()),
            ("--instance", self.instance.is_some()),
            ("--despite-counters", !self.despite_counters.is_empty()),
            ("--hz", self.hz.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Whether `kernel_governor` names a governor: a misspelt name would stand as a fact in every answer.
    ///
    /// # Errors
    /// [`CommandError::Argument`] with the likeliest and all names, and how another governor is written.
    pub fn check_governor(&self) -> Result<(), CommandError> {
        let Some(name) = &self.kernel_governor else { return Ok(()) };
        if let Some(name) = other(name) {
            if name.trim().is_empty() {
                let given = format!("{OTHER}{name}");
                return Err(CommandError::option("--kernel-governor", given, "the name is missing"));
            }
            return Ok(());
        }
        let spec: Spec = name.parse()?;
        // Whether a file or a kernel tree is there, its reader says.
        if spec.names_a_file() || spec.id.split(':').next() == Some("linux") {
            return Ok(());
        }
        Governor::find(&spec).map(drop).map_err(|why| {
            let why = format!("{why}; a governor that idlewise does not have is given as {OTHER}{}", spec.id);
            CommandError::argument("--kernel-governor", "--kernel-governor", why)
        })
    }

    /// Opens the trace at `path`.
    pub fn open(&self, path: &Path) -> Result<TraceFile, TraceError> {
        TraceFile::open_with(path, &Choice { instance: self.instance.clone() })
    }
}
