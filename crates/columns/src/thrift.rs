// SPDX-License-Identifier: GPL-2.0-only
//! Thrift's compact protocol, as far as Parquet's metadata needs it.

const INT32: u8 = 5;
const INT64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure being written; fields come in the order of their numbers.
pub(crate) struct Fields<'o> {
    out: &'o mut Vec<u8>,
    last: u8,
}

/// Writes a structure of the fields that `write` gives.
pub(crate) fn structure(out: &mut Vec<u8>, write: impl FnOnce(&mut Fields<'_>)) {
    write(&mut Fields { out, last: 0 });
    out.push(0);
}

pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn zigzag(out: &mut Vec<u8>, value: i64) {
    varint(out, (value << 1 ^ value >> 63).cast_unsigned());
}

impl Fields<'_> {
    fn field(&mut self, number: u8, kind: u8) {
        assert!(number > self.last && number - self.last < 16, "field {number} after {}", self.last);
        self.out.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    pub(crate) fn i8(&mut self, number: u8, value: i8) {
        self.field(number, 3);
        self.out.push(value.cast_unsigned());
    }

    pub(crate) fn flag(&mut self, number: u8, value: bool) {
        self.field(number, if value { 1 } else { 2 });
    }

    pub(crate) fn i32(&mut self, number: u8, value: i32) {
        self.field(number, INT32);
        zigzag(self.out, value.into());
    }

    /// `value` is a size or a number of things.
    pub(crate) fn i64(&mut self, number: u8, value: u64) {
        self.field(number, INT64);
        zigzag(self.out, value.cast_signed());
    }

    pub(crate) fn bytes(&mut self, number: u8, value: &[u8]) {
        self.field(number, BINARY);
        self.blob(value);
    }

    pub(crate) fn structure(&mut self, number: u8, write: impl FnOnce(&mut Fields<'_>)) {
        self.field(number, STRUCT);
        structure(self.out, write);
    }

    pub(crate) fn i32s(&mut self, number: u8, all: &[i32]) {
        self.list(number, INT32, all.len());
        all.iter().for_each(|v| zigzag(self.out, i64::from(*v)));
    }

    pub(crate) fn texts(&mut self, number: u8, all: &[&str]) {
        self.list(number, BINARY, all.len());
        all.iter().for_each(|v| self.blob(v.as_bytes()));
    }

    pub(crate) fn structures<T>(
        &mut self,
        number: u8,
        all: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Fields<'_>, T),
    ) {
        self.list(number, STRUCT, all.len());
        for each in all {
            structure(self.out, |fields| write(fields, each));
        }
    }

    fn list(&mut self, number: u8, kind: u8, len: usize) {
        self.field(number, LIST);
        if len < 15 {
            self.out.push((len as u8) << 4 | kind);
        } else {
            self.out.push(0xf0 | kind);
            varint(self.out, len as u64);
        }
    }

    fn blob(&mut self, value: &[u8]) {
        varint(self.out, value.len() as u64);
        self.out.extend_from_slice(value);
    }
}
