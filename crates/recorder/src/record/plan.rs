// SPDX-License-Identifier: GPL-2.0-only
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use idlewise_live::LiveError;

/// Events, buffer size and clock of a recording.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The command and its arguments; none records until it is stopped.
    pub command: Vec<OsString>,
    /// How long at most; the command is then ended.
    pub limit: Option<Duration>,
    /// Trace buffer of each CPU, KiB; none takes what suits the machine.
    pub buffer_kib: Option<u64>,
    /// The folder for the pages until the recording is written.
    pub parts: PathBuf,
    /// Overwrite what a killed recording left in that folder; else it is moved aside.
    pub force: bool,
    /// Look up every second, to tell how far it is; else nothing wakes the machine.
    pub tell: bool,
}

/// Something else that records at the same time, such as the governor's inputs by BPF. Who hands it in keeps it, and asks it
/// for its records after the recording.
pub trait Companion {
    /// Called with tracing on, before the command starts.
    ///
    /// # Errors
    /// When it cannot record; the recording ends then.
    fn start(&mut self) -> Result<(), LiveError>;

    /// Called after the command has ended, with tracing still on.
    ///
    /// # Errors
    /// When its records are lost; those of the trace are kept.
    fn stop(&mut self) -> Result<(), LiveError>;
}
