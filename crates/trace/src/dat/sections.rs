// SPDX-License-Identifier: GPL-2.0-only
//! The parts of a `trace.dat` that describe the kernel: page header, event formats, symbols, names.

use idlewise_model::HealthKind;

use super::options;
use super::reader::Reader;
use crate::error::{CUT_OFF, TraceError};
use crate::input::Cursor;
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
            let mut files = self.files();
            match id {
                options::HEADER_INFO => files.header_info(&mut c),
                options::FTRACE_EVENTS => files.ftrace_events(&mut c),
                options::EVENT_FORMATS => files.event_formats(&mut c),
                options::KALLSYMS => files.symbols(&mut c),
                options::PRINTK => files.printk_formats(&mut c),
                _ => files.cmdlines(&mut c),
            }
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
        self.sections_end = self.sections_end.max(c.position().saturating_add(size));
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
}
