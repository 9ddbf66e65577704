// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

use super::plan::Companion;
use crate::bpf::{self, Recorder, RecorderOptions, Spool};
use idlewise_live::{Host, LiveError};

/// The governor's inputs, recorded beside a trace: by BPF, which also sees CPUs whose idle task is hidden from tracing.
pub struct Inputs {
    path: PathBuf,
    at: Stage,
}

/// How far it is.
enum Stage {
    /// At work; what it has seen so far is of no interest.
    Ready(Box<Recorder>),
    Recording(Spool),
    Done(Box<bpf::Recorded>),
    /// Nothing came of it.
    Failed,
}

impl Inputs {
    /// Puts the programs into the kernel. From [`Companion::start`] on decisions go to `path`, a new file.
    ///
    /// # Errors
    /// [`LiveError`] that says what this kernel, or who asks, lacks for it.
    pub fn new(host: &Host, options: RecorderOptions, path: &Path) -> Result<Self, LiveError> {
        let recorder = Recorder::start(host, options)?;
        Ok(Self { path: path.to_owned(), at: Stage::Ready(Box::new(recorder)) })
    }

    /// What the recording came to, and the file with its decisions; nothing if it is not over or has failed.
    #[must_use]
    pub fn recorded(self) -> Option<(bpf::Recorded, PathBuf)> {
        if let Stage::Done(recorded) = self.at { Some((*recorded, self.path)) } else { None }
    }
}

impl Companion for Inputs {
    fn start(&mut self) -> Result<(), LiveError> {
        if let Stage::Ready(mut recorder) = std::mem::replace(&mut self.at, Stage::Failed) {
            recorder.forget();
            self.at = Stage::Recording(Spool::over(*recorder, &self.path)?);
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), LiveError> {
        if let Stage::Recording(spool) = std::mem::replace(&mut self.at, Stage::Failed) {
            self.at = Stage::Done(Box::new(spool.stop()?));
        }
        Ok(())
    }
}
