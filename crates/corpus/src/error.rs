// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use thiserror::Error;

/// Why something of a corpus cannot be done.
#[derive(Debug, Error)]
pub enum CorpusError {
    /// A file cannot be read or written, or is not what it should be.
    #[error("{path}: {why}")]
    File {
        path: String,
        /// What is wrong, what was expected, what to do.
        why: String,
    },
    /// No entry of the index is meant.
    #[error("{path}: no recording {what}; {expected}")]
    NoSuch {
        path: String,
        /// What was asked for.
        what: String,
        /// What could have been named instead.
        expected: String,
    },
}

impl CorpusError {
    /// `why` something cannot be done with the file at `path`.
    pub fn file(path: &Path, why: impl std::fmt::Display) -> Self {
        Self::File { path: path.display().to_string(), why: why.to_string() }
    }
}
