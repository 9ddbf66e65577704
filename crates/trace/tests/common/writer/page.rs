// SPDX-License-Identifier: GPL-2.0-only
//! Pages of the ring buffer and the events in them.

use super::Out;

/// The bytes of an event: header, then `(offset, size, value)` of each field, then a text.
#[derive(Clone)]
pub struct Payload {
    fields: Vec<(usize, usize, u64)>,
    tail: Vec<u8>,
}

/// An event of task `pid` with the given fields.
pub fn payload(id: u16, pid: i32, fields: &[(usize, usize, u64)]) -> Payload {
    let common = [(0, 2, id.into()), (2, 2, 0), (4, 4, u64::from(pid as u32))];
    Payload { fields: [&common, fields].concat(), tail: Vec::new() }
}

impl Payload {
    /// Ends with these bytes behind the last field.
    pub fn tail(mut self, tail: &[u8]) -> Self {
        self.tail = tail.to_vec();
        self
    }

    pub fn bytes(&self, big: bool) -> Vec<u8> {
        let end = self.fields.iter().map(|(at, size, _)| at + size).max().unwrap_or(0);
        let mut out = vec![0; end];
        for (at, size, value) in &self.fields {
            let bytes = &mut out[*at..at + size];
            bytes.copy_from_slice(&value.to_le_bytes()[..*size]);
            if big {
                bytes.reverse();
            }
        }
        out.extend(&self.tail);
        out
    }
}

#[derive(Clone)]
enum Entry {
    Event(u32, Payload),
    Extend(u64),
    Stamp(u64),
    Padding(u32, u32),
}

/// One page of the ring buffer.
#[derive(Clone)]
pub struct Page {
    time: u64,
    entries: Vec<Entry>,
    missed: Option<u64>,
}

impl Page {
    pub fn new(time: u64) -> Self {
        Self { time, entries: Vec::new(), missed: None }
    }

    fn with(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }

    /// An event `delta` ns (below 2^27) after the entry before.
    pub fn event(self, delta: u32, payload: &Payload) -> Self {
        self.with(Entry::Event(delta, payload.clone()))
    }

    pub fn extend(self, delta: u64) -> Self {
        self.with(Entry::Extend(delta))
    }

    pub fn stamp(self, time: u64) -> Self {
        self.with(Entry::Stamp(time))
    }

    /// A discarded entry of `body` bytes behind its length word.
    pub fn padding(self, delta: u32, body: u32) -> Self {
        self.with(Entry::Padding(delta, body))
    }

    /// Events were lost before this page; `u64::MAX` for "nobody knows how many".
    pub fn missed(mut self, count: u64) -> Self {
        self.missed = Some(count);
        self
    }

    /// The page as the kernel of a machine of this byte order and size of `long` writes it.
    pub fn bytes(&self, page_size: usize, long: u8, big: bool) -> Vec<u8> {
        let mut data = Out::new(big);
        for entry in &self.entries {
            data.entry(entry);
        }
        let data = data.bytes;
        let mut flags = 0u32;
        if let Some(count) = self.missed {
            flags |= 1 << 31 | if count == u64::MAX { 0 } else { 1 << 30 };
        }
        let mut out = Out::new(big);
        out.u64(self.time);
        out.long((flags | data.len() as u32).into(), long);
        out.raw(&data);
        if let Some(count) = self.missed.filter(|c| *c != u64::MAX) {
            out.long(count, long);
        }
        assert!(out.bytes.len() <= page_size, "the page is too full");
        out.bytes.resize(page_size, 0);
        out.bytes
    }
}

impl Out {
    /// The first word of an entry: two bit-fields, of five and 27 bits.
    fn head(&mut self, kind: u32, delta: u32) {
        self.u32(if self.big { kind << 27 | delta } else { kind | delta << 5 });
    }

    fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Event(delta, payload) => {
                let bytes = payload.bytes(self.big);
                let words = bytes.len().div_ceil(4) as u32;
                if (1..=28).contains(&words) {
                    self.head(words, *delta);
                } else {
                    self.head(0, *delta);
                    self.u32(bytes.len() as u32 + 4);
                }
                self.raw(&bytes);
                self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
            }
            Entry::Extend(delta) => {
                self.head(30, *delta as u32 & 0x7ff_ffff);
                self.u32((delta >> 27) as u32);
            }
            Entry::Stamp(time) => {
                self.head(31, *time as u32 & 0x7ff_ffff);
                self.u32((time >> 27) as u32);
            }
            Entry::Padding(delta, body) => {
                self.head(29, *delta);
                self.u32(body + 4);
                self.bytes.resize(self.bytes.len() + *body as usize, 0xa5);
            }
        }
    }
}
