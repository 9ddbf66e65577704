// SPDX-License-Identifier: GPL-2.0-only
use std::io;
use std::path::{Path, PathBuf};

/// Why a kernel could not be built, or a guest not be run.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A program that is needed is not there.
    #[error("{program} is missing; {advice}")]
    Missing {
        /// The program.
        program: String,
        /// How to get it.
        advice: String,
    },
    /// A program ended with an error; its output is in the log.
    #[error("{what} failed ({status}); its output is in {}\n{tail}", log.display())]
    Failed {
        /// What was being done.
        what: String,
        /// How it ended.
        status: String,
        /// Everything that it printed.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// What was asked for cannot be.
    #[error("{0}")]
    Request(String),
    /// The user interrupted it.
    #[error("interrupted; what was finished is kept")]
    Interrupted,
}

impl BootError {
    /// For `map_err` after something was done to `path`.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.as_ref().to_owned(), error }
    }
}
