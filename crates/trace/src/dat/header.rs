// SPDX-License-Identifier: GPL-2.0-only
//! Everything before the pages: version, sections, formats, options.

use std::collections::BTreeSet;

use idlewise_model::HealthKind;

use super::options::{self, Facts};
use super::unpack::{Limit, Packing, Unpacker};
use super::window::Region;
use super::{Data, MAGIC};
use crate::error::{CUT_OFF, TraceError};
use crate::input::{Cursor, Input, text};
use crate::kernel::bytes::Decoders;
use crate::kernel::format::PageLayout;
use crate::kernel::order::{ByteOrder, Order};
use crate::meta::TraceMeta;
use crate::symbols::Symbols;

/// No page of a ring buffer is larger: the kernel counts what is written to one in 20 bits.
const MAX_PAGE: u32 = 1 << 20;
/// No section but the pages is larger, unpacked.
const MAX_SECTION: usize = 256 << 20;
const SECTION_LIMIT: Limit = Limit { most: MAX_SECTION, granted: 1 << 20 };
/// The kernel's own limit is 8192.
const MAX_CPUS: u32 = 16_384;
/// A chain of option sections that is longer goes in circles.
const MAX_SECTIONS: usize = 10_000;

/// What the headers say.
pub(crate) struct Header {
    pub(crate) meta: TraceMeta,
    pub(crate) order: ByteOrder,
    pub(crate) decoders: Decoders,
    pub(crate) data: Data,
}

struct Reader<'a> {
    input: &'a Input,
    meta: TraceMeta,
    order: ByteOrder,
    decoders: Decoders,
    facts: Facts,
    layout: Option<PageLayout>,
    page_size: u32,
    packing: Packing,
    /// How the pages are packed: in version 7 the buffer's section has a flag of its own.
    page_packing: Packing,
    regions: Vec<Region>,
    unpacker: Unpacker,
}

pub(crate) fn read(input: &Input) -> Result<Header, TraceError> {
    let mut c = Cursor::file(input, ByteOrder::Little, MAGIC.len() as u64, "the initial format");
    let version = c.string("the version")?;
    let big_endian = c.u8("the byte order")?;
    let long_size = c.u8("the size of a long")?;
    let unsupported =
        |what: String, advice| TraceError::Unsupported { path: input.path().to_path_buf(), what, advice };
    if !matches!(version.as_str(), "6" | "7") {
        let advice = "versions 6 and 7 are; `trace-cmd convert --file-version 7` may help";
        return Err(unsupported(format!("version {version:?} of trace.dat is"), advice));
    }
    match big_endian {
        0 => {}
        1 => c.order = ByteOrder::Big,
        _ => return Err(c.expected(format!("a byte order of 0 or 1, not {big_endian}"), CUT_OFF)),
    }
    if !matches!(long_size, 4 | 8) {
        return Err(c.expected(format!("a long of 4 or 8 bytes, not {long_size}"), CUT_OFF));
    }
    let page_size = c.u32("the page size")?;
    let meta =
        TraceMeta { long_size, format: format!("trace.dat version {version}"), ..TraceMeta::default() };
    let mut reader = Reader {
        input,
        meta,
        order: c.order,
        decoders: Decoders::default(),
        facts: Facts::default(),
        layout: None,
        page_size,
        packing: Packing::None,
        page_packing: Packing::None,
        regions: Vec::new(),
        unpacker: Unpacker::default(),
    };
    if version == "6" {
        reader.version_6(&mut c)?
    } else {
        reader.version_7(&mut c)?
    }
    if reader.order == ByteOrder::Big {
        reader.meta.format += ", big-endian";
    }
    reader.finish(&c)
}

