// SPDX-License-Identifier: GPL-2.0-only
use std::io;
use std::path::{Path, PathBuf};

use idlewise_model::{did_you_mean, near};

/// Why a machine could not be watched, recorded or switched.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It needs root, or a capability that the user does not have.
    #[error("{why}")]
    NotRoot {
        /// What was denied, and what helps.
        why: String,
    },
    /// This machine or its kernel has not what it needs.
    #[error("{why}")]
    Lacks {
        /// What is missing, and what helps or works without it.
        why: String,
    },
    /// A file or folder is not what it has to be: it is in the way, somebody else's, or holds something else.
    #[error("{}: {why}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What it is, and what to do.
        why: String,
    },
    /// The kernel made something else of a setting than was written.
    #[error("{}: wrote `{wrote}`, but the kernel made `{now}` of it", path.display())]
    NotTaken {
        path: PathBuf,
        wrote: String,
        /// What it holds now.
        now: String,
    },
    /// Another session is changing this machine.
    #[error(
        "another session is changing this machine (process {holder}); wait for it, or end it. If there is none, another program \
         holds {}", path.display()
    )]
    Busy {
        holder: String,
        /// The file by which sessions exclude each other.
        path: PathBuf,
    },
    /// An argument has a value that makes no sense.
    #[error("{given}: {why}")]
    Argument {
        /// The argument, as its message names it.
        given: String,
        why: String,
    },
    /// Arguments do not go together, or one is missing.
    #[error("{0}")]
    Conflict(&'static str),
    /// No load has this name.
    #[error("unknown load `{name}`{}", did_you_mean(&near(.name, .known.iter().copied()), &format!("there are: {}", .known.join(", "))))]
    NoLoad {
        name: String,
        /// The loads that there are.
        known: Vec<&'static str>,
    },
    /// The running kernel has no governor of this name.
    #[error("this kernel has no governor `{name}`{}", did_you_mean(&near(.name, .known.iter().map(String::as_str)), &format!("it has: {}", .known.join(", "))))]
    NoGovernor {
        name: String,
        /// The governors that it has.
        known: Vec<String>,
    },
    /// One governor is given twice to be compared.
    #[error("{name}: given twice; to compare a governor with itself use --aa")]
    Twice {
        /// Its name, with its settings.
        name: String,
    },
    /// A command that was measured or recorded failed, or printed no result.
    #[error("{why}")]
    Command {
        /// Which, and how it ended.
        why: String,
    },
    /// A stored session is damaged, or does not go with what is asked of it.
    #[error("{}: {why}", path.display())]
    Session {
        /// Its file or folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What was recorded just now cannot be read.
    #[error(transparent)]
    Unread(Box<dyn std::error::Error + Send + Sync>),
    /// The user interrupted it. What was finished is kept.
    #[error("interrupted")]
    Interrupted,
    /// It failed after something was recorded, which is kept.
    #[error("{why}. {kept}")]
    Kept {
        why: Box<Self>,
        /// What is kept where.
        kept: String,
    },
    /// A thread or pipe of our own ended early.
    #[error("{0}")]
    Broken(String),
    /// The machine's description could not be read.
    #[error(transparent)]
    Platform(#[from] idlewise_platform::PlatformError),
}

impl LiveError {
    /// This machine or its kernel has not what it needs.
    pub fn lacks(why: impl Into<String>) -> Self {
        Self::Lacks { why: why.into() }
    }

    /// The file or folder at `path` is not what it has to be.
    pub fn file(path: &Path, why: impl ToString) -> Self {
        Self::File { path: path.to_owned(), why: why.to_string() }
    }

    /// The argument `given` makes no sense.
    pub fn argument(given: impl ToString, why: impl ToString) -> Self {
        Self::Argument { given: given.to_string(), why: why.to_string() }
    }

    /// An error of the system about `path`.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }
}
