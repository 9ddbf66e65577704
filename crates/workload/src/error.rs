// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::did_you_mean;
use thiserror::Error;

/// Why a workload could not be had: what is wrong, where, and the way out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WorkloadError {
    /// A file does not say what it should, or something that is not modelled.
    #[error("{file}:{line}:{column}: {}{what}; {hint}", path_text(.path))]
    At {
        /// The file, as the caller named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Character in the line, from 1.
        column: usize,
        /// Keys from the outermost object to the place, with `/` between them; empty where the text is not JSON.
        path: String,
        /// What kind of fault.
        fault: Fault,
        /// What was found and what was expected.
        what: String,
        hint: String,
    },
    /// All files together lack something.
    #[error("{files}: {what}; {hint}")]
    Lacks {
        /// The files, as the caller named them.
        files: String,
        what: String,
        hint: String,
    },
    /// No shipped workload has this name, and no such file exists.
    #[error("no workload `{name}`, and no file of that name{}", did_you_mean(.nearest, &format!("there are: {}", .known.join(", "))))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The shipped names that look most like it, best first; may be empty.
        nearest: Vec<String>,
        /// All shipped names, sorted.
        known: Vec<String>,
    },
    /// A file cannot be read.
    #[error("{path}: {reason}")]
    Read {
        path: String,
        /// What the system said.
        reason: String,
    },
}

/// What kind of fault a place in a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text is not JSON, even as rt-app and workgen take it.
    Syntax,
    /// A key that neither rt-app nor the extension has.
    UnknownKey,
    /// A value of the wrong type or out of range, or a name that means nothing.
    Value,
    /// rt-app's, understood, and not modelled.
    NotModelled,
}

fn path_text(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}
