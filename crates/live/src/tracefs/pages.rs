// SPDX-License-Identifier: GPL-2.0-only
//! Pages of the kernel's ring buffers on their way to files, whoever moves them: the recording, or the guard of one that was
//! killed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Where in a page of the ring buffer the kernel says how much of it is used, and the bits that say so.
const COMMIT_AT: usize = 8;
const COMMIT_BITS: u64 = (1 << 20) - 1;
/// The longest page of a ring buffer, bytes: 128 pages of memory (`buffer_subbuf_size_kb`).
const LONGEST: usize = 128 << 12;
/// The folder by which one that a recording has made is known: descriptions of events.
pub const KNOWN_BY: &str = "events";

/// Where the pages of an instance go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// A folder with a file for each CPU, `cpu0` and so on.
    pub folder: PathBuf,
    /// Bytes of a page.
    pub page: usize,
}

/// Opens the pages of `cpu` in the instance at `path`, to be read without waiting.
pub(super) fn open(path: &Path, cpu: &str) -> Result<File, (PathBuf, io::Error)> {
    let path = path.join("per_cpu").join(cpu).join("trace_pipe_raw");
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(nonblock).open(&path).map_err(|e| (path, e))
}

/// Moves pages of `page.len()` bytes from a buffer to a file; `all` until nothing is left, else up to the page that is being
/// written. Gives their number.
///
/// One at a time: who is killed between reading and writing loses one at most.
///
/// # Errors
/// When the buffer cannot be read or the file not be written.
pub fn take(from: &mut File, page: &mut [u8], all: bool, to: &mut File) -> io::Result<u64> {
    for taken in 0.. {
        match from.read(page) {
            Ok(0) => return Ok(taken),
            Ok(n) => {
                // The rest of a page that came short is unused.
                page.get_mut(n..).unwrap_or_default().fill(0);
                to.write_all(page)?;
                if !all && is_partial(page) {
                    return Ok(taken + 1);
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(taken),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // The buffer of a CPU that was never online.
            Err(e) if e.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => return Ok(taken),
            Err(e) => return Err(e),
        }
    }
    Ok(0)
}

/// Whether a quarter of a page is unused: it is the last that there is.
fn is_partial(page: &[u8]) -> bool {
    let word = page.get(COMMIT_AT..).and_then(|p| p.first_chunk::<8>());
    let used = word.map_or(0, |w| u64::from_ne_bytes(*w) & COMMIT_BITS);
    used < page.len() as u64 * 3 / 4
}

/// Moves what the buffers of the instance at `path` still hold behind what a killed recording had moved to `parts`. Gives the
/// number of pages; 0 where that folder is gone or is no recording's.
pub(crate) fn rescue(path: &Path, parts: &Parts) -> io::Result<u64> {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|m| m.is_dir());
    let ours = is_folder(&parts.folder) && is_folder(&parts.folder.join(KNOWN_BY));
    if !ours || parts.page == 0 || parts.page > LONGEST {
        return Ok(0);
    }
    let mut page = vec![0; parts.page];
    let mut rescued = 0;
    for entry in fs::read_dir(&parts.folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(cpu) = name.to_str().filter(|n| n.starts_with("cpu")) else { continue };
        let mut from = match open(path, cpu) {
            Ok(from) => from,
            Err((_, e)) if e.kind() == io::ErrorKind::NotFound => continue,
            Err((_, e)) => return Err(e),
        };
        let mut to = idlewise_files::append(&entry.path())?;
        // A page that was cut off.
        let length = to.metadata()?.len();
        to.set_len(length - length % parts.page as u64)?;
        rescued += take(&mut from, &mut page, true, &mut to)?;
        to.sync_data()?;
    }
    Ok(rescued)
}
