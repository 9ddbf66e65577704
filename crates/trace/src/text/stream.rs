// SPDX-License-Identifier: GPL-2.0-only
//! The events of a text, in the order of its lines; of a text in sections, in the order of their times.

use std::collections::{BTreeMap, VecDeque};

use idlewise_model::{Event, EventKind, HealthKind};

use super::head::{Grain, Head};
use super::line_kind::{LineKind, kind_of};
use super::lines::{Lines, clean};
use super::sections::Section;
use super::shape::Shape;
use super::survey::Facts;
use super::values;
use super::words::Words;
use crate::kernel::clock::{JUMP_NS, seconds};
use crate::kernel::meaning::{Op, Values, system_of};
use crate::kernel::tasks::Tasks;
use crate::learned::Learned;
use crate::reader::Stream;
use crate::turns::Turns;

/// The events of a text.
pub(super) struct TextEvents<'a> {
    sources: Vec<Source<'a>>,
    turns: Turns,
    words: Words,
    kinds: Vec<Kind>,
    names: BTreeMap<Box<[u8]>, usize>,
    cpus: Vec<Cpu>,
    last_irq: Option<i32>,
    /// Losses that the text reported before the next event.
    lost: VecDeque<(u32, u64)>,
    /// An event that waits for them to be reported.
    waiting: Option<Event>,
    ts_ns: u64,
    /// Who runs where, of lines that do not name the task.
    tasks: Option<Tasks>,
}

/// A text, or a section of one that is merged with others.
struct Source<'a> {
    lines: Lines<'a>,
    /// What of each CPU other sections have, up to this time, ns.
    seen_ns: BTreeMap<u32, u64>,
    /// CPUs of which events may be missing before the first.
    unknown_before: Vec<u32>,
    /// Events that were read and not given yet.
    ahead: VecDeque<Event>,
}

/// An event by name.
struct Kind {
    id: u16,
    system: &'static str,
    name: String,
    /// It means nothing here.
    other: bool,
    /// How it is spelled, the last seen spelling first.
    shapes: Vec<Shape>,
}

/// Where an event is.
#[derive(Clone, Copy)]
struct Place {
    line: u64,
    /// Its fields were left out on purpose.
    bare: bool,
}

/// What the lines of one CPU told.
#[derive(Clone, Default)]
struct Cpu {
    ts_ns: Option<u64>,
    pid: i32,
    comm: Vec<u8>,
}

/// The losses of so many CPUs may be reported in a row.
const MOST_LOST: usize = 1024;

/// An event is spelled in two ways at most, by any tool; more is damage.
const MOST_SHAPES: usize = 4;

/// So many different events are no events; what comes later shares one kind.
const MOST_KINDS: usize = 10_000;

impl<'a> TextEvents<'a> {
    pub(super) fn new(lines: Lines<'a>, facts: &Facts) -> Self {
        let whole =
            Source { lines, seen_ns: BTreeMap::new(), unknown_before: Vec::new(), ahead: VecDeque::new() };
        Self::of(vec![whole], facts)
    }

