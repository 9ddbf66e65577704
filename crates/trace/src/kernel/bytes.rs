// SPDX-License-Identifier: GPL-2.0-only
//! From the bytes of an event to its meaning. Each format of the file is compiled once into a [`Decoder`]; offsets
//! and sizes come from the format, the kernel has moved fields more than once.

use std::collections::BTreeMap;

use idlewise_model::{CpuMask, Event, EventKind, Ipi, NoteId};

use super::format::{Format, FormatField, Located};
use super::meaning::{Layout, Op, Values, ipi};
use super::order::Order;
use crate::meta::TraceMeta;

/// Bytes that must be readable behind every event, so that a field of any size can be loaded in one go.
pub(crate) const PAD: usize = 8;

/// What lies at a place in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unsigned,
    Signed,
    /// The place and the length of a text (`__data_loc`).
    Located,
    /// As located, counted from the end of this field (`__rel_loc`).
    Relative,
    /// A text, up to its zero byte.
    Array,
}

/// Where a value lies in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    offset: u16,
    /// 64 minus the field's bits.
    shift: u8,
    kind: Kind,
}

impl Field {
    fn number(field: &FormatField<'_>) -> Option<Self> {
        let kind = if field.signed { Kind::Signed } else { Kind::Unsigned };
        matches!(field.size, 1 | 2 | 4 | 8).then(|| Self {
            offset: field.offset,
            shift: 64 - 8 * field.size as u8,
            kind,
        })
    }

    fn text(field: &FormatField<'_>) -> Option<Self> {
        let kind = match field.located {
            Some(Located::Absolute) if field.size == 4 => Kind::Located,
            Some(Located::Relative) if field.size == 4 => Kind::Relative,
            None if field.array => Kind::Array,
            _ => return None,
        };
        Some(Self { offset: field.offset, shift: if kind == Kind::Array { 64 } else { 32 }, kind })
    }

    fn end(self) -> usize {
        usize::from(self.offset) + usize::from((64 - self.shift) / 8)
    }

    /// The field in the topmost bits of a word; what is below it is not zero in every byte order.
    #[inline(always)]
    fn word(self, order: impl Order, data: &[u8]) -> u64 {
        let at = usize::from(self.offset);
        let bytes = data.get(at..).and_then(|d| d.first_chunk::<8>());
        let word = bytes.map_or(0, |b| order.u64(*b));
        if order.big() { word } else { word << self.shift }
    }
}

/// The bytes of one event.
struct Payload<'d, O> {
    order: O,
    /// The event and [`PAD`] bytes behind it.
    data: &'d [u8],
    len: usize,
    ipis: &'d BTreeMap<u64, Ipi>,
}

impl<O: Order> Values<Field> for Payload<'_, O> {
    #[inline(always)]
    fn u64(&self, field: Field) -> u64 {
        field.word(self.order, self.data) >> field.shift
    }

    #[inline(always)]
    fn i64(&self, field: Field) -> i64 {
        match field.kind {
            Kind::Signed => (field.word(self.order, self.data) as i64) >> field.shift,
            _ => self.u64(field) as i64,
        }
    }

    fn text(&self, field: Field) -> &[u8] {
        text_of(self.order, field, self.data.get(..self.len).unwrap_or(self.data)).unwrap_or_default()
    }

    /// Longs of the kernel, in its byte order.
    fn cpus(&self, field: Field) -> CpuMask {
        let bytes =
            array_of(self.order, field, self.data.get(..self.len).unwrap_or(self.data)).unwrap_or_default();
        // Only in big-endian memory does it matter how long a long is: 4 bytes where the mask is no multiple of 8.
        let long = if bytes.len() % 8 == 0 { 8 } else { 4 };
        let bits = |byte: u8| (0..8).filter(move |bit| byte >> bit & 1 != 0);
        let mut mask = CpuMask::default();
        for (cpu, word) in (0..).step_by(8 * long).zip(bytes.chunks(long)) {
            let upwards = |i: usize| if self.order.big() { word.iter().nth_back(i) } else { word.get(i) };
            for (first, byte) in (cpu..).step_by(8).zip((0..long).map_while(upwards)) {
                bits(*byte).for_each(|bit| mask.insert(first + bit));
            }
        }
        mask
    }

    fn ipi_at(&self, field: Field) -> Ipi {
        self.ipis.get(&self.u64(field)).copied().unwrap_or(Ipi::Other)
    }
}

/// The text at a place in the bytes of an event.
fn text_of(order: impl Order, field: Field, event: &[u8]) -> Option<&[u8]> {
    array_of(order, field, event)?.split(|b| *b == 0).next()
}

/// The bytes that a place in the bytes of an event stands for.
fn array_of(order: impl Order, field: Field, event: &[u8]) -> Option<&[u8]> {
    if field.kind == Kind::Array {
        event.get(usize::from(field.offset)..)
    } else {
        let word = event.get(usize::from(field.offset)..)?.first_chunk::<4>().map(|b| order.u32(*b))?;
        let (at, len) = ((word & 0xffff) as usize, (word >> 16) as usize);
        let from = if field.kind == Kind::Relative { field.end() } else { 0 };
        event.get(from + at..(from + at).checked_add(len)?)
    }
}

/// The compiled format of one event.
#[derive(Clone, Copy, Debug)]
struct Decoder {
    op: Op<Field>,
    pid: Field,
    /// Shorter events of this kind are broken.
    min_len: u32,
}

