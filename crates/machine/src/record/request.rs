// SPDX-License-Identifier: GPL-2.0-only
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use idlewise_files::new_file::{check_apart, check_new, check_writable};
use idlewise_live::Host;
use idlewise_live::tracefs::Tracefs;
use idlewise_model::{Note, NoteId};
use idlewise_recorder::record::Plan;
use idlewise_recording::CommandError;

use super::inputs::inputs_beside;
use crate::MachineError;

/// What to record of this machine, for how long, and where to.
#[derive(Clone, Debug, Default)]
pub struct RecordRequest {
    /// The command and its arguments; none records until it is stopped.
    pub command: Vec<OsString>,
    /// How long at most.
    pub limit: Option<Duration>,
    /// Trace buffer of each CPU, KiB; none takes what suits the machine.
    pub buffer_kib: Option<u64>,
    /// The file to write; pages are stored next to it until it is complete.
    pub to: PathBuf,
    /// Overwrite what a killed recording left next to it.
    pub force: bool,
    /// Record the governor's true inputs, too.
    pub inputs: bool,
    /// Tell every second how far it is; else nothing wakes the machine.
    pub tell: bool,
}

impl RecordRequest {
    /// The folder for what is captured until the file is written.
    #[must_use]
    pub fn parts(&self) -> PathBuf {
        let mut parts = self.to.clone().into_os_string();
        parts.push(".parts");
        parts.into()
    }

    /// Whether a recording of `host` can be made and go where it is to go, and its `report`, if it is to be a file; asked before
    /// anything is recorded.
    ///
    /// # Errors
    /// [`MachineError`] with the file that is in the way or cannot be written, or with what tracing lacks here.
    pub fn check(&self, host: &Host, report: Option<&Path>) -> Result<(), MachineError> {
        let sidecar = self.to.with_extension("toml");
        if sidecar == self.to {
            let why = "a side-car has such a name; let the name end in .dat";
            return Err(CommandError::file(&sidecar, why).into());
        }
        check_new(&self.to, self.force)?;
        if sidecar.exists() && !self.force {
            let why = "exists, and would describe the new recording; name another file, or remove it (--force does)";
            return Err(CommandError::file(&sidecar, why).into());
        }
        let inputs = self.inputs.then(|| inputs_beside(&self.to));
        inputs.as_deref().into_iter().chain(report).try_for_each(|path| check_new(path, self.force))?;
        if let Some(report) = report {
            check_apart(("--json", report), ("--output", &self.to))?;
            check_apart(("--json", report), ("the side-car,", &sidecar))?;
            inputs.as_deref().map_or(Ok(()), |inputs| {
                check_apart(("--json", report), ("the inputs of --inputs,", inputs))
            })?;
        }
        // Says best what is missing.
        Tracefs::of(host)?;
        Ok([self.to.as_path()].into_iter().chain(report).try_for_each(check_writable)?)
    }
}

pub(super) fn plan(request: &RecordRequest) -> Plan {
    Plan {
        command: request.command.clone(),
        limit: request.limit,
        buffer_kib: request.buffer_kib,
        parts: request.parts(),
        force: request.force,
        tell: request.tell,
    }
}

/// Where that is now which a killed recording had left in our way.
pub(super) fn kept_aside(moved: &Path) -> Note {
    NoteId::KeptAside.note(format!(
        "{0} keeps the data of a killed recording of this name: `idlewise info {0}` reads it",
        moved.display()
    ))
}
