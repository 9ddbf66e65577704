// SPDX-License-Identifier: GPL-2.0-only
//! The protobuf wire format, read in place (protobuf.dev, "Encoding").

/// What stands behind a field's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// Integers, booleans and enumerations; negative ones sign-extended to 64 bits.
    Varint(u64),
    /// Texts, bytes, messages and packed numbers.
    Bytes(&'a [u8]),
    /// Eight or four bytes; nothing that is read here is stored so.
    Fixed,
}

impl<'a> Value<'a> {
    /// The number; 0 where it is something else.
    pub(super) fn number(self) -> u64 {
        if let Value::Varint(n) = self { n } else { 0 }
    }

    /// The bytes; none where it is something else.
    pub(super) fn bytes(self) -> &'a [u8] {
        if let Value::Bytes(bytes) = self { bytes } else { &[] }
    }

    /// The text; empty where it is something else.
    pub(super) fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// Adds the numbers of a repeated field, packed or one by one, to `to`.
    pub(super) fn repeated(self, to: &mut Vec<u64>) {
        match self {
            Value::Varint(n) => to.push(n),
            Value::Bytes(mut bytes) => {
                while let Some(n) = varint(&mut bytes) {
                    to.push(n);
                }
            }
            Value::Fixed => {}
        }
    }
}

/// The fields of a message, one after the other. Ends at the first that is broken.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    broken: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message, broken: false }
    }

    /// What was not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether the message broke off.
    pub(super) fn broken(&self) -> bool {
        self.broken
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let mut rest = self.rest;
        let field = field(&mut rest);
        self.broken = field.is_none();
        self.rest = if self.broken { &[] } else { rest };
        field
    }
}

#[inline]
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u32, Value<'a>)> {
    let (number, wire) = tag(rest)?;
    let value = match wire {
        0 => Value::Varint(varint(rest)?),
        1 => skip(rest, 8)?,
        2 => {
            let len = usize::try_from(varint(rest)?).ok()?;
            let (bytes, behind) = rest.split_at_checked(len)?;
            *rest = behind;
            Value::Bytes(bytes)
        }
        5 => skip(rest, 4)?,
        _ => return None,
    };
    Some((number, value))
}

/// A field's number and its wire type.
#[inline]
pub(super) fn tag(rest: &mut &[u8]) -> Option<(u32, u8)> {
    let tag = u32::try_from(varint(rest)?).ok()?;
    (tag >= 8).then_some((tag >> 3, (tag & 7) as u8))
}

fn skip<'a>(rest: &mut &'a [u8], n: usize) -> Option<Value<'a>> {
    *rest = rest.get(n..)?;
    Some(Value::Fixed)
}

/// A number of seven bits a byte, lowest first; bits beyond 64 are dropped.
#[inline]
pub(super) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let (first, behind) = rest.split_first()?;
    if *first < 0x80 {
        *rest = behind;
        return Some(u64::from(*first));
    }
    let mut value = 0u64;
    for (i, byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i as u32).min(63);
        if *byte < 0x80 {
            *rest = rest.get(i + 1..)?;
            return Some(value);
        }
    }
    None
}
