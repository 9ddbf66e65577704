// SPDX-License-Identifier: GPL-2.0-only
//! Records the running machine and checks what came of it: `idlewise record`.

mod check;
mod inputs;
mod made;
pub mod overhead;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use idlewise_files::new_file::{WriteError, write_new_file};
use idlewise_live::Host;
use idlewise_live::journal::{Journal, PutBack};
use idlewise_live::tracefs::Tracefs;
use idlewise_platform::{Platform, Roots};
use idlewise_recorder::bpf::RecorderOptions;
use idlewise_recorder::record::{
    Companion, Ended, Inputs, Plan, Progress, Recorded, Stop, record as capture,
};
use idlewise_trace::write::DatForm;

use crate::MachineError;
use idlewise_recording::CommandError;
use idlewise_recording::counter_snapshots::CounterSnapshots;
use idlewise_recording::sidecar::Sidecar;
use inputs::{TABLE, TakenInputs};
use made::Made;

pub use check::{CpuRecorded, RecordReport};
pub use inputs::{InputsRecorded, inputs_beside};

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

/// A recording in the making: recorded, not written yet.
#[derive(Debug)]
pub struct Taken {
    recorded: Recorded,
    /// Nothing on a kernel without idle states.
    machine: Option<Platform>,
    inputs: Option<TakenInputs>,
    made: Made,
    /// What was restored when it began and when it ended.
    pub put_back: [PutBack; 2],
}

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
    let recorded = capture(host, &plan, &mut |folder| journal.made(folder), companion, stop, progress);
    let after = journal.restore();
    let recorded = recorded?;
    let to = inputs_beside(&request.to);
    let inputs = inputs.and_then(Inputs::recorded);
    let inputs = inputs.map(|(recorded, captured)| TakenInputs { recorded, captured, to });
    let made = Made::of(&recorded, request, machine.as_ref(), inputs.as_ref());
    Ok(Taken { recorded, machine, inputs, made, put_back: [before, after?] })
}

fn plan(request: &RecordRequest) -> Plan {
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
fn kept_aside(moved: &Path) -> String {
    format!(
        "{0} keeps the data of a killed recording of this name: `idlewise info {0}` reads it",
        moved.display()
    )
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
        doing("checking");
        let report = RecordReport::of(to, &self);
        self.recorded.done();
        Ok(report)
    }

    /// What a side-car would say of it.
    fn description(&self) -> Result<String, CommandError> {
        let inputs = self.inputs.as_ref().map(TakenInputs::beside);
        Sidecar::text(self.governor(), inputs, &self.made, self.machine.as_ref(), &self.looks())
    }

    /// The kernel's idle governor, with the parameters by which it ruled.
    fn governor(&self) -> Option<String> {
        let facts = &self.recorded.facts;
        let name = facts.governor.clone()?;
        let parameters: Vec<String> = match name.as_str() {
            "haltpoll" => facts.haltpoll.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            _ => Vec::new(),
        };
        Some(if parameters.is_empty() { name } else { format!("{name}:{}", parameters.join(",")) })
    }

    fn looks(&self) -> CounterSnapshots {
        let look = |l: &idlewise_recorder::record::Look| (l.at_ns.clone(), l.counters.clone());
        CounterSnapshots {
            name: PathBuf::new(),
            before: look(&self.recorded.before),
            after: look(&self.recorded.after),
        }
    }

    /// How it ended.
    #[must_use]
    pub fn ended(&self) -> Ended {
        self.recorded.ended
    }
}
