// SPDX-License-Identifier: GPL-2.0-only
//! Perfetto's traces: a file of protobuf messages (`TracePacket`), some of which are bundles of one CPU's ftrace events.
//!
//! Numbers of messages and fields are those of the descriptors that [`numbers`] names. What they do not have is not
//! guessed: an event with another number counts as unknown, another field of a known event as left out, and packets of
//! other kinds are named in a remark. An event that lacks a field which its meaning needs is a bad event.
//!
//! Bundles of different CPUs come in any order, those of one CPU in order of time. Opening a file walks through it once
//! and notes where each CPU's bundles are: 32 bytes for each bundle, which recorders fill with some hundred events. The
//! events are then merged with one bundle of each CPU in memory, and up to 32 MiB of unpacked blocks where packets are
//! packed. Events within a bundle are sorted by time: those of the compact encoding of `sched_switch` and
//! `sched_waking` stand beside the others.
//!
//! Times are those of the bundles, nearly always `CLOCK_BOOTTIME` (the clock is called "boot" then). Hrtimers expire on
//! `CLOCK_MONOTONIC`, which stands still while the machine is suspended. Where all of the trace's snapshots show both
//! clocks alike, the machine was never suspended and the clock is called "mono". Elsewhere the snapshots, whose clocks
//! are read one after the other, give only a remark: whoever follows timers finds the offset from
//! `hrtimer_expire_entry` as with any other trace.
//!
//! The compact encoding leaves out who ran before a switch, and his priority: that is the task of the CPU's switch
//! before, and -1 where that one is not in the trace. `prev_state` is the kernel's own value in both encodings.

mod bundle;
mod cpuidle;
mod described;
mod events;
mod facts;
mod field;
mod file;
mod index;
mod numbers;
mod packets;
mod wire;

pub use cpuidle::CpuidleSample;
pub(crate) use facts::CLOCK_REMARK;
use file::PerfettoFile;
pub(crate) use numbers::{EVENTS as EVENT_NUMBERS, FIELDS as EVENT_FIELDS};

use crate::error::TraceError;
use crate::input::{HEAD, Input};
use crate::kernel::tick;
use crate::meta::TraceMeta;
use crate::reader::{Reader, Stream};

/// Opens the trace in `input`.
///
/// # Errors
/// When the file cannot be read. Damage is counted in the health of what the file says about itself.
pub(crate) fn open(input: Input) -> Result<Box<dyn Reader>, TraceError> {
    let index = index::read(&input)?;
    let mut file = PerfettoFile { input, index };
    if file.index.function_names.is_empty() {
        let found = tick::find(&mut *file.events()?);
        if let Some(tick) = found {
            tick.tell(&mut file.index.meta);
        }
    }
    Ok(Box::new(file))
}

impl Reader for PerfettoFile {
    fn meta(&self) -> &TraceMeta {
        &self.index.meta
    }

    fn inputs(&self) -> Vec<&Input> {
        vec![&self.input]
    }

    fn events(&self) -> Result<Box<dyn Stream + '_>, TraceError> {
        self.stream()
    }
}

/// Whether the first bytes of a file, up to [`HEAD`], are packets: the first that holds anything is made of fields that
/// fit its length.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let mut rest = head;
    loop {
        let (Some((1, 2)), Some(len)) = (wire::tag(&mut rest), wire::varint(&mut rest)) else { return false };
        let Some((packet, behind)) = usize::try_from(len).ok().and_then(|n| rest.split_at_checked(n)) else {
            // It reaches beyond the bytes that are here: its first field must do.
            let mut first = || wire::tag(&mut rest).is_some_and(|(number, wire)| number < 1000 && wire <= 2);
            return head.len() == HEAD && first();
        };
        if !packet.is_empty() {
            let mut fields = wire::Fields::new(packet);
            return fields.by_ref().all(|(number, _)| number < 10_000) && !fields.broken();
        }
        rest = behind;
        if rest.is_empty() {
            return true;
        }
    }
}
