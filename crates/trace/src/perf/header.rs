// SPDX-License-Identifier: GPL-2.0-only
//! Everything before the first sample: the file's header and its sections, or the records that stand for them in what
//! perf wrote to a pipe. The layout is that of tools/perf/Documentation/perf.data-file-format.txt.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use idlewise_model::{HealthKind, NoteId};

use super::attr::{ATTR_VER0, Attr, Attrs, RECORD_HEAD, u32_at, u64_at};
use super::features::{self, Features};
use super::records::{Next, Record, Records, kind};
use crate::dat;
use crate::error::{CUT_OFF, TraceError};
use crate::input::{Cursor, Input};
use crate::kernel::bytes::Decoders;
use crate::kernel::files::KernelFiles;
use crate::kernel::order::{ByteOrder, Order};
use crate::meta::TraceMeta;

/// The first bytes of a perf.data, written on a little-endian and on a big-endian machine.
pub(crate) const MAGIC: &[u8; 8] = b"PERFILE2";
pub(crate) const MAGIC_BIG: &[u8; 8] = b"2ELIFREP";

/// The length of the header of what was written to a pipe: magic and length.
const PIPE_HEADER: u64 = 16;
/// The length of a file's header.
const FILE_HEADER: u64 = 104;
/// More events than this are no events but damage.
const MAX_ATTRS: usize = 1 << 20;
/// The kernel's own limit is 8192.
pub(crate) const MAX_CPUS: u32 = 16_384;

/// What the headers say.
pub(crate) struct Header {
    pub(crate) meta: TraceMeta,
    pub(crate) order: ByteOrder,
    pub(crate) decoders: Decoders,
    pub(crate) attrs: Attrs,
    /// Which CPU's buffer an id means; sorted.
    pub(crate) buffers: Vec<(u64, u32)>,
    /// Where the records are.
    pub(crate) data: Range<u64>,
}

struct Reader<'a> {
    input: &'a Input,
    order: ByteOrder,
    meta: TraceMeta,
    decoders: Decoders,
    features: Features,
    attrs: Vec<Attr>,
    ids: Vec<(u64, u32)>,
    buffers: Vec<(u64, u32)>,
    /// There are compressed records.
    packed: bool,
    simpleperf: bool,
}

/// A section of the file: where it starts, and its length.
type Section = (u64, u64);

pub(crate) fn read(input: &Input) -> Result<Header, TraceError> {
    let order = if input.bytes(0, 8, "the magic")? == MAGIC_BIG { ByteOrder::Big } else { ByteOrder::Little };
    let mut reader = Reader {
        input,
        order,
        meta: TraceMeta::default(),
        decoders: Decoders::default(),
        features: Features::default(),
        attrs: Vec::new(),
        ids: Vec::new(),
        buffers: Vec::new(),
        packed: false,
        simpleperf: false,
    };
    let mut c = Cursor::file(input, order, MAGIC.len() as u64, "the header");
    let size = c.u64("the size of the header")?;
    let (data, mode) = match size {
        PIPE_HEADER => (PIPE_HEADER..input.len(), "pipe mode"),
        FILE_HEADER.. => (reader.file(&mut c)?, "file mode"),
        _ => return Err(c.expected(format!("a header of 16 or 104 bytes, not {size}"), CUT_OFF)),
    };
    reader.first_records(&data)?;
    reader.finish(data, mode)
}

