// SPDX-License-Identifier: GPL-2.0-only
//! Writers of recorded events, to look at them elsewhere: ftrace text ([`FtraceText`]) and Perfetto protobuf
//! ([`PerfettoWriter`], which also draws tracks of one's own beside them).
//!
//! An event is written with the fields that idlewise understands, under the kernel's names. One that it does not
//! understand keeps its time, CPU, task and name, and loses its fields. Memory does not grow with what is written. Read
//! again, Perfetto gives the same [`Event`](idlewise_model::Event)s, but for numbers of events and functions, and for
//! how many events were lost in a gap.

mod perfetto;
mod proto;
mod row;
mod text;

pub use perfetto::{Note, PerfettoWriter, Slice, Track};
pub use text::FtraceText;
