// SPDX-License-Identifier: GPL-2.0-only
use std::fs;

use idlewise_lab::Recording;

use crate::args::TapeArgs;
use crate::output::{Done, Progress, say, write_new};

pub(crate) fn run(a: &TapeArgs) -> Done {
    let progress = Progress::new("reading");
    let recording = Recording::open(&a.trace, &a.recording.options())?;
    let bytes = recording.tape_bytes()?;
    drop(progress);
    write_new(&a.output, &bytes, a.force)?;
    let stays: usize = recording.tape.cpus.iter().map(|c| c.pieces.len()).sum();
    let trace_bytes = fs::metadata(&a.trace).map_or(0, |m| m.len());
    say(&format!(
        "{}: {stays} idle stays of {} CPUs, {} bytes (the trace has {trace_bytes})\n",
        a.output.display(),
        recording.tape.cpus.len(),
        bytes.len()
    ))?;
    Ok(true)
}
