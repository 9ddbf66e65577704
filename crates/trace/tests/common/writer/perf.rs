// SPDX-License-Identifier: GPL-2.0-only
//! Writes small perf.data files, byte by byte.

use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};

use super::samples::formats;
use super::{COMMS, Dat, Out, Payload, payload};

/// Bits of `sample_type` as `perf record -a -e TRACEPOINT` sets them.
pub const USUAL: u64 = IDENTIFIER | IP | TID | TIME | CPU | PERIOD | RAW;
pub const IP: u64 = 1 << 0;
pub const TID: u64 = 1 << 1;
pub const TIME: u64 = 1 << 2;
pub const ADDR: u64 = 1 << 3;
pub const READ: u64 = 1 << 4;
pub const CALLCHAIN: u64 = 1 << 5;
pub const ID: u64 = 1 << 6;
pub const CPU: u64 = 1 << 7;
pub const PERIOD: u64 = 1 << 8;
pub const STREAM_ID: u64 = 1 << 9;
pub const RAW: u64 = 1 << 10;
pub const BRANCH_STACK: u64 = 1 << 11;
pub const IDENTIFIER: u64 = 1 << 16;

/// An event that perf was asked to record.
#[derive(Clone)]
pub struct Attr {
    pub kind: u32,
    pub config: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub sample_id_all: bool,
    pub clock: Option<u32>,
    pub ids: Vec<u64>,
    pub name: &'static str,
}

/// A tracepoint with the id of its format and of its buffers.
pub fn tracepoint(config: u64, ids: &[u64]) -> Attr {
    Attr {
        kind: 2,
        config,
        sample_type: USUAL,
        read_format: 4,
        sample_id_all: true,
        clock: Some(1),
        ids: ids.to_vec(),
        name: "",
    }
}

/// What stands in the file.
#[derive(Clone)]
pub enum Entry {
    /// A sample of the event with this id: CPU, time, task, payload.
    Sample(u64, u32, u64, i32, Payload),
    /// Any record: type, flags, bytes behind its header.
    Record(u32, u16, Vec<u8>),
    /// A record with time and CPU of the event with this id at its end.
    Trailed(u32, Vec<u8>, u64, u32, u64),
    /// perf has read all buffers once.
    Round,
    /// Bytes that belong to the record before.
    Behind(Vec<u8>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    No,
    /// `PERF_RECORD_COMPRESSED`.
    Old,
    /// `PERF_RECORD_COMPRESSED2`.
    New,
}

/// A file to be written.
#[derive(Clone)]
pub struct Perf {
    pub pipe: bool,
    pub big_endian: bool,
    pub packed: Packed,
    pub attrs: Vec<Attr>,
    pub entries: Vec<Entry>,
    /// What perf copied from the tracing directory; its `formats` and `printk` count.
    pub files: Dat,
    pub with_tracing_data: bool,
    pub version: &'static str,
    /// Further features.
    pub features: Vec<(u32, Vec<u8>)>,
    /// Bytes of each description of an event.
    pub attr_size: usize,
}

impl Dat {
    /// The tracing data of a perf.data of this version ("0.5" or "0.6").
    pub fn tracing_data(&self, version: &str) -> Vec<u8> {
        let mut out = self.out();
        out.raw(b"\x17\x08\x44tracing");
        out.text(version);
        out.raw(&[self.big_endian.into(), self.long]);
        out.u32(self.page_size as u32);
        out.raw(&self.header_info());
        out.raw(&self.ftrace_events());
        out.raw(&self.event_formats());
        out.raw(&self.sized(&self.kallsyms, false));
        out.raw(&self.sized(&self.printk, false));
        if version != "0.5" {
            out.raw(&self.sized(COMMS, true));
        }
        out.bytes
    }
}

impl Perf {
    pub fn out(&self) -> Out {
        Out::new(self.big_endian)
    }

