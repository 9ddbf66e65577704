// SPDX-License-Identifier: GPL-2.0-only
//! Opens the files that users name: ordinary files only, and never waits for one.
//!
//! A pipe (FIFO) that nobody writes to would hold whoever opens it forever, a device may have no end, and opening one may
//! start something. Traces, side-cars, platform files, workloads, tables and sessions all go through here;
//! `crates/cli/tests/inputs.rs` checks that.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens the ordinary file at `path`, also through symbolic links.
///
/// # Errors
/// What the system says; or [`io::ErrorKind::InvalidInput`], with what the file is and what to do, where it is none.
pub fn open(path: &Path) -> io::Result<File> {
    ordinary(std::fs::metadata(path)?.file_type())?;
    // It may have become something else meanwhile: opened without waiting, and looked at again.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    ordinary(file.metadata()?.file_type())?;
    Ok(file)
}

/// All bytes of the ordinary file at `path`.
///
/// # Errors
/// As [`open`], and when it cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of the ordinary file at `path`.
///
/// # Errors
/// As [`read`]; [`io::ErrorKind::InvalidData`] where it is no UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn ordinary(kind: FileType) -> io::Result<()> {
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "is a directory; name a file"
    } else if kind.is_fifo() {
        "is a pipe (FIFO), not an ordinary file; write what comes through it to a file, and name that"
    } else if kind.is_socket() {
        "is a socket, not an ordinary file"
    } else {
        "is a device, not an ordinary file; copy what it gives to a file, and name that"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}
