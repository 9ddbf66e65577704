// SPDX-License-Identifier: GPL-2.0-only
//! `trace.dat`, the file of trace-cmd: headers and event formats of the recording kernel, then its ring-buffer pages.
//! Facts of the format: trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).

mod buffers;
mod guests;
mod header;
pub(crate) mod options;
mod reader;
mod sections;

pub(crate) use header::MAGIC;

use crate::choice::Choice;
use crate::error::TraceError;
use crate::input::Input;
use crate::kernel::ring_buffer::RingTrace;

pub(crate) fn open(input: Input, choice: &Choice) -> Result<RingTrace, TraceError> {
    let hash = input.hash()?;
    let mut trace = header::read(&input, choice)?;
    trace.meta.hash = hash;
    trace.meta.bytes = input.len();
    trace.inputs = vec![input];
    Ok(trace)
}