    fn attr(&self, attr: &Attr) -> Vec<u8> {
        let mut out = self.out();
        out.u32(attr.kind);
        out.u32(self.attr_size as u32);
        out.u64(attr.config);
        out.u64(1);
        out.u64(attr.sample_type);
        out.u64(attr.read_format);
        let flags = u64::from(attr.sample_id_all) << 18 | u64::from(attr.clock.is_some()) << 25;
        // Bit-fields start at the other end in the other byte order.
        out.u64(if self.big_endian { flags.reverse_bits() } else { flags });
        out.bytes.resize(92, 0);
        out.u32(attr.clock.unwrap_or(0));
        out.bytes.resize(self.attr_size, 0);
        out.bytes
    }

    /// Text behind its length, filled up as perf does.
    pub fn string(&self, text: &str) -> Vec<u8> {
        let mut out = self.out();
        out.u32((text.len() + 1).next_multiple_of(64) as u32);
        out.text(text);
        out.bytes.resize(4 + (text.len() + 1).next_multiple_of(64), 0);
        out.bytes
    }

    fn all_features(&self) -> Vec<(u32, Vec<u8>)> {
        let mut all = self.features.clone();
        all.push((3, self.string("host")));
        all.push((4, self.string("6.9.1")));
        all.push((5, self.string("6.9")));
        all.push((6, self.string("x86_64")));
        let mut cpus = self.out();
        cpus.u32(4);
        cpus.u32(4);
        all.push((7, cpus.bytes));
        let mut desc = self.out();
        desc.u32(self.attrs.len() as u32);
        desc.u32(self.attr_size as u32);
        for attr in &self.attrs {
            desc.raw(&self.attr(attr));
            desc.u32(attr.ids.len() as u32);
            desc.raw(&self.string(attr.name));
            attr.ids.iter().for_each(|id| desc.u64(*id));
        }
        all.push((12, desc.bytes));
        if self.packed != Packed::No {
            let mut packed = self.out();
            [1, 1, 1, 10, 4096].iter().for_each(|n| packed.u32(*n));
            all.push((27, packed.bytes));
        }
        if self.with_tracing_data && !self.pipe {
            all.push((
                1,
                Dat { big_endian: self.big_endian, ..self.files.clone() }.tracing_data(self.version),
            ));
        }
        all.sort_by_key(|(id, _)| *id);
        all
    }

    fn record(&self, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut out = self.out();
        out.u32(kind);
        out.u16(misc);
        out.u16((body.len() + 8) as u16);
        out.raw(body);
        out.bytes
    }

    fn attr_of(&self, id: u64) -> &Attr {
        self.attrs.iter().find(|a| a.ids.contains(&id)).unwrap_or(&self.attrs[0])
    }

    fn entry(&self, entry: &Entry) -> Vec<u8> {
        let mut out = self.out();
        match entry {
            Entry::Behind(bytes) => bytes.clone(),
            Entry::Round => self.record(68, 0, &[]),
            Entry::Record(kind, misc, body) => self.record(*kind, *misc, body),
            Entry::Trailed(kind, body, id, cpu, time) => {
                let has = self.attr_of(*id).sample_type;
                out.raw(body);
                let fields: [(u64, u64); 4] = [(TID, 0), (TIME, *time), (ID, *id), (STREAM_ID, *id)];
                fields.iter().filter(|(bit, _)| has & bit != 0).for_each(|(_, value)| out.u64(*value));
                if has & CPU != 0 {
                    out.u32(*cpu);
                    out.u32(0);
                }
                if has & IDENTIFIER != 0 {
                    out.u64(*id);
                }
                self.record(*kind, 0, &out.bytes)
            }
            Entry::Sample(id, cpu, time, tid, payload) => {
                let attr = self.attr_of(*id);
                let has = |bit: u64| attr.sample_type & bit != 0;
                if has(IDENTIFIER) {
                    out.u64(*id);
                }
                if has(IP) {
                    out.u64(0xffff_ffff_8100_0000);
                }
                if has(TID) {
                    out.u32(*tid as u32);
                    out.u32(*tid as u32);
                }
                let fields = [(TIME, *time), (ADDR, 77), (ID, *id), (STREAM_ID, *id)];
                fields.iter().filter(|(bit, _)| has(*bit)).for_each(|(_, value)| out.u64(*value));
                if has(CPU) {
                    out.u32(*cpu);
                    out.u32(0);
                }
                if has(PERIOD) {
                    out.u64(1);
                }
                if has(READ) {
                    self.counters(attr.read_format, &mut out);
                }
                if has(CALLCHAIN) {
                    [3, 1, 2, 3].iter().for_each(|n| out.u64(*n));
                }
                if has(RAW) {
                    let bytes = payload.bytes(self.big_endian);
                    // Length and payload together fill a multiple of eight bytes.
                    let len = (bytes.len() + 4).next_multiple_of(8) - 4;
                    out.u32(len as u32);
                    out.raw(&bytes);
                    out.bytes.resize(out.bytes.len() + len - bytes.len(), 0);
                }
                if has(BRANCH_STACK) {
                    [1, 4, 5, 6].iter().for_each(|n| out.u64(*n));
                }
                self.record(9, 2, &out.bytes)
            }
        }
    }