/// A format that is being compiled, with the length that the fields asked for need.
struct Description<'a> {
    format: &'a Format<'a>,
    len: usize,
}

impl Layout for Description<'_> {
    type Field = Field;

    fn number(&mut self, name: &str) -> Option<Field> {
        let field = self.format.field(name).and_then(|f| Field::number(&f))?;
        self.len = self.len.max(field.end());
        Some(field)
    }

    fn text(&mut self, name: &str) -> Option<Field> {
        let field = self.format.field(name).and_then(|f| Field::text(&f))?;
        self.len = self.len.max(field.end());
        Some(field)
    }
}

impl Decoder {
    /// Compiles `format` of `system`. The second value is a remark, when fields are missing or odd.
    fn compile(system: &str, format: &Format<'_>) -> (Option<Self>, Option<String>) {
        let name = format.name;
        let mut description = Description { format, len: 2 };
        let Some(pid) = description.number("common_pid") else {
            let note =
                format!("{system}:{name} has no usable field common_pid: its events are not understood");
            return (None, Some(note));
        };
        let (op, note) = match Op::compile(system, name, &mut description) {
            Ok(op) => (op, None),
            Err(field) => {
                description.len = 2.max(pid.end());
                let note =
                    format!("{system}:{name} has no usable field {field}: its events count as other events");
                (Op::Other, Some(note))
            }
        };
        (Some(Self { op, pid, min_len: description.len as u32 }), note)
    }
}

/// All decoders of a file, by event id.
#[derive(Debug, Default)]
pub(crate) struct Decoders {
    by_id: Vec<Option<Decoder>>,
    /// Where the id lies in every event.
    id_at: usize,
    /// The places in the kernel of the texts that name inter-processor interrupts.
    ipis: BTreeMap<u64, Ipi>,
}

/// What came out of the bytes of one event.
pub(crate) enum Decoded {
    Event(Event),
    /// An event whose id no format describes.
    Unknown(Event),
    /// An event shorter than its format.
    Short(Event),
    /// Too short even for an id.
    Broken,
}

impl Decoders {
    /// Learns the event of `system` that the text of a `format` file describes; `false` if it describes none.
    pub(crate) fn learn(&mut self, system: &str, text: &str, meta: &mut TraceMeta) -> bool {
        let Some(format) = Format::parse(text) else { return false };
        // The place of the id is the same in all formats of a kernel.
        if let Some(field) = format.field("common_type").filter(|f| f.size == 2) {
            self.id_at = usize::from(field.offset);
        }
        let (decoder, note) = Decoder::compile(system, &format);
        meta.notes.extend(note.map(|what| NoteId::UnknownFormat.note(what)));
        meta.event_names.insert(format.id, format!("{system}:{}", format.name));
        let at = usize::from(format.id);
        if self.by_id.len() <= at {
            self.by_id.resize(at + 1, None);
        }
        if let Some(place) = self.by_id.get_mut(at) {
            *place = decoder.or(*place);
        }
        true
    }

    /// Reads the lines of `printk_formats`: `0xffffff8008d21393 : "Rescheduling interrupts"`.
    pub(crate) fn learn_texts(&mut self, printk_formats: &str) {
        for line in printk_formats.lines() {
            let Some((address, text)) = line.split_once(':') else { continue };
            let address = address.trim().trim_start_matches("0x");
            let text = text.trim().trim_matches('"');
            match (u64::from_str_radix(address, 16), ipi(text)) {
                (Err(_), _) | (_, Ipi::Other) => {}
                (Ok(address), ipi) => {
                    self.ipis.insert(address, ipi);
                }
            }
        }
    }

    /// The name in an `irq_handler_entry`.
    pub(crate) fn irq_name<'d>(&self, order: impl Order, id: u16, payload: &'d [u8]) -> Option<&'d [u8]> {
        match self.by_id.get(usize::from(id))?.as_ref()?.op {
            Op::IrqEntry { irq: (_, Some(field)) } => text_of(order, field, payload),
            _ => None,
        }
    }

    /// The id of an event; its place is the same in all formats of a kernel.
    #[inline(always)]
    pub(crate) fn id(&self, order: impl Order, data: &[u8]) -> Option<u16> {
        data.get(self.id_at..)?.first_chunk::<2>().map(|b| order.u16(*b))
    }

    /// Decodes the event of `len` bytes at the start of `data`, behind which [`PAD`] more bytes can be read.
    #[inline(always)]
    pub(crate) fn decode(
        &self,
        order: impl Order,
        ts_ns: u64,
        cpu: u32,
        id: u16,
        data: &[u8],
        len: usize,
    ) -> Decoded {
        let other = |pid| Event { ts_ns, cpu, pid, kind: EventKind::Other { id } };
        let Some(Some(decoder)) = self.by_id.get(usize::from(id)) else {
            return if len < self.id_at + 2 { Decoded::Broken } else { Decoded::Unknown(other(0)) };
        };
        if len < decoder.min_len as usize {
            return if len < self.id_at + 2 { Decoded::Broken } else { Decoded::Short(other(0)) };
        }
        let payload = Payload { order, data, len, ipis: &self.ipis };
        let (pid, kind) = (payload.i32(decoder.pid), decoder.op.kind(id, &payload));
        Decoded::Event(Event { ts_ns, cpu, pid, kind })
    }
}
