// SPDX-License-Identifier: GPL-2.0-only
//! The records of a perf.data, one after the other, those inside of compressed records included. Memory: a window of
//! the file and one of what was unpacked.

use std::ops::Range;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::attr::{RECORD_HEAD, u64_at};
use crate::input::Input;
use crate::kernel::bytes::PAD;
use crate::kernel::order::Order;

/// Types of records that matter; others are passed over. Below 64 they are the kernel's, from there perf's.
pub(crate) mod kind {
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const THROTTLE: u32 = 5;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const LOST_SAMPLES: u32 = 13;
    pub(crate) const HEADER_ATTR: u32 = 64;
    pub(crate) const HEADER_TRACING_DATA: u32 = 66;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const ID_INDEX: u32 = 69;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const EVENT_UPDATE: u32 = 78;
    pub(crate) const HEADER_FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    pub(crate) const COMPRESSED2: u32 = 83;
}

/// A record's length has 16 bits.
const LONGEST: usize = 1 << 16;
/// How much of the file is fetched at a time.
const WINDOW: usize = 256 << 10;

/// What comes next in a perf.data.
pub(crate) enum Next<'r> {
    Record(Record<'r>),
    /// The file ends inside of a record, at this byte.
    CutOff {
        at: u64,
    },
    /// Nothing makes sense from this byte on.
    Broken {
        at: u64,
        why: String,
    },
    End,
}

pub(crate) struct Record<'r> {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    /// The record with its header, and [`PAD`] bytes behind it.
    padded: &'r [u8],
    len: usize,
    /// Where in the file it starts, or the compressed record that holds it.
    pub(crate) at: u64,
    /// It was inside of a compressed record.
    pub(crate) packed: bool,
}

impl<'r> Record<'r> {
    pub(crate) fn bytes(&self) -> &'r [u8] {
        self.padded.get(..self.len).unwrap_or_default()
    }

    /// The record from `at` on, and what is behind it.
    #[inline(always)]
    pub(crate) fn padded_from(&self, at: usize) -> &'r [u8] {
        self.padded.get(at..).unwrap_or_default()
    }
}

/// Bytes, of which a part is still to be read; [`PAD`] more can be read behind them.
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// What a buffer begins with.
enum Head {
    Record {
        kind: u32,
        misc: u16,
        len: usize,
    },
    /// More bytes are needed.
    Short,
    /// A length below that of the header.
    Broken(usize),
}

impl Buffer {
    fn new(size: usize) -> Self {
        Self { bytes: vec![0; size + PAD], start: 0, end: 0 }
    }

    fn left(&self) -> usize {
        self.end - self.start
    }

    /// Moves what is left to the front; gives the free bytes behind.
    fn room(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let stop = self.bytes.len() - PAD;
        self.bytes.get_mut(self.end..stop).unwrap_or_default()
    }

    #[inline(always)]
    fn head(&self, order: impl Order) -> Head {
        let there = self.bytes.get(self.start..self.end).unwrap_or_default();
        let Some(&[a, b, c, d, e, f, g, h]) = there.first_chunk::<RECORD_HEAD>() else { return Head::Short };
        let len = usize::from(order.u16([g, h]));
        if len < RECORD_HEAD {
            Head::Broken(len)
        } else if len > there.len() {
            Head::Short
        } else {
            Head::Record { kind: order.u32([a, b, c, d]), misc: order.u16([e, f]), len }
        }
    }

    /// The record of `len` bytes at the start, which is passed over.
    #[inline(always)]
    fn take(&mut self, (kind, misc, len): (u32, u16, usize), at: u64, packed: bool) -> Record<'_> {
        let from = self.start;
        self.start += len;
        let padded = self.bytes.get(from..from + len + PAD).unwrap_or_default();
        Record { kind, misc, padded, len, at, packed }
    }
}

/// Unpacks the stream that runs through all compressed records of a file.
struct Unpacking {
    zstd: Decoder<'static>,
    plain: Buffer,
    /// The compressed record that is being unpacked.
    packed: Vec<u8>,
    done: usize,
    /// There may be more to unpack.
    more: bool,
    /// Where in the file it is.
    at: u64,
}

/// Reads the records of a part of a file.
pub(crate) struct Records<'a, O> {
    order: O,
    input: &'a Input,
    window: Buffer,
    /// Where in the file the window's end is.
    next: u64,
    end: u64,
    unpacking: Option<Box<Unpacking>>,
    /// The compressed stream broke.
    given_up: bool,
}

impl<'a, O: Order> Records<'a, O> {
    pub(crate) fn new(input: &'a Input, order: O, part: Range<u64>) -> Self {
        Self {
            order,
            input,
            window: Buffer::new(WINDOW),
            next: part.start,
            end: part.end.min(input.len()),
            unpacking: None,
            given_up: false,
        }
    }

    /// Where in the file the next record starts.
    fn here(&self) -> u64 {
        self.next - self.window.left() as u64
    }

