// SPDX-License-Identifier: GPL-2.0-only
//! The streams of all CPUs, merged in time order.

use idlewise_model::{Event, EventKind};

use super::shared::{Comms, Shared};
use super::stream::Reader;
use super::trace::CtfTrace;
use crate::kernel::tasks::{Tasks, UNKNOWN};
use crate::learned::Learned;
use crate::reader::Stream;
use crate::turns::Turns;

/// The events of a CTF trace.
pub(super) struct CtfEvents<'a> {
    shared: Shared<'a>,
    readers: Vec<Reader<'a>>,
    turns: Turns,
    tasks: Tasks,
}

impl<'a> CtfEvents<'a> {
    pub(super) fn new(trace: &'a CtfTrace) -> Self {
        let mut shared = Shared {
            kinds: &trace.kinds,
            uuid: trace.uuid,
            freq: trace.freq,
            learned: Learned::default(),
            comms: Comms::new(),
        };
        let mut readers: Vec<Reader<'_>> = Vec::new();
        for file in &trace.files {
            let Some(stream) = trace.kinds.streams.get(&file.stream_id) else { continue };
            let mut reader = Reader::new(&file.input, &trace.kinds, stream, file.cpu, trace.files.len());
            if reader.advance(&mut shared) {
                readers.push(reader);
            }
        }
        let turns = Turns::new(readers.iter().map(|reader| reader.next.ts_ns));
        Self { shared, readers, turns, tasks: Tasks::default() }
    }
}

impl Stream for CtfEvents<'_> {
    #[inline]
    fn next_event(&mut self) -> Option<Event> {
        loop {
            let reader = self.readers.get_mut(self.turns.current())?;
            if self.turns.is_over(reader.next.ts_ns) {
                self.turns.pass_on(reader.next.ts_ns);
                continue;
            }
            let mut event = reader.next;
            if let Some(count) = reader.lost.take() {
                self.tasks.forget(event.cpu);
                return Some(Event { pid: UNKNOWN, kind: EventKind::Lost { count }, ..event });
            }
            let id = reader.id;
            if !reader.advance(&mut self.shared) {
                self.turns.end();
            }
            self.tasks.follow(&mut event);
            self.shared.learned.count(id);
            return Some(event);
        }
    }

    fn learned(&self) -> &Learned {
        &self.shared.learned
    }

    fn learned_mut(&mut self) -> &mut Learned {
        &mut self.shared.learned
    }
}
