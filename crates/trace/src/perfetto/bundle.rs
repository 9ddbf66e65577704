// SPDX-License-Identifier: GPL-2.0-only
//! From the bytes of a bundle to the events in them, in order of time.

use std::collections::BTreeMap;

use idlewise_model::{Event, EventKind, HealthKind};

use super::described::{Described, Functions, Meaning, Meant, Slots};
use super::index::Index;
use super::wire::{Fields, Value};
use crate::kernel::clock::seconds;
use crate::learned::Learned;

/// Fields of `FtraceEvent` that hold no event: time, task, flags.
const TIME: u32 = 1;
const PID: u32 = 2;
const FLAGS: u32 = 5;
/// `FtraceEvent.generic`: an event with its names in it.
const GENERIC: u32 = 327;
const SCHED_SWITCH: u32 = 4;
const SCHED_WAKING: u32 = 20;
/// The task is not known, or its priority.
const NOBODY: i32 = -1;

/// An event of a bundle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) event: Event,
    /// What the event is counted as; `None` for what the reader made.
    pub(super) id: Option<u16>,
    /// From the compact encoding, which leaves out the current task.
    compact: bool,
}

/// Who runs on a CPU, as far as its events told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    pub(super) cpu: u32,
    pid: i32,
    prio: i32,
}

impl Current {
    pub(super) fn new(cpu: u32) -> Self {
        Self { cpu, pid: NOBODY, prio: NOBODY }
    }
}

/// What all bundles of a stream share.
pub(super) struct Decoder<'a> {
    functions: &'a Functions,
    meanings: Vec<Meaning>,
    /// Where in `meanings` the event of a field of `FtraceEvent` is.
    known: Vec<Option<u16>>,
    /// The same for events described in the file, by writer and field.
    generic: BTreeMap<(u32, u32), u16>,
    /// The same for events with names in them.
    named: BTreeMap<Vec<u8>, u16>,
    last_irq: Option<i32>,
    columns: Columns,
    pub(super) learned: Learned,
}

/// The columns of a compact encoding.
#[derive(Default)]
struct Columns {
    switch: [Vec<u64>; 4],
    comms: Vec<u64>,
    waking: [Vec<u64>; 3],
}

/// So many events with different names in them are no events but damage.
const MOST_NAMED: usize = 4096;

