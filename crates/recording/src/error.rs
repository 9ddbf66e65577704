// SPDX-License-Identifier: GPL-2.0-only
//! Why a command could not be done.

use idlewise_files::new_file::WriteError;
use idlewise_governor::GovernorError;
use idlewise_model::{PiecesError, did_you_mean, near};
use idlewise_platform::PlatformError;
use idlewise_tape::TapeError;
use idlewise_tape::file::TapeFileError;
use idlewise_trace::TraceError;
use thiserror::Error;

/// Why a command could not be done.
#[derive(Debug, Error)]
pub enum CommandError {
    /// A file cannot be read or written.
    #[error("{path}: {why}")]
    File {
        path: String,
        /// What the system said, and what to do.
        why: String,
    },
    /// A result cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// No tape can be made of a trace.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// A tape file cannot be read.
    #[error("{path}: {source}")]
    TapeFile { path: String, source: TapeFileError },
    /// The idle periods of a long recording cannot be read again.
    #[error(transparent)]
    IdlePeriods(#[from] PiecesError),
    #[error(transparent)]
    Platform(#[from] PlatformError),
    #[error(transparent)]
    Governor(#[from] GovernorError),
    /// Nobody said on which machine a trace was recorded.
    #[error(
        "{path}: which machine was recorded? Neither the file nor a side-car says it. Name it with --recorded-on (a platform \
         of `idlewise platform list`, a platform file, a sysfs dump{}), or put `{sidecar}` next to the trace with a line \
         `platform = \"...\"`",
        if *.replayed { "; `--recorded-on same` is the machine of --platform" } else { "" }
    )]
    MachineUnknown {
        path: String,
        /// Where a description of the recording would be looked for.
        sidecar: String,
        /// A machine to replay on was given.
        replayed: bool,
    },
    /// A file of golden decisions cannot be read.
    #[error(transparent)]
    Golden(Box<dyn std::error::Error + Send + Sync>),
    /// An argument has a value that the command cannot use, whatever the input holds.
    #[error("{given}: {why}")]
    Argument {
        /// The option that takes it.
        option: &'static str,
        /// The argument, as its message names it: with its option, or the value alone.
        given: String,
        /// What was expected, and what to write instead.
        why: String,
    },
    /// Arguments do not go together, or one does not go with the input.
    #[error("{why}")]
    Conflict {
        /// The options; the first is the one to leave out.
        options: Vec<&'static str>,
        /// A sentence that names both sides, and what to do.
        why: String,
    },
    /// An argument is needed here and was not given.
    #[error("{why}")]
    NotGiven {
        /// The option that gives it.
        option: &'static str,
        /// A sentence that says what is missing.
        why: String,
    },
    /// One name is given twice, and both would be the same.
    #[error("{what} {name} is named twice; name it once")]
    Twice {
        /// What is named, or the option that names it with a colon.
        what: String,
        name: String,
    },
    /// Two files are given that hold the same.
    #[error("{first} and {second} are {why}")]
    SameFiles {
        /// The one that came first.
        first: String,
        second: String,
        /// In what they are the same, and what to name instead.
        why: &'static str,
    },
    /// Nothing that may be named here has this name.
    #[error("{}", .what.unknown(.name, .known))]
    Unknown {
        /// What it should name.
        what: Named,
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A recording's description cannot be written: a number that the running kernel gave is too large for TOML.
    #[error("the recording's description: {0}")]
    Description(String),
    /// A CPU by a number that the machine or the input does not have.
    #[error("{why}")]
    NoSuchCpu {
        cpu: u32,
        /// A sentence that says which CPUs there are, or where it was looked for.
        why: String,
    },
    /// A decision that the input does not have.
    #[error("{why}")]
    NoSuchDecision {
        /// A sentence that names the decision, by number, line or time, and says which there are.
        why: String,
    },
    /// An input can be read, and lacks what the command needs, or is of another kind.
    #[error("{path}: {why}")]
    Input {
        /// The input, as the user named it.
        path: String,
        /// What is missing, or what it is instead, and what takes it.
        why: String,
    },
}

/// What a name that is not known should name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// The governor that others are compared with.
    Baseline,
    /// The governor or frequency governor that others are compared with in a simulation.
    SimulatedBaseline,
    /// A published experiment; no file was meant.
    Experiment,
    /// A part of a machine.
    Cluster { platform: String },
}

impl Named {
    /// The message about a `name` that is none of `known`.
    fn unknown(&self, name: &str, known: &[String]) -> String {
        let list = known.join(", ");
        let (what, otherwise) = match self {
            Self::Baseline => {
                (format!("baseline {name} is not among the governors"), format!("there are: {list}"))
            }
            Self::SimulatedBaseline => (
                format!("baseline {name} is among neither the governors nor the frequency governors"),
                format!("there are: {list}"),
            ),
            Self::Experiment => (
                format!("there is no experiment {name}"),
                "`idlewise reproduce --list` shows those that there are; a file goes by its path".to_owned(),
            ),
            Self::Cluster { platform } => {
                (format!("platform {platform} has no cluster {name}"), format!("it has: {list}"))
            }
        };
        what + &did_you_mean(&near(name, known.iter().map(String::as_str)), &otherwise)
    }
}

impl CommandError {
    /// The argument `given` of `option` cannot be used, and why.
    pub fn argument(option: &'static str, given: impl ToString, why: impl ToString) -> Self {
        Self::Argument { option, given: given.to_string(), why: why.to_string() }
    }

    /// The `value` of `option` cannot be used, and why; messages name both.
    pub fn option(option: &'static str, value: impl std::fmt::Display, why: impl ToString) -> Self {
        Self::argument(option, format!("{option} {value}"), why)
    }

    /// The governor `name` is given twice.
    pub fn governor_twice(name: &str) -> Self {
        Self::Twice { what: "governor".to_owned(), name: name.to_owned() }
    }

    /// `options` do not go together, and why.
    pub fn conflict(options: &[&'static str], why: impl Into<String>) -> Self {
        Self::Conflict { options: options.to_vec(), why: why.into() }
    }

    /// `option` is needed, and why.
    pub fn not_given(option: &'static str, why: impl Into<String>) -> Self {
        Self::NotGiven { option, why: why.into() }
    }

    /// The input at `path` cannot serve, and why.
    pub fn input(path: &std::path::Path, why: impl ToString) -> Self {
        Self::Input { path: path.display().to_string(), why: why.to_string() }
    }

    /// The machine `platform` has no `cpu`.
    pub fn no_cpu_on(platform: &str, cpu: u32) -> Self {
        Self::NoSuchCpu { cpu, why: format!("platform {platform} has no CPU {cpu}") }
    }

    /// The file at `path` cannot be read or written, and why.
    pub fn file(path: &std::path::Path, why: impl std::fmt::Display) -> Self {
        Self::File { path: path.display().to_string(), why: why.to_string() }
    }
}
