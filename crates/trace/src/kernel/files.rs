// SPDX-License-Identifier: GPL-2.0-only
//! What trace-cmd and perf copy from the tracing directory of the recording kernel into their files, in the same form:
//! page headers, formats of events, symbols, printk formats, names of tasks.

use idlewise_model::{HealthKind, NoteId};

use super::bytes::Decoders;
use super::format::PageLayout;
use crate::error::{CUT_OFF, TraceError};
use crate::input::{Cursor, text};
use crate::meta::TraceMeta;
use crate::symbols::Symbols;

/// Learns from the copied files.
pub(crate) struct KernelFiles<'m> {
    pub(crate) decoders: &'m mut Decoders,
    pub(crate) meta: &'m mut TraceMeta,
    pub(crate) layout: &'m mut Option<PageLayout>,
}

impl KernelFiles<'_> {
    /// All files but the names of tasks, which not all versions have.
    pub(crate) fn all(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        self.header_info(c)?;
        self.ftrace_events(c)?;
        self.event_formats(c)?;
        c.enter("the kernel's symbols");
        self.symbols(c)?;
        c.enter("the printk formats");
        self.printk_formats(c)
    }

    pub(crate) fn header_info(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
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
        *self.layout = PageLayout::parse(&text(&page));
        if self.layout.is_none() && !page.is_empty() {
            self.meta.note(
                NoteId::UnknownFormat,
                "the description of the page header is not valid; the usual one is used",
            );
        }
        Ok(())
    }

    pub(crate) fn ftrace_events(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        c.enter("the ftrace event formats");
        let n = c.u32("the number of formats")?;
        for _ in 0..n {
            self.format("ftrace", c)?;
        }
        Ok(())
    }

    pub(crate) fn event_formats(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
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
        if !self.decoders.learn(system, &String::from_utf8_lossy(&bytes), self.meta) {
            self.meta.damage(HealthKind::UnknownEvent, format!("a format of {system} without name or id"));
        }
        Ok(())
    }

    pub(crate) fn symbols(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        let n = c.u32("the size of the symbols")?;
        self.meta.symbols = Symbols::new(c.take(n.into(), "the kernel's symbols")?);
        Ok(())
    }

    pub(crate) fn printk_formats(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        let n = c.u32("the size of the printk formats")?;
        self.decoders.learn_texts(&text(&c.take(n.into(), "the printk formats")?));
        Ok(())
    }

    pub(crate) fn cmdlines(&mut self, c: &mut Cursor<'_>) -> Result<(), TraceError> {
        c.enter("the names of tasks");
        let n = c.u64("the size of the names of tasks")?;
        let text = text(&c.take(n, "the names of tasks")?);
        self.meta.learn_comms(&text);
        Ok(())
    }
}
