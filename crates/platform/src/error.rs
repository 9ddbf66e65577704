// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::did_you_mean;
use thiserror::Error;

/// Why a platform could not be had: what is wrong, where, and the way out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlatformError {
    /// A platform file does not say what it should.
    #[error("{file}:{line}: {what}; {hint}")]
    Toml {
        /// The file, as the caller named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What was found and what was expected.
        what: String,
        hint: String,
    },
    /// A sysfs dump does not give a table of idle states.
    #[error("{file}: {what}; {hint}")]
    Dump {
        /// The file, with `:line` where one line is at fault.
        file: String,
        /// What was found and what was expected.
        what: String,
        hint: String,
    },
    /// No shipped platform has this id, and no such file exists.
    #[error("no platform `{name}`, and no file of that name{}", did_you_mean(.nearest, "`idlewise platform list` shows those that there are"))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The shipped ids that look most like it, best first; may be empty.
        nearest: Vec<String>,
    },
    /// A file cannot be read.
    #[error("{path}: {reason}")]
    Read {
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A value of a platform cannot be changed.
    #[error("{key} = {value}: {what}; docs/reference/platform-format.md has the keys")]
    Change {
        key: String,
        value: String,
        /// What was found and what was expected.
        what: String,
    },
    /// State powers do not make an energy table.
    #[error("{0}")]
    Energy(String),
    /// Two sets of counters cannot be subtracted.
    #[error("{what}; {hint}")]
    Counters { what: String, hint: String },
}
