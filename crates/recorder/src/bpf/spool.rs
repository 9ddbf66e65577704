// SPDX-License-Identifier: GPL-2.0-only
//! A recording of inputs that goes to a file by itself.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::decision::Decision;
use super::recorder::{Recorded, Recorder, RecorderOptions};
use super::table::Table;
use idlewise_live::{Host, LiveError};

/// The rings are looked after at least and at most this often: often enough that they do not fill, and else seldom, since it wakes
/// the machine.
const SELDOM: Duration = Duration::from_millis(250);
const OFTEN: Duration = Duration::from_millis(10);
/// Decisions at once that call for looking more often, or less: a quarter of a usual ring, and a thirtieth.
const MANY: usize = 10_000;
const FEW: usize = 1_200;

/// Records inputs and writes them as a [`Table`] until it is stopped.
pub struct Spool {
    stop: Sender<()>,
    thread: JoinHandle<Result<Recorded, LiveError>>,
}

impl Spool {
    /// Starts recording to `path`, a new file.
    ///
    /// # Errors
    /// As [`Recorder::start`], or the file cannot be made.
    pub fn start(host: &Host, options: RecorderOptions, path: &Path) -> Result<Self, LiveError> {
        Self::over(Recorder::start(host, options)?, path)
    }

    /// As [`Spool::start`], with a recorder that is at work already and has not been drained.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn over(recorder: Recorder, path: &Path) -> Result<Self, LiveError> {
        let file = File::options().write(true).create_new(true).open(path).map_err(LiveError::io(path))?;
        let (stop, stopped) = channel();
        let path = path.to_owned();
        let run = move || spool(recorder, Table::new(BufWriter::new(file)), &path, &stopped);
        let thread = Builder::new().spawn(run).map_err(LiveError::io(Path::new("a thread")))?;
        Ok(Self { stop, thread })
    }

    /// Ends the recording; all decisions are in the file, none in what is returned.
    ///
    /// # Errors
    /// The file could not be written, or the machine cannot be asked about its governor.
    pub fn stop(self) -> Result<Recorded, LiveError> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|_| {
            Err(LiveError::Broken("the thread that writes inputs has broken down".into()))
        })
    }
}

fn spool<W: Write>(
    mut recorder: Recorder,
    mut table: Table<W>,
    path: &Path,
    stopped: &Receiver<()>,
) -> Result<Recorded, LiveError> {
    let mut wait = OFTEN;
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(wait) {
        let decisions = recorder.drain();
        wait = match decisions.len() {
            MANY.. => (wait / 2).max(OFTEN),
            ..FEW => (wait * 2).min(SELDOM),
            _ => wait,
        };
        write(&mut table, &decisions, path)?;
    }
    let mut recorded = recorder.stop()?;
    write(&mut table, &std::mem::take(&mut recorded.decisions), path)?;
    table.finish().map_err(LiveError::io(path))?;
    Ok(recorded)
}

fn write<W: Write>(table: &mut Table<W>, decisions: &[Decision], path: &Path) -> Result<(), LiveError> {
    // On its way to the disk before the next ones: who is killed keeps them.
    let written = decisions.iter().try_for_each(|d| table.row(d)).and_then(|()| table.flush());
    written.map_err(LiveError::io(path))
}