    /// The events of several sections; of each, those later than the times of its CPUs that others have.
    pub(super) fn merged(sections: Vec<(Lines<'a>, &Section)>, facts: &Facts) -> Self {
        let source = |(lines, section): (Lines<'a>, &Section)| {
            let (seen_ns, unknown_before) = (section.seen_ns.clone(), section.unknown_before.clone());
            Source { lines, seen_ns, unknown_before, ahead: VecDeque::new() }
        };
        let mut events = Self::of(sections.into_iter().map(source).collect(), facts);
        for i in 0..events.sources.len() {
            events.fill(i);
        }
        let first_ns = |source: &Source<'_>| source.ahead.front().map_or(u64::MAX, |event| event.ts_ns);
        events.turns = Turns::new(events.sources.iter().map(first_ns));
        events
    }

    fn of(sources: Vec<Source<'a>>, facts: &Facts) -> Self {
        let mut learned = Learned::default();
        let addresses = facts.functions.iter().map(|(at, name)| (*at, learned.function_id(name))).collect();
        let mut events = Self {
            sources,
            turns: Turns::new(std::iter::empty()),
            words: Words { addresses, learned, timer_flags_told: facts.timer_flags_told },
            kinds: Vec::new(),
            names: BTreeMap::new(),
            cpus: Vec::new(),
            last_irq: None,
            lost: VecDeque::new(),
            waiting: None,
            ts_ns: 0,
            tasks: facts.no_tasks.then(Tasks::default),
        };
        for name in &facts.events {
            meet(&mut events.names, &mut events.kinds, &mut events.words.learned, name);
        }
        events
    }

    /// The next event of source `i`, its losses aside.
    #[inline]
    fn read(&mut self, i: usize) -> Option<Event> {
        let merged = self.sources.len() > 1;
        loop {
            let source = self.sources.get_mut(i)?;
            let lines = &mut source.lines;
            let Some(place) = lines.advance() else {
                if let Some(e) = lines.broken() {
                    let line = lines.number();
                    self.words.learned.health.add(HealthKind::Truncated, 1, || format!("line {line}: {e}"));
                }
                return None;
            };
            let number = lines.number();
            let line = clean(lines.get(place));
            let (head, name, fields) = match kind_of(line) {
                LineKind::Event(head, name, fields) => (head, name, fields),
                LineKind::Nothing => continue,
                LineKind::Lost(cpu, count) => {
                    self.lost(cpu, count, number);
                    continue;
                }
                // Sections know it themselves.
                LineKind::Begin if merged => continue,
                // Events are missing between two recordings that were put into one file.
                LineKind::Begin => {
                    self.begin(number);
                    continue;
                }
                LineKind::Odd => {
                    self.words.learned.health.add(HealthKind::Ignored, 1, || format!("line {number}"));
                    continue;
                }
            };
            if merged && source.seen_ns.get(&head.cpu).is_some_and(|seen| head.ts_ns <= *seen) {
                continue;
            }
            watch(&mut self.cpus, &mut self.words.learned, &head, (!merged).then_some(number));
            let i = match self.names.get(name) {
                Some(i) => *i,
                None => meet(&mut self.names, &mut self.kinds, &mut self.words.learned, name),
            };
            let kind = self.kinds.get_mut(i)?;
            let (ts_ns, cpu, pid) = (head.ts_ns, head.cpu, head.pid);
            self.ts_ns = ts_ns;
            self.words.learned.count(kind.id);
            // [`crate::write::FtraceText`] leaves out the fields that it does not know; the kernel writes a blank there.
            let place = Place { line: number, bare: fields.is_empty() && line.ends_with(b":") };
            let what = if kind.other {
                EventKind::Other { id: kind.id }
            } else {
                kind.understand(fields, &mut self.words, &mut self.last_irq, place)
            };
            return Some(Event { ts_ns, cpu, pid, kind: what });
        }
    }

    #[cold]
    fn begin(&mut self, line: u64) {
        let recorded: Vec<u32> =
            (0..).zip(&self.cpus).filter(|(_, c)| c.ts_ns.is_some()).map(|(cpu, _)| cpu).collect();
        if !recorded.is_empty() {
            self.words.learned.health.add(HealthKind::NewRecording, 1, || format!("line {line}"));
        }
        recorded.into_iter().for_each(|cpu| self.gap(cpu, 0));
    }

    #[cold]
    fn lost(&mut self, cpu: u32, count: u64, line: u64) {
        self.words
            .learned
            .health
            .add(HealthKind::LostEvents, count.max(1), || format!("CPU {cpu}, line {line}"));
        self.gap(cpu, count);
    }

    /// `count` events of `cpu` are missing before the next one, 0 where nobody knows.
    fn gap(&mut self, cpu: u32, count: u64) {
        if let Some((_, sum)) = self.lost.iter_mut().find(|(c, _)| *c == cpu) {
            // Of several losses, one of unknown size makes the sum unknown.
            *sum = if *sum > 0 && count > 0 { sum.saturating_add(count) } else { 0 };
        } else if self.lost.len() < MOST_LOST {
            self.lost.push_back((cpu, count));
        }
    }
}

impl TextEvents<'_> {
    /// The next event of a text as it stands, or a loss before it.
    #[inline]
    fn next_line(&mut self) -> Option<Event> {
        if self.lost.is_empty() {
            if let Some(event) = self.waiting.take() {
                return Some(event);
            }
            let event = self.read(0);
            if self.lost.is_empty() {
                return event;
            }
            self.waiting = event;
        }
        self.next_loss()
    }

    fn next_loss(&mut self) -> Option<Event> {
        let (cpu, count) = self.lost.pop_front()?;
        Some(Event { ts_ns: self.ts_ns, cpu, pid: -1, kind: EventKind::Lost { count } })
    }

    /// The next event of all sections.
    fn next_of_sections(&mut self) -> Option<Event> {
        loop {
            let i = self.turns.current();
            let source = self.sources.get_mut(i)?;
            match source.ahead.front().map(|event| event.ts_ns) {
                Some(ts_ns) if self.turns.is_over(ts_ns) => self.turns.pass_on(ts_ns),
                Some(_) => return source.ahead.pop_front(),
                None if self.fill(i) => {}
                None => self.turns.end(),
            }
        }
    }

    /// Reads the next event of source `i` with the losses before it; whether there was any.
    fn fill(&mut self, i: usize) -> bool {
        let event = self.read(i);
        let begun =
            self.sources.get_mut(i).map(|s| (s.lines.number(), std::mem::take(&mut s.unknown_before)));
        if let Some((line, unknown)) = begun.filter(|(_, unknown)| !unknown.is_empty()) {
            self.words.learned.health.add(HealthKind::NewRecording, 1, || format!("line {line}"));
            unknown.into_iter().for_each(|cpu| self.gap(cpu, 0));
        }
        let losses: Vec<_> = std::iter::from_fn(|| self.next_loss()).collect();
        let Some(source) = self.sources.get_mut(i) else { return false };
        source.ahead.extend(losses.into_iter().chain(event));
        !source.ahead.is_empty()
    }
}

