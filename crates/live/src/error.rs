// SPDX-License-Identifier: GPL-2.0-only
use std::io;
use std::path::{Path, PathBuf};

/// Why a machine could not be watched, recorded or switched.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// This machine cannot do what was asked, and what would help.
    #[error("{0}")]
    Request(String),
    /// The machine's description could not be read.
    #[error(transparent)]
    Platform(#[from] idlewise_platform::PlatformError),
}

impl LiveError {
    /// An error of the system about `path`.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }
}
