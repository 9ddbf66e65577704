// SPDX-License-Identifier: GPL-2.0-only
//! The events of a perf.data in the order of their times.
//!
//! perf reads the buffers of all CPUs round after round and marks the end of each. What comes after a mark is no older
//! than anything before the mark before it: so whatever is no newer than the newest of the last round but one is in
//! order. A file without marks is put in order as far as memory allows.

use idlewise_model::{Event, EventKind, HealthKind};

use super::attr::{Sample, u32_at, u64_at};
use super::file::PerfFile;
use super::header::MAX_CPUS;
use super::losses::Losses;
use super::records::{Next, Record, Records, kind};
use crate::kernel::bytes::Decoded;
use crate::kernel::clock::{JUMP_NS, seconds};
use crate::kernel::order::Order;
use crate::learned::Learned;
use crate::reader::Stream;

/// So many events wait at most to be put in order (with what sorting needs, 256 MiB).
pub(crate) const MOST_WAITING: usize = 2 << 20;

/// A flag of a record that counts what a filter left out on purpose.
const MISC_FILTERED: u16 = 1 << 15;

/// An event that waits for its turn.
#[derive(Clone, Copy)]
struct Waiting {
    event: Event,
    id: u16,
}

/// The events of a `perf.data`.
pub(crate) struct PerfEvents<'a, O> {
    records: Records<'a, O>,
    queue: Queue<'a, O>,
}

struct Queue<'a, O> {
    file: &'a PerfFile,
    order: O,
    learned: Learned,
    waiting: Vec<Waiting>,
    /// The first of `waiting` that was not given out, and the first that is not in order.
    given: usize,
    ready: usize,
    /// The newest time that was read, and the newest before the last mark.
    newest: u64,
    newest_before: u64,
    /// The newest time that is in order.
    settled: u64,
    /// The last time that was given out.
    last_given: Option<u64>,
    /// The time and CPU of the last sample in the file, and the last time of each CPU.
    last: (u64, u32),
    last_of: Vec<u64>,
    last_irq: Option<i32>,
    losses: Losses,
    ended: bool,
}

impl<'a, O: Order> PerfEvents<'a, O> {
    pub(super) fn new(file: &'a PerfFile, order: O) -> Self {
        let queue = Queue {
            file,
            order,
            learned: Learned::default(),
            waiting: Vec::new(),
            given: 0,
            ready: 0,
            newest: 0,
            newest_before: 0,
            settled: 0,
            last_given: None,
            last: (0, 0),
            last_of: Vec::new(),
            last_irq: None,
            losses: Losses::default(),
            ended: false,
        };
        Self { records: Records::new(&file.input, order, file.data.clone()), queue }
    }

    /// Reads until some events are in order, or to the end.
    fn read_round(&mut self) {
        let Self { records, queue } = self;
        queue.waiting.drain(..queue.ready);
        (queue.given, queue.ready) = (0, 0);
        while queue.ready == 0 && !queue.ended {
            match records.next() {
                Next::Record(record) => {
                    let packed = record.packed;
                    let skip = queue.take(&record);
                    if skip > 0 && !packed {
                        records.skip(skip);
                    }
                }
                Next::CutOff { at } => {
                    queue.learned.health.add(HealthKind::Truncated, 1, || {
                        format!("the file ends at byte {at}, in the middle of a record")
                    });
                }
                Next::Broken { at, why } => {
                    queue.learned.health.add(HealthKind::Truncated, 1, || format!("byte {at}: {why}"));
                }
                Next::End => queue.end(),
            }
        }
    }
}

impl<O: Order> Stream for PerfEvents<'_, O> {
    #[inline]
    fn next_event(&mut self) -> Option<Event> {
        loop {
            let queue = &mut self.queue;
            if queue.given < queue.ready {
                let Waiting { event, id } = *queue.waiting.get(queue.given)?;
                queue.given += 1;
                queue.give(&event, id);
                return Some(event);
            }
            if queue.ended {
                return None;
            }
            self.read_round();
        }
    }

    fn learned(&self) -> &Learned {
        &self.queue.learned
    }

    fn learned_mut(&mut self) -> &mut Learned {
        &mut self.queue.learned
    }
}

