// SPDX-License-Identifier: GPL-2.0-only
//! Records the running machine and checks what came of it: `idlewise record`.

mod check;
mod inputs;
mod made;
pub mod overhead;
mod request;
mod taken;

use std::fs;
use std::path::Path;

use idlewise_files::new_file::{WriteError, write_new_file};
use idlewise_live::Host;
use idlewise_live::journal::Journal;
use idlewise_live::tracefs::Tracefs;
use idlewise_platform::{Platform, Roots};
use idlewise_recorder::bpf::RecorderOptions;
use idlewise_recorder::record::{Companion, Ended, Inputs, Progress, Stop, record as capture};
use idlewise_trace::write::DatForm;

use crate::MachineError;
use idlewise_recording::CommandError;
use inputs::{TABLE, TakenInputs};
use made::Made;
use request::plan;

pub use check::{CpuRecorded, RecordReport, SCHEMA};
pub use inputs::{InputsRecorded, inputs_beside};
pub use request::RecordRequest;
pub use taken::Taken;

/// Records on `host`.
///
/// # Errors
/// [`MachineError`] when something is missing or refused; see [`idlewise_recorder::record::record`]. What is missing for the governor's
/// inputs is said before anything on the machine is changed.
pub fn record(
    host: &Host,
    request: &RecordRequest,
    stop: &mut Stop,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Taken, MachineError> {
    // Asked first: it says best what is missing.
    Tracefs::of(host)?;
    let plan = plan(request);
    let captured = plan.parts.join(TABLE);
    let start = || Inputs::new(host, RecorderOptions::default(), &captured);
    let mut inputs = request.inputs.then(start).transpose()?;
    let machine = machine(host);
    let mut journal = Journal::open(host)?;
    let before = journal.leftovers().clone();
    let companion = inputs.as_mut().map(|i| i as &mut dyn Companion);
    let recorded = capture(host, &plan, &mut journal, companion, stop, progress);
    let after = journal.restore();
    let recorded = recorded?;
    let to = inputs_beside(&request.to);
    let inputs = inputs.and_then(Inputs::recorded);
    let inputs = inputs.map(|(recorded, captured)| TakenInputs { recorded, captured, to });
    let made = Made::of(&recorded, request, machine.as_ref(), inputs.as_ref());
    Ok(Taken { recorded, machine, inputs, made, restored: [before, after?] })
}

/// The machine as `idlewise platform scan` sees it; none where the kernel has no idle states.
fn machine(host: &Host) -> Option<Platform> {
    let roots =
        Roots { sys: host.sys.clone(), proc: host.proc.clone(), boot: host.sys.with_file_name("boot") };
    let mut machine = Platform::scan(&roots).ok()?;
    "recorded-machine".clone_into(&mut machine.id);
    machine.name = machine.name.replacen("this machine", "the machine of the recording", 1);
    Some(machine)
}

impl Taken {
    /// Writes the recording to `to`, the governor's inputs next to it, and reports what the file is good for. With `force` what is
    /// there is replaced, and a side-car of the recording before is removed. `doing` hears of each further step.
    ///
    /// # Errors
    /// When a file cannot be read or written, or the machine not be described. What was captured is kept then, and the error says where.
    pub fn keep(
        self,
        to: &Path,
        force: bool,
        form: DatForm,
        doing: &dyn Fn(&str),
    ) -> Result<RecordReport, MachineError> {
        let kept = |why: CommandError| {
            let parts = self.recorded.parts().display();
            MachineError::kept(why, format!("{parts} keeps the captured data"))
        };
        let description = self.description().map_err(kept)?;
        let written = write_new_file(to, force, |file| {
            // Its errors say where what was captured is.
            self.recorded.write(form, &description, file).map_err(MachineError::Live)
        });
        written.map_err(|e| match e {
            MachineError::Command(why @ CommandError::Write(WriteError::Refused(_))) => kept(why),
            other => other,
        })?;
        if let Some(inputs) = &self.inputs {
            write_new_file(&inputs_beside(to), force, |file| inputs.write(file)).map_err(kept)?;
        }
        let sidecar = to.with_extension("toml");
        if force && sidecar.is_file() {
            fs::remove_file(&sidecar).map_err(|e| kept(CommandError::file(&sidecar, e)))?;
        }
        // Before the file is checked, which takes long: who ends that has a recording, and nothing else.
        self.recorded.done();
        doing("checking");
        Ok(RecordReport::of(to, &self))
    }

    #[must_use]
    pub fn ended(&self) -> Ended {
        self.recorded.ended
    }
}