    /// The values of counters in a sample, of two where they come in groups.
    fn counters(&self, format: u64, out: &mut Out) {
        let has = |bit: u32| format >> bit & 1 == 1;
        let times = [has(0), has(1)].iter().filter(|b| **b).count();
        let each = 1 + usize::from(has(2)) + usize::from(has(4));
        if has(3) {
            out.u64(2);
            (0..times + 2 * each).for_each(|n| out.u64(n as u64));
        } else {
            (0..times + each).for_each(|n| out.u64(n as u64));
        }
    }

    /// The records of the file, compressed as asked; marks stay outside.
    fn data(&self) -> Vec<u8> {
        let mut zstd = Encoder::new(3).unwrap();
        let mut data = Vec::new();
        let parts = self.entries.split_inclusive(|e| matches!(e, Entry::Round));
        for part in parts {
            let (marks, rest): (Vec<_>, Vec<_>) = part.iter().partition(|e| matches!(e, Entry::Round));
            let plain: Vec<u8> = rest.iter().flat_map(|e| self.entry(e)).collect();
            if self.packed == Packed::No {
                data.extend(plain);
            } else {
                // Records are cut anywhere; the compressed stream runs through all of them.
                for piece in plain.chunks(100) {
                    data.extend(self.packed_record(&mut zstd, piece));
                }
            }
            marks.iter().for_each(|m| data.extend(self.entry(m)));
        }
        data
    }

    fn packed_record(&self, zstd: &mut Encoder<'static>, plain: &[u8]) -> Vec<u8> {
        let mut small = vec![0; 4096];
        let mut to = OutBuffer::around(&mut small[..]);
        let mut from = InBuffer::around(plain);
        while from.pos() < plain.len() {
            zstd.run(&mut from, &mut to).unwrap();
        }
        while zstd.flush(&mut to).unwrap() > 0 {}
        let n = to.pos();
        small.truncate(n);
        if self.packed == Packed::Old {
            return self.record(81, 0, &small);
        }
        let mut body = self.out();
        body.u64(n as u64);
        body.raw(&small);
        body.bytes.resize(body.bytes.len().next_multiple_of(8), 0);
        self.record(83, 0, &body.bytes)
    }

    pub fn write(&self) -> Vec<u8> {
        if self.pipe { self.write_pipe() } else { self.write_file() }
    }

    fn magic(&self) -> &'static [u8] {
        if self.big_endian { b"2ELIFREP" } else { b"PERFILE2" }
    }

    fn write_pipe(&self) -> Vec<u8> {
        let mut out = self.out();
        out.raw(self.magic());
        out.u64(16);
        for attr in &self.attrs {
            let mut body = self.out();
            body.raw(&self.attr(attr));
            attr.ids.iter().for_each(|id| body.u64(*id));
            out.raw(&self.record(64, 0, &body.bytes));
        }
        for (feature, bytes) in self.all_features() {
            let mut body = self.out();
            body.u64(feature.into());
            body.raw(&bytes);
            out.raw(&self.record(80, 0, &body.bytes));
        }
        if self.with_tracing_data {
            let mut data =
                Dat { big_endian: self.big_endian, ..self.files.clone() }.tracing_data(self.version);
            data.resize(data.len().next_multiple_of(8), 0);
            let mut body = self.out();
            body.u32(data.len() as u32);
            body.u32(0);
            out.raw(&self.record(66, 0, &body.bytes));
            out.raw(&data);
        }
        out.raw(&self.data());
        out.bytes
    }

