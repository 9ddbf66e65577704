// SPDX-License-Identifier: GPL-2.0-only
//! Events as messages: which field of a message is which field of the kernel's event, and what the event means.

use std::collections::BTreeMap;

use idlewise_model::EventKind;

use super::field::{Field, Kind};
use super::numbers::{EVENTS, FIELDS};
use super::wire::{Fields, Value};
use crate::kernel::meaning::{Layout, Op, Values, system_of};
use crate::learned::Learned;

/// Fields with higher numbers are not read; no event of the kernel has so many.
const DESCRIBED_FIELDS: usize = 64;
/// So many different sets of fields of one event are remembered; a recorder writes one.
const MOST_SHAPES: usize = 64;

/// An event that a number or a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    /// "system:name", or the name alone where nobody tells the system.
    pub(super) full: String,
    pub(super) fields: Vec<Field<String>>,
}

impl Described {
    pub(super) fn new(system: Option<&str>, name: &str, fields: Vec<Field<String>>) -> Self {
        let system = system.filter(|s| !s.is_empty()).or_else(|| system_of(name));
        let full = system.map_or_else(|| name.to_owned(), |system| format!("{system}:{name}"));
        Self { full, fields }
    }

    /// Reads a `GenericEventDescriptor`'s `event_descriptor`: a `DescriptorProto` (descriptor.proto of protobuf). A
    /// field of a kind that no event has is left out.
    pub(super) fn from_descriptor(system: &str, descriptor: &[u8]) -> Option<Self> {
        let (mut name, mut fields) = (String::new(), Vec::new());
        let mut parts = Fields::new(descriptor);
        for (number, value) in parts.by_ref() {
            match number {
                1 => name = value.text(),
                2 if fields.len() < DESCRIBED_FIELDS => fields.extend(field_of(value.bytes())),
                _ => {}
            }
        }
        (!parts.broken() && !name.is_empty()).then(|| Self::new(Some(system), &name, fields))
    }
}

/// Reads a `FieldDescriptorProto`: name 1, number 3, type 5 (int64 3, uint64 4, int32 5, bool 8, string 9, bytes 12,
/// uint32 13).
fn field_of(message: &[u8]) -> Option<Field<String>> {
    let (mut name, mut at, mut kind) = (String::new(), 0, 0);
    for (number, value) in Fields::new(message) {
        match number {
            1 => name = value.text(),
            3 => at = value.number(),
            5 => kind = value.number(),
            _ => {}
        }
    }
    let kind = match kind {
        3 | 4 | 5 | 8 | 13 => Kind::Number,
        9 | 12 => Kind::Text,
        _ => return None,
    };
    let number = u8::try_from(at).ok().filter(|n| usize::from(*n) < DESCRIBED_FIELDS)?;
    Some(Field { number, name, kind })
}

/// The events that Perfetto has messages for, in the order of their numbers.
pub(super) fn known() -> impl Iterator<Item = (u32, Described)> {
    EVENTS.iter().map(|(number, name)| {
        let fields = FIELDS.iter().find(|(n, _)| n == number).map_or(&[][..], |(_, fields)| fields);
        let owned = |f: &Field<&str>| Field { number: f.number, name: f.name.to_owned(), kind: f.kind };
        (*number, Described::new(None, name, fields.iter().map(owned).collect()))
    })
}

/// The values of one event, by their fields' numbers.
pub(super) struct Slots<'a> {
    /// Which fields are there.
    present: u64,
    numbers: [u64; DESCRIBED_FIELDS],
    texts: [&'a [u8]; DESCRIBED_FIELDS],
}

impl<'a> Slots<'a> {
    pub(super) fn new() -> Self {
        Self { present: 0, numbers: [0; DESCRIBED_FIELDS], texts: [&[]; DESCRIBED_FIELDS] }
    }

    pub(super) fn clear(&mut self) {
        self.present = 0;
    }

