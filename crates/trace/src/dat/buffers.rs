// SPDX-License-Identifier: GPL-2.0-only
//! The buffers of a `trace.dat`: one of each trace instance, of which one is read.

use std::collections::BTreeSet;

use idlewise_model::{HealthKind, NoteId};

use super::reader::{Buffer, Reader};
use crate::error::{CUT_OFF, TraceError};
use crate::input::{Cursor, text};
use crate::kernel::ring_buffer::{MAX_CPUS, Region};

/// Every buffer of a version 6 file may name the same table of CPUs, so their number is limited.
pub(super) const MOST_BUFFERS: usize = 100;

impl Reader<'_> {
    /// Reads a buffer of a version 6 file: its kind, the table of its CPUs, its clock.
    pub(super) fn buffer_6(
        &mut self,
        name: String,
        cpus: u32,
        kind: &[u8],
        c: &mut Cursor<'_>,
    ) -> Result<(), TraceError> {
        let mut buffer = Buffer { name, page_size: self.page_size, ..Buffer::default() };
        match kind {
            b"latency  \0" => buffer.is_text = true,
            b"flyrecord\0" => {
                c.enter("the table of CPUs");
                for cpu in 0..cpus {
                    let (offset, size) =
                        (c.u64("where a CPU's data is")?, c.u64("the size of a CPU's data")?);
                    buffer.regions.push(Region { cpu, input: 0, offset, size });
                }
                if self.facts.clock_follows && c.left() > 8 {
                    let n = c.u64("the size of the clock's name")?;
                    buffer.clock = text(&c.take(n.min(4096), "the clock's name")?);
                }
            }
            _ => return Err(c.expected("the word \"flyrecord\", \"latency\" or \"options\"", CUT_OFF)),
        }
        self.buffers.push(buffer);
        Ok(())
    }

    /// Reads the buffer of an instance that an option of a version 6 file names.
    pub(super) fn instance_6(&mut self, option: &[u8], cpus: u32) {
        let mut c = Cursor::memory(self.input, self.order, option, "the description of a buffer");
        let result = c.u64("where a buffer is").and_then(|at| {
            let name = text(option.get(8..).unwrap_or_default());
            let mut c = Cursor::file(self.input, self.order, at, "the buffer of a trace instance");
            let kind = c.take(10, "the word \"flyrecord\"")?;
            self.buffer_6(name, cpus, &kind, &mut c)
        });
        if let Err(e) = result {
            self.damage(HealthKind::Truncated, e.to_string());
        }
    }

    /// Reads the option of a version 7 file that describes a buffer.
    pub(super) fn buffer_7(&mut self, option: &[u8], is_text: bool) {
        let mut c = Cursor::memory(self.input, self.order, option, "the description of a buffer");
        if let Err(e) = self.buffer_fields(&mut c, is_text) {
            self.damage(HealthKind::Truncated, e.to_string());
        }
    }

    fn buffer_fields(&mut self, c: &mut Cursor<'_>, is_text: bool) -> Result<(), TraceError> {
        let section = c.u64("where a buffer's section is")?;
        let name = c.string("the name of an instance")?;
        let clock = c.string("the name of a clock")?;
        let mut buffer = Buffer { name, clock, is_text, ..Buffer::default() };
        if !is_text {
            let page_size = c.u32("the size of a page")?;
            buffer.page_size = if page_size == 0 { self.page_size } else { page_size };
            let cpus = c.u32("the number of CPUs")?;
            if cpus > MAX_CPUS {
                return Err(c.expected(format!("at most {MAX_CPUS} CPUs, not {cpus}"), CUT_OFF));
            }
            self.regions_7(section, cpus, &mut buffer, c)?;
        }
        if self.buffers.len() < MOST_BUFFERS {
            self.buffers.push(buffer);
        } else {
            self.damage(HealthKind::Ignored, format!("{}, as there are too many", buffer.title()));
        }
        Ok(())
    }

    fn regions_7(
        &mut self,
        section: u64,
        cpus: u32,
        buffer: &mut Buffer,
        c: &mut Cursor<'_>,
    ) -> Result<(), TraceError> {
        // The section's flag says whether this buffer is packed; files without data have no section.
        let mut head = Cursor::file(self.input, self.order, section, "a buffer's section");
        let packed =
            cpus > 0 && head.u16("a section's id").is_ok() && head.u16("a section's flags")? & 1 != 0;
        if packed {
            buffer.packing = self.packing;
        }
        let mut seen = BTreeSet::new();
        for _ in 0..cpus {
            let cpu = c.u32("a CPU's number")?;
            let (offset, size) = (c.u64("where a CPU's data is")?, c.u64("the size of a CPU's data")?);
            if cpu >= MAX_CPUS || !seen.insert(cpu) {
                let what = format!("a second buffer of CPU {cpu}, or one that cannot be");
                self.damage(HealthKind::Ignored, what);
                continue;
            }
            buffer.regions.push(Region { cpu, input: 0, offset, size });
        }
        Ok(())
    }

    /// Takes the buffer to read out of those that there are: the one asked for, else that of the top instance, or of
    /// the only one with data.
    pub(super) fn choose(&mut self, wanted: Option<&str>) -> Result<Buffer, TraceError> {
        let named = |name: &str| self.buffers.iter().position(|b| b.name == name);
        let at = match wanted {
            Some(name) => Some(named(name).ok_or_else(|| self.no_instance(name))?),
            None => {
                named("").filter(|at| self.buffers.get(*at).is_some_and(Buffer::has_data)).or_else(|| {
                    let mut full = (0..).zip(&self.buffers).filter(|(_, b)| b.has_data()).map(|(at, _)| at);
                    let only = full.next().filter(|_| full.next().is_none());
                    only.or_else(|| named(""))
                })
            }
        };
        let buffer = at.map(|at| self.buffers.remove(at)).unwrap_or_default();
        if wanted.is_none() && !buffer.name.is_empty() {
            let name = &buffer.name;
            self.meta.note(
                NoteId::Reader,
                format!("the events are those of trace instance {name:?}, the only ones"),
            );
        }
        for other in std::mem::take(&mut self.buffers) {
            if other.has_data() {
                let what = other.title();
                self.meta.note(NoteId::OtherRecording, format!("the buffer of {what} is left out"));
                self.meta.health.add(HealthKind::Ignored, 1, || what);
            }
            self.meta.other_instances.push(other.name);
        }
        if buffer.is_text {
            return Err(TraceError::Unsupported {
                path: self.input.path().to_path_buf(),
                what: "a latency trace (text inside trace.dat) is".into(),
                advice: "record without a latency tracer",
            });
        }
        Ok(buffer)
    }

    fn no_instance(&self, name: &str) -> TraceError {
        let mut there: Vec<_> = self.buffers.iter().map(Buffer::title).collect();
        if there.is_empty() {
            there.push("no trace data at all".to_owned());
        }
        TraceError::NoInstance {
            path: self.input.path().to_path_buf(),
            name: name.to_owned(),
            there: there.join(", "),
        }
    }
}

/// Empties the regions that overlap one before them: no writer makes such, and a file of many would take for ever. Gives
/// the CPUs of those.
pub(super) fn separate(regions: &mut [Region]) -> Vec<u32> {
    regions.sort_by_key(|r| (r.offset, r.cpu));
    let mut end = 0;
    let mut bad = Vec::new();
    for region in regions.iter_mut().filter(|r| r.size > 0) {
        if region.offset < end {
            bad.push(region.cpu);
            region.size = 0;
        } else {
            end = region.offset.saturating_add(region.size);
        }
    }
    regions.sort_by_key(|r| r.cpu);
    bad
}
