// SPDX-License-Identifier: GPL-2.0-only
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a trace cannot be read. Dirt inside a readable trace is no error; it is counted in the trace's health.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file could not be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file could not be read at some place.
    #[error("cannot read {what} of {} at byte {offset}: {source}", path.display())]
    Read {
        path: PathBuf,
        offset: u64,
        /// What was wanted there.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is packed, and cannot be unpacked.
    #[error("cannot unpack {} ({how}): {source}; copy it again, or unpack it by hand to save what is left", path.display())]
    Unpack {
        path: PathBuf,
        /// How it is packed.
        how: &'static str,
        /// What the library said.
        source: io::Error,
    },
    /// The file is packed, and the temporary directory cannot take what is in it.
    #[error("no room to unpack {} in the temporary directory: {source}; set TMPDIR to a folder on a disk with room (else it is /tmp)", path.display())]
    NoRoom {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not a trace that can be read here: it looks like {looks_like}; {advice}", path.display())]
    NotATrace {
        path: PathBuf,
        /// What it looks like.
        looks_like: Cow<'static, str>,
        advice: &'static str,
    },
    /// The file is a trace, of a kind that is not read yet.
    #[error("{}: {what} not supported yet; {advice}", path.display())]
    Unsupported {
        path: PathBuf,
        /// What is not supported, with its verb ("version 8 of trace.dat is").
        what: String,
        advice: &'static str,
    },
    /// The directory holds a trace, of which a part is missing without which nothing can be read.
    #[error("{}: {missing} missing; {advice}", path.display())]
    Incomplete {
        path: PathBuf,
        /// What is missing, with its verb ("events/header_page is").
        missing: &'static str,
        advice: &'static str,
    },
    /// The trace has no trace instance of the name asked for.
    #[error("{}: no trace instance {name:?}; there is {there}", path.display())]
    NoInstance {
        path: PathBuf,
        /// What was asked for.
        name: String,
        /// What there is, in words.
        there: String,
    },
    /// The directory holds several traces, and one is to be chosen.
    #[error("{}: holds {what}: {names}; give one of them", path.display())]
    Several {
        path: PathBuf,
        /// How many of what.
        what: String,
        /// What they are called.
        names: String,
    },
    /// The file breaks its own format in a place without which nothing can be read.
    #[error("{}: {section}, byte {offset}: expected {expected}; {advice}", path.display())]
    Malformed {
        path: PathBuf,
        /// The part of the file.
        section: &'static str,
        /// Where: in the file, or in the unpacked section when that is compressed.
        offset: u64,
        /// What should have been there.
        expected: String,
        advice: &'static str,
    },
}

/// The advice for files that end too early.
pub(crate) const CUT_OFF: &str =
    "the file was cut off or damaged: copy it again, or check that the recording was finished";