    /// Passes over `n` bytes behind the last record.
    pub(crate) fn skip(&mut self, n: u64) {
        match usize::try_from(n).ok().filter(|n| *n <= self.window.left()) {
            Some(n) => self.window.start += n,
            None => {
                self.next = self.here().saturating_add(n).min(self.end);
                (self.window.start, self.window.end) = (0, 0);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Next<'_> {
        loop {
            // What was unpacked comes first.
            if let Some(unpacking) = &self.unpacking {
                match unpacking.plain.head(self.order) {
                    Head::Record { kind, misc, len } => {
                        let Some(unpacking) = &mut self.unpacking else { return Next::End };
                        let at = unpacking.at;
                        return Next::Record(unpacking.plain.take((kind, misc, len), at, true));
                    }
                    Head::Broken(len) => {
                        let (at, why) =
                            (unpacking.at, format!("a record of {len} bytes inside of a compressed one"));
                        self.give_up();
                        return Next::Broken { at, why };
                    }
                    Head::Short if unpacking.more => {
                        if let Err(broken) = self.unpack() {
                            return broken;
                        }
                        continue;
                    }
                    Head::Short => {}
                }
            }
            let here = self.here();
            match self.window.head(self.order) {
                Head::Record { kind: kind @ (kind::COMPRESSED | kind::COMPRESSED2), misc, len } => {
                    if let Err(broken) = self.start_unpacking(kind, misc, len, here) {
                        return broken;
                    }
                }
                Head::Record { kind, misc, len } => {
                    return Next::Record(self.window.take((kind, misc, len), here, false));
                }
                Head::Broken(len) => {
                    self.next = self.end;
                    self.window.start = self.window.end;
                    return Next::Broken { at: here, why: format!("a record of {len} bytes") };
                }
                Head::Short if self.next >= self.end => {
                    let inside = self.unpacking.take().is_some_and(|u| u.plain.left() > 0);
                    let cut_off = self.window.left() > 0 || inside;
                    self.window.start = self.window.end;
                    return if cut_off { Next::CutOff { at: self.end } } else { Next::End };
                }
                Head::Short => {
                    if let Err(broken) = self.fill() {
                        return broken;
                    }
                }
            }
        }
    }

    /// Fetches more of the file.
    fn fill(&mut self) -> Result<(), Next<'static>> {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let room = self.window.room();
        let n = room.len().min(left);
        let got = room.get_mut(..n).map_or(Ok(0), |room| self.input.read_at(self.next, room));
        let at = self.next;
        match got {
            Ok(0) => self.end = self.next,
            Ok(got) => {
                self.window.end += got;
                self.next += got as u64;
            }
            Err(e) => {
                self.end = self.next;
                self.window.start = self.window.end;
                return Err(Next::Broken { at, why: e.to_string() });
            }
        }
        Ok(())
    }

    /// Takes a compressed record out of the window.
    #[cold]
    fn start_unpacking(&mut self, kind: u32, misc: u16, len: usize, at: u64) -> Result<(), Next<'static>> {
        if self.given_up {
            self.window.start += len;
            return Ok(());
        }
        let unpacking = match &mut self.unpacking {
            Some(unpacking) => unpacking,
            none => {
                let zstd = match Decoder::new() {
                    Ok(zstd) => zstd,
                    Err(e) => return Err(Next::Broken { at, why: e.to_string() }),
                };
                let plain = Buffer::new(WINDOW + LONGEST);
                none.insert(Box::new(Unpacking { zstd, plain, packed: Vec::new(), done: 0, more: false, at }))
            }
        };
        let record = self.window.take((kind, misc, len), at, false);
        let body = record.bytes().get(RECORD_HEAD..).unwrap_or_default();
        // The newer kind is filled up to a multiple of eight bytes and says how many count.
        let body = if kind == kind::COMPRESSED {
            Some(body)
        } else {
            let n = u64_at(self.order, body, 0).and_then(|n| usize::try_from(n).ok());
            n.and_then(|n| body.get(8..)?.get(..n))
        };
        let Some(body) = body else {
            self.give_up();
            let why = "a compressed record that claims more bytes than it has".to_owned();
            return Err(Next::Broken { at, why });
        };
        unpacking.packed.clear();
        unpacking.packed.extend_from_slice(body);
        (unpacking.done, unpacking.more, unpacking.at) = (0, true, at);
        Ok(())
    }

    /// Unpacks more of the current compressed record.
    fn unpack(&mut self) -> Result<(), Next<'static>> {
        let Some(unpacking) = &mut self.unpacking else { return Ok(()) };
        let Unpacking { zstd, plain, packed, done, more, at } = &mut **unpacking;
        let at = *at;
        let mut from = InBuffer::around(packed);
        from.set_pos(*done);
        let mut to = OutBuffer::around(plain.room());
        let result = zstd.run(&mut from, &mut to);
        let (taken, got, full) = (from.pos() - *done, to.pos(), to.pos() == to.capacity());
        *done += taken;
        plain.end += got;
        // More may wait inside of the decoder where the room did not suffice.
        *more = full || *done < packed.len();
        let why = match result {
            Ok(_) if taken > 0 || got > 0 || !*more => return Ok(()),
            Ok(_) => "zstd: no progress".to_owned(),
            Err(e) => format!("zstd: {e}"),
        };
        self.give_up();
        Err(Next::Broken { at, why })
    }

    /// Leaves out all that is compressed from here on: it cannot be unpacked without what was before.
    #[cold]
    fn give_up(&mut self) {
        self.unpacking = None;
        self.given_up = true;
    }
}
