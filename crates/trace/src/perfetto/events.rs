// SPDX-License-Identifier: GPL-2.0-only
//! The bundles of all CPUs, merged in time order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use idlewise_model::{Event, HealthKind};

use super::bundle::{Current, Decoder, Item};
use super::file::PerfettoFile;
use super::index::Place;
use super::packets::{Blocks, unpack};
use crate::error::TraceError;
use crate::input::Input;
use crate::kernel::clock::{JUMP_NS, seconds};
use crate::learned::Learned;
use crate::reader::Stream;

/// Packed blocks may be unpacked so many times on the way: those of several CPUs lie in one.
const MOST_UNPACKING: u64 = 8;

/// The events of a Perfetto trace.
pub(super) struct PerfettoEvents<'a> {
    decoder: Decoder<'a>,
    reading: Reading<'a>,
    lines: Vec<Line<'a>>,
    /// The lines whose next event waits, with its time.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
}

/// What reading bundles takes.
struct Reading<'a> {
    input: &'a Input,
    blocks: Blocks,
    granted: u64,
    bytes: Vec<u8>,
}

/// The bundles of one CPU by one writer, one after the other.
struct Line<'a> {
    writer: u32,
    places: std::slice::Iter<'a, Place>,
    current: Current,
    items: Vec<Item>,
    next: usize,
    last_ns: u64,
}

impl<'a> PerfettoEvents<'a> {
    pub(super) fn new(file: &'a PerfettoFile) -> Self {
        let index = &file.index;
        let mut events = Self {
            decoder: Decoder::new(index),
            reading: Reading {
                input: &file.input,
                blocks: Blocks::default(),
                granted: index.unpacked.saturating_mul(MOST_UNPACKING),
                bytes: Vec::new(),
            },
            lines: Vec::new(),
            waiting: BinaryHeap::new(),
        };
        for ((cpu, writer), places) in &index.bundles {
            let mut line = Line {
                writer: *writer,
                places: places.iter(),
                current: Current::new(*cpu),
                items: Vec::new(),
                next: 0,
                last_ns: 0,
            };
            if let Some(ts_ns) = line.peek(&mut events.decoder, &mut events.reading) {
                events.waiting.push(Reverse((ts_ns, events.lines.len())));
                events.lines.push(line);
            }
        }
        events
    }
}

impl Stream for PerfettoEvents<'_> {
    fn next_event(&mut self) -> Option<Event> {
        let mut first = self.waiting.peek_mut()?;
        let Reverse((_, at)) = *first;
        let line = self.lines.get_mut(at)?;
        let item = line.items.get(line.next).copied()?;
        line.next += 1;
        match line.peek(&mut self.decoder, &mut self.reading) {
            Some(ts_ns) => *first = Reverse((ts_ns, at)),
            None => {
                std::collections::binary_heap::PeekMut::pop(first);
            }
        }
        if let Some(id) = item.id {
            self.decoder.learned.count(id);
        }
        Some(item.event)
    }

    fn learned(&self) -> &Learned {
        &self.decoder.learned
    }

    fn learned_mut(&mut self) -> &mut Learned {
        &mut self.decoder.learned
    }
}

impl Line<'_> {
    /// The time of the next event; reads the next bundle if need be.
    #[inline]
    fn peek(&mut self, decoder: &mut Decoder<'_>, reading: &mut Reading<'_>) -> Option<u64> {
        loop {
            if let Some(item) = self.items.get(self.next) {
                return Some(item.event.ts_ns);
            }
            self.fill(self.places.as_slice().first()?, decoder, reading);
            self.places.next();
        }
    }

    #[cold]
    fn fill(&mut self, place: &Place, decoder: &mut Decoder<'_>, reading: &mut Reading<'_>) {
        self.items.clear();
        self.next = 0;
        let cpu = self.current.cpu;
        let (writer, epoch) = (self.writer, place.epoch);
        if let Err(why) = reading.bundle(place, |bytes| {
            decoder.bundle(bytes, writer, epoch, &mut self.current, &mut self.items);
        }) {
            let place = || format!("CPU {cpu}: a bundle at byte {}: {why}", place.at);
            decoder.learned.health.add(HealthKind::Ignored, 1, place);
        }
        let (Some(first), Some(last)) = (self.items.first(), self.items.last()) else { return };
        let (first, last) = (first.event.ts_ns, last.event.ts_ns);
        let before = std::mem::replace(&mut self.last_ns, last);
        let moved = if first < before {
            HealthKind::ClockBackwards
        } else if before > 0 && first - before > JUMP_NS || last - first > JUMP_NS {
            HealthKind::ClockJump
        } else {
            return;
        };
        let place =
            || format!("CPU {cpu}: {} to {} after {}", seconds(first), seconds(last), seconds(before));
        decoder.learned.health.add(moved, 1, place);
    }
}

impl Reading<'_> {
    /// Gives the bytes of the bundle at `place` to `read`.
    fn bundle(&mut self, place: &Place, read: impl FnOnce(&[u8])) -> Result<(), String> {
        let (input, granted) = (self.input, &mut self.granted);
        let Some(packed) = place.block else {
            self.bytes = fetch(input, place.at, place.len, std::mem::take(&mut self.bytes))?;
            read(&self.bytes);
            return Ok(());
        };
        let block = self.blocks.get(place.at, || {
            let bytes = fetch(input, place.at, packed.len, Vec::new())?;
            unpack(packed.packing, &bytes, granted)
        })?;
        let from = block.get(packed.inner as usize..).and_then(|b| b.get(..place.len as usize));
        read(from.ok_or("the file changed while it was read")?);
        Ok(())
    }
}

fn fetch(input: &Input, at: u64, len: u32, mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    bytes.resize(len as usize, 0);
    let got = input.read_at(at, &mut bytes).map_err(|e| e.to_string())?;
    if got < bytes.len() { Err("the file changed while it was read".to_owned()) } else { Ok(bytes) }
}

impl PerfettoFile {
    pub(super) fn stream(&self) -> Result<Box<dyn Stream + '_>, TraceError> {
        Ok(Box::new(PerfettoEvents::new(self)))
    }
}
