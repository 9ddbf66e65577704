// SPDX-License-Identifier: GPL-2.0-only
//! Writers of recorded events, to look at them elsewhere: ftrace text ([`FtraceText`]) and Perfetto protobuf
//! ([`PerfettoWriter`], which also draws tracks of one's own beside them).
//!
//! An event is written with the fields that idlewise understands, under the kernel's names. One that it does not
//! understand keeps its time, CPU, task and name, and loses its fields. Memory does not grow with what is written. Read
//! again, Perfetto gives the same [`Event`](idlewise_model::Event)s, but for numbers of events and functions, and for
//! how many events were lost in a gap.
//!
//! A recorder has pages instead of events: [`DatHead`] packs them into a `trace.dat`.

use crate::events::Events;

mod dat;
mod events;
mod fields;
mod perfetto;
mod proto;
mod row;
mod text;

pub use dat::{DatForm, DatHead, UsedSymbols};
pub use perfetto::{Note, PerfettoWriter, Slice, Track, perfetto_has_clock};
pub use text::FtraceText;

/// What the numbers of events stand for: text shows names.
pub trait Names {
    /// The name of task `pid`.
    fn comm(&self, pid: i32) -> Option<&str>;
    /// The kernel function behind a function of an event.
    fn symbol(&self, function: u64) -> Option<&str>;
    /// "system:name" of an event that idlewise does not understand.
    fn event_name(&self, id: u16) -> Option<&str>;
    /// The name of an interrupt's handler.
    fn irq_name(&self, irq: i32) -> Option<&str>;
}

/// Those that a reader has learned.
impl Names for Events<'_> {
    fn comm(&self, pid: i32) -> Option<&str> {
        Events::comm(self, pid)
    }
    fn symbol(&self, function: u64) -> Option<&str> {
        Events::symbol(self, function)
    }
    fn event_name(&self, id: u16) -> Option<&str> {
        Events::event_name(self, id)
    }
    fn irq_name(&self, irq: i32) -> Option<&str> {
        Events::irq_name(self, irq)
    }
}
