// SPDX-License-Identifier: GPL-2.0-only
//! What a command ends with.

use idlewise_collect::CollectError;
use idlewise_corpus::CorpusError;
use idlewise_experiment::ExperimentError;
use idlewise_files::new_file::WriteError;
use idlewise_live::LiveError;
use idlewise_machine::MachineError;
use idlewise_recording::CommandError;

/// Why a command ended early.
pub enum Failure {
    /// Nobody reads the file that is being written to standard output.
    Closed,
    /// A reason for the user.
    Error(String),
}

/// `Ok(true)`: done; `Ok(false)`: done, and a comparison found a difference.
pub type Done = Result<bool, Failure>;

impl From<CommandError> for Failure {
    fn from(e: CommandError) -> Self {
        match e {
            CommandError::Write(e) => e.into(),
            e => Self::Error(e.to_string()),
        }
    }
}

impl From<MachineError> for Failure {
    fn from(e: MachineError) -> Self {
        match e {
            MachineError::Command(e) => e.into(),
            e => Self::Error(e.to_string()),
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(e: ExperimentError) -> Self {
        match e {
            ExperimentError::Command(e) => e.into(),
            e => Self::Error(e.to_string()),
        }
    }
}

impl From<CollectError> for Failure {
    fn from(e: CollectError) -> Self {
        match e {
            CollectError::Command(e) => e.into(),
            e => Self::Error(e.to_string()),
        }
    }
}

impl From<CorpusError> for Failure {
    fn from(e: CorpusError) -> Self {
        Self::Error(e.to_string())
    }
}

impl From<WriteError> for Failure {
    fn from(e: WriteError) -> Self {
        match e {
            WriteError::Closed => Self::Closed,
            WriteError::Refused(why) => Self::Error(why),
        }
    }
}

impl From<LiveError> for Failure {
    fn from(e: LiveError) -> Self {
        Self::Error(e.to_string())
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Error(why)
    }
}
