// SPDX-License-Identifier: GPL-2.0-only
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::place;
use super::undo::{Restoration, restore};
use crate::LiveError;

/// The session's last word to its guard.
const FAREWELL: &[u8] = b"done\n";

/// The process that restores the machine when the session dies without a word.
#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    /// Starts `command` with the journal as its last argument. It has a process group of its own, so that Ctrl-C and a
    /// kill of the session's group pass it by, and holds `lock` as its standard output, to which it writes nothing.
    pub(super) fn start(mut command: Command, journal: &Path, lock: &File) -> Result<Self, LiveError> {
        let program = Path::new(command.get_program()).to_owned();
        let lock = lock.try_clone().map_err(LiveError::io(&program))?;
        command.arg(journal).stdin(Stdio::piped()).stdout(lock).process_group(0).current_dir("/");
        command.spawn().map(Self).map_err(LiveError::io(&program))
    }

    /// Sends it home: there is nothing to do for it, or, unless `done`, there is.
    pub(super) fn dismiss(mut self, done: bool) {
        if let Some(mut pipe) = self.0.stdin.take()
            && done
        {
            // A guard that died before has nothing to hear.
            let _ = pipe.write_all(FAREWELL);
        }
        let _ = self.0.wait();
    }
}

/// What a guard does: it reads standard input until the session has said that it is done, or has died; then it
/// restores what `journal` names. Nothing to restore is no answer.
///
/// # Errors
/// When the journal cannot be read.
pub fn guard(journal: &Path) -> Result<Option<Restoration>, LiveError> {
    let mut heard = Vec::new();
    let _ = std::io::stdin().lock().read_to_end(&mut heard);
    if heard == FAREWELL {
        return Ok(None);
    }
    let host = place::host_of(journal)
        .ok_or_else(|| LiveError::file(journal, "not the journal of a session (.../run/idlewise/journal)"))?;
    place::check(&host.run)?;
    restore(&host, journal).map(Some)
}
