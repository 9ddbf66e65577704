// SPDX-License-Identifier: GPL-2.0-only
//! What the traces of a host and its guests say of each other. Times stay those of the traced kernel: its timers expire
//! on that clock, too.

use idlewise_model::NoteId;

use crate::input::text;
use crate::kernel::order::{ByteOrder, Order};
use crate::meta::{Guest, TraceMeta};

/// Takes numbers from the bytes of an option.
struct Numbers<'a> {
    order: ByteOrder,
    bytes: &'a [u8],
}

impl Numbers<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = rest;
        Some(self.order.u32(*first))
    }

    fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.bytes.split_first_chunk::<8>()?;
        self.bytes = rest;
        Some(self.order.u64(*first))
    }

    fn skip(&mut self, n: usize) -> Option<()> {
        self.bytes = self.bytes.get(n..)?;
        Some(())
    }
}

pub(super) fn trace_id(order: ByteOrder, bytes: &[u8], meta: &mut TraceMeta) {
    meta.trace_id = Numbers { order, bytes }.u64();
}

/// The option GUEST of a host's file; what is cut short is left out.
pub(super) fn guest(order: ByteOrder, bytes: &[u8], meta: &mut TraceMeta) {
    let mut parts = bytes.splitn(2, |b| *b == 0);
    let name = text(parts.next().unwrap_or_default());
    let mut numbers = Numbers { order, bytes: parts.next().unwrap_or_default() };
    let Some(trace_id) = numbers.u64() else { return };
    let mut guest = Guest { name, trace_id, ..Guest::default() };
    for _ in 0..numbers.u32().unwrap_or(0) {
        let (Some(cpu), Some(pid)) = (numbers.u32(), numbers.u32()) else { break };
        guest.vcpu_pids.insert(cpu, pid as i32);
    }
    meta.note(
        NoteId::OtherRecording,
        format!(
            "this host's guest {:?} was recorded, too (trace id {trace_id:#x}); {} tasks here are its CPUs",
            guest.name,
            guest.vcpu_pids.len()
        ),
    );
    meta.guests.push(guest);
}

/// The option TIME_SHIFT of a guest's file: for each CPU, when its clock was compared with the host's, and how much was to
/// be added then, after scaling.
pub(super) fn time_shift(order: ByteOrder, bytes: &[u8], meta: &mut TraceMeta) {
    let mut numbers = Numbers { order, bytes };
    let host = numbers.u64().unwrap_or(0);
    let shifts = offsets(&mut numbers);
    let by = match (shifts.iter().min(), shifts.iter().max()) {
        (Some(a), Some(b)) if a == b => format!("{a} ns"),
        (Some(a), Some(b)) => format!("{a} to {b} ns ({} measurements)", shifts.len()),
        _ => "an amount that cannot be read".to_owned(),
    };
    meta.note(NoteId::TraceClock, format!(
        "this is a guest's trace: times are its own clock's; to its host's (trace id {host:#x}) they would have to be shifted by {by}"
    ));
}

fn offsets(numbers: &mut Numbers<'_>) -> Vec<i64> {
    let mut all = Vec::new();
    let mut read = || -> Option<()> {
        numbers.skip(4)?;
        for _ in 0..numbers.u32()? {
            let n = numbers.u32()? as usize;
            let array = n.checked_mul(8)?;
            numbers.skip(array)?;
            for _ in 0..n {
                all.push(numbers.u64()? as i64);
            }
            numbers.skip(array)?;
        }
        Some(())
    };
    // Files differ in what follows; the offsets before it hold all the same.
    let _ = read();
    all
}
