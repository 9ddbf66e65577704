// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that wait for I/O, where a recording has only an upper bound of their number: all tasks in uninterruptible sleep.

use idlewise_model::{Confidence, CpuTape, NoteId, PiecesError, TapeCpu};

use crate::recording::Recording;

/// The input of a tape.
const IOWAIT: &str = "iowait";

impl Recording {
    /// Idle entries of usable CPUs at which tasks may wait for I/O or for anything else: the recording does not tell.
    ///
    /// # Errors
    /// [`PiecesError`] when the tape cannot be read.
    pub fn unsure_io_waits(&self) -> Result<u64, PiecesError> {
        let mut unsure = 0;
        if self.tape.weakest(IOWAIT) == Confidence::Bounded {
            let all = self.all_io_waits.as_deref().unwrap_or(&self.tape.cpus);
            for block in all.iter().filter(|c| c.usable == TapeCpu::Usable).flat_map(|c| c.pieces.blocks()) {
                unsure += block?.iter().filter(|p| p.iowait > 0).count() as u64;
            }
        }
        Ok(unsure)
    }

    /// From here on no task waits for I/O in this recording, which says why.
    pub fn take_no_io_waits(&mut self, why: &str) {
        let none = self.other_io_waits();
        self.all_io_waits = Some(std::mem::replace(&mut self.tape.cpus, none));
        for input in self.tape.inputs.iter_mut().filter(|i| i.name == IOWAIT) {
            why.clone_into(&mut input.how);
        }
        self.tape.notes.push(NoteId::NoIoWaits.note(why));
    }

    /// The CPUs with the other end of what the recording allows: none waits for I/O where all in uninterruptible sleep are taken to,
    /// and the reverse.
    #[must_use]
    pub fn other_io_waits(&self) -> Vec<CpuTape> {
        let none = |cpu: &CpuTape| CpuTape { pieces: cpu.pieces.changed(|p| p.iowait = 0), ..cpu.clone() };
        self.all_io_waits.clone().unwrap_or_else(|| self.tape.cpus.iter().map(none).collect())
    }
}