    pub(super) fn number(&mut self, at: u8, value: u64) {
        if let Some(slot) = self.numbers.get_mut(usize::from(at)) {
            *slot = value;
            self.present |= 1 << at;
        }
    }

    pub(super) fn text(&mut self, at: u8, value: &'a [u8]) {
        if let Some(slot) = self.texts.get_mut(usize::from(at)) {
            *slot = value;
            self.present |= 1 << at;
        }
    }

    /// The text of a field, if the event has it.
    pub(super) fn text_at(&self, at: u8) -> Option<&'a [u8]> {
        let there = self.present.checked_shr(at.into()).is_some_and(|bits| bits & 1 == 1);
        self.texts.get(usize::from(at)).filter(|_| there).copied()
    }
}

/// The names behind the numbers of functions: `InternedData.kernel_symbols`, by the state of the writer's tables and
/// the number; the values are the ids that [`Learned`] gives the names.
pub(super) type Functions = BTreeMap<(u32, u64), u64>;

/// Smaller values of a function are numbers of a symbol, never addresses.
const LOWEST_ADDRESS: u64 = 1 << 20;

struct Payload<'a, 'b> {
    slots: &'b Slots<'a>,
    functions: &'b Functions,
    epoch: u32,
}

impl Values<u8> for Payload<'_, '_> {
    #[inline(always)]
    fn u64(&self, field: u8) -> u64 {
        self.slots.numbers.get(usize::from(field)).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn i64(&self, field: u8) -> i64 {
        self.u64(field) as i64
    }

    fn text(&self, field: u8) -> &[u8] {
        self.slots.texts.get(usize::from(field)).copied().unwrap_or_default()
    }

    /// A number that the tables do not have must not be taken for another function's id: it becomes 0.
    fn function(&self, field: u8) -> u64 {
        let value = self.u64(field);
        let named = self.functions.get(&(self.epoch, value)).copied();
        named.unwrap_or(if value < LOWEST_ADDRESS { 0 } else { value })
    }
}

/// The fields of an event that are there.
struct Shape<'a> {
    fields: &'a [Field<String>],
    present: u64,
}

impl Shape<'_> {
    fn find(&self, name: &str, kind: Kind) -> Option<u8> {
        let fits = |f: &&Field<String>| f.kind == kind && f.name == name && self.present & 1 << f.number != 0;
        self.fields.iter().find(fits).map(|f| f.number)
    }
}

impl Layout for Shape<'_> {
    type Field = u8;

    fn number(&mut self, name: &str) -> Option<u8> {
        self.find(name, Kind::Number)
    }

    fn text(&mut self, name: &str) -> Option<u8> {
        self.find(name, Kind::Text)
    }
}

/// What an event came to.
pub(super) enum Meant {
    Event(EventKind),
    /// It lacks this field.
    Lacks(String),
}

/// An event with what it means, for each set of fields that it came with.
pub(super) struct Meaning {
    described: Described,
    pub(super) id: u16,
    shapes: Vec<(u64, Result<Op<u8>, String>)>,
    /// It means something without any field.
    plain: bool,
    /// Where the name of an interrupt, and those of the tasks of a switch, are found.
    irq_name: Option<u8>,
    comms: Option<(u8, u8)>,
}

impl Meaning {
    pub(super) fn new(described: Described, learned: &mut Learned) -> Self {
        let id = learned.event_id(&described.full);
        let text = |event: &str, field: &str| {
            let fields = described.fields.iter().filter(|_| described.full == event);
            fields.into_iter().find(|f| f.name == field && f.kind == Kind::Text).map(|f| f.number)
        };
        let irq_name = text("irq:irq_handler_entry", "name");
        let comms = text("sched:sched_switch", "prev_comm").zip(text("sched:sched_switch", "next_comm"));
        let mut meaning = Self { described, id, shapes: Vec::new(), plain: false, irq_name, comms };
        meaning.plain = matches!(meaning.compile(0), Ok(op) if !matches!(op, Op::Other));
        meaning
    }

