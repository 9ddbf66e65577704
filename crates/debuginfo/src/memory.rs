// SPDX-License-Identifier: GPL-2.0-only
//! What a governor remembers, by name: the debugging information of its object says where each variable is.

use std::cell::Cell;

use gimli::{AttributeValue, DebuggingInformationEntry, Unit, UnitOffset};
use object::{Object as _, ObjectSection as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dwarf::{self, Bytes, Dwarf};

type Die<'a> = DebuggingInformationEntry<Bytes<'a>>;

/// Types nest no deeper than this; debugging information that says otherwise is not believed.
const DEPTH: usize = 16;
/// No governor's array is longer, and no variable of it has more values.
const ELEMENTS: u64 = 65_536;
/// All variables of an object together have no more values, and no more bytes.
const VALUES: u64 = 2 * ELEMENTS;
const BYTES: usize = 1 << 24;
/// So many attributes, and bytes of names, are read in an object: those of kernels' governors have some thousand.
const WORK: u64 = 1 << 22;
/// No name is longer, bytes.
const LONGEST_NAME: usize = 255;
/// No number is larger, bytes.
const LARGEST_NUMBER: usize = 8;
/// The section of the image of a fresh CPU (`governors/shim/include/linux/percpu.h`).
const PER_CPU: &str = "idlewise_percpu";
/// Names of the shim's own variables begin so.
const SHIM: &str = "idlewise_";

/// A variable of a governor with what it holds.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Variable {
    /// Its name in the source.
    pub name: String,
    pub value: Value,
}

/// What a variable, or a part of it, holds.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum Value {
    /// An integer of at most 64 bits, or an enumerator's number.
    Number(i128),
    /// A `bool`.
    Bool(bool),
    /// The members of a structure, in order.
    Struct(Vec<Variable>),
    /// The elements of an array.
    Array(Vec<Value>),
    /// A value of a governor that is not in C, as its language writes it.
    Text(String),
    /// A pointer, a union, a floating-point number: what it holds is not shown.
    Other,
}

/// A number of a governor's state about a CPU, as a kernel had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateValue {
    /// Names that versions of the governor have for the variable or the member of a structure.
    pub names: &'static [&'static str],
    /// Which element, where it is in an array; else 0.
    pub index: usize,
    pub value: u64,
}

/// Where the variables of an object are.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Per-CPU variables, by offset into a CPU's block.
    pub per_cpu: Vec<Place>,
    /// Variables that all CPUs share, by address in the object.
    pub shared: Vec<Place>,
    /// Where the image of per-CPU variables begins in the object.
    pub per_cpu_address: u64,
}

/// One variable's address and size.
#[derive(Clone, Debug)]
pub struct Place {
    pub name: String,
    pub at: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Number {
        size: usize,
        signed: bool,
    },
    Bool,
    /// Bits of the bytes that begin here, the lowest first.
    Bits {
        shift: u64,
        count: u64,
        signed: bool,
    },
    Struct {
        size: usize,
        fields: Vec<Place>,
    },
    Array {
        element: Box<Shape>,
        count: usize,
    },
    Other {
        size: usize,
    },
}

impl Shape {
    fn size(&self) -> usize {
        match self {
            Self::Number { size, .. } | Self::Struct { size, .. } | Self::Other { size } => *size,
            Self::Bool => 1,
            Self::Bits { shift, count, .. } => usize::try_from((shift + count).div_ceil(8)).unwrap_or(0),
            Self::Array { element, count } => element.size().saturating_mul(*count),
        }
    }

    /// How many bytes are read to show it.
    fn bytes(&self) -> usize {
        if matches!(self, Self::Other { .. }) { 0 } else { self.size() }
    }

    /// How many values reading it makes, of parts and of wholes.
    fn values(&self) -> u64 {
        match self {
            Self::Number { .. } | Self::Bool | Self::Bits { .. } | Self::Other { .. } => 1,
            Self::Struct { fields, .. } => {
                fields.iter().fold(1, |sum: u64, field| sum.saturating_add(field.shape.values()))
            }
            Self::Array { element, count } => {
                // An array of nothing is described, too.
                element.values().saturating_mul(*count.max(&1) as u64).saturating_add(1)
            }
        }
    }

    /// The same, unless it has more than [`ELEMENTS`] values: debugging information may say whatever a file's author wants.
    fn bounded(self) -> Self {
        if self.values() <= ELEMENTS + 1 { self } else { Self::Other { size: self.size() } }
    }