impl Stream for TextEvents<'_> {
    fn next_event(&mut self) -> Option<Event> {
        let mut event = if self.sources.len() > 1 { self.next_of_sections() } else { self.next_line() }?;
        if let Some(tasks) = &mut self.tasks {
            match event.kind {
                EventKind::Lost { .. } => tasks.forget(event.cpu),
                _ => tasks.follow(&mut event),
            }
        }
        Some(event)
    }

    fn learned(&self) -> &Learned {
        &self.words.learned
    }

    fn learned_mut(&mut self) -> &mut Learned {
        &mut self.words.learned
    }
}

/// Keeps track of who runs on a CPU and, on the line of that number, of its clock.
#[inline]
fn watch(cpus: &mut Vec<Cpu>, learned: &mut Learned, head: &Head<'_>, line: Option<u64>) {
    let at = head.cpu as usize;
    if cpus.len() <= at {
        cpus.resize(at + 1, Cpu::default());
    }
    let Some(cpu) = cpus.get_mut(at) else { return };
    let moved = match cpu.ts_ns.replace(head.ts_ns) {
        Some(before) if head.ts_ns < before => Some((HealthKind::ClockBackwards, before)),
        Some(before) if head.ts_ns - before > JUMP_NS && head.grain != Grain::Unknown => {
            Some((HealthKind::ClockJump, before))
        }
        _ => None,
    };
    if let (Some((kind, before)), Some(line)) = (moved, line) {
        learned.health.add(kind, 1, || {
            format!("line {line}, CPU {}: {} after {}", head.cpu, seconds(head.ts_ns), seconds(before))
        });
    }
    if head.pid > 0 && (cpu.pid != head.pid || cpu.comm != head.comm) {
        cpu.pid = head.pid;
        cpu.comm.clear();
        cpu.comm.extend(head.comm);
        if head.comm != b"<...>" {
            learned.comm(head.pid, &String::from_utf8_lossy(head.comm));
        }
    }
}

/// An event that was not met before.
#[cold]
fn meet(
    names: &mut BTreeMap<Box<[u8]>, usize>,
    kinds: &mut Vec<Kind>,
    learned: &mut Learned,
    spelled: &[u8],
) -> usize {
    if kinds.len() >= MOST_KINDS {
        return kinds.len() - 1;
    }
    let spelled_name = String::from_utf8_lossy(spelled);
    let (told, name) = match spelled_name.split_once(':') {
        Some((system, name)) => (Some(system), name),
        None => (None, spelled_name.as_ref()),
    };
    // The kernel names a marker's event by the function that wrote it; old ones do not find that.
    let name = if told.is_none() && matches!(name, "tracing_mark_write" | "0") { "print" } else { name };
    let system = system_of(name).filter(|s| told.is_none_or(|told| told == *s));
    let full = match (told, system) {
        (Some(system), _) => format!("{system}:{name}"),
        (None, Some(system)) => format!("{system}:{name}"),
        (None, None) => name.to_owned(),
    };
    let kind = Kind {
        id: learned.event_id(&full),
        system: system.unwrap_or(""),
        name: name.to_owned(),
        other: system.is_none(),
        shapes: Vec::new(),
    };
    names.insert(spelled.into(), kinds.len());
    kinds.push(kind);
    kinds.len() - 1
}

impl Kind {
    /// What a line of this event means.
    #[inline]
    fn understand(
        &mut self,
        fields: &[u8],
        words: &mut Words,
        last_irq: &mut Option<i32>,
        place: Place,
    ) -> EventKind {
        for (i, shape) in self.shapes.iter().enumerate() {
            let Some(line) = shape.read(fields, words) else { continue };
            let what = shape.op.kind(self.id, &line);
            if let EventKind::IrqEntry { irq } = what
                && *last_irq != Some(irq)
            {
                *last_irq = Some(irq);
                if let Op::IrqEntry { irq: (_, Some(name)) } = shape.op {
                    let name = line.text(name);
                    words.learned.irq(irq, name.get(..values::MOST_NAME).unwrap_or(name));
                }
            }
            if i > 0 {
                self.shapes.swap(0, i);
            }
            return what;
        }
        self.learn(fields, words, last_irq, place)
    }

    /// Learns one more spelling of this event from a line that no known one reads.
    #[cold]
    fn learn(
        &mut self,
        fields: &[u8],
        words: &mut Words,
        last_irq: &mut Option<i32>,
        place: Place,
    ) -> EventKind {
        let why = match Shape::learn(self.system, &self.name, fields) {
            Ok(shape) if matches!(shape.op, Op::Other) => {
                self.other = true;
                return EventKind::Other { id: self.id };
            }
            Ok(shape) if self.shapes.len() < MOST_SHAPES && shape.read(fields, words).is_some() => {
                self.shapes.insert(0, shape);
                return self.understand(fields, words, last_irq, place);
            }
            Ok(_) => "a field cannot be read".to_owned(),
            Err(field) => format!("no usable field {field}"),
        };
        let line = place.line;
        let dirt = u64::from(!place.bare);
        words.learned.health.add(HealthKind::BadEvent, dirt, || format!("line {line}, {}: {why}", self.name));
        EventKind::Other { id: self.id }
    }
}
