// SPDX-License-Identifier: GPL-2.0-only
//! `FlatBuffers`, as far as Arrow's metadata needs them: <https://flatbuffers.dev/internals/>.
//!
//! A buffer is written from its end to its start: what is referred to is there before what refers to it.

/// A buffer being written, its bytes in reverse.
#[derive(Default)]
pub(crate) struct Flat {
    reversed: Vec<u8>,
}

/// Something in the buffer, by its distance from the end.
#[derive(Clone, Copy)]
pub(crate) struct Place(usize);

/// A field of a table.
#[derive(Clone, Copy)]
pub(crate) enum Field {
    U8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    To(Place),
}

/// What any value is aligned to at most.
const WIDEST: usize = 8;

impl Flat {
    fn prepend(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    /// Makes the start of the next `len` bytes a multiple of `size` away from the end.
    fn align(&mut self, size: usize, len: usize) {
        let at = self.reversed.len();
        self.reversed.resize((at + len).next_multiple_of(size) - len, 0);
    }

    fn here(&self) -> Place {
        Place(self.reversed.len())
    }

    fn prepend_reference(&mut self, to: Place) {
        self.align(4, 4);
        let distance = self.reversed.len() + 4 - to.0;
        self.prepend(&(distance as u32).to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) -> Place {
        self.align(4, text.len() + 1);
        self.prepend(&[0]);
        self.prepend(text.as_bytes());
        self.prepend(&(text.len() as u32).to_le_bytes());
        self.here()
    }

    pub(crate) fn references(&mut self, to: &[Place]) -> Place {
        self.align(4, 0);
        to.iter().rev().for_each(|place| self.prepend_reference(*place));
        self.prepend(&(to.len() as u32).to_le_bytes());
        self.here()
    }

    /// Structures of whole numbers of 64 bits, one after the other.
    pub(crate) fn structures<const N: usize>(&mut self, all: &[[i64; N]]) -> Place {
        self.align(WIDEST, 0);
        all.as_flattened().iter().rev().for_each(|v| self.prepend(&v.to_le_bytes()));
        self.prepend(&(all.len() as u32).to_le_bytes());
        self.here()
    }

    /// A table of fields, each with its number.
    pub(crate) fn table(&mut self, fields: &[(usize, Field)]) -> Place {
        let slots = fields.iter().map(|(n, _)| n + 1).max().unwrap_or(0);
        let before = self.reversed.len();
        let mut places = vec![None; slots];
        for (number, field) in fields {
            match *field {
                Field::U8(v) => self.prepend(&[v]),
                Field::I16(v) => self.number(&v.to_le_bytes()),
                Field::I32(v) => self.number(&v.to_le_bytes()),
                Field::I64(v) => self.number(&v.to_le_bytes()),
                Field::To(place) => self.prepend_reference(place),
            }
            places[*number] = Some(self.here());
        }
        // In front of a table is the list of where its fields are, which it refers to by how long that is.
        let list = 4 + 2 * slots;
        self.number(&(list as i32).to_le_bytes());
        let table = self.here();
        let distance = |place: &Option<Place>| place.map_or(0, |p| (table.0 - p.0) as u16);
        places.iter().rev().for_each(|p| self.prepend(&distance(p).to_le_bytes()));
        self.prepend(&((table.0 - before) as u16).to_le_bytes());
        self.prepend(&(list as u16).to_le_bytes());
        table
    }

    fn number(&mut self, bytes: &[u8]) {
        self.align(bytes.len(), bytes.len());
        self.prepend(bytes);
    }

    /// The buffer, whose length is a multiple of 8.
    pub(crate) fn end(mut self, root: Place) -> Vec<u8> {
        self.align(WIDEST, 4);
        self.prepend_reference(root);
        self.reversed.reverse();
        self.reversed
    }
}
