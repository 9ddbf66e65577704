// SPDX-License-Identifier: GPL-2.0-only
use std::fs;

use idlewise_model::number_of;
use idlewise_recording::{CommandError, Recording, TraceHead};

use crate::args::TapeArgs;
use crate::output::{Done, Progress, check_new_from, say_beside, write_new_with};

pub(crate) fn run(a: &TapeArgs) -> Done {
    let options = a.recording.options();
    check_new_from(&a.output, a.force, &a.trace, &a.recording.files())?;
    let progress = Progress::reading("reading", &options.meter);
    let recording = Recording::open(&a.trace, &options)?;
    let mut packed = recording.packed()?;
    let head = TraceHead::new(&recording, |_| None);
    drop(progress);
    write_new_with(&a.output, a.force, |out| {
        packed.write(out).map_err(|e| CommandError::file(&a.output, e).into())
    })?;
    let with_stays = recording.tape.cpus.iter().filter(|c| !c.pieces.is_empty()).count();
    let stays: usize = recording.tape.cpus.iter().map(|c| c.pieces.len()).sum();
    // A directory's own length says nothing about the trace in it.
    let trace = fs::metadata(&a.trace).ok().filter(fs::Metadata::is_file);
    let beside = trace.map_or_else(String::new, |m| format!(" (the trace has {})", m.len()));
    let said = format!(
        "{}: {} of {}, {} bytes{beside}",
        a.output.display(),
        number_of(stays as u64, "idle period"),
        number_of(with_stays as u64, "CPU"),
        packed.bytes()
    );
    say_beside(&a.output, &said)?;
    for warning in &head.warnings {
        say_beside(&a.output, &format!("WARNING: {warning}"))?;
    }
    if let Some(assumption) = head.assumption() {
        say_beside(&a.output, &format!("results from it are right if {assumption}"))?;
    }
    Ok(true)
}
