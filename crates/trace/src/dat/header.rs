// SPDX-License-Identifier: GPL-2.0-only
//! Everything before the pages: version, sections, formats, options.

use std::collections::BTreeSet;

use memchr::memmem;

use idlewise_model::{HealthKind, NoteId};

use super::buffers::{MOST_BUFFERS, separate};
use super::options::{self, Facts};
use super::reader::Reader;
use crate::choice::Choice;
use crate::error::{CUT_OFF, TraceError};
use crate::input::{Cursor, Input};
use crate::kernel::bytes::Decoders;
use crate::kernel::clock;
use crate::kernel::format::PageLayout;
use crate::kernel::order::{ByteOrder, Order};
use crate::kernel::ring_buffer::{MAX_CPUS, MAX_PAGE, MIN_PAGE, RingTrace};
use crate::meta::TraceMeta;
use crate::unpack::{Packing, Unpacker};

/// The first bytes of a `trace.dat` of any version.
pub(crate) const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";

/// A chain of option sections that is longer goes in circles.
const MAX_SECTIONS: usize = 10_000;

/// A recording may be followed by names of sections and padding of this size, bytes.
const TAIL: u64 = 64 << 10;
const UNFINISHED: &str = "the file was cut off: copy it again; if it was never finished, `trace-cmd restore` makes a \
    trace of the parts (trace.dat.cpu0, ...) that a recording leaves behind";

pub(super) fn read(input: &Input, choice: &Choice) -> Result<RingTrace, TraceError> {
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
        buffers: Vec::new(),
        unpacker: Unpacker::default(),
        sections_end: 0,
    };
    if version == "6" {
        reader.version_6(&mut c)?
    } else {
        reader.version_7(&mut c)?
    }
    if reader.order == ByteOrder::Big {
        reader.meta.format += ", big-endian";
    }
    reader.finish(&c, choice)
}

impl Reader<'_> {
    fn version_6(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        self.files().all(c)?;
        self.files().cmdlines(c)?;
        c.enter("the rest of the header");
        let cpus = c.u32("the number of CPUs")?;
        if cpus > MAX_CPUS {
            return Err(c.expected(format!("at most {MAX_CPUS} CPUs, not {cpus}"), CUT_OFF));
        }
        let mut kind = c.take(10, "what follows")?;
        let mut instances = Vec::new();
        if kind == *b"options  \0" {
            loop {
                let id = c.u16("an option's id")?;
                if id == options::DONE {
                    break;
                }
                let n = c.u32("an option's size")?;
                let bytes = c.take(n.into(), "an option")?;
                if id == options::BUFFER {
                    instances.push(bytes);
                } else {
                    options::apply(self.order, id, &bytes, &mut self.meta, &mut self.facts);
                }
            }
            kind = c.take(10, "what follows the options")?;
        }
        self.buffer_6(String::new(), cpus, &kind, c)?;
        for option in instances.iter().take(MOST_BUFFERS) {
            self.instance_6(option, cpus);
        }
        if instances.len() > MOST_BUFFERS {
            let what = format!("all trace instances but the first {MOST_BUFFERS}");
            self.damage(HealthKind::Ignored, what);
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
                Err(_) if seen.len() > 1 && self.buffers.is_empty() && at >= self.input.len() => {
                    return Err(TraceError::Malformed {
                        path: self.input.path().to_path_buf(),
                        section: "the description of the events' buffers",
                        offset: at,
                        expected: format!(
                            "that description, but the file ends at byte {}: where its events are is not known",
                            self.input.len()
                        ),
                        advice: UNFINISHED,
                    });
                }
                Err(e) if self.buffers.is_empty() => return Err(e),
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
                (options::BUFFER | options::BUFFER_TEXT, _) => {
                    self.buffer_7(&option, id == options::BUFFER_TEXT);
                }
                (options::HEADER_INFO..=options::CMDLINES, Some(at)) => self.named_section(id, at),
                _ => options::apply(self.order, id, &option, &mut self.meta, &mut self.facts),
            }
        }
        Ok(0)
    }

    /// Tells of another recording behind this one: files were joined.
    fn look_behind(&mut self, c: &Cursor<'_>) {
        let regions = self.buffers.iter().flat_map(|b| &b.regions).filter(|r| r.size > 0);
        let ends = regions.map(|r| r.offset.saturating_add(r.size));
        let end = ends.chain([self.sections_end, c.position()]).max().unwrap_or(0);
        let left = self.input.len().saturating_sub(end);
        let Ok(tail) = self.input.bytes(end, left.min(TAIL), "what follows the recording") else { return };
        if let Some(at) = memmem::find(&tail, MAGIC) {
            let from = end + at as u64;
            let what = format!(
                "another recording, from byte {from} on ({} bytes): files were joined; give each by itself",
                self.input.len() - from
            );
            self.meta.note(NoteId::OtherRecording, what.clone());
            self.meta.health.add(HealthKind::Ignored, 1, || what);
        }
    }

    fn finish(mut self, c: &Cursor<'_>, choice: &Choice) -> Result<RingTrace, TraceError> {
        self.look_behind(c);
        let mut buffer = self.choose(choice.instance.as_deref())?;
        if buffer.page_size == 0 {
            buffer.page_size = self.page_size;
        }
        if !(MIN_PAGE..=MAX_PAGE).contains(&buffer.page_size) {
            let expected = format!("a page size of {MIN_PAGE} to {MAX_PAGE}, not {}", buffer.page_size);
            return Err(c.expected(expected, CUT_OFF));
        }
        let layout = self.layout.unwrap_or_else(|| {
            self.meta.note(
                NoteId::UnknownFormat,
                "the file does not describe its page headers; the usual ones are used",
            );
            PageLayout::usual(self.meta.long_size)
        });
        for cpu in separate(&mut buffer.regions) {
            self.damage(HealthKind::Ignored, format!("the data of CPU {cpu}, which overlaps another CPU's"));
        }
        if !buffer.clock.is_empty() {
            self.meta.clock = clock::selected(&buffer.clock);
        }
        self.meta.cpu_stats = self.facts.stats.remove(&buffer.name).unwrap_or_default();
        let mut trace = RingTrace {
            meta: self.meta,
            inputs: Vec::new(),
            regions: buffer.regions,
            order: self.order,
            decoders: self.decoders,
            layout,
            page_size: buffer.page_size as usize,
            packing: buffer.packing,
            clock: self.facts.clock,
        };
        trace.complete_meta();
        Ok(trace)
    }
}
