// SPDX-License-Identifier: GPL-2.0-only
//! Governors and signals checked against files of recorded steps: golden files, tables of decisions, traces.

use std::path::{Path, PathBuf};

use idlewise_governor::Governor;
use idlewise_platform::Platform;
use idlewise_recording::{CommandError, RecordingOptions};
use idlewise_signal::pelt::Pelt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::agreement::Agreement;
use crate::golden_file::GoldenError;
use crate::pelt::{PeltMismatch, drive_pelt};
use crate::published::Row;
use crate::recorded_governors::{self, RecordedGovernor};
use crate::{decision_table, golden};

/// Version of the JSON that [`DriveReport`] gives.
pub const SCHEMA: &str = "idlewise.drive/1";

/// The CPU of a table where none is named.
const FIRST_CPU: u32 = 0;

/// What golden files are for.
#[derive(Debug)]
pub enum Driven {
    Governor(Governor),
    Pelt(Pelt),
}

/// What came of one golden file.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct GoldenResult {
    pub file: String,
    pub steps: u64,
    pub mismatches: u64,
    /// All that is known of the first that differ.
    pub first: Vec<Mismatch>,
    /// The same as lines.
    #[serde(skip)]
    pub lines: Vec<String>,
}

/// A step that differs: of a governor, of a signal.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Mismatch {
    Governor(Row),
    Pelt(PeltMismatch),
}

/// What came of all golden files.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct DriveReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    pub version: &'static str,
    pub files: Vec<GoldenResult>,
    /// Steps compared in all.
    pub steps: u64,
    /// Steps that differ in all.
    pub mismatches: u64,
}

impl Driven {
    /// Checks it against the golden file at `path`; the first `show` differences are kept.
    ///
    /// # Errors
    /// [`GoldenError`] when the file cannot be read, or a governor misbehaves.
    pub fn golden(&self, path: &Path, show: usize) -> Result<GoldenResult, GoldenError> {
        match self {
            Self::Governor(governor) => {
                let done = golden::drive_governor(governor, path)?;
                let first = done.first.iter().map(|d| Mismatch::Governor(Row::of(d)));
                Ok(GoldenResult::new(path, show, (done.decisions, done.diverging()), first, &done.first))
            }
            Self::Pelt(pelt) => {
                let done = drive_pelt(pelt, path)?;
                let counts = (done.steps, done.mismatches);
                let first = done.first.iter().cloned().map(Mismatch::Pelt);
                Ok(GoldenResult::new(path, show, counts, first, &done.first))
            }
        }
    }
}

impl GoldenResult {
    fn new<M: ToString>(
        path: &Path,
        show: usize,
        (steps, mismatches): (u64, u64),
        first: impl Iterator<Item = Mismatch>,
        lines: &[M],
    ) -> Self {
        Self {
            file: path.display().to_string(),
            steps,
            mismatches,
            first: first.take(show).collect(),
            lines: lines.iter().take(show).map(ToString::to_string).collect(),
        }
    }
}

impl DriveReport {
    /// The sum of `files`.
    #[must_use]
    pub fn of(files: Vec<GoldenResult>) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            steps: files.iter().map(|f| f.steps).sum(),
            mismatches: files.iter().map(|f| f.mismatches).sum(),
            files,
        }
    }
}

/// What came of recorded decisions.
#[derive(Clone, Debug)]
pub enum DrivenDecisions {
    Table(Agreement),
    /// Of a trace, governor by governor.
    Trace(Vec<RecordedGovernor>),
}

impl DrivenDecisions {
    /// Checks `governor` against the decisions at `path`, which are of `machine`: a table of those of one `cpu` (0 where none is
    /// named), or a trace.
    ///
    /// # Errors
    /// [`CommandError`] when the file cannot be read or has no decisions; [`CommandError::Conflict`] for a CPU of a trace.
    pub fn of(
        governor: &Governor,
        path: &Path,
        machine: &Platform,
        cpu: Option<u32>,
        trees: &[PathBuf],
    ) -> Result<Self, CommandError> {
        if is_table(path) {
            return decision_table::drive_governor(governor, path, machine, cpu.unwrap_or(FIRST_CPU))
                .map(Self::Table);
        }
        if let Some(cpu) = cpu {
            let path = path.display();
            let why =
                format!("{path}: a trace names its CPUs; --cpu {cpu} is for tables (.csv): leave it out");
            return Err(CommandError::conflict(&["--cpu"], why));
        }
        let options = RecordingOptions::default();
        recorded_governors::of_trace(path, &options, machine, Some(governor), trees).map(Self::Trace)
    }

    /// Whether no choice differs, and some were compared.
    #[must_use]
    pub fn is_same(&self) -> bool {
        match self {
            Self::Table(agreement) => agreement.diverging() == 0,
            Self::Trace(all) => {
                all.iter().all(|p| p.mismatches() == 0) && all.iter().any(|p| p.result.is_ok())
            }
        }
    }
}

/// A file of rows; anything else is a trace.
#[must_use]
pub fn is_table(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let bare = name.strip_suffix(".xz").or_else(|| name.strip_suffix(".gz")).unwrap_or(&name);
    bare.ends_with(".csv")
}
