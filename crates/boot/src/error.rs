// SPDX-License-Identifier: GPL-2.0-only
use std::io;
use std::path::{Path, PathBuf};

use idlewise_model::{did_you_mean, near};

/// Why a kernel could not be built, or a guest not be run.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A program that is needed is not there.
    #[error("{program} is missing; {advice}")]
    Missing {
        program: String,
        /// How to get it.
        advice: String,
    },
    /// A program ended with an error; its output is in the log.
    #[error("{what} failed ({status}); its output is in {}\n{tail}", log.display())]
    Failed {
        /// What was being done.
        what: String,
        status: String,
        /// Everything that it printed.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// No folder is known for sources, builds and guests.
    #[error("no folder for sources, builds and guests: give --folder, or set IDLEWISE_LAB")]
    NoFolder,
    /// A file or folder is not what it has to be: it is in the way, or not what was expected there.
    #[error("{}: {why}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What it is, and what to do.
        why: String,
    },
    /// A kernel tree cannot be built with the governors.
    #[error("{}: {why}", folder.display())]
    Tree {
        folder: PathBuf,
        /// What it lacks, and what to do.
        why: String,
    },
    /// No kernel of Debian's has this version, or it is older than the overlay.
    #[error("kernel version `{version}`: {why}")]
    Version {
        version: String,
        /// What is wrong with it, and what to write.
        why: String,
    },
    /// This system's package sources name no Debian archive.
    #[error("this system's package sources name no Debian archive, so nothing can be fetched from it")]
    NoArchive,
    /// No workload has this name.
    #[error("no workload is called {name}{}", did_you_mean(&near(.name, .known.iter().copied()), &format!("there are: {}", .known.join(", "))))]
    NoWorkload {
        name: String,
        /// The workloads that there are.
        known: Vec<&'static str>,
    },
    /// No guest can be made of a platform as it is asked for.
    #[error("platform {platform}: {why}")]
    Platform { platform: String, why: String },
    /// The user's governor cannot be built into a kernel.
    #[error("{given}: {why}")]
    Governor {
        /// As the user named it.
        given: String,
        why: String,
    },
    /// QEMU or the guest in it failed.
    #[error("{0}")]
    Guest(String),
    /// The user interrupted it.
    #[error("interrupted; what was finished is kept")]
    Interrupted,
}

impl BootError {
    /// The file or folder at `path` is not what it has to be.
    pub(crate) fn file(path: impl AsRef<Path>, why: impl Into<String>) -> Self {
        Self::File { path: path.as_ref().to_owned(), why: why.into() }
    }

    /// The kernel tree in `folder` cannot be built with the governors.
    pub(crate) fn tree(folder: &Path, why: impl Into<String>) -> Self {
        Self::Tree { folder: folder.to_owned(), why: why.into() }
    }

    /// For `map_err` after something was done to `path`.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.as_ref().to_owned(), error }
    }
}
