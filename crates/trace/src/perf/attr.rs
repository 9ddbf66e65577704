// SPDX-License-Identifier: GPL-2.0-only
//! What perf was asked to record (`perf_event_attr`), and what follows from it: where a sample keeps its time, CPU, task
//! and payload. Numbers and order of the fields: perf_event_open(2), include/uapi/linux/perf_event.h.

use crate::input::text;
use crate::kernel::order::Order;

/// The first version of the structure has so many bytes; no version is shorter.
pub(crate) const ATTR_VER0: usize = 64;

/// `perf_event_attr.type` of the events that have a payload described by a format file.
const TRACEPOINT: u32 = 2;

/// Bits of `sample_type`.
const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;

/// Bits of `read_format`.
const TOTAL_TIME_ENABLED: u64 = 1 << 0;
const TOTAL_TIME_RUNNING: u64 = 1 << 1;
const FORMAT_ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const FORMAT_LOST: u64 = 1 << 4;

/// Flags, counted from the first declared.
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;

/// The header of a record: type, flags, length.
pub(crate) const RECORD_HEAD: usize = 8;

/// The number at a place in the bytes of a record.
#[inline(always)]
pub(crate) fn u32_at(order: impl Order, data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk::<4>().map(|b| order.u32(*b))
}

/// The number at a place in the bytes of a record.
#[inline(always)]
pub(crate) fn u64_at(order: impl Order, data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk::<8>().map(|b| order.u64(*b))
}

/// The text of a string as perf stores it: its length, then the string, filled up with zero bytes.
pub(crate) fn string(order: impl Order, bytes: &[u8]) -> Option<(String, &[u8])> {
    let n = u32_at(order, bytes, 0)? as usize;
    let rest = bytes.get(4..)?;
    Some((text(rest.get(..n)?), rest.get(n..)?))
}

/// One of the events that perf was asked to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attr {
    /// `perf_event_attr.type`.
    pub(crate) kind: u32,
    /// Of a tracepoint: its id.
    pub(crate) config: u64,
    /// The clock of the times, where it is not perf's own.
    pub(crate) clock: Option<i32>,
    pub(crate) sample: SampleShape,
    /// `None`: records other than samples end without time and CPU.
    pub(crate) trail: Option<Trail>,
    /// What perf calls the event; empty if the file does not tell.
    pub(crate) name: String,
    /// The event's id in what the reader gives out, if it is no tracepoint.
    pub(crate) other_id: u16,
}

impl Attr {
    /// Reads the structure; says how long it claims to be. `None` if that cannot be.
    pub(crate) fn parse(order: impl Order, bytes: &[u8]) -> Option<(Self, usize)> {
        let size = match u32_at(order, bytes, 4)? as usize {
            0 => ATTR_VER0,
            size => size,
        };
        let bytes = bytes.get(..size).filter(|b| b.len() >= ATTR_VER0)?;
        let (sample_type, read_format) = (u64_at(order, bytes, 24)?, u64_at(order, bytes, 32)?);
        let flags = u64_at(order, bytes, 40)?;
        // Bit-fields start at the other end in the other byte order.
        let flags = if order.big() { flags.reverse_bits() } else { flags };
        let clock = u32_at(order, bytes, 92).filter(|_| flags & USE_CLOCKID != 0).map(|c| c as i32);
        let attr = Self {
            kind: u32_at(order, bytes, 0)?,
            config: u64_at(order, bytes, 8)?,
            clock,
            sample: SampleShape::new(sample_type, read_format),
            trail: (flags & SAMPLE_ID_ALL != 0).then(|| Trail::new(sample_type)),
            name: String::new(),
            other_id: 0,
        };
        Some((attr, size))
    }

    pub(crate) fn is_tracepoint(&self) -> bool {
        self.kind == TRACEPOINT
    }
}

/// Where a sample keeps what is read of it, as places counted from the start of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleShape {
    pub(crate) id: Option<u8>,
    tid: Option<u8>,
    pub(crate) time: Option<u8>,
    pub(crate) cpu: Option<u8>,
    /// Where the parts of fixed size end.
    fixed: u8,
    /// The values of counters follow, in this format.
    read: Option<u64>,
    callchain: bool,
    raw: bool,
}

/// What is read of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) time: u64,
    pub(crate) cpu: u32,
    pub(crate) tid: i32,
    /// Where the payload starts in the record, and its length.
    pub(crate) raw: Option<(usize, usize)>,
}

impl SampleShape {
    fn new(sample_type: u64, read_format: u64) -> Self {
        let mut at = RECORD_HEAD as u8;
        let mut place = |bit: u64| {
            let here = (sample_type & bit != 0).then_some(at);
            at += if here.is_some() { 8 } else { 0 };
            here
        };
        let identifier = place(IDENTIFIER);
        place(IP);
        let tid = place(TID).map(|at| at + 4);
        let time = place(TIME);
        place(ADDR);
        let id = place(ID);
        place(STREAM_ID);
        let cpu = place(CPU);
        place(PERIOD);
        Self {
            id: identifier.or(id),
            tid,
            time,
            cpu,
            fixed: at,
            read: (sample_type & READ != 0).then_some(read_format),
            callchain: sample_type & CALLCHAIN != 0,
            raw: sample_type & RAW != 0,
        }
    }

