// SPDX-License-Identifier: GPL-2.0-only
//! The parts of a `trace.dat` that describe the kernel: page header, event formats, symbols, names.

use idlewise_model::HealthKind;

use super::header::Reader;
use super::options;
use crate::error::{CUT_OFF, TraceError};
use crate::input::{Cursor, text};
use crate::kernel::format::PageLayout;
use crate::symbols::Symbols;
use crate::unpack::{Limit, Packing};

/// No section but the pages is larger, unpacked.
const MAX_SECTION: usize = 256 << 20;
const SECTION_LIMIT: Limit = Limit { most: MAX_SECTION, granted: 1 << 20 };

impl Reader<'_> {
    /// Reads a section that an option points to. A broken one is left out: the rest of the file may do.
    pub(super) fn named_section(&mut self, id: u16, at: u64) {
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
    pub(super) fn section(&mut self, at: u64, id: u16, name: &'static str) -> Result<Vec<u8>, TraceError> {
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

    pub(super) fn header_info(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
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

    pub(super) fn ftrace_events(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        c.enter("the ftrace event formats");
        let n = c.u32("the number of formats")?;
        for _ in 0..n {
            self.format("ftrace", c)?;
        }
        Ok(())
    }

    pub(super) fn event_formats(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
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

    pub(super) fn cmdlines(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        c.enter("the names of tasks");
        let n = c.u64("the size of the names of tasks")?;
        let text = text(&c.take(n, "the names of tasks")?);
        self.meta.learn_comms(&text);
        Ok(())
    }
}
