// SPDX-License-Identifier: GPL-2.0-only
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use idlewise_recorder::record::Plan;

/// What to record.
#[derive(Clone, Debug, Default)]
pub struct RecordRequest {
    /// The command and its arguments; none records until it is stopped.
    pub command: Vec<OsString>,
    /// How long at most.
    pub limit: Option<Duration>,
    /// Trace buffer of each CPU, KiB; none takes what suits the machine.
    pub buffer_kib: Option<u64>,
    /// The file to be; pages lie beside it meanwhile.
    pub to: PathBuf,
    /// Overwrite what a killed recording left beside it.
    pub force: bool,
    /// Record the governor's true inputs, too.
    pub inputs: bool,
    /// Tell every second how far it is; else nothing wakes the machine.
    pub tell: bool,
}

pub(super) fn plan(request: &RecordRequest) -> Plan {
    let mut parts = request.to.clone().into_os_string();
    parts.push(".parts");
    Plan {
        command: request.command.clone(),
        limit: request.limit,
        buffer_kib: request.buffer_kib,
        parts: parts.into(),
        force: request.force,
        tell: request.tell,
    }
}

/// Where that is now which a killed recording had left in our way.
pub(super) fn kept_aside(moved: &Path) -> String {
    format!(
        "{0} keeps the data of a killed recording of this name: `idlewise info {0}` reads it",
        moved.display()
    )
}