impl Reader<'_> {
    /// Reads the header of a file and its sections; says where the records are.
    fn file(&mut self, c: &mut Cursor<'_>) -> Result<Range<u64>, TraceError> {
        let attr_size = c.u64("the size of an event's description")?;
        let mut section =
            || Ok::<Section, TraceError>((c.u64("a section's place")?, c.u64("a section's size")?));
        let (attrs, data, _event_types) = (section()?, section()?, section()?);
        let mut words = [0; 4];
        for word in &mut words {
            *word = c.u64("the features")?;
        }
        self.file_attrs(attrs, attr_size)?;
        if data.1 == 0 && data.0 > 0 {
            self.meta.damage(
                HealthKind::Truncated,
                "perf did not finish the file: it has no sections with formats and facts, only records"
                    .to_owned(),
            );
            return Ok(data.0..self.input.len());
        }
        let end = data.0.saturating_add(data.1);
        self.file_features(end, features::bits(words, self.order));
        if end > self.input.len() {
            let at = self.input.len();
            self.meta.damage(
                HealthKind::Truncated,
                format!("the file ends at byte {at}, in the middle of its records"),
            );
        }
        Ok(data.0..end)
    }

    /// Reads the descriptions of events in a file's header.
    fn file_attrs(&mut self, (at, size): Section, attr_size: u64) -> Result<(), TraceError> {
        let bytes = self.input.bytes(at, size, "the descriptions of events")?;
        let each = usize::try_from(attr_size).unwrap_or(0);
        let refuse = |at: u64, expected: String| TraceError::Malformed {
            path: self.input.path().to_path_buf(),
            section: "the descriptions of events",
            offset: at,
            expected,
            advice: CUT_OFF,
        };
        if each < ATTR_VER0 + 16 || bytes.len() / each > MAX_ATTRS {
            return Err(refuse(
                at,
                format!("descriptions of at least 80 bytes, not {size} bytes of {attr_size} each"),
            ));
        }
        let mut found = Vec::new();
        for (i, entry) in bytes.chunks_exact(each).enumerate() {
            let at = at + (i * each) as u64;
            let fits = Attr::parse(self.order, entry).filter(|(_, size)| size + 16 <= each);
            let ids = fits.as_ref().and_then(|(_, size)| {
                Some((u64_at(self.order, entry, *size)?, u64_at(self.order, entry, size + 8)?))
            });
            let (Some((attr, _)), Some(ids)) = (fits, ids) else {
                return Err(refuse(at, "the description of an event and the place of its ids".to_owned()));
            };
            found.push((attr, ids));
        }
        // All ids together are no longer than the file: a place that is used twice is damage.
        let mut left = self.input.len();
        for (attr, (at, size)) in found {
            left = left.saturating_sub(size);
            let ids =
                if left == 0 { Vec::new() } else { self.input.bytes(at, size, "the ids of an event")? };
            self.add(attr, ids.chunks_exact(8));
        }
        Ok(())
    }

    fn add<'i>(&mut self, attr: Attr, ids: impl Iterator<Item = &'i [u8]>) {
        let index = self.attrs.len() as u32;
        self.ids.extend(ids.filter_map(|id| u64_at(self.order, id, 0)).map(|id| (id, index)));
        self.attrs.push(attr);
    }

    /// Reads the sections of a file that are worth it. A broken one is left out: the records may do without.
    fn file_features(&mut self, table: u64, bits: impl Iterator<Item = u32>) {
        let mut c = Cursor::file(self.input, self.order, table, "the table of features");
        for feature in bits {
            let section = c.u64("a feature's place").and_then(|at| Ok((at, c.u64("a feature's size")?)));
            let result = section.and_then(|(at, size)| match feature {
                features::TRACING_DATA => self.tracing_data(at),
                features::SIMPLEPERF.. => {
                    self.simpleperf = true;
                    Ok(())
                }
                feature if features::wanted(feature) => {
                    let bytes = self.input.bytes(at, size, "a feature")?;
                    self.features.learn(feature, self.order, &bytes);
                    Ok(())
                }
                _ => Ok(()),
            });
            if let Err(e) = result {
                self.meta.damage(HealthKind::Truncated, e.to_string());
                if c.left() < 16 {
                    break;
                }
            }
        }
    }

    /// Reads what perf copied from the tracing directory; it has a byte order of its own.
    fn tracing_data(&mut self, at: u64) -> Result<(), TraceError> {
        let mut c = Cursor::file(self.input, self.order, at, "the tracing data");
        if c.take(dat::MAGIC.len() as u64, "the start of the tracing data")? != *dat::MAGIC {
            return Err(c.expected("the start of the tracing data", CUT_OFF));
        }
        let version = c.string("the version of the tracing data")?;
        let (big_endian, long_size) = (c.u8("the byte order")?, c.u8("the size of a long")?);
        let order = if big_endian == 0 { ByteOrder::Little } else { ByteOrder::Big };
        if order != self.order {
            return Err(c.expected("tracing data in the byte order of the file", CUT_OFF));
        }
        c.u32("the page size")?;
        self.meta.long_size = long_size;
        let mut layout = None;
        let mut files =
            KernelFiles { decoders: &mut self.decoders, meta: &mut self.meta, layout: &mut layout };
        files.all(&mut c)?;
        // 0.5 has no names of tasks.
        if version.as_str() >= "0.6" { files.cmdlines(&mut c) } else { Ok(()) }
    }

    /// Reads the records before the first sample: in pipe mode they describe the events, in both modes the CPUs.
    fn first_records(&mut self, data: &Range<u64>) -> Result<(), TraceError> {
        let input = self.input;
        let mut records = Records::new(input, self.order, data.clone());
        loop {
            let Next::Record(record) = records.next() else { return Ok(()) };
            self.packed |= record.packed;
            let skip = match record.kind {
                _ if record.packed => return Ok(()),
                kind::SAMPLE | kind::FINISHED_ROUND => return Ok(()),
                kind::HEADER_ATTR => self.header_attr(&record)?,
                kind::HEADER_FEATURE => {
                    let (feature, bytes) = (u64_at(self.order, record.bytes(), 8), record.bytes().get(16..));
                    if let (Some(feature), Some(bytes)) = (feature.and_then(|f| u32::try_from(f).ok()), bytes)
                    {
                        self.features.learn(feature, self.order, bytes);
                    }
                    0
                }
                kind::EVENT_UPDATE => {
                    self.event_update(record.bytes());
                    0
                }
                kind::ID_INDEX => {
                    self.id_index(record.bytes());
                    0
                }
                kind::HEADER_TRACING_DATA => {
                    let size = u32_at(self.order, record.bytes(), 8).unwrap_or(0);
                    let at = record.at.saturating_add(record.bytes().len() as u64);
                    if let Err(e) = self.tracing_data(at) {
                        self.meta.damage(HealthKind::Truncated, e.to_string());
                    }
                    u64::from(size).next_multiple_of(8)
                }
                kind::AUXTRACE => u64_at(self.order, record.bytes(), 8).unwrap_or(0),
                _ => 0,
            };
            records.skip(skip);
        }
    }

    fn header_attr(&mut self, record: &Record<'_>) -> Result<u64, TraceError> {
        let body = record.bytes().get(RECORD_HEAD..).unwrap_or_default();
        let Some((attr, size)) = Attr::parse(self.order, body).filter(|_| self.attrs.len() < MAX_ATTRS)
        else {
            return Err(TraceError::Malformed {
                path: self.input.path().to_path_buf(),
                section: "the descriptions of events",
                offset: record.at,
                expected: "the description of an event".to_owned(),
                advice: CUT_OFF,
            });
        };
        self.add(attr, body.get(size..).unwrap_or_default().chunks_exact(8));
        Ok(0)
    }

    /// Takes over the name of an event.
    fn event_update(&mut self, record: &[u8]) {
        const NAME: u64 = 2;
        if u64_at(self.order, record, 8) == Some(NAME)
            && let (Some(id), Some(name)) = (u64_at(self.order, record, 16), record.get(24..))
        {
            let name = name.split(|b| *b == 0).next().unwrap_or_default();
            self.features.name(id, String::from_utf8_lossy(name).into_owned());
        }
    }

    /// Learns from the list of ids of which CPUs there are buffers.
    fn id_index(&mut self, record: &[u8]) {
        // Entries of id, number, CPU and task; in a recording of tasks all CPUs are -1.
        for entry in record.get(16..).unwrap_or_default().chunks_exact(32) {
            let cpu = u64_at(self.order, entry, 16).and_then(|cpu| u32::try_from(cpu).ok());
            if let (Some(id), Some(cpu)) = (u64_at(self.order, entry, 0), cpu.filter(|c| *c < MAX_CPUS)) {
                self.buffers.push((id, cpu));
            }
        }
    }

    fn finish(mut self, data: Range<u64>, mode: &str) -> Result<Header, TraceError> {
        let f = &self.features;
        if f.packing.is_some_and(|p| p != features::ZSTD) {
            return Err(TraceError::Unsupported {
                path: self.input.path().to_path_buf(),
                what: "a perf.data compressed with something else than zstd is".to_owned(),
                advice: "record it without -z",
            });
        }
        let packed = if self.packed || f.packing.is_some() { ", zstd" } else { "" };
        let big = if self.order.big() { ", big-endian" } else { "" };
        self.meta.format = format!("perf.data, {mode}{packed}{big}");
        self.meta.kernel = [f.release.as_str(), f.machine.as_str()].join(" ").trim().to_owned();
        self.meta.recorder = if f.version.is_empty() { String::new() } else { format!("perf {}", f.version) };
        let with_buffers: BTreeSet<u32> = self.buffers.iter().map(|(_, cpu)| *cpu).collect();
        self.meta.cpus = if with_buffers.is_empty() {
            (0..f.cpus.min(MAX_CPUS)).collect()
        } else {
            with_buffers.into_iter().collect()
        };
        self.buffers.sort_unstable();
        self.meta.clock = self.clock();
        let described = !self.meta.event_names.is_empty();
        self.name_events();
        self.remarks(described);
        let attrs = Attrs::new(self.attrs, self.ids).ok_or_else(|| TraceError::Unsupported {
            path: self.input.path().to_path_buf(),
            what: "a perf.data whose samples do not say of which event they are is".to_owned(),
            advice: "record all events in one call of a newer perf (3.12 or later)",
        })?;
        Ok(Header {
            meta: self.meta,
            order: self.order,
            decoders: self.decoders,
            attrs,
            buffers: self.buffers,
            data,
        })
    }

    /// The clock of the tracepoints' times, in the words of trace.dat.
    fn clock(&mut self) -> String {
        let all: BTreeSet<Option<i32>> = self.attrs.iter().map(|a| a.clock).collect();
        if all.len() > 1 {
            self.meta.note(
                NoteId::TraceClock,
                "the events were recorded with several clocks: their order is not known",
            );
        }
        // Numbers of clock_gettime(2).
        match all.first().copied().flatten() {
            None => "perf",
            Some(0) => "realtime",
            Some(1) => "mono",
            Some(4) => "mono_raw",
            Some(7) => "boot",
            Some(11) => "tai",
            Some(_) => "unknown",
        }
        .to_owned()
    }

    /// Gives the events that have none a name, and those that are no tracepoints an id.
    fn name_events(&mut self) {
        let first_ids: Vec<_> = {
            let mut seen = BTreeSet::new();
            self.ids.iter().filter(|(_, attr)| seen.insert(*attr)).copied().collect()
        };
        for (id, attr) in first_ids {
            if let Some(attr) = self.attrs.get_mut(attr as usize)
                && let Some(name) = self.features.name_of(id)
            {
                name.clone_into(&mut attr.name);
            }
        }
        let mut free = (0..=u16::MAX).rev();
        let mut others = BTreeMap::<String, u16>::new();
        for (i, attr) in self.attrs.iter_mut().enumerate() {
            if attr.name.is_empty() {
                attr.name = self.features.name_at(i).map_or_else(
                    || format!("event of type {}, config {:#x}", attr.kind, attr.config),
                    str::to_owned,
                );
            }
            if attr.is_tracepoint() {
                if let Ok(id) = u16::try_from(attr.config) {
                    self.meta.event_names.entry(id).or_insert_with(|| attr.name.clone());
                }
                continue;
            }
            attr.other_id = match others.get(&attr.name) {
                Some(id) => *id,
                None => free.find(|id| !self.meta.event_names.contains_key(id)).unwrap_or(u16::MAX),
            };
            others.insert(attr.name.clone(), attr.other_id);
        }
        self.meta.event_names.extend(others.into_iter().map(|(name, id)| (id, name)));
    }

    /// What the user of a result should know.
    fn remarks(&mut self, described: bool) {
        let mut notes = Vec::new();
        let tracepoints = || self.attrs.iter().filter(|a| a.is_tracepoint());
        if self.attrs.is_empty() {
            notes.push(NoteId::UnknownFormat.note("the file describes no events: none can be understood"));
        } else if tracepoints().next().is_none() {
            notes.push(
                NoteId::Reader.note("the file holds no tracepoints, only counters: nothing can be replayed"),
            );
        } else if !described {
            notes.push(
                NoteId::UnknownFormat
                    .note("the file has no formats of its tracepoints: none can be understood"),
            );
        }
        let mut without = |id: NoteId, what: &str, has: fn(&Attr) -> bool| {
            let names: BTreeSet<_> = self.attrs.iter().filter(|a| !has(a)).map(|a| a.name.as_str()).collect();
            if let Some(first) = names.first() {
                let others =
                    if names.len() > 1 { format!(" and {} others", names.len() - 1) } else { String::new() };
                notes.push(id.note(format!("{first}{others}: recorded without {what}")));
            }
        };
        without(NoteId::TraceClock, "times", |a| a.sample.time.is_some());
        without(NoteId::Reader, "CPUs, counted as of CPU 0", |a| a.sample.cpu.is_some());
        if self.simpleperf {
            notes.push(
                NoteId::UnknownFormat.note("recorded by simpleperf, whose own kinds of records are left out"),
            );
        }
        self.meta.notes.append(&mut notes);
    }
}
