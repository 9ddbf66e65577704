// SPDX-License-Identifier: GPL-2.0-only
//! The packets of a stream file: header and context, and what got lost between them.

use std::io;

use idlewise_model::HealthKind;

use super::kinds::{Kinds, Stream};
use super::program::{Field, Num, Outcome, Payload, Program};
use super::shared::Shared;
use super::window::Window;
use crate::input::Input;

/// The magic number of every packet.
const MAGIC: u64 = 0xc1fc_1fc1;

/// The packet that is being read.
pub(super) struct Packet<'a> {
    pub(super) stream: &'a Stream,
    pub(super) cpu: u32,
    /// Where it starts in the file, bytes.
    pub(super) start: u64,
    /// Where the next one starts.
    pub(super) next: u64,
    /// The clock at its start, ticks.
    pub(super) ticks: Option<u64>,
    /// So many events were lost before its first; 0 if nobody knows how many.
    pub(super) lost: Option<u64>,
    /// The file ends before it does.
    pub(super) cut_off: bool,
    /// The counters of the packet before.
    discarded: Option<u64>,
    sequence: Option<u64>,
}

/// What there is where a packet should start.
pub(super) enum Found {
    /// A packet. Its first event starts `at` bits from the window's origin; its content ends so many bits from the
    /// start of the file.
    Packet { at: u64, content: u64 },
    /// The end of the stream.
    End,
    /// Nothing that could be read, nor anything behind it.
    Broken(HealthKind, String),
}

/// What a packet says about itself.
#[derive(Debug, Default)]
pub(super) struct Says {
    pub(super) stream_id: u64,
    /// Behind its context, bits from its start.
    end: u64,
    ticks: Option<u64>,
    content_bits: Option<u64>,
    packet_bits: Option<u64>,
    /// Counters, and how many bits they have.
    discarded: Option<(u64, u8)>,
    sequence: Option<(u64, u8)>,
    pub(super) cpu: Option<u32>,
}

/// Reads header and context of the packet at `start`, and lets the window count from there. `Ok(None)` when the file
/// ends before they do.
///
/// # Errors
/// What makes no sense about it.
pub(super) fn read(
    input: &Input,
    window: &mut Window,
    start: u64,
    kinds: &Kinds,
    uuid: Option<[u8; 16]>,
    bases: &mut [u64],
) -> Result<Option<Says>, String> {
    let unreadable = |e: io::Error| e.to_string();
    window.start_at(input, start).map_err(unreadable)?;
    loop {
        let limit = window.end().saturating_sub(start).saturating_mul(8);
        if let Some(says) = parts(window.bytes(), limit, kinds, uuid, bases)? {
            return Ok(Some(says));
        }
        if window.end() >= input.len() || !window.see_more(input, start, start).map_err(unreadable)? {
            return Ok(None);
        }
    }
}

/// `Ok(None)` when they reach beyond `limit`.
fn parts(
    bytes: &[u8],
    limit: u64,
    kinds: &Kinds,
    uuid: Option<[u8; 16]>,
    bases: &mut [u64],
) -> Result<Option<Says>, String> {
    let run = |program: &Program, from: u64, bases: &mut [u64]| match program.run(bytes, from, limit, bases) {
        Outcome::End(end) => Ok(Some(end)),
        Outcome::Beyond => Ok(None),
        Outcome::NoSuchCase => Err("a variant without an option for its tag".to_owned()),
    };
    let header = &kinds.packet;
    let Some(end) = run(&header.program, 0, bases)? else { return Ok(None) };
    let payload = Payload { bytes, bases, limit };
    if let Some(magic) = header.magic.map(|num| payload.number(num)).filter(|magic| *magic != MAGIC) {
        return Err(format!("the magic number {magic:#x} instead of {MAGIC:#x}"));
    }
    let says_uuid = |field: Field| payload.chars(field).first_chunk::<16>().copied();
    if header.uuid.and_then(says_uuid).zip(uuid).is_some_and(|(its, ours)| its != ours) {
        return Err("a packet of another trace (its UUID is not the metadata's)".to_owned());
    }
    let stream_id = header.stream_id.map(|num| payload.number(num));
    // Without ids there is one kind of streams.
    let stream_id = stream_id.or_else(|| kinds.streams.keys().next().copied()).unwrap_or(0);
    let stream = kinds.streams.get(&stream_id);
    let stream = stream.ok_or_else(|| format!("stream {stream_id}, which the metadata does not describe"))?;
    let Some(end) = run(&stream.context, end, bases)? else { return Ok(None) };
    let payload = Payload { bytes, bases, limit };
    let number = |num: Option<Num>| num.map(|num| payload.number(num));
    let counter = |num: Option<Num>| num.map(|num| (payload.number(num), num.bits));
    Ok(Some(Says {
        stream_id,
        end,
        ticks: number(stream.timestamp_begin),
        content_bits: number(stream.content_size),
        packet_bits: number(stream.packet_size),
        discarded: counter(stream.events_discarded),
        sequence: counter(stream.packet_seq_num),
        cpu: number(stream.cpu_id).and_then(|cpu| u32::try_from(cpu).ok()),
    }))
}

