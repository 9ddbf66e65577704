// SPDX-License-Identifier: GPL-2.0-only
//! Why something could not be simulated, repeated or asked again.

use std::path::PathBuf;

use idlewise_freq::FreqError;
use idlewise_governor::GovernorError;
use idlewise_platform::PlatformError;
use idlewise_recording::CommandError;
use idlewise_signal::pelt::PeltError;
use idlewise_trace::TraceError;
use idlewise_workload::WorkloadError;

/// Why something could not be simulated, repeated or asked again.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// What holds for every command: an argument, a file, a governor.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A workload cannot be found or read.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A frequency governor cannot be found, or has a parameter that makes no sense.
    #[error(transparent)]
    Freq(#[from] FreqError),
    /// PELT's settings are not known, or make no sense.
    #[error(transparent)]
    Pelt(#[from] PeltError),
    /// Data names C that the user did not name: it is neither compiled nor run.
    #[error("{}", .by.untrusted(.path))]
    Untrusted {
        /// The C file, or the kernel tree.
        path: String,
        by: NamedBy,
    },
    /// A result names a C file and has no hash of it, so that nobody can know whether the file is the same.
    #[error(
        "the result names the C file {path} as a governor and has no hash of it (`foreign`), so that it is not known \
         whether it is the same; ask with --governor {path} instead"
    )]
    NoHash { path: String },
    /// A C file is not what a result was made with.
    #[error(
        "governor {governor} has changed since: {file} is not what the result was made with, by its SHA-256; make a new result without --again"
    )]
    Changed {
        /// The governor, as the result names it.
        governor: String,
        /// The file that differs: its own, or one that it includes.
        file: String,
    },
    /// A file that is to be asked again is not the result of that command.
    #[error("{}: {why}", path.display())]
    Again {
        path: PathBuf,
        /// What it is, and what was expected.
        why: String,
    },
    /// The request of a result may not be asked again.
    #[error("{}: {why}", path.display())]
    OfResult { path: PathBuf, why: Box<Self> },
    /// A machine or recording is not what it was when a result was made.
    #[error(
        "{}: {what} has changed since this result was made: hash {then} then, {now} now; make a new result without --again",
        path.display()
    )]
    InputChanged {
        path: PathBuf,
        what: String,
        /// Its hash in the result.
        then: String,
        now: String,
    },
    /// A cell of an experiment has a set-up that makes no sense.
    #[error("{experiment}: {row} of {column}: {why}")]
    SetUp { experiment: String, row: String, column: String, why: String },
    /// A simulated run failed, in the words of the simulation.
    #[error("{0}")]
    Run(String),
}

/// Data that names C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// An experiment, as its governor.
    Experiment { id: String },
    /// A result, as its governor.
    Result,
    /// A result, as the kernel tree that its governors are in.
    TreeOfResult,
}

impl NamedBy {
    /// The message about C at `path` that it names.
    fn untrusted(&self, path: &str) -> String {
        let (who, what) = match self {
            Self::Experiment { id } => {
                (format!("experiment {id}: its governor {path} is a C file"), "what an experiment names")
            }
            Self::Result => {
                (format!("the result names the C file {path} as a governor"), "what a result names")
            }
            Self::TreeOfResult => {
                (format!("the result names the kernel tree {path}"), "C that a result names")
            }
        };
        format!("{who}; {what} is neither compiled nor run unless you name it, too (--trust {path})")
    }
}

impl From<GovernorError> for ExperimentError {
    fn from(e: GovernorError) -> Self {
        CommandError::from(e).into()
    }
}

impl From<PlatformError> for ExperimentError {
    fn from(e: PlatformError) -> Self {
        CommandError::from(e).into()
    }
}

impl From<TraceError> for ExperimentError {
    fn from(e: TraceError) -> Self {
        CommandError::from(e).into()
    }
}