    /// Whether its fields have to be read.
    pub(super) fn reads(&self) -> bool {
        self.plain || !self.described.fields.is_empty()
    }

    /// Reads the fields of `message`. Gives the number of the first that is not described.
    #[inline]
    pub(super) fn fill<'a>(&self, message: &'a [u8], slots: &mut Slots<'a>) -> Result<Option<u32>, ()> {
        let mut unknown = None;
        let mut fields = Fields::new(message);
        for (number, value) in fields.by_ref() {
            match self.described.fields.iter().find(|f| u32::from(f.number) == number) {
                Some(Field { number, kind: Kind::Number, .. }) => {
                    if let Value::Varint(n) = value {
                        slots.number(*number, n);
                    }
                }
                Some(Field { number, kind: Kind::Text, .. }) => {
                    if let Value::Bytes(text) = value {
                        slots.text(*number, text);
                    }
                }
                None => unknown = unknown.or(Some(number)),
            }
        }
        if fields.broken() { Err(()) } else { Ok(unknown) }
    }

    /// Puts the value of a field that has a name only to its place, which the first of its kind defines.
    pub(super) fn named<'a>(&mut self, name: &[u8], value: Value<'a>, slots: &mut Slots<'a>) {
        let kind = if matches!(value, Value::Varint(_)) { Kind::Number } else { Kind::Text };
        let fields = &mut self.described.fields;
        let known = fields.iter().find(|f| f.kind == kind && f.name.as_bytes() == name).map(|f| f.number);
        let at = known.or_else(|| {
            let number = u8::try_from(fields.len()).ok().filter(|n| usize::from(*n) < DESCRIBED_FIELDS)?;
            fields.push(Field { number, name: String::from_utf8_lossy(name).into_owned(), kind });
            Some(number)
        });
        match (at, value) {
            (Some(at), Value::Varint(n)) => slots.number(at, n),
            (Some(at), value) => slots.text(at, value.bytes()),
            (None, _) => {}
        }
    }

    /// What the values in `slots` mean, with functions numbered as of `epoch`.
    #[inline]
    pub(super) fn meant(&mut self, slots: &Slots<'_>, functions: &Functions, epoch: u32) -> Meant {
        let present = slots.present;
        let payload = Payload { slots, functions, epoch };
        let compiled = match self.shapes.iter().find(|(shape, _)| *shape == present) {
            Some((_, compiled)) => compiled,
            None => &self.learn(present),
        };
        match compiled {
            Ok(op) => Meant::Event(op.kind(self.id, &payload)),
            Err(field) => Meant::Lacks(field.clone()),
        }
    }

    fn compile(&self, present: u64) -> Result<Op<u8>, String> {
        let (system, name) = self.described.full.split_once(':').unwrap_or(("", &self.described.full));
        Op::compile(system, name, &mut Shape { fields: &self.described.fields, present })
    }

    #[cold]
    fn learn(&mut self, present: u64) -> Result<Op<u8>, String> {
        let compiled = self.compile(present);
        if self.shapes.len() < MOST_SHAPES {
            self.shapes.push((present, compiled.clone()));
        }
        compiled
    }

    /// The name of the handler in an `irq_handler_entry`.
    pub(super) fn irq_name<'a>(&self, slots: &Slots<'a>) -> Option<&'a [u8]> {
        slots.text_at(self.irq_name?)
    }

    /// The names of the tasks in a `sched_switch`.
    pub(super) fn comms<'a>(&self, slots: &Slots<'a>) -> Option<(&'a [u8], &'a [u8])> {
        let (prev, next) = self.comms?;
        Some((slots.text_at(prev)?, slots.text_at(next)?))
    }

    pub(super) fn name(&self) -> &str {
        &self.described.full
    }
}