impl<'a> Packet<'a> {
    pub(super) fn before_first(stream: &'a Stream, cpu: u32) -> Self {
        Self {
            stream,
            cpu,
            start: 0,
            next: 0,
            ticks: None,
            lost: None,
            cut_off: false,
            discarded: None,
            sequence: None,
        }
    }

    /// Goes to the next packet.
    pub(super) fn open_next(
        &mut self,
        input: &Input,
        window: &mut Window,
        shared: &mut Shared<'a>,
        bases: &mut [u64],
    ) -> Found {
        let start = self.next;
        if start >= input.len() {
            return Found::End;
        }
        self.next = u64::MAX;
        let bad = |what: String| Found::Broken(HealthKind::BadPage, what);
        let says = match read(input, window, start, shared.kinds, shared.uuid, bases) {
            Ok(Some(says)) => says,
            Ok(None) => {
                return Found::Broken(HealthKind::Truncated, "the file ends in its header".to_owned());
            }
            Err(what) => return bad(what),
        };
        let whole = input.len().saturating_sub(start).saturating_mul(8);
        let packet_bits = says.packet_bits.unwrap_or(whole);
        if packet_bits < says.end || packet_bits % 8 != 0 || packet_bits == 0 {
            return bad(format!("its size is {packet_bits} bits"));
        }
        let mut content = says.content_bits.unwrap_or(packet_bits);
        let health = &mut shared.learned.health;
        if content > packet_bits || content < says.end {
            let place = || format!("CPU {}, packet at byte {start}: a content of {content} bits", self.cpu);
            health.add(HealthKind::BadPage, 1, place);
            content = content.clamp(says.end, packet_bits);
        }
        self.cut_off = packet_bits > whole;
        if self.cut_off {
            let place = || format!("CPU {}: the file ends in the packet at byte {start}", self.cpu);
            health.add(HealthKind::Truncated, 1, place);
            content = content.min(whole);
        }
        if let Some(stream) = shared.kinds.streams.get(&says.stream_id) {
            self.stream = stream;
        }
        self.cpu = says.cpu.unwrap_or(self.cpu);
        self.start = start;
        self.next = start.saturating_add(packet_bits / 8);
        self.ticks = says.ticks;
        self.lost = None;
        self.count_lost(&says, shared);
        Found::Packet { at: says.end, content: start.saturating_mul(8).saturating_add(content) }
    }

    /// Compares the counters with those of the packet before.
    fn count_lost(&mut self, says: &Says, shared: &mut Shared<'_>) {
        let (cpu, start) = (self.cpu, self.start);
        let place = || format!("CPU {cpu}, before the packet at byte {start} of its stream");
        if let Some((now, bits)) = says.sequence
            && let Some(before) = self.sequence.replace(now)
            && difference(now, before.wrapping_add(1), bits) > 0
        {
            // Packets that were overwritten or never stored; nobody counted what was in them.
            shared.learned.health.add(HealthKind::LostEvents, 1, place);
            self.lost = Some(0);
        }
        let Some((now, bits)) = says.discarded else { return };
        // A recording that begins later, such as a snapshot, has counted what was lost before it.
        let first = if says.sequence.is_none_or(|(n, _)| n == 0) { 0 } else { now };
        let lost = difference(now, self.discarded.replace(now).unwrap_or(first), bits);
        if lost > 0 {
            shared.learned.health.add(HealthKind::LostEvents, lost, place);
            self.lost = Some(self.lost.unwrap_or(0).saturating_add(lost));
        }
    }
}

/// How far a counter of so many bits went from `before` to `now`; 0 if it went back.
fn difference(now: u64, before: u64, bits: u8) -> u64 {
    let unused = 64 - u32::from(bits.clamp(1, 64));
    let difference = now.wrapping_sub(before) << unused >> unused;
    if difference > u64::MAX >> unused >> 1 { 0 } else { difference }
}
