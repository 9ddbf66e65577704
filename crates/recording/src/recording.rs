// SPDX-License-Identifier: GPL-2.0-only
//! A recording: a trace or tape with its machine and the governor that its kernel ran.

use std::path::PathBuf;
use std::sync::Arc;

use idlewise_model::{CpuTape, Note, PiecesError, Tape, TapeCpu};
use idlewise_platform::Platform;
use idlewise_replay::unsure_waits;
use idlewise_tape::file::{self as tape_file, Packed, TapeFileError};

use crate::arch::Arch;
use crate::counter_snapshots::CounterSnapshots;
use crate::decisions::RecordedDecisions;
use crate::entries::{VerdictCheck, VerdictOf};
use crate::error::CommandError;
use crate::kernel_governor::KernelGovernor;
use crate::sidecar::InputsBeside;

/// A trace or tape, understood.
#[derive(Clone, Debug)]
pub struct Recording {
    pub path: PathBuf,
    /// What governors would have seen.
    pub tape: Tape,
    /// The machine that was recorded.
    pub machine: Platform,
    /// The recording does not say that it was made on `machine`: `recorded_on` does.
    pub machine_assumed: bool,
    /// The option that named the machine, where one did.
    pub(crate) machine_option: &'static str,
    /// The processors that were recorded, where the recording shows it.
    pub(crate) arch: Option<Arch>,
    /// The machine that the recording names instead, where it names one.
    pub machine_contradicted: Option<String>,
    /// It is replayed as if its kernel had ticked so many times a second (`--hz`).
    pub hz_asked: Option<u32>,
    /// The CPUs of the tape as they were made, where none of their tasks is taken to wait for I/O.
    pub(crate) all_io_waits: Option<Vec<CpuTape>>,
    /// Decisions with their true inputs, where the trace has them.
    pub decisions: Arc<RecordedDecisions>,
    /// The kernel's idle governor, by who named it.
    pub governor: KernelGovernor,
    /// The governor's true inputs beside the trace, where they were recorded, too.
    pub inputs: Option<InputsBeside>,
    /// The kernel's own counters before and after, where the side-car has them.
    pub looks: Option<CounterSnapshots>,
    /// What speaks against `machine`; of the CPUs that are not left out.
    pub machine_check: MachineCheck,
}

/// A recording under the table of the machine that it is said to be of.
#[derive(Clone, Debug, Default)]
pub struct MachineCheck {
    /// The table's verdicts and the kernel's own; nothing where the recording has no verdict of the kernel.
    pub agreement: Option<VerdictCheck>,
    /// What speaks against the machine, in sentences.
    pub(crate) warnings: Vec<Note>,
}

/// The input of a tape that says that its machine is assumed, or that the recorded processor is none of its machine's; there is
/// none where the recording says which machine it is and nothing speaks against that.
pub const MACHINE: &str = "machine";

impl Recording {
    /// Whose verdicts on its idle periods are the best that are known.
    #[must_use]
    pub fn verdict_of(&self) -> VerdictOf {
        if self.machine_check.agreement.is_some() { VerdictOf::Kernel } else { VerdictOf::Table }
    }

    /// Wake events of its CPUs whose sleep length is not certain, and all.
    ///
    /// # Errors
    /// [`PiecesError`] when the tape cannot be read.
    pub fn unsure_waits(&self) -> Result<[u64; 2], PiecesError> {
        let mut out = [0; 2];
        for cpu in self.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
            let (unsure, all) = unsure_waits(cpu)?;
            out = [out[0] + unsure, out[1] + all];
        }
        Ok(out)
    }

    /// Whether it tells the states that the kernel chose, for any stay.
    ///
    /// # Errors
    /// [`PiecesError`] when the tape cannot be read.
    pub fn tells_states(&self) -> Result<bool, PiecesError> {
        let mut none = true;
        let usable = self.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable);
        for block in usable.flat_map(|c| c.pieces.blocks()) {
            if block?.iter().any(|p| p.chosen().is_some()) {
                return Ok(true);
            }
            none = false;
        }
        Ok(none)
    }

    /// The bytes of [`Recording::packed`].
    ///
    /// # Errors
    /// As [`Recording::packed`].
    pub fn tape_bytes(&self) -> Result<Vec<u8>, CommandError> {
        self.of_tape_file(tape_file::write(&self.tape))
    }

    /// The tape as a file that [`Recording::open`] reads.
    ///
    /// # Errors
    /// [`CommandError::TapeFile`] when the packing library refuses, or the tape cannot be read.
    pub fn packed(&self) -> Result<Packed, CommandError> {
        self.of_tape_file(tape_file::pack(&self.tape))
    }

    fn of_tape_file<T>(&self, made: Result<T, TapeFileError>) -> Result<T, CommandError> {
        made.map_err(|source| CommandError::TapeFile { path: self.path.display().to_string(), source })
    }
}
