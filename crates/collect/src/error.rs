// SPDX-License-Identifier: GPL-2.0-only
use std::io;
use std::path::Path;

use idlewise_corpus::CorpusError;
use idlewise_model::PiecesError;
use idlewise_recording::CommandError;
use thiserror::Error;

/// Why something cannot be done with a corpus.
#[derive(Debug, Error)]
pub enum CollectError {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A recording is not taken into a corpus.
    #[error("{path}: not added: {}", .reasons.join("; "))]
    Refused {
        path: String,
        /// What speaks against it.
        reasons: Vec<String>,
    },
    /// A scrubbed tape does not make the decisions of its recording.
    #[error(
        "{path}: scrubbed, it makes other decisions: {governor}, CPU {cpu}, idle period {number}; nothing is written. Please report it"
    )]
    Diverged {
        path: String,
        governor: String,
        cpu: u32,
        /// From 0.
        number: usize,
    },
}

impl CollectError {
    pub(crate) fn file(path: &Path, e: io::Error) -> Self {
        CommandError::file(path, e).into()
    }
}

impl From<PiecesError> for CollectError {
    fn from(e: PiecesError) -> Self {
        CommandError::from(e).into()
    }
}
