// SPDX-License-Identifier: GPL-2.0-only
//! Why something could not be done with a running machine, or a booted one.

use idlewise_boot::BootError;
use idlewise_files::new_file::WriteError;
use idlewise_governor::GovernorError;
use idlewise_live::LiveError;
use idlewise_model::NotKnown;
use idlewise_platform::PlatformError;
use idlewise_recording::CommandError;

/// Why something could not be done with a running machine, or a booted one.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// What holds for every command: an argument, a file, a governor.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The running machine cannot be watched, recorded or switched.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A kernel cannot be built, or a guest not be run.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// The system has no pipe left, by which a recording is stopped.
    #[error(transparent)]
    Pipe(std::io::Error),
    /// It failed after something was measured, which is kept.
    #[error("{why}; {kept}")]
    Kept {
        why: Box<Self>,
        /// What is kept where, and how to go on with it.
        kept: String,
    },
    /// The user interrupted it after something was measured, which is kept.
    #[error("interrupted; {kept}")]
    Interrupted {
        /// What is kept, and how to go on with it.
        kept: String,
    },
    /// The load that was to be recorded failed.
    #[error("the load ended with exit status {status}")]
    Load { status: u8 },
    /// Nothing was recorded for advice.
    #[error("{why}; advice from a recording needs no root: {FROM_RECORDING}")]
    NotRecorded { why: Box<Self> },
    /// There will be no evidence for advice: found out before anything is recorded.
    #[error(
        "nothing is recorded, because no answer would be possible.\n  No replay: {no_replay}\n  No comparison on this kernel: \
         {no_ab}\nAdvice from a recording needs no root: {FROM_RECORDING}"
    )]
    NoEvidence {
        /// Why a recording could not be made or not be replayed.
        no_replay: NotKnown,
        /// Why governors cannot be compared on this kernel.
        no_ab: NotKnown,
    },
    /// There is no evidence for advice: neither a replay, which [`crate::advise::Attendant::warn`] has heard of, nor a comparison.
    #[error("and no comparison on this kernel was possible: {no_ab}")]
    NoAnswer {
        /// Why no replay was possible.
        no_replay: NotKnown,
        /// Why no governors were compared on this kernel.
        no_ab: NotKnown,
    },
}

/// The command that gives advice from a recording.
const FROM_RECORDING: &str = "idlewise advise RECORDING";

impl From<GovernorError> for MachineError {
    fn from(e: GovernorError) -> Self {
        CommandError::from(e).into()
    }
}

impl From<PlatformError> for MachineError {
    fn from(e: PlatformError) -> Self {
        CommandError::from(e).into()
    }
}

impl From<WriteError> for MachineError {
    fn from(e: WriteError) -> Self {
        CommandError::from(e).into()
    }
}

impl MachineError {
    /// It failed with `why`, and `kept` says what is kept where.
    pub(crate) fn kept(why: impl Into<Self>, kept: impl Into<String>) -> Self {
        Self::Kept { why: Box::new(why.into()), kept: kept.into() }
    }
}