    fn write_file(&self) -> Vec<u8> {
        let data = self.data();
        let features = self.all_features();
        let entry = self.attr_size + 16;
        let ids_at = 104 + entry * self.attrs.len();
        let data_at = ids_at + 8 * self.attrs.iter().map(|a| a.ids.len()).sum::<usize>();
        let mut out = self.out();
        out.raw(self.magic());
        let attrs = (104, entry * self.attrs.len());
        for n in [104, entry, attrs.0, attrs.1, data_at, data.len(), 0, 0] {
            out.u64(n as u64);
        }
        let mut words = [0u64; 4];
        features.iter().for_each(|(id, _)| words[*id as usize / 64] |= 1 << (id % 64));
        words.iter().for_each(|w| out.u64(*w));
        let mut at = ids_at;
        for attr in &self.attrs {
            out.raw(&self.attr(attr));
            out.u64(at as u64);
            out.u64(8 * attr.ids.len() as u64);
            at += 8 * attr.ids.len();
        }
        self.attrs.iter().flat_map(|a| &a.ids).for_each(|id| out.u64(*id));
        out.raw(&data);
        let mut at = out.bytes.len() + 16 * features.len();
        for (_, bytes) in &features {
            out.u64(at as u64);
            out.u64(bytes.len() as u64);
            at += bytes.len();
        }
        features.iter().for_each(|(_, bytes)| out.raw(bytes));
        out.bytes
    }
}

/// A recording of two CPUs in two rounds, with a counter, losses and names of tasks; CPU 1 is read before CPU 0.
pub fn small_perf(big_endian: bool) -> Perf {
    let idle = |state: u64, cpu: u64| payload(10, 0, &[(8, 4, state), (12, 4, cpu)]);
    let irq = payload(30, 0, &[(8, 4, 19), (12, 4, 16 | 5 << 16)]).tail(b"eth0\0");
    let switch = payload(20, 7, &[(24, 4, 7), (28, 4, 120), (32, 8, 1), (56, 4, 42), (60, 4, 100)]);
    let cycles = Attr { kind: 0, config: 0, name: "cycles:P", ..tracepoint(0, &[301, 302]) };
    let number = |n: u64| {
        let mut out = Out::new(big_endian);
        out.u64(n);
        out.bytes
    };
    let comm = |pid: u32, name: &[u8]| {
        let mut out = Out::new(big_endian);
        out.u32(pid);
        out.u32(pid);
        out.raw(name);
        out.bytes.resize(out.bytes.len().next_multiple_of(8), 0);
        out.bytes
    };
    let entries = vec![
        Entry::Trailed(3, comm(7, b"seven\0"), 101, 0, 0),
        Entry::Sample(102, 1, 1_100, 0, idle(2, 1)),
        Entry::Sample(302, 1, 1_150, 7, payload(0, 0, &[])),
        Entry::Sample(102, 1, 1_900, 0, idle(0xffff_ffff, 1)),
        Entry::Sample(101, 0, 1_000, 0, idle(1, 0)),
        Entry::Sample(101, 0, 1_900, 0, idle(0xffff_ffff, 0)),
        Entry::Round,
        Entry::Sample(202, 1, 2_500, 7, switch.clone()),
        Entry::Trailed(2, [number(202), number(5)].concat(), 202, 1, 2_700),
        Entry::Sample(202, 1, 2_700, 7, switch),
        Entry::Sample(401, 0, 1_950, 0, irq),
        Entry::Sample(101, 0, 2_000, 0, idle(0, 0)),
        Entry::Round,
        Entry::Sample(101, 0, 2_600, 0, idle(0xffff_ffff, 0)),
        // perf asks for all losses at its end: three more than the kernel told.
        Entry::Trailed(13, number(8), 202, 0, 0),
    ];
    Perf {
        pipe: false,
        big_endian,
        packed: Packed::No,
        attrs: vec![
            tracepoint(10, &[101, 102]),
            tracepoint(20, &[201, 202]),
            cycles,
            tracepoint(30, &[401, 402]),
        ],
        entries,
        files: Dat { formats: formats(8), ..Dat::default() },
        with_tracing_data: true,
        version: "0.6",
        features: Vec::new(),
        attr_size: 128,
    }
}
