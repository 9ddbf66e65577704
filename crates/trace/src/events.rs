// SPDX-License-Identifier: GPL-2.0-only
//! The stream of events that users of this crate walk through.

use std::collections::BTreeMap;

use idlewise_model::{Event, EventKind, HIGHEST_CPU, Health, HealthKind, LATEST_NS};

use crate::kernel::clock::seconds;
use crate::kernel::order::Little;
use crate::kernel::ring_buffer::RingEvents;
use crate::learned::Learned;
use crate::meta::TraceMeta;
use crate::reader::Stream;

/// The events of a trace: all CPUs merged in time order; of equal times the lower CPU first, then in the order of the
/// CPU's buffer. Text comes in the order of its lines.
pub struct Events<'a> {
    meta: &'a TraceMeta,
    source: Source<'a>,
}

/// Where the events come from.
pub(crate) enum Source<'a> {
    Ring(Box<RingEvents<'a, Little>>),
    Other(Box<dyn Stream + 'a>),
}

impl<'a> Events<'a> {
    pub(crate) fn new(meta: &'a TraceMeta, source: Source<'a>) -> Self {
        Self { meta, source }
    }

    /// What no kernel can have recorded is counted, and nobody else sees it: such a time would make sums overflow, such a CPU
    /// an array of billions.
    #[cold]
    fn leave_out(&mut self, event: &Event) {
        // A reader's own, and counted where it made it.
        if matches!(event.kind, EventKind::Lost { .. }) {
            return;
        }
        let learned = match &mut self.source {
            Source::Ring(ring) => ring.learned_mut(),
            Source::Other(stream) => stream.learned_mut(),
        };
        learned.health.add(HealthKind::BadEvent, 1, || {
            if let Some(field) = event.kind.timer_out_of_reach() {
                return format!(
                    "CPU {} at {}, a timer's `{field}`; expected a time that a clock of the machine can have",
                    event.cpu,
                    seconds(event.ts_ns)
                );
            }
            let named = event.kind.cpu().filter(|cpu| *cpu > HIGHEST_CPU);
            let named = named.map_or_else(String::new, |cpu| format!(", about CPU {cpu}"));
            format!(
                "CPU {} at {}{named}; expected a time below {} and CPUs up to {HIGHEST_CPU}",
                event.cpu,
                seconds(event.ts_ns),
                seconds(LATEST_NS)
            )
        });
    }

    fn learned(&self) -> &Learned {
        match &self.source {
            Source::Ring(ring) => ring.learned(),
            Source::Other(stream) => stream.learned(),
        }
    }

    /// What was lost or doubtful in the events so far; complete after the last.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.learned().health
    }

    /// How many events of each id came so far, those that became `Other` included, those made by the reader not.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<u16, u64> {
        self.learned().counts()
    }

    /// "system:name" of the events with this id, where the file or an event so far told it.
    #[must_use]
    pub fn event_name(&self, id: u16) -> Option<&str> {
        self.meta.event_names.get(&id).map(String::as_str).or_else(|| self.learned().event_name(id))
    }

    /// The name of the handler of interrupt `irq`, once an `irq_handler_entry` of it was read.
    #[must_use]
    pub fn irq_name(&self, irq: i32) -> Option<&str> {
        self.learned().irq_name(irq)
    }

    /// The name of task `pid`, once an event told it; else what the file says.
    #[must_use]
    pub fn comm(&self, pid: i32) -> Option<&str> {
        self.learned().comm_of(pid).or_else(|| self.meta.comms.get(&pid).map(String::as_str))
    }

    /// The kernel function that starts at the address in an event.
    #[must_use]
    pub fn symbol(&self, function: u64) -> Option<&str> {
        self.learned().function_name(function).or_else(|| self.meta.function(function))
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        loop {
            let event = match &mut self.source {
                Source::Ring(ring) => ring.next_event(),
                Source::Other(stream) => stream.next_event(),
            }?;
            if event.is_possible() {
                return Some(event);
            }
            self.leave_out(&event);
        }
    }
}