impl<O: Order> Queue<'_, O> {
    #[inline]
    fn give(&mut self, event: &Event, id: u16) {
        if !matches!(event.kind, EventKind::Lost { .. }) {
            self.learned.count(id);
        }
        let last = self.last_given.replace(event.ts_ns).unwrap_or(event.ts_ns);
        if event.ts_ns.saturating_sub(last) > JUMP_NS {
            let (cpu, ts_ns) = (event.cpu, event.ts_ns);
            self.learned.health.add(HealthKind::ClockJump, 1, || {
                format!("CPU {cpu}: {} after {}", seconds(ts_ns), seconds(last))
            });
        }
    }

    /// Takes over what a record tells; says how many bytes behind it belong to it.
    #[inline(always)]
    fn take(&mut self, record: &Record<'_>) -> u64 {
        match record.kind {
            kind::SAMPLE => self.sample(record),
            kind::FINISHED_ROUND => {
                self.settle(self.newest_before);
                self.newest_before = self.newest;
            }
            _ => return self.other_record(record),
        }
        0
    }

    #[inline(always)]
    fn sample(&mut self, record: &Record<'_>) {
        let (file, bytes) = (self.file, record.bytes());
        let Some(attr) = file.attrs.of_sample(self.order, bytes) else {
            return self.odd(HealthKind::UnknownEvent, record, "a sample of an event that is not described");
        };
        let Some(sample) = attr.sample.read(self.order, bytes).filter(|s| s.cpu < MAX_CPUS) else {
            return self.odd(HealthKind::BadEvent, record, "a sample that does not fit its description");
        };
        let Sample { time: ts_ns, cpu, tid, raw } = sample;
        self.last = (ts_ns, cpu);
        match self.last_of.get_mut(cpu as usize) {
            Some(last) => *last = ts_ns,
            None => self.last_of.resize(cpu as usize + 1, ts_ns),
        }
        let other = |id| Event { ts_ns, cpu, pid: tid, kind: EventKind::Other { id } };
        let (event, id) = match raw {
            // Without its time or CPU no event can mean anything.
            Some((at, len)) if attr.is_tracepoint() && attr.sample.is_placed() => {
                match self.tracepoint(record, &sample, at, len) {
                    Some(decoded) => decoded,
                    None => return,
                }
            }
            _ if attr.is_tracepoint() => {
                let id = u16::try_from(attr.config).unwrap_or(u16::MAX);
                (other(id), id)
            }
            _ => (other(attr.other_id), attr.other_id),
        };
        self.push(event, id);
    }

    /// Decodes the payload of a tracepoint, `len` bytes from `at` on.
    #[inline(always)]
    fn tracepoint(
        &mut self,
        record: &Record<'_>,
        sample: &Sample,
        at: usize,
        len: usize,
    ) -> Option<(Event, u16)> {
        let (decoders, order) = (&self.file.decoders, self.order);
        let data = record.padded_from(at);
        let id = decoders.id(order, data).unwrap_or(0);
        let event = match decoders.decode(order, sample.time, sample.cpu, id, data, len) {
            Decoded::Event(event) => {
                if let EventKind::IrqEntry { irq } = event.kind
                    && self.last_irq != Some(irq)
                {
                    self.last_irq = Some(irq);
                    if let Some(name) = data.get(..len).and_then(|d| decoders.irq_name(order, id, d)) {
                        self.learned.irq(irq, name);
                    }
                }
                return Some((event, id));
            }
            Decoded::Unknown(event) => {
                self.odd(HealthKind::UnknownEvent, record, "a tracepoint without a format");
                event
            }
            Decoded::Short(event) => {
                self.odd(HealthKind::BadEvent, record, "a tracepoint shorter than its format");
                event
            }
            Decoded::Broken => {
                self.odd(HealthKind::BadEvent, record, "a tracepoint without an id");
                return None;
            }
        };
        Some((Event { pid: sample.tid, ..event }, id))
    }

    #[cold]
    fn odd(&mut self, kind: HealthKind, record: &Record<'_>, what: &str) {
        let (at, (ts_ns, cpu)) = (record.at, self.last);
        self.learned.health.add(kind, 1, || format!("{what}: byte {at}, CPU {cpu} about {}", seconds(ts_ns)));
    }

    #[inline(always)]
    fn push(&mut self, event: Event, id: u16) {
        self.newest = self.newest.max(event.ts_ns);
        if event.ts_ns < self.settled {
            let (cpu, ts_ns, settled) = (event.cpu, event.ts_ns, self.settled);
            self.learned.health.add(HealthKind::ClockBackwards, 1, || {
                format!("CPU {cpu}: {} came when {} was already past", seconds(ts_ns), seconds(settled))
            });
        }
        self.waiting.push(Waiting { event, id });
        if self.waiting.len() >= MOST_WAITING {
            self.settle_half();
        }
    }

    /// Puts in order what waits; what is no newer than `time` can be given out.
    fn settle(&mut self, time: u64) {
        // Stable, so that a CPU's events of the same time stay as they were.
        self.waiting.sort_by_key(|w| (w.event.ts_ns, w.event.cpu));
        self.ready = self.waiting.partition_point(|w| w.event.ts_ns <= time);
        self.settled = self.settled.max(time);
    }

    /// The older half of what waits goes out before the next mark: there is no room for more.
    #[cold]
    fn settle_half(&mut self) {
        let middle = self.waiting.len() / 2;
        self.settle(0);
        let time = self.waiting.get(middle).map_or(u64::MAX, |w| w.event.ts_ns);
        self.ready = middle;
        self.settled = self.settled.max(time);
    }

    fn end(&mut self) {
        for (cpu, count) in std::mem::take(&mut self.losses).untold() {
            let health = &mut self.learned.health;
            match cpu {
                Some(cpu) => {
                    health.add(HealthKind::LostEvents, count, || format!("CPU {cpu} after its last event"));
                    let last = self.last_of.get(cpu as usize).copied().unwrap_or(0);
                    let ts_ns = last.max(self.settled);
                    self.push(Event { ts_ns, cpu, pid: -1, kind: EventKind::Lost { count } }, 0);
                }
                None => {
                    health
                        .add(HealthKind::LostEvents, count, || "after the last event of a buffer".to_owned());
                }
            }
        }
        self.settle(u64::MAX);
        self.ended = true;
    }

    #[cold]
    #[inline(never)]
    fn other_record(&mut self, record: &Record<'_>) -> u64 {
        let bytes = record.bytes();
        let (u32_at, u64_at) = (|at| u32_at(self.order, bytes, at), |at| u64_at(self.order, bytes, at));
        match record.kind {
            kind::LOST => {
                let count = u64_at(16).unwrap_or(0);
                let cpu = self.lost_before(record, count);
                self.losses.told(cpu, count);
            }
            kind::LOST_SAMPLES if record.misc & MISC_FILTERED == 0 => {
                let count = u64_at(8).unwrap_or(0);
                let trail = self.file.attrs.trail(self.order, bytes);
                match trail.and_then(|t| t.time(self.order, bytes)) {
                    Some(1..) => {
                        self.lost_before(record, count);
                    }
                    _ => {
                        let id = trail.and_then(|t| t.id(self.order, bytes));
                        self.losses.in_all(id.and_then(|id| self.file.cpu_of(id)), count);
                    }
                }
            }
            kind::THROTTLE => {
                let attr = u64_at(16).and_then(|id| self.file.attrs.with_id(id));
                if attr.is_some_and(|a| a.is_tracepoint()) {
                    self.lost_before(record, 0);
                } else {
                    self.odd(HealthKind::Ignored, record, "samples of a counter were throttled");
                }
            }
            kind::COMM => {
                let trail = self.file.attrs.trail(self.order, bytes).map_or(0, |t| t.len());
                let name = bytes.get(16..bytes.len().saturating_sub(trail)).unwrap_or_default();
                let name = name.split(|b| *b == 0).next().unwrap_or_default();
                if let Some(tid) = u32_at(12) {
                    self.learned.comm(tid as i32, &String::from_utf8_lossy(name));
                }
            }
            kind::FORK => {
                // A new task bears the name of the one that made it.
                if let (Some(tid), Some(parent)) = (u32_at(16), u32_at(20))
                    && let Some(name) = self.learned.comm_of(parent as i32).map(str::to_owned)
                {
                    self.learned.comm(tid as i32, &name);
                }
            }
            kind::HEADER_TRACING_DATA => return u64::from(u32_at(8).unwrap_or(0)).next_multiple_of(8),
            kind::AUXTRACE => return u64_at(8).unwrap_or(0),
            _ => {}
        }
        0
    }

    /// Events were lost before this record, 0 if nobody knows how many; says on which CPU.
    fn lost_before(&mut self, record: &Record<'_>, count: u64) -> u32 {
        let bytes = record.bytes();
        let trail = self.file.attrs.trail(self.order, bytes);
        let ts_ns = trail.and_then(|t| t.time(self.order, bytes)).unwrap_or(self.last.0);
        let cpu =
            trail.and_then(|t| t.cpu(self.order, bytes)).filter(|c| *c < MAX_CPUS).unwrap_or(self.last.1);
        self.learned
            .health
            .add(HealthKind::LostEvents, count.max(1), || format!("CPU {cpu} before {}", seconds(ts_ns)));
        self.push(Event { ts_ns, cpu, pid: -1, kind: EventKind::Lost { count } }, 0);
        cpu
    }
}