    fn read(&self, bytes: &[u8]) -> Value {
        let number = |size: usize, signed: bool| {
            let raw = little(bytes.get(..size)?);
            Some(Value::Number(extend(raw, size as u64 * 8, signed)))
        };
        let value = match self {
            Self::Number { size, signed } => number(*size, *signed),
            Self::Bool => bytes.first().map(|b| Value::Bool(*b != 0)),
            Self::Bits { shift, count, signed } => bytes.get(..self.size()).map(|b| {
                let mask = (1_u128 << count) - 1;
                Value::Number(extend(little(b) >> shift & mask, *count, *signed))
            }),
            Self::Struct { fields, .. } => {
                Some(Value::Struct(fields.iter().map(|f| f.read(bytes)).collect()))
            }
            Self::Array { element, count } => {
                let step = element.size();
                let at = |i: usize| i.checked_mul(step).and_then(|at| bytes.get(at..)).unwrap_or_default();
                Some(Value::Array((0..*count).map(|i| element.read(at(i))).collect()))
            }
            Self::Other { .. } => None,
        };
        value.unwrap_or(Value::Other)
    }
}

impl Place {
    /// The variable as it is in `bytes`, where offset 0 is the block's beginning.
    #[must_use]
    pub fn read(&self, bytes: &[u8]) -> Variable {
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        let value = self.shape.read(bytes.get(at..).unwrap_or_default());
        Variable { name: self.name.clone(), value }
    }

    /// The number called by one of `names` in it: its element `index`, or the one in element `index` of an array around it.
    fn number(&self, names: &[&str], index: usize) -> Option<Self> {
        let inner = match &self.shape {
            Shape::Number { .. } if index == 0 && names.contains(&self.name.as_str()) => {
                return Some(self.clone());
            }
            Shape::Struct { fields, .. } => fields.iter().find_map(|f| f.number(names, index))?,
            Shape::Array { element, count } if index < *count => {
                let element = Self { name: self.name.clone(), at: 0, shape: (**element).clone() };
                element.number(names, 0)?.moved_to_element(index, element.shape.size())?
            }
            _ => return None,
        };
        Some(inner.moved_to(self.at.checked_add(inner.at)?))
    }

    fn moved_to_element(&self, index: usize, size: usize) -> Option<Self> {
        let before = index.checked_mul(size).and_then(|bytes| u64::try_from(bytes).ok())?;
        Some(self.moved_to(self.at.checked_add(before)?))
    }

    /// Puts `value` there in `bytes`, as [`Place::read`] would find it; whether it is a number that can hold it.
    fn write(&self, bytes: &mut [u8], value: u64) -> bool {
        let Shape::Number { size, signed } = self.shape else { return false };
        let bits = (size as u64 * 8).saturating_sub(u64::from(signed));
        let fits = bits >= 64 || value >> bits == 0;
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        let Some(to) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..size)).filter(|_| fits) else {
            return false;
        };
        let raw = if cfg!(target_endian = "big") { value.to_be_bytes() } else { value.to_le_bytes() };
        let from = if cfg!(target_endian = "big") { raw.len().checked_sub(size) } else { Some(0) };
        let Some(raw) = from.and_then(|from| raw.get(from..)?.get(..size)) else { return false };
        to.copy_from_slice(raw);
        true
    }

    /// The same variable at another place.
    #[must_use]
    pub fn moved_to(&self, at: u64) -> Self {
        Self { at, ..self.clone() }
    }

    /// How many bytes are read to show it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.shape.bytes()
    }
}