    /// Whether samples say when and where they were taken.
    pub(crate) fn is_placed(&self) -> bool {
        self.time.is_some() && self.cpu.is_some()
    }

    /// Reads the sample `record`; `None` if it is too short for what it should hold.
    #[inline(always)]
    pub(crate) fn read(&self, order: impl Order, record: &[u8]) -> Option<Sample> {
        if record.len() < usize::from(self.fixed) {
            return None;
        }
        let mut sample = Sample::default();
        if let Some(at) = self.time {
            sample.time = u64_at(order, record, at.into())?;
        }
        if let Some(at) = self.cpu {
            sample.cpu = u32_at(order, record, at.into())?;
        }
        if let Some(at) = self.tid {
            sample.tid = u32_at(order, record, at.into())? as i32;
        }
        if self.raw {
            let at = self.raw_at(order, record)?;
            let len = u32_at(order, record, at)? as usize;
            let start = at + 4;
            record.get(start..)?.get(..len)?;
            sample.raw = Some((start, len));
        }
        Some(sample)
    }

    /// Where the payload with its length before it lies.
    #[inline(always)]
    fn raw_at(&self, order: impl Order, record: &[u8]) -> Option<usize> {
        let mut at = usize::from(self.fixed);
        let list = |at: usize, head: usize, each: usize| {
            let n = usize::try_from(u64_at(order, record, at)?).ok()?;
            at.checked_add(n.checked_mul(each)?)?.checked_add(head)
        };
        if let Some(format) = self.read {
            let words = |bits: u64| (format & bits).count_ones() as usize;
            let times = words(TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING);
            let value = 1 + words(FORMAT_ID | FORMAT_LOST);
            at = if format & GROUP == 0 {
                at + 8 * (value + times)
            } else {
                list(at, 8 * (1 + times), 8 * value)?
            };
        }
        if self.callchain {
            at = list(at, 8, 8)?;
        }
        Some(at)
    }
}

/// What stands at the end of records other than samples, as places counted from the record's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trail {
    id: Option<u8>,
    time: Option<u8>,
    cpu: Option<u8>,
    /// Bytes of all of it.
    len: u8,
}

impl Trail {
    fn new(sample_type: u64) -> Self {
        let mut back = 0;
        let mut place = |bit: u64| {
            back += if sample_type & bit != 0 { 8 } else { 0 };
            (sample_type & bit != 0).then_some(back)
        };
        let identifier = place(IDENTIFIER);
        let cpu = place(CPU);
        place(STREAM_ID);
        let id = place(ID);
        let time = place(TIME);
        place(TID);
        Self { id: identifier.or(id), time, cpu, len: back }
    }

    pub(crate) fn len(self) -> usize {
        self.len.into()
    }

    pub(crate) fn id(self, order: impl Order, record: &[u8]) -> Option<u64> {
        u64_at(order, record, record.len().checked_sub(self.id?.into())?)
    }

    pub(crate) fn time(self, order: impl Order, record: &[u8]) -> Option<u64> {
        u64_at(order, record, record.len().checked_sub(self.time?.into())?)
    }

    pub(crate) fn cpu(self, order: impl Order, record: &[u8]) -> Option<u32> {
        u32_at(order, record, record.len().checked_sub(self.cpu?.into())?)
    }
}

/// The events that perf was asked to record, and how to tell of which one a record is.
#[derive(Debug, Default)]
pub(crate) struct Attrs {
    all: Vec<Attr>,
    /// Which of them an id in a record means; sorted.
    ids: Vec<(u64, u32)>,
    /// Where every sample has that id; `None` if all samples are alike and need none.
    id_at: Option<u8>,
}

impl Attrs {
    /// `None` if samples of different shapes cannot be distinguished.
    pub(crate) fn new(all: Vec<Attr>, mut ids: Vec<(u64, u32)>) -> Option<Self> {
        ids.sort_unstable();
        ids.dedup_by_key(|(id, _)| *id);
        let first = all.first().map(|a| a.sample);
        let id_at = first.and_then(|f| f.id).filter(|at| all.iter().all(|a| a.sample.id == Some(*at)));
        let several = all.len() > 1;
        if several && id_at.is_none() && all.iter().any(|a| Some(a.sample) != first) {
            return None;
        }
        Some(Self { all, ids, id_at: id_at.filter(|_| several) })
    }

    pub(crate) fn with_id(&self, id: u64) -> Option<&Attr> {
        let at = self.ids.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.all.get(self.ids.get(at)?.1 as usize)
    }

    /// The event of a sample.
    #[inline(always)]
    pub(crate) fn of_sample(&self, order: impl Order, record: &[u8]) -> Option<&Attr> {
        match self.id_at {
            None => self.all.first(),
            Some(at) => self.with_id(u64_at(order, record, at.into())?),
        }
    }

    /// What stands at the end of a record that is no sample.
    pub(crate) fn trail(&self, order: impl Order, record: &[u8]) -> Option<Trail> {
        // With several kinds of samples the id has the same place in all, and so it has in the ends of records.
        let first = self.all.first()?.trail?;
        let own = first.id(order, record).and_then(|id| self.with_id(id)).and_then(|a| a.trail);
        Some(own.unwrap_or(first))
    }
}