impl Reader<'_> {
    fn version_6(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        self.header_info(c)?;
        self.ftrace_events(c)?;
        self.event_formats(c)?;
        c.enter("the kernel's symbols");
        let n = c.u32("the size of the symbols")?;
        self.meta.symbols = Symbols::new(c.take(n.into(), "the kernel's symbols")?);
        c.enter("the printk formats");
        let n = c.u32("the size of the printk formats")?;
        self.decoders.learn_texts(&text(&c.take(n.into(), "the printk formats")?));
        self.cmdlines(c)?;
        c.enter("the rest of the header");
        let cpus = c.u32("the number of CPUs")?;
        if cpus > MAX_CPUS {
            return Err(c.expected(format!("at most {MAX_CPUS} CPUs, not {cpus}"), CUT_OFF));
        }
        let mut kind = c.take(10, "what follows")?;
        if kind == *b"options  \0" {
            loop {
                let id = c.u16("an option's id")?;
                if id == options::DONE {
                    break;
                }
                let n = c.u32("an option's size")?;
                let bytes = c.take(n.into(), "an option")?;
                if id == options::BUFFER {
                    self.other_instance(text(bytes.get(8..).unwrap_or_default()));
                } else {
                    options::apply(self.order, id, &bytes, &mut self.meta, &mut self.facts);
                }
            }
            kind = c.take(10, "what follows the options")?;
        }
        if kind == *b"latency  \0" {
            return Err(self.latency());
        }
        if kind != *b"flyrecord\0" {
            return Err(c.expected("the word \"flyrecord\", \"latency\" or \"options\"", CUT_OFF));
        }
        c.enter("the table of CPUs");
        for cpu in 0..cpus {
            let (offset, size) = (c.u64("where a CPU's data is")?, c.u64("the size of a CPU's data")?);
            self.regions.push(Region { cpu, offset, size });
        }
        if self.facts.clock_follows && c.left() > 8 {
            let n = c.u64("the size of the clock's name")?;
            self.meta.clock = options::selected_clock(&text(&c.take(n.min(4096), "the clock's name")?));
        }
        Ok(())
    }

    fn version_7(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        let name = c.string("the name of the compression")?;
        c.string("the version of the compression")?;
        self.packing = Packing::named(&name).ok_or_else(|| TraceError::Unsupported {
            path: self.input.path().to_path_buf(),
            what: format!("compression with {name:?} is"),
            advice: "`trace-cmd convert --compression zstd` may help",
        })?;
        self.meta.format = format!("{}, {}", self.meta.format, self.packing.name());
        let mut next = c.u64("where the options are")?;
        if next == 0 {
            return Err(c.expected("the place of the options, which was never written", CUT_OFF));
        }
        let mut seen = BTreeSet::new();
        while next != 0 {
            if !seen.insert(next) || seen.len() > MAX_SECTIONS {
                self.damage(HealthKind::Ignored, format!("options that lead in a circle, at byte {next}"));
                break;
            }
            let at = next;
            match self.section(at, 0, "the options") {
                Ok(bytes) => next = self.options_7(&bytes)?,
                Err(e) if seen.len() == 1 => return Err(e),
                Err(e) => {
                    self.damage(HealthKind::Truncated, e.to_string());
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads the options of one section; says where the next one is, 0 if there is none.
    fn options_7(&mut self, bytes: &[u8]) -> Result<u64, TraceError> {
        let mut c = Cursor::memory(self.input, self.order, bytes, "the options");
        while c.left() >= 6 {
            let (id, n) = (c.u16("an option's id")?, c.u32("an option's size")?);
            if u64::from(n) > c.left() {
                self.damage(HealthKind::Truncated, format!("option {id}, which claims {n} bytes"));
                break;
            }
            let option = c.take(n.into(), "an option")?;
            let at = option.first_chunk::<8>().map(|b| self.order.u64(*b));
            match (id, at) {
                (options::DONE, at) => return Ok(at.unwrap_or(0)),
                (options::BUFFER, _) => self.buffer_7(&option),
                (options::BUFFER_TEXT, _) => {
                    self.damage(HealthKind::Ignored, "a latency trace, which is text".to_owned());
                }
                (options::HEADER_INFO..=options::CMDLINES, Some(at)) => self.named_section(id, at),
                _ => options::apply(self.order, id, &option, &mut self.meta, &mut self.facts),
            }
        }
        Ok(0)
    }

    /// Reads a section that an option points to. A broken one is left out: the rest of the file may do.
    fn named_section(&mut self, id: u16, at: u64) {
        let name = match id {
            options::HEADER_INFO => "the header info",
            options::FTRACE_EVENTS => "the ftrace event formats",
            options::EVENT_FORMATS => "the event formats",
            options::KALLSYMS => "the kernel's symbols",
            options::PRINTK => "the printk formats",
            _ => "the names of tasks",
        };
        let result = self.section(at, id, name).and_then(|bytes| {
            let mut c = Cursor::memory(self.input, self.order, &bytes, name);
            match id {
                options::HEADER_INFO => self.header_info(&mut c)?,
                options::FTRACE_EVENTS => self.ftrace_events(&mut c)?,
                options::EVENT_FORMATS => self.event_formats(&mut c)?,
                options::KALLSYMS => {
                    let n = c.u32("the size of the symbols")?;
                    self.meta.symbols = Symbols::new(c.take(n.into(), name)?);
                }
                options::PRINTK => {
                    let n = c.u32("the size of the printk formats")?;
                    self.decoders.learn_texts(&text(&c.take(n.into(), name)?));
                }
                _ => self.cmdlines(&mut c)?,
            }
            Ok(())
        });
        if let Err(e) = result {
            self.damage(HealthKind::Truncated, e.to_string());
        }
    }

    /// The unpacked bytes of the section at `at`, which should have the id `id`.
    fn section(&mut self, at: u64, id: u16, name: &'static str) -> Result<Vec<u8>, TraceError> {
        let mut c = Cursor::file(self.input, self.order, at, name);
        let found = c.u16("a section's id")?;
        if found != id {
            return Err(c.expected(format!("section {id}, not {found}"), CUT_OFF));
        }
        let flags = c.u16("a section's flags")?;
        c.u32("a section's description")?;
        let size = c.u64("a section's size")?;
        if size > MAX_SECTION as u64 {
            return Err(c.expected(format!("a section of at most {MAX_SECTION} bytes, not {size}"), CUT_OFF));
        }
        if flags & 1 == 0 || self.packing == Packing::None {
            return c.take(size, name);
        }
        let (packed, claimed) = (c.u32("the packed size")?, c.u32("the unpacked size")?);
        let bytes = c.take(packed.into(), name)?;
        let mut out = Vec::new();
        self.unpacker
            .unpack(self.packing, &bytes, claimed as usize, SECTION_LIMIT, &mut out)
            .map_err(|why| c.expected(format!("a packed section that can be unpacked ({why})"), CUT_OFF))?;
        Ok(out)
    }

    fn header_info(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        c.enter("the header info");
        if c.take(12, "the word header_page")? != *b"header_page\0" {
            return Err(c.expected("the word header_page", CUT_OFF));
        }
        let n = c.u64("the size of the page header")?;
        let page = c.take(n, "the page header")?;
        if c.take(13, "the word header_event")? != *b"header_event\0" {
            return Err(c.expected("the word header_event", CUT_OFF));
        }
        let n = c.u64("the size of the event header")?;
        c.take(n, "the event header")?;
        self.layout = PageLayout::parse(&text(&page));
        if self.layout.is_none() && !page.is_empty() {
            self.meta
                .notes
                .push("the description of the page header makes no sense; the usual one is used".into());
        }
        Ok(())
    }

    fn ftrace_events(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        c.enter("the ftrace event formats");
        let n = c.u32("the number of formats")?;
        for _ in 0..n {
            self.format("ftrace", c)?;
        }
        Ok(())
    }

    fn event_formats(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        c.enter("the event formats");
        let systems = c.u32("the number of event systems")?;
        for _ in 0..systems {
            let system = c.string("the name of an event system")?;
            let n = c.u32("the number of formats")?;
            for _ in 0..n {
                self.format(&system, c)?;
            }
        }
        Ok(())
    }

    fn format(&mut self, system: &str, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        let n = c.u64("the size of a format")?;
        let bytes = c.take(n, "a format")?;
        if !self.decoders.learn(system, &String::from_utf8_lossy(&bytes), &mut self.meta) {
            self.damage(HealthKind::UnknownEvent, format!("a format of {system} without name or id"));
        }
        Ok(())
    }

    fn cmdlines(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        c.enter("the names of tasks");
        let n = c.u64("the size of the names of tasks")?;
        for line in text(&c.take(n, "the names of tasks")?).lines() {
            if let Some((pid, comm)) = line.trim_start().split_once(' ')
                && let Ok(pid) = pid.parse()
            {
                self.meta.comms.insert(pid, comm.to_owned());
            }
        }
        Ok(())
    }

    /// The buffer of one trace instance; the top one, without a name, is the trace.
    fn buffer_7(&mut self, option: &[u8]) {
        let mut c = Cursor::memory(self.input, self.order, option, "the description of a buffer");
        if let Err(e) = self.buffer_fields(&mut c) {
            self.damage(HealthKind::Truncated, e.to_string());
        }
    }

    fn buffer_fields(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        let section = c.u64("where a buffer's section is")?;
        let name = c.string("the name of an instance")?;
        let clock = c.string("the name of a clock")?;
        let page_size = c.u32("the size of a page")?;
        let cpus = c.u32("the number of CPUs")?;
        if !name.is_empty() || !self.regions.is_empty() {
            self.other_instance(name);
            return Ok(());
        }
        if cpus > MAX_CPUS {
            return Err(c.expected(format!("at most {MAX_CPUS} CPUs, not {cpus}"), CUT_OFF));
        }
        if !clock.is_empty() {
            self.meta.clock = options::selected_clock(&clock);
        }
        if page_size != 0 {
            self.page_size = page_size;
        }
        // The section's flag says whether this buffer is packed; files without data have no section.
        let mut head = Cursor::file(self.input, self.order, section, "a buffer's section");
        let packed =
            cpus > 0 && head.u16("a section's id").is_ok() && head.u16("a section's flags")? & 1 != 0;
        if packed {
            self.page_packing = self.packing;
        }
        for _ in 0..cpus {
            let cpu = c.u32("a CPU's number")?;
            let (offset, size) = (c.u64("where a CPU's data is")?, c.u64("the size of a CPU's data")?);
            if cpu >= MAX_CPUS || self.regions.iter().any(|r| r.cpu == cpu) {
                self.damage(
                    HealthKind::Ignored,
                    format!("a second buffer of CPU {cpu}, or one that cannot be"),
                );
                continue;
            }
            self.regions.push(Region { cpu, offset, size });
        }
        Ok(())
    }

    fn other_instance(&mut self, name: String) {
        let name = if name.is_empty() { "(unnamed)".to_owned() } else { name };
        self.meta.health.add(HealthKind::Ignored, 1, || format!("trace instance {name}"));
        self.meta.notes.push(format!("the buffer of trace instance {name} is left out"));
        self.meta.other_instances.push(name);
    }

    fn damage(&mut self, kind: HealthKind, what: String) {
        self.meta.notes.push(what.clone());
        self.meta.health.add(kind, 1, || what);
    }

    fn latency(&self) -> TraceError {
        TraceError::Unsupported {
            path: self.input.path().to_path_buf(),
            what: "a latency trace (text inside trace.dat) is".into(),
            advice: "record without a latency tracer",
        }
    }

    fn finish(mut self, c: &Cursor<'_>) -> Result<Header, TraceError> {
        if self.page_size > MAX_PAGE || self.page_size < 64 {
            return Err(
                c.expected(format!("a page size of 64 to {MAX_PAGE}, not {}", self.page_size), CUT_OFF)
            );
        }
        let layout = self.layout.unwrap_or_else(|| {
            self.meta
                .notes
                .push("the file does not describe its page headers; the usual ones are used".into());
            PageLayout::usual(self.meta.long_size)
        });
        self.meta.long_size = if layout.wide { 8 } else { 4 };
        self.separate_regions();
        self.meta.cpus = self.regions.iter().map(|r| r.cpu).collect();
        self.meta.ts_offset_ns = self.facts.clock.offset;
        self.remarks();
        let data = Data {
            layout,
            page_size: self.page_size as usize,
            packing: self.page_packing,
            clock: self.facts.clock,
            regions: self.regions,
        };
        Ok(Header { meta: self.meta, order: self.order, decoders: self.decoders, data })
    }

    /// Empties the regions that overlap one before them: no writer makes such, and a file of many would take for ever.
    fn separate_regions(&mut self) {
        self.regions.sort_by_key(|r| (r.offset, r.cpu));
        let mut end = 0;
        let mut bad = Vec::new();
        for region in self.regions.iter_mut().filter(|r| r.size > 0) {
            if region.offset < end {
                bad.push(region.cpu);
                region.size = 0;
            } else {
                end = region.offset.saturating_add(region.size);
            }
        }
        for cpu in bad {
            self.damage(HealthKind::Ignored, format!("the data of CPU {cpu}, which overlaps another CPU's"));
        }
        self.regions.sort_by_key(|r| r.cpu);
    }

    /// What the user of a result should know.
    fn remarks(&mut self) {
        let mut notes = Vec::new();
        if self.regions.is_empty() {
            notes.push("the file holds no trace data".to_owned());
        }
        if self.meta.event_names.is_empty() {
            notes.push("the file describes no events: none can be understood".to_owned());
        }
        if matches!(self.meta.clock.as_str(), "counter" | "uptime")
            || (self.meta.clock == "x86-tsc" && self.facts.clock.scale.is_none())
        {
            notes.push(format!(
                "the clock {:?} does not count nanoseconds: times are its own units",
                self.meta.clock
            ));
        }
        for (cpu, s) in &self.meta.cpu_stats {
            let lost = s.overrun + s.commit_overrun + s.dropped;
            if lost > 0 {
                notes.push(format!("CPU {cpu}: the kernel says that it lost {lost} events (overrun {}, commit overrun {}, dropped {})", s.overrun, s.commit_overrun, s.dropped));
            }
        }
        self.meta.notes.append(&mut notes);
    }
}
