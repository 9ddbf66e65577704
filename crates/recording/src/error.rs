// SPDX-License-Identifier: GPL-2.0-only
//! Why a command could not be done.

use idlewise_files::new_file::WriteError;
use idlewise_governor::GovernorError;
use idlewise_model::PiecesError;
use idlewise_platform::PlatformError;
use idlewise_tape::TapeError;
use idlewise_tape::file::TapeFileError;
use idlewise_trace::TraceError;
use thiserror::Error;

/// Why a command could not be done.
#[derive(Debug, Error)]
pub enum CommandError {
    /// A file cannot be read or written.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// What the system said, and what to do.
        why: String,
    },
    /// A result cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// No tape can be made of a trace.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// A tape file cannot be read.
    #[error("{path}: {source}")]
    TapeFile {
        /// The file.
        path: String,
        /// Why.
        source: TapeFileError,
    },
    /// The idle periods of a long recording cannot be read again.
    #[error(transparent)]
    IdlePeriods(#[from] PiecesError),
    /// A platform.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// A governor.
    #[error(transparent)]
    Governor(#[from] GovernorError),
    /// Nobody said on which machine a trace was recorded.
    #[error(
        "{path}: which machine was recorded? Neither the file nor a side-car says it. Name it with --recorded-on (a platform \
         of `idlewise platform list`, a platform file, a sysfs dump{}), or put `{sidecar}` next to the trace with a line \
         `platform = \"...\"`",
        if *.replayed { "; `--recorded-on same` is the machine of --platform" } else { "" }
    )]
    MachineUnknown {
        /// The trace.
        path: String,
        /// Where a description of the recording would be looked for.
        sidecar: String,
        /// A machine to replay on was given.
        replayed: bool,
    },
    /// What another room says in its own words: a golden file, a kernel that could not be built, the running machine.
    #[error("{0}")]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// The request makes no sense.
    #[error("{0}")]
    Request(String),
}

impl CommandError {
    /// What another room says in its own words.
    pub fn other(why: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Other(Box::new(why))
    }

    /// The file at `path` cannot be read or written, and why.
    pub fn file(path: &std::path::Path, why: impl std::fmt::Display) -> Self {
        Self::File { path: path.display().to_string(), why: why.to_string() }
    }
}