impl<'a> Decoder<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        let mut learned = Learned::default();
        for name in &index.event_names {
            learned.event_id(name);
        }
        for name in &index.function_names {
            learned.function_id(name);
        }
        let mut decoder = Self {
            functions: &index.functions,
            meanings: Vec::new(),
            known: Vec::new(),
            generic: BTreeMap::new(),
            named: BTreeMap::new(),
            last_irq: None,
            columns: Columns::default(),
            learned,
        };
        for (number, described) in &index.known {
            let at = decoder.add(described.clone());
            decoder.known.resize(*number as usize + 1, None);
            if let Some(place) = decoder.known.last_mut() {
                *place = at;
            }
        }
        for (key, described) in &index.generic {
            let Some(described) = described else { continue };
            let at = decoder.add(described.clone());
            decoder.generic.extend(at.map(|at| (*key, at)));
        }
        decoder
    }

    fn add(&mut self, described: Described) -> Option<u16> {
        let at = u16::try_from(self.meanings.len()).ok()?;
        self.meanings.push(Meaning::new(described, &mut self.learned));
        Some(at)
    }

    /// Adds the events of `bundle`, which `writer` wrote under the state `epoch` of its tables, to `items`, in order.
    pub(super) fn bundle(
        &mut self,
        bundle: &[u8],
        writer: u32,
        epoch: u32,
        current: &mut Current,
        items: &mut Vec<Item>,
    ) {
        let (mut lost, mut compact) = (false, None);
        let mut slots = Slots::new();
        let mut fields = Fields::new(bundle);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (2, Value::Bytes(message)) => {
                    items.extend(self.event(message, writer, epoch, current.cpu, &mut slots));
                }
                (3, _) => lost = value.number() != 0,
                (4, Value::Bytes(message)) => compact = Some(message),
                _ => {}
            }
        }
        if let Some(message) = compact {
            self.compact(message, epoch, current.cpu, items);
        }
        items.sort_by_key(|item| item.event.ts_ns);
        if lost {
            *current = Current::new(current.cpu);
            self.lost(current.cpu, items);
        }
        for item in items {
            complete(item, current);
        }
    }

    /// Events were lost before those in `items`.
    fn lost(&mut self, cpu: u32, items: &mut Vec<Item>) {
        let ts_ns = items.first().map(|item| item.event.ts_ns);
        let place =
            || ts_ns.map_or_else(|| format!("CPU {cpu}"), |ts| format!("CPU {cpu} before {}", seconds(ts)));
        self.learned.health.add(HealthKind::LostEvents, 1, place);
        if let Some(ts_ns) = ts_ns {
            let event = Event { ts_ns, cpu, pid: NOBODY, kind: EventKind::Lost { count: 0 } };
            items.insert(0, Item { event, id: None, compact: false });
        }
    }

    fn bad(&mut self, why: impl FnOnce() -> String) {
        self.learned.health.add(HealthKind::BadEvent, 1, why);
    }

    /// Reads a `FtraceEvent`.
    #[inline]
    fn event<'b>(
        &mut self,
        message: &'b [u8],
        writer: u32,
        epoch: u32,
        cpu: u32,
        slots: &mut Slots<'b>,
    ) -> Option<Item> {
        let (mut ts_ns, mut pid, mut payload) = (None, 0, None);
        let mut fields = Fields::new(message);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (TIME, Value::Varint(n)) => ts_ns = Some(n),
                (PID, _) => pid = value.number() as i32,
                (FLAGS, _) => {}
                (_, Value::Bytes(bytes)) => payload = Some((number, bytes)),
                _ => payload = Some((number, &[])),
            }
        }
        let (Some(ts_ns), Some((number, bytes)), false) = (ts_ns, payload, fields.broken()) else {
            self.bad(|| format!("CPU {cpu}: an event without time or kind, or broken off"));
            return None;
        };
        slots.clear();
        let event = |kind| Event { ts_ns, cpu, pid, kind };
        let at = if number == GENERIC {
            self.named(bytes, slots)
        } else {
            let known = self.known.get(number as usize).copied().flatten();
            known.or_else(|| self.generic.get(&(writer, number)).copied())
        };
        let Some(meaning) = at.and_then(|at| self.meanings.get_mut(usize::from(at))) else {
            let place = || format!("CPU {cpu} at {}: field {number} of FtraceEvent", seconds(ts_ns));
            self.learned.health.add(HealthKind::UnknownEvent, 1, place);
            let id = self.learned.event_id(&format!("unknown:{number}"));
            return Some(Item { event: event(EventKind::Other { id }), id: Some(id), compact: false });
        };
        let id = meaning.id;
        let mut kind = EventKind::Other { id };
        if meaning.reads() {
            let place = |what: String, name: &str| format!("CPU {cpu} at {}: {what} {name}", seconds(ts_ns));
            let health = &mut self.learned.health;
            if number != GENERIC {
                match meaning.fill(bytes, slots) {
                    Ok(None) => {}
                    Ok(Some(unknown)) => health
                        .add(HealthKind::Ignored, 1, || place(format!("field {unknown} of"), meaning.name())),
                    Err(()) => {
                        health.add(HealthKind::BadEvent, 1, || place("a broken".to_owned(), meaning.name()))
                    }
                }
            }
            match meaning.meant(slots, self.functions, epoch) {
                Meant::Event(meant) => kind = meant,
                Meant::Lacks(field) => {
                    health.add(HealthKind::BadEvent, 1, || place(format!("no {field} in"), meaning.name()));
                }
            }
            match kind {
                EventKind::IrqEntry { irq } if self.last_irq != Some(irq) => {
                    self.last_irq = Some(irq);
                    if let Some(name) = meaning.irq_name(slots) {
                        self.learned.irq(irq, name);
                    }
                }
                EventKind::SchedSwitch { prev_pid, next_pid, .. } => {
                    if let Some((prev, next)) = meaning.comms(slots) {
                        name_task(&mut self.learned, prev_pid, prev);
                        name_task(&mut self.learned, next_pid, next);
                    }
                }
                _ => {}
            }
        }
        Some(Item { event: event(kind), id: Some(id), compact: false })
    }

    /// Reads a `GenericFtraceEvent`: its name (1), and fields (2) with name (1) and a text (3) or number (4, 5).
    fn named<'b>(&mut self, message: &'b [u8], slots: &mut Slots<'b>) -> Option<u16> {
        let name = Fields::new(message).find(|(n, _)| *n == 1).map_or(&[][..], |(_, v)| v.bytes());
        let at = match self.named.get(name) {
            Some(at) => *at,
            None if name.is_empty() || self.named.len() >= MOST_NAMED => return None,
            None => {
                let described = Described::new(None, &String::from_utf8_lossy(name), Vec::new());
                let at = self.add(described)?;
                self.named.insert(name.to_vec(), at);
                at
            }
        };
        let meaning = self.meanings.get_mut(usize::from(at))?;
        for (_, field) in Fields::new(message).filter(|(n, _)| *n == 2) {
            let (mut name, mut value) = (&[][..], None);
            for (number, part) in Fields::new(field.bytes()) {
                match number {
                    1 => name = part.bytes(),
                    3..=5 => value = Some(part),
                    _ => {}
                }
            }
            if let Some(value) = value {
                meaning.named(name, value, slots);
            }
        }
        Some(at)
    }

    /// Reads a `CompactSched`: a column for each field, and the names of tasks (5). Times are differences.
    fn compact(&mut self, message: &[u8], epoch: u32, cpu: u32, items: &mut Vec<Item>) {
        let mut columns = std::mem::take(&mut self.columns);
        columns.clear();
        let mut names: Vec<&[u8]> = Vec::new();
        for (number, value) in Fields::new(message) {
            match number {
                1 => value.repeated(&mut columns.switch[0]),
                2 => value.repeated(&mut columns.switch[1]),
                3 => value.repeated(&mut columns.switch[2]),
                4 => value.repeated(&mut columns.switch[3]),
                5 => names.push(value.bytes()),
                6 => value.repeated(&mut columns.comms),
                7 => value.repeated(&mut columns.waking[0]),
                8 => value.repeated(&mut columns.waking[1]),
                9 => value.repeated(&mut columns.waking[2]),
                // Priorities, names and flags of tasks that are woken.
                10..=12 => {}
                _ => self
                    .learned
                    .health
                    .add(HealthKind::Ignored, 1, || format!("CPU {cpu}: field {number} of a CompactSched")),
            }
        }
        let [times, states, pids, prios] = &columns.switch;
        let rows = self.rows(cpu, &[times, states, pids, prios]);
        let mut ts_ns = 0u64;
        for (row, time) in times.iter().enumerate().take(rows) {
            ts_ns = ts_ns.wrapping_add(*time);
            let value = |column: &[u64]| column.get(row).copied().unwrap_or(0);
            // As the fields of `SchedSwitchFtraceEvent`; who ran before is filled in later.
            let fields = [(2, 0), (3, 0), (4, value(states)), (6, value(pids)), (7, value(prios))];
            items.extend(self.compact_event(SCHED_SWITCH, &fields, epoch, ts_ns, cpu));
            let comm = columns.comms.get(row).and_then(|i| names.get(usize::try_from(*i).ok()?));
            if let Some(comm) = comm {
                name_task(&mut self.learned, value(pids) as i32, comm);
            }
        }
        let [times, pids, cpus] = &columns.waking;
        let rows = self.rows(cpu, &[times, pids, cpus]);
        let mut ts_ns = 0u64;
        for (row, time) in times.iter().enumerate().take(rows) {
            ts_ns = ts_ns.wrapping_add(*time);
            let value = |column: &[u64]| column.get(row).copied().unwrap_or(0);
            let fields = [(2, value(pids)), (5, value(cpus))];
            items.extend(self.compact_event(SCHED_WAKING, &fields, epoch, ts_ns, cpu));
        }
        self.columns = columns;
    }

    /// How many rows all columns have.
    fn rows(&mut self, cpu: u32, columns: &[&Vec<u64>]) -> usize {
        let rows = columns.iter().map(|c| c.len()).min().unwrap_or(0);
        let most = columns.iter().map(|c| c.len()).max().unwrap_or(0);
        let place = || format!("CPU {cpu}: compact events with some of their fields only");
        self.learned.health.add(HealthKind::BadEvent, (most - rows) as u64, place);
        rows
    }

    fn compact_event(
        &mut self,
        number: u32,
        fields: &[(u8, u64)],
        epoch: u32,
        ts_ns: u64,
        cpu: u32,
    ) -> Option<Item> {
        let at = self.known.get(number as usize).copied().flatten()?;
        let meaning = self.meanings.get_mut(usize::from(at))?;
        let mut slots = Slots::new();
        for (field, value) in fields {
            slots.number(*field, *value);
        }
        let Meant::Event(kind) = meaning.meant(&slots, self.functions, epoch) else { return None };
        Some(Item { event: Event { ts_ns, cpu, pid: NOBODY, kind }, id: Some(meaning.id), compact: true })
    }
}

impl Columns {
    fn clear(&mut self) {
        self.switch.iter_mut().chain(&mut self.waking).for_each(Vec::clear);
        self.comms.clear();
    }
}

/// The idle tasks of all CPUs share pid 0; their names say nothing.
fn name_task(learned: &mut Learned, pid: i32, comm: &[u8]) {
    if pid > 0 {
        learned.comm(pid, &String::from_utf8_lossy(comm));
    }
}

/// Fills in what the compact encoding leaves out, and keeps track of who runs.
fn complete(item: &mut Item, current: &mut Current) {
    let event = &mut item.event;
    if item.compact {
        event.pid = current.pid;
    } else if event.pid != current.pid && !matches!(event.kind, EventKind::Lost { .. }) {
        *current = Current { pid: event.pid, prio: NOBODY, ..*current };
    }
    if let EventKind::SchedSwitch { prev_pid, prev_prio, next_pid, next_prio, .. } = &mut event.kind {
        if item.compact {
            (*prev_pid, *prev_prio) = (current.pid, current.prio);
        }
        (current.pid, current.prio) = (*next_pid, *next_prio);
    }
}
