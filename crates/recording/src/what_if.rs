// SPDX-License-Identifier: GPL-2.0-only
//! `--hz`: what if the kernel that was recorded had ticked at another rate?

use idlewise_model::{Confidence, NoteId, TickGrid};
use idlewise_replay::Workload;

use crate::error::CommandError;
use crate::recording::Recording;
use idlewise_model::HZ;

/// The input that says where the ticks lie, and how well that is known.
const TICK_GRID: &str = "tick grid";

/// Writes down in `recording` that it is replayed with `hz` ticks a second.
///
/// # Errors
/// [`CommandError::Argument`] where no kernel ticks so.
pub(crate) fn ask(recording: &mut Recording, hz: u32) -> Result<(), CommandError> {
    if !HZ.contains(&hz) {
        let (least, most) = (HZ.start(), HZ.end());
        let why = format!("Linux has {least} to {most} ticks per second, mostly 100, 250, 300 or 1000");
        return Err(CommandError::option("--hz", hz, why));
    }
    recording.hz_asked = Some(hz);
    let tape = &mut recording.tape;
    for input in tape.inputs.iter_mut().filter(|i| i.name == TICK_GRID) {
        let all: u64 = input.counts.iter().sum();
        input.counts = [0; 4];
        input.counts[Confidence::Assumed as usize] = all;
        let recorded = std::mem::take(&mut input.how);
        input.how = format!("HZ {hz}, given by --hz; of the recording itself: {recorded}");
        tape.notes.insert(
            0,
            NoteId::WhatIf.note(format!(
                "what if: the ticks of every result here are those of HZ {hz} (--hz), not the recorded ones"
            )),
        );
    }
    Ok(())
}

/// Gives `workload` ticks at `hz` a second; one of them lies where a tick was recorded.
pub(crate) fn with_hz(workload: Workload, hz: u32) -> Workload {
    let period_ns = TickGrid::period_of(hz);
    let grid = TickGrid { period_ns, phase_ns: workload.grid.phase_ns % period_ns };
    Workload { grid, ..workload }
}
