// SPDX-License-Identifier: GPL-2.0-only
//! The streams of all CPUs, merged in time order, and the task that is current on each CPU.

use idlewise_model::{Event, EventKind};

use super::shared::{Comms, Shared};
use super::stream::Reader;
use super::trace::CtfTrace;
use crate::learned::Learned;
use crate::reader::Stream;
use crate::turns::Turns;

/// No task is known to be current.
const UNKNOWN: i32 = -1;
/// Linux runs on no more CPUs; on others than these no task is followed.
const MOST_CPUS: usize = 8192;

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

/// The task that is current on each CPU, as the switches tell.
#[derive(Default)]
struct Tasks(Vec<i32>);

impl Tasks {
    fn forget(&mut self, cpu: u32) {
        if let Some(task) = self.0.get_mut(cpu as usize) {
            *task = UNKNOWN;
        }
    }

    /// Writes into `event` which task was current, unless it says so itself.
    #[inline(always)]
    fn follow(&mut self, event: &mut Event) {
        let cpu = event.cpu as usize;
        if cpu >= self.0.len() {
            if cpu >= MOST_CPUS {
                return;
            }
            self.0.resize(cpu + 1, UNKNOWN);
        }
        let Some(task) = self.0.get_mut(cpu) else { return };
        match event.kind {
            EventKind::SchedSwitch { prev_pid, next_pid, .. } => {
                event.pid = prev_pid;
                *task = next_pid;
            }
            // Only the idle task goes idle.
            EventKind::CpuIdle { cpu, .. } if cpu == event.cpu => {
                event.pid = 0;
                *task = 0;
            }
            _ if event.pid == UNKNOWN => event.pid = *task,
            _ => {}
        }
    }
}
