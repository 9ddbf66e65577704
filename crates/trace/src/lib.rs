// SPDX-License-Identifier: GPL-2.0-only
//! Readers of recorded kernel traces: any format in, one stream of [`Event`](idlewise_model::Event)s out.
//!
//! A [`TraceFile`] is opened once and understood (who recorded it, which events it describes); each call of
//! [`TraceFile::events`] then walks its buffers anew, with all CPUs merged in time order. Memory does not grow with
//! the length of the recording. Dirt in the data is counted in a [`Health`](idlewise_model::Health) and never stops
//! the reading; only a file whose headers are broken is refused.
//!
//! Formats: `trace.dat` of trace-cmd, versions 6 and 7 (module `dat`); directories of raw ring buffers (module `ring`);
//! `perf.data` of perf (`perf`); text of ftrace, trace-cmd, perf script, systrace and atrace (`text`);
//! Perfetto protobuf (`perfetto`); CTF 1.8, the directories of LTTng (`ctf`). [`write`] goes the other way, to text and to
//! Perfetto.

mod choice;
mod ctf;
mod dat;
mod error;
mod events;
mod input;
mod kernel;
mod learned;
mod meta;
mod meter;
mod packed;
mod perf;
mod perfetto;
mod reader;
mod ring;
mod sniff;
mod symbols;
mod text;
mod trace_file;
mod turns;
mod unpack;
pub mod write;

pub use choice::Choice;
pub use error::TraceError;
pub use events::Events;
pub use meta::{CpuStats, Guest, TraceMeta};
pub use meter::Meter;
pub use packed::unpacked;
pub use perfetto::CpuidleSample;
pub use trace_file::TraceFile;
