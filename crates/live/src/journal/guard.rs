// SPDX-License-Identifier: GPL-2.0-only
use std::fs::File;
use std::io::{BufRead as _, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::place;
use super::process_tree::{MARK, Process};
use super::undo::{Restoration, restore};
use crate::LiveError;

/// The session's last word to its guard.
const FAREWELL: &str = "done";
/// The session is about to start a process with the mark that follows in its environment.
const STARTS: &str = "starts";
/// The session runs the process whose number and birth follow; without them, none.
const RUNS: &str = "runs";

/// How long a process that was about to start when its session died is looked for, in steps of [`STEP`].
const LOOKS: u32 = 20;
const STEP: Duration = Duration::from_millis(50);

/// The process that restores the machine when the session dies without a word.
#[derive(Debug)]
pub(super) struct Guard {
    process: Child,
    /// How many processes were announced to it.
    announced: u64,
}

impl Guard {
    /// Starts `command` with the journal as its last argument. It has a process group of its own, so that Ctrl-C and a
    /// kill of the session's group pass it by, and holds `lock` as its standard output, to which it writes nothing.
    pub(super) fn start(mut command: Command, journal: &Path, lock: &File) -> Result<Self, LiveError> {
        let program = Path::new(command.get_program()).to_owned();
        let lock = lock.try_clone().map_err(LiveError::io(&program))?;
        command.arg(journal).stdin(Stdio::piped()).stdout(lock).process_group(0).current_dir("/");
        let process = command.spawn().map_err(LiveError::io(&program))?;
        Ok(Self { process, announced: 0 })
    }

    /// Marks `command`, which is about to start, and has what bears the mark killed when the session dies before
    /// [`Guard::watch`].
    pub(super) fn announce(&mut self, command: &mut Command) {
        self.announced += 1;
        // The guard lives as long as the session: no other has its number meanwhile.
        let mark = format!("{}-{}", self.process.id(), self.announced);
        command.env(MARK, &mark);
        self.send(STARTS, &mark);
    }

    /// Has it kill the process `pid` when the session dies; or none from now on.
    pub(super) fn watch(&mut self, pid: Option<u32>) {
        let process = pid.and_then(Process::of).map(Process::words).unwrap_or_default();
        self.send(RUNS, &process);
    }

    fn send(&mut self, word: &str, what: &str) {
        if let Some(pipe) = &mut self.process.stdin {
            // A guard that died before watches nothing; what the session changed is restored by the next one.
            let _ = writeln!(pipe, "{word} {what}");
        }
    }

    /// Sends it home: there is nothing to do for it, or, unless `done`, there is.
    pub(super) fn dismiss(mut self, done: bool) {
        if let Some(mut pipe) = self.process.stdin.take()
            && done
        {
            // A guard that died before has nothing to hear.
            let _ = writeln!(pipe, "{FAREWELL}");
        }
        let _ = self.process.wait();
    }
}

/// What a guard does: it reads standard input until the session has said that it is done, or has died; then it kills what
/// that ran and restores what `journal` names. Nothing to restore is no answer.
///
/// # Errors
/// When the journal cannot be read.
pub fn guard(journal: &Path) -> Result<Option<Restoration>, LiveError> {
    let (mut starts, mut runs) = (None, None);
    let mut line = Vec::new();
    let mut session = std::io::stdin().lock();
    while session.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        // A line without its end was cut off.
        match std::str::from_utf8(&line).ok().and_then(|l| l.strip_suffix('\n')) {
            Some(FAREWELL) => return Ok(None),
            Some(said) => {
                starts = said.strip_prefix(STARTS).map(|mark| mark.trim_start().to_owned());
                runs = said.strip_prefix(RUNS).and_then(|process| Process::read(process.trim_start()));
            }
            None => {}
        }
        line.clear();
    }
    if let Some(mark) = starts {
        for _ in 0..LOOKS {
            runs = Process::marked(&mark);
            if runs.is_some() {
                break;
            }
            thread::sleep(STEP);
        }
    }
    let killed = runs.map_or(0, |process| process.kill());
    let host = place::host_of(journal)
        .ok_or_else(|| LiveError::file(journal, "not the journal of a session (.../run/idlewise/journal)"))?;
    place::check(&host.run)?;
    let mut done = restore(&host, journal)?;
    if let Some(process) = runs.filter(|_| killed > 0) {
        done.restored.push(format!("{process}: killed"));
    }
    Ok(Some(done))
}