fn little(bytes: &[u8]) -> u128 {
    let fold = |n: u128, b: &u8| n << 8 | u128::from(*b);
    if cfg!(target_endian = "big") { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
}

fn extend(raw: u128, bits: u64, signed: bool) -> i128 {
    let shift = 128 - bits.clamp(1, 127);
    let raw = (raw << shift).cast_signed();
    if signed { raw >> shift } else { (raw.cast_unsigned() >> shift).cast_signed() }
}

impl Layout {
    /// Reads the debugging information of the shared object in `bytes`.
    ///
    /// Nothing is found in an object without any; what cannot be understood is left out.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::read(bytes).unwrap_or_default()
    }

    /// Puts `values` into per-CPU variables in `block`: all, or none where one of them is not there or cannot hold its number.
    #[must_use]
    pub fn write(&self, block: &mut [u8], values: &[StateValue]) -> bool {
        let mut after = block.to_vec();
        let all = values.iter().all(|v| {
            let place = self.per_cpu.iter().find_map(|p| p.number(v.names, v.index));
            place.is_some_and(|place| place.write(&mut after, v.value))
        });
        if all {
            block.copy_from_slice(&after);
        }
        all
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let dwarf = dwarf::of(&file)?;
        let (start, size) = file.section_by_name(PER_CPU).map(|s| (s.address(), s.size()))?;
        let mut layout = Self { per_cpu_address: start, ..Self::default() };
        let left = Cell::new(WORK);
        let (mut values, mut bytes) = (0, 0_usize);
        for unit in dwarf::units(&dwarf) {
            for (name, address, shape) in variables(&dwarf, &unit, Reach { depth: DEPTH, left: &left }) {
                values += shape.values();
                bytes = bytes.saturating_add(shape.bytes());
                let few = values <= VALUES && bytes <= BYTES;
                let shape = if few { shape } else { Shape::Other { size: shape.size() } };
                let place = |at| Place { name: name.clone(), at, shape: shape.clone() };
                match address.checked_sub(start).filter(|offset| *offset < size) {
                    Some(offset) => layout.per_cpu.push(place(offset)),
                    None => layout.shared.push(place(address)),
                }
            }
        }
        for list in [&mut layout.per_cpu, &mut layout.shared] {
            list.sort_by_key(|p| p.at);
            list.dedup_by_key(|p| p.at);
        }
        Some(layout)
    }
}

/// Name, address and shape of every variable of a unit that has a fixed address.
fn variables(dwarf: &Dwarf<'_>, unit: &Unit<Bytes<'_>>, reach: Reach<'_>) -> Vec<(String, u64, Shape)> {
    let mut found = Vec::new();
    let mut entries = unit.entries();
    while let Ok(Some(die)) = entries.next_dfs()
        && reach.read(die).is_some()
    {
        if die.tag() != gimli::DW_TAG_variable {
            continue;
        }
        let Some(address) = address(unit, die) else { continue };
        let described = origin(unit, die).unwrap_or_else(|| die.clone());
        let (Some(name), Some(r#type)) = (name(dwarf, unit, &described, reach), type_of(&described)) else {
            continue;
        };
        if !name.starts_with(SHIM)
            && is_memory(dwarf, unit, r#type, reach)
            && let Some(shape) = shape(dwarf, unit, r#type, reach)
        {
            found.push((name, address, shape));
        }
    }
    found
}

/// Whether variables of this type remember anything: not constants, nor the governor's own table of functions.
fn is_memory(dwarf: &Dwarf<'_>, unit: &Unit<Bytes<'_>>, r#type: UnitOffset, reach: Reach<'_>) -> bool {
    let Ok(die) = unit.entry(r#type) else { return false };
    die.tag() != gimli::DW_TAG_const_type
        && name(dwarf, unit, &die, reach).is_none_or(|name| name != "cpuidle_governor")
}

fn address(unit: &Unit<Bytes<'_>>, die: &Die<'_>) -> Option<u64> {
    let location = die.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
    match location.operations(unit.encoding()).next().ok()?? {
        gimli::Operation::Address { address } => Some(address),
        _ => None,
    }
}

/// The entry that declares what `die` defines.
fn origin<'a>(unit: &Unit<Bytes<'a>>, die: &Die<'a>) -> Option<Die<'a>> {
    let from = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
    let at = from.into_iter().find_map(|a| die.attr_value(a))?;
    match at {
        AttributeValue::UnitRef(offset) => unit.entry(offset).ok(),
        _ => None,
    }
}

fn name(dwarf: &Dwarf<'_>, unit: &Unit<Bytes<'_>>, die: &Die<'_>, reach: Reach<'_>) -> Option<String> {
    reach.read(die)?;
    let name = dwarf.attr_string(unit, die.attr_value(gimli::DW_AT_name)?).ok()?;
    reach.spend(name.len())?;
    (name.len() <= LONGEST_NAME).then(|| name.to_string_lossy().into_owned())
}

fn type_of(die: &Die<'_>) -> Option<UnitOffset> {
    match die.attr_value(gimli::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

/// How far the description of a type is followed.
#[derive(Clone, Copy)]
struct Reach<'a> {
    /// How many levels deeper.
    depth: usize,
    /// What is left of [`WORK`], in the whole object.
    left: &'a Cell<u64>,
}

impl Reach<'_> {
    fn deeper(self) -> Option<Self> {
        Some(Self { depth: self.depth.checked_sub(1)?, ..self })
    }

    /// Counts an entry that was read; nothing where that was one too many.
    fn read(self, die: &Die<'_>) -> Option<()> {
        self.spend(1 + die.attrs().len())
    }

    fn spend(self, work: usize) -> Option<()> {
        let left = self.left.get().checked_sub(work as u64);
        self.left.set(left.unwrap_or(0));
        left.map(drop)
    }
}

fn shape(dwarf: &Dwarf<'_>, unit: &Unit<Bytes<'_>>, at: UnitOffset, reach: Reach<'_>) -> Option<Shape> {
    let reach = reach.deeper()?;
    let die = unit.entry(at).ok()?;
    reach.read(&die)?;
    let size = number(&die, gimli::DW_AT_byte_size).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    Some(match die.tag() {
        gimli::DW_TAG_base_type => base(&die, size),
        gimli::DW_TAG_enumeration_type if size <= LARGEST_NUMBER => {
            Shape::Number { size, signed: is_signed(dwarf, unit, &die, reach) }
        }
        gimli::DW_TAG_typedef
        | gimli::DW_TAG_const_type
        | gimli::DW_TAG_volatile_type
        | gimli::DW_TAG_atomic_type => return shape(dwarf, unit, type_of(&die)?, reach),
        gimli::DW_TAG_structure_type => fields(dwarf, unit, at, reach)
            .map_or(Shape::Other { size }, |fields| Shape::Struct { size, fields }),
        gimli::DW_TAG_array_type => {
            let mut shape = shape(dwarf, unit, type_of(&die)?, reach)?;
            for count in dimensions(unit, at, reach)?.into_iter().rev() {
                shape = Shape::Array { element: Box::new(shape), count }.bounded();
            }
            shape
        }
        gimli::DW_TAG_pointer_type => {
            Shape::Other { size: if size == 0 { size_of::<usize>() } else { size } }
        }
        _ => Shape::Other { size },
    })
}

/// Whether the integer behind an enumeration has a sign.
fn is_signed(dwarf: &Dwarf<'_>, unit: &Unit<Bytes<'_>>, die: &Die<'_>, reach: Reach<'_>) -> bool {
    let behind = type_of(die).and_then(|at| shape(dwarf, unit, at, reach));
    matches!(behind, Some(Shape::Number { signed: true, .. }))
}

fn base(die: &Die<'_>, size: usize) -> Shape {
    let Some(AttributeValue::Encoding(encoding)) = die.attr_value(gimli::DW_AT_encoding) else {
        return Shape::Other { size };
    };
    match encoding {
        _ if size > LARGEST_NUMBER => Shape::Other { size },
        gimli::DW_ATE_boolean if size == 1 => Shape::Bool,
        gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Shape::Number { size, signed: true },
        gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char => Shape::Number { size, signed: false },
        _ => Shape::Other { size },
    }
}

fn number(die: &Die<'_>, what: gimli::DwAt) -> Option<u64> {
    die.attr_value(what)?.udata_value()
}

/// Calls `each` with the children of an entry, as long as it gives something; nothing where they were not all read.
fn children<'a>(
    unit: &Unit<Bytes<'a>>,
    at: UnitOffset,
    reach: Reach<'_>,
    mut each: impl FnMut(&Die<'a>) -> Option<()>,
) -> Option<()> {
    let mut entries = unit.entries_at_offset(at).ok()?;
    entries.next_dfs().ok()??;
    while let Some(die) = entries.next_dfs().ok()?.filter(|die| die.depth() > 0) {
        reach.read(die)?;
        if die.depth() == 1 {
            each(die)?;
        }
    }
    Some(())
}

/// The members of a structure; nothing where they have more than [`ELEMENTS`] values.
fn fields(dwarf: &Dwarf<'_>, unit: &Unit<Bytes<'_>>, at: UnitOffset, reach: Reach<'_>) -> Option<Vec<Place>> {
    let mut fields: Vec<Place> = Vec::new();
    let mut left = ELEMENTS;
    children(unit, at, reach, |die| {
        let Some(mut shape) = type_of(die).and_then(|at| shape(dwarf, unit, at, reach)) else {
            return Some(());
        };
        left = left.checked_sub(shape.values())?;
        let mut at = number(die, gimli::DW_AT_data_member_location).unwrap_or(0);
        let Some(name) = name(dwarf, unit, die, reach) else {
            // Members of a nameless structure are called as if they were the outer one's.
            if let Shape::Struct { fields: inner, .. } = shape {
                for field in inner {
                    fields.push(field.moved_to(at.checked_add(field.at)?));
                }
            }
            return Some(());
        };
        if let Some(count) = number(die, gimli::DW_AT_bit_size) {
            let bit = number(die, gimli::DW_AT_data_bit_offset).unwrap_or(0);
            let signed = matches!(shape, Shape::Number { signed: true, .. });
            at = bit / 8;
            shape = Shape::Bits { shift: bit % 8, count: count.min(64), signed };
        }
        fields.push(Place { name, at, shape });
        Some(())
    })?;
    Some(fields)
}

/// How long an array is in each dimension; nothing where it has more of them than types nest.
fn dimensions(unit: &Unit<Bytes<'_>>, at: UnitOffset, reach: Reach<'_>) -> Option<Vec<usize>> {
    let mut counts = Vec::new();
    children(unit, at, reach, |die| {
        if die.tag() == gimli::DW_TAG_subrange_type {
            let last = number(die, gimli::DW_AT_upper_bound);
            let count = number(die, gimli::DW_AT_count).or(last.and_then(|n| n.checked_add(1)));
            let count = count.filter(|n| *n <= ELEMENTS).and_then(|n| usize::try_from(n).ok());
            counts.push(count.unwrap_or(0));
        }
        (counts.len() <= DEPTH).then_some(())
    })?;
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_sign_and_width() {
        let shape = Shape::Number { size: 4, signed: true };
        assert_eq!(shape.read(&(-5_i32).to_ne_bytes()), Value::Number(-5));
        let shape = Shape::Number { size: 8, signed: false };
        assert_eq!(shape.read(&u64::MAX.to_ne_bytes()), Value::Number(u64::MAX.into()));
        assert_eq!(shape.read(&[1, 2]), Value::Other);
        let bits = Shape::Bits { shift: 3, count: 2, signed: false };
        assert_eq!(bits.read(&[0b1_0000]), Value::Number(2));
    }

    #[test]
    fn what_has_too_many_values_is_not_taken_apart() {
        let array = |element, count| Shape::Array { element: Box::new(element), count };
        let byte = || Shape::Number { size: 1, signed: false };
        assert!(matches!(array(byte(), 1 << 16).bounded(), Shape::Array { .. }));
        let square = array(array(byte(), 1 << 10), 1 << 10);
        assert!(matches!(square.bounded(), Shape::Other { size: 1_048_576 }));
        let nothing = Shape::Struct { size: 0, fields: Vec::new() };
        assert!(matches!(array(array(nothing, 1 << 16), 1 << 16).bounded(), Shape::Other { size: 0 }));
        // Unions of arrays: each has room, all together have not.
        let field = || Place { name: String::new(), at: 0, shape: array(byte(), 1 << 12) };
        let fields = (0..32).map(|_| field()).collect();
        assert!(matches!(Shape::Struct { size: 4096, fields }.bounded(), Shape::Other { size: 4096 }));
    }

    #[test]
    fn elements_beyond_every_address_hold_nothing_known() {
        let element = Box::new(Shape::Struct { size: 1 << 62, fields: Vec::new() });
        let Value::Array(values) = (Shape::Array { element, count: 8 }).read(&[1, 2]) else {
            panic!("an array")
        };
        assert_eq!(values.len(), 8);
    }

    #[test]
    fn a_number_is_found_by_its_name_and_written_in_place() {
        let word = Shape::Number { size: 4, signed: false };
        let place = |name: &str, at, shape| Place { name: name.to_owned(), at, shape };
        let ring = Shape::Array { element: Box::new(word.clone()), count: 3 };
        let pair = Shape::Struct { size: 8, fields: vec![place("ups", 4, word.clone())] };
        let rungs = Shape::Array { element: Box::new(pair), count: 2 };
        let fields = vec![place("slot", 0, word), place("ring", 4, ring), place("rungs", 16, rungs)];
        let history = place("history", 8, Shape::Struct { size: 32, fields });
        for (name, index, at) in [("slot", 0, 8), ("ring", 2, 20), ("ups", 1, 36)] {
            let found = history.number(&["other", name], index).unwrap();
            assert_eq!((found.at, found.bytes()), (at, 4), "{name}");
            let mut bytes = [0; 40];
            assert!(found.write(&mut bytes, u32::MAX.into()) && !found.write(&mut bytes, 1 << 32));
            assert_eq!(found.read(&bytes).value, Value::Number(u32::MAX.into()));
            assert_eq!(bytes.iter().filter(|b| **b != 0).count(), 4, "no other byte");
        }
        assert!(history.number(&["slot"], 1).or(history.number(&["ring"], 3)).is_none());
        assert!(!history.write(&mut [0; 40], 0), "no number");
    }

    #[test]
    fn an_object_without_debugging_information_has_no_variables() {
        assert!(Layout::of(b"no object at all").per_cpu.is_empty());
    }
}
