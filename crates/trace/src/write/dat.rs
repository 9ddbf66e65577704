// SPDX-License-Identifier: GPL-2.0-only
//! `trace.dat` from what a kernel's tracing directory gave: the pages of its ring buffers as they are, and the files that
//! describe them. trace-cmd, KernelShark and this crate read it.
//!
//! The layout of both versions is that of the manual pages trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5); what a version 6
//! file says in the order of its bytes, a version 7 file says in sections that options point to.

mod symbols;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

pub use symbols::UsedSymbols;

use crate::dat::options;
use crate::kernel::format::PageLayout;

/// The start of every `trace.dat`.
const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// What is packed at once, in pages: enough for the packing to find something, little enough for a reader to hold.
const PAGES_AT_ONCE: usize = 64;
/// The usual level of zstd.
const LEVEL: i32 = 3;

/// Numbers of the options that are written; those from `HEADER_INFO` on are those of the sections, too.
mod id {
    pub(super) const DONE: u16 = 0;
    pub(super) const CPUSTAT: u16 = 2;
    pub(super) const BUFFER: u16 = 3;
    pub(super) const TRACECLOCK: u16 = 4;
    pub(super) const UNAME: u16 = 5;
    pub(super) const CPUCOUNT: u16 = 8;
    pub(super) const VERSION: u16 = 9;
    pub(super) const HEADER_INFO: u16 = 16;
    pub(super) const FTRACE_EVENTS: u16 = 17;
    pub(super) const EVENT_FORMATS: u16 = 18;
    pub(super) const KALLSYMS: u16 = 19;
    pub(super) const PRINTK: u16 = 20;
    pub(super) const CMDLINES: u16 = 21;
}

/// How the file is to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DatForm {
    /// Version 7, packed with zstd: a fifth of the size. For trace-cmd 3.1 and KernelShark 2.2, or later.
    #[default]
    Packed,
    /// Version 6, for every trace-cmd and KernelShark.
    Plain,
}

/// Everything in a `trace.dat` but its pages; texts as the kernel's files of these names hold them.
#[derive(Clone, Debug, Default)]
pub struct DatHead {
    /// `events/header_page`.
    pub header_page: String,
    /// `events/header_event`.
    pub header_event: String,
    /// The `format` files by system.
    pub formats: BTreeMap<String, Vec<String>>,
    /// `/proc/kallsyms`, or the lines of it that matter.
    pub kallsyms: String,
    /// `printk_formats`.
    pub printk_formats: String,
    /// `saved_cmdlines`.
    pub saved_cmdlines: String,
    /// The trace clock: "mono".
    pub clock: String,
    /// As `uname -a` begins: system, host, release, machine.
    pub uname: String,
    /// Who wrote the file.
    pub recorder: String,
    /// What else is to be known of the recording, for this crate's reader ([`crate::TraceMeta::description`]); none where it
    /// is empty. It stands behind the recorder's name in the same option, where trace-cmd and KernelShark, for which a
    /// zero byte ends the name, carry it along; `trace-cmd dump` shows most of it.
    pub description: String,
    /// `per_cpu/cpuN/stats`.
    pub stats: BTreeMap<u32, String>,
}

impl DatHead {
    /// Bytes of a page of the ring buffer, by `header_page`; 4096 where that makes no sense.
    #[must_use]
    pub fn page_size(&self) -> usize {
        PageLayout::parse(&self.header_page).map_or(4096, |l| l.page)
    }

    /// Bytes of the kernel's `long`, likewise.
    fn long_size(&self) -> u8 {
        if PageLayout::parse(&self.header_page).is_none_or(|l| l.wide) { 8 } else { 4 }
    }

    /// Writes the file to `out`, which is empty. `pages` are the CPUs' pages, ascending; of CPUs between them that have
    /// none it is said that they were silent.
    ///
    /// # Errors
    /// When `out` or one of `pages` fails.
    pub fn write<R: Read>(
        &self,
        form: DatForm,
        pages: &mut [(u32, R)],
        out: impl Write + Seek,
    ) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        match form {
            DatForm::Plain => self.write_6(pages, &mut out)?,
            DatForm::Packed => self.write_7(pages, &mut out)?,
        }
        out.flush()
    }

    fn start(&self, version: u8) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend([b'0' + version, 0, cfg!(target_endian = "big").into(), self.long_size()]);
        out.extend((self.page_size() as u32).to_ne_bytes());
        out
    }

    fn header_info(&self) -> Vec<u8> {
        let mut out = b"header_page\0".to_vec();
        out.extend(sized(&self.header_page));
        out.extend(b"header_event\0");
        out.extend(sized(&self.header_event));
        out
    }

    /// ftrace's own events come first and without the name of their system.
    fn ftrace_events(&self) -> Vec<u8> {
        formats(self.formats.get("ftrace").map_or(&[], Vec::as_slice))
    }

    fn event_formats(&self) -> Vec<u8> {
        let systems: Vec<_> = self.formats.iter().filter(|(name, _)| *name != "ftrace").collect();
        let mut out = (systems.len() as u32).to_ne_bytes().to_vec();
        for (name, texts) in systems {
            out.extend(name.bytes());
            out.push(0);
            out.extend(formats(texts));
        }
        out
    }

    /// The parts that describe the kernel, in the order of a version 6 file, by the number that they have in version 7.
    fn parts(&self) -> [(u16, Vec<u8>); 6] {
        [
            (id::HEADER_INFO, self.header_info()),
            (id::FTRACE_EVENTS, self.ftrace_events()),
            (id::EVENT_FORMATS, self.event_formats()),
            (id::KALLSYMS, shortly_sized(&self.kallsyms)),
            (id::PRINTK, shortly_sized(&self.printk_formats)),
            (id::CMDLINES, sized(&self.saved_cmdlines)),
        ]
    }

    /// What both versions say in options.
    fn options(&self) -> Vec<(u16, Vec<u8>)> {
        let text = |text: &str| [text.as_bytes(), &[0]].concat();
        let mut out: Vec<_> = self
            .stats
            .iter()
            .map(|(cpu, stats)| (id::CPUSTAT, text(&format!("CPU: {cpu}\n{stats}"))))
            .collect();
        out.push((id::UNAME, text(&self.uname)));
        out.push((id::VERSION, self.version()));
        out
    }

    /// Who wrote the file, and behind it the description.
    fn version(&self) -> Vec<u8> {
        let mut out = [self.recorder.as_bytes(), &[0]].concat();
        if !self.description.is_empty() {
            out.extend(options::DESCRIPTION);
            out.extend(self.description.bytes());
            out.push(0);
        }
        out
    }

    fn write_6<R: Read>(&self, pages: &mut [(u32, R)], out: &mut (impl Write + Seek)) -> io::Result<()> {
        let cpus = pages.last().map_or(0, |(cpu, _)| cpu + 1);
        let mut head = self.start(6);
        for (_, part) in self.parts() {
            head.extend(part);
        }
        head.extend(cpus.to_ne_bytes());
        head.extend(b"options  \0");
        // An empty TRACECLOCK says that the clock's name stands behind the table of CPUs.
        for (id, bytes) in self.options().into_iter().chain([(id::TRACECLOCK, Vec::new())]) {
            head.extend(option(id, &bytes));
        }
        head.extend(id::DONE.to_ne_bytes());
        head.extend(b"flyrecord\0");
        let table_at = head.len();
        head.resize(table_at + 16 * cpus as usize, 0);
        head.extend(sized(&format!("[{}]", self.clock)));
        head.resize(head.len().next_multiple_of(self.page_size()), 0);
        out.write_all(&head)?;

        let mut at = head.len() as u64;
        let mut table = vec![[at, 0]; cpus as usize];
        for (cpu, pages) in pages {
            let size = io::copy(pages, out)?;
            if let Some(row) = table.get_mut(*cpu as usize) {
                *row = [at, size];
            }
            at += size;
        }
        out.seek(SeekFrom::Start(table_at as u64))?;
        table.into_iter().flatten().try_for_each(|n| out.write_all(&n.to_ne_bytes()))
    }

    fn write_7<R: Read>(&self, pages: &mut [(u32, R)], out: &mut (impl Write + Seek)) -> io::Result<()> {
        let mut head = self.start(7);
        head.extend(b"zstd\0");
        head.extend(format!("{}\0", zstd::zstd_safe::version_string()).bytes());
        let options_at = head.len() as u64;
        head.extend([0; 8]);
        out.write_all(&head)?;
        let mut options = self.options();
        for (id, part) in self.parts() {
            options.push((id, out.stream_position()?.to_ne_bytes().to_vec()));
            out.write_all(&section(id, &part)?)?;
        }
        let cpus = pages.last().map_or(0, |(cpu, _)| cpu + 1);
        options.push((id::CPUCOUNT, cpus.to_ne_bytes().to_vec()));
        options.push((id::BUFFER, self.buffer(pages, out)?));
        options.push((id::DONE, vec![0; 8]));
        let place = out.stream_position()?;
        let options: Vec<u8> = options.iter().flat_map(|(id, bytes)| option(*id, bytes)).collect();
        // trace-cmd's own files have these unpacked, and its `dump` knows no others.
        out.write_all(&section_head(id::DONE, false, options.len() as u64))?;
        out.write_all(&options)?;
        out.seek(SeekFrom::Start(options_at))?;
        out.write_all(&place.to_ne_bytes())
    }

    /// Writes the section with the pages; gives the option that tells where each CPU's are.
    fn buffer<R: Read>(&self, pages: &mut [(u32, R)], out: &mut (impl Write + Seek)) -> io::Result<Vec<u8>> {
        let start = out.stream_position()?;
        let mut option = start.to_ne_bytes().to_vec();
        // The top instance has no name.
        option.extend(format!("\0{}\0", self.clock).bytes());
        option.extend((self.page_size() as u32).to_ne_bytes());
        option.extend((pages.len() as u32).to_ne_bytes());
        out.write_all(&section_head(id::BUFFER, true, 0))?;
        for (cpu, pages) in pages {
            let at = out.stream_position()?;
            let size = self.chunks(pages, out)?;
            option.extend(cpu.to_ne_bytes());
            option.extend(at.to_ne_bytes());
            option.extend(size.to_ne_bytes());
        }
        let end = out.stream_position()?;
        let head = section_head(id::BUFFER, true, end - start - SECTION_HEAD);
        out.seek(SeekFrom::Start(start))?;
        out.write_all(&head)?;
        out.seek(SeekFrom::Start(end))?;
        Ok(option)
    }

    /// Writes one CPU's pages: how many chunks, then each with its sizes. Gives the size of the chunks.
    fn chunks(&self, pages: &mut impl Read, out: &mut (impl Write + Seek)) -> io::Result<u64> {
        let start = out.stream_position()?;
        out.write_all(&[0; 4])?;
        let mut plain = Vec::new();
        let (mut chunks, mut size) = (0u32, 0u64);
        loop {
            plain.clear();
            pages.by_ref().take((PAGES_AT_ONCE * self.page_size()) as u64).read_to_end(&mut plain)?;
            if plain.is_empty() {
                break;
            }
            let packed = packed(&plain)?;
            out.write_all(&packed)?;
            chunks += 1;
            size += packed.len() as u64;
        }
        out.seek(SeekFrom::Start(start))?;
        out.write_all(&chunks.to_ne_bytes())?;
        out.seek(SeekFrom::End(0))?;
        Ok(size)
    }
}

/// Id, flags, description, size.
const SECTION_HEAD: u64 = 16;

/// The head of a section of `size` bytes.
fn section_head(id: u16, is_packed: bool, size: u64) -> Vec<u8> {
    let mut out = id.to_ne_bytes().to_vec();
    out.extend(u16::from(is_packed).to_ne_bytes());
    out.extend(0u32.to_ne_bytes());
    out.extend(size.to_ne_bytes());
    out
}

fn section(id: u16, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let packed = packed(bytes)?;
    Ok([section_head(id, true, packed.len() as u64), packed].concat())
}

/// Packed bytes behind both sizes.
fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let small = zstd::bulk::compress(bytes, LEVEL)?;
    let mut out = (small.len() as u32).to_ne_bytes().to_vec();
    out.extend((bytes.len() as u32).to_ne_bytes());
    out.extend(small);
    Ok(out)
}

fn option(id: u16, bytes: &[u8]) -> Vec<u8> {
    let mut out = id.to_ne_bytes().to_vec();
    out.extend((bytes.len() as u32).to_ne_bytes());
    out.extend(bytes);
    out
}

fn formats(texts: &[String]) -> Vec<u8> {
    let mut out = (texts.len() as u32).to_ne_bytes().to_vec();
    out.extend(texts.iter().flat_map(|t| sized(t)));
    out
}

/// Text behind its size in eight bytes.
fn sized(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_ne_bytes(), text.as_bytes()].concat()
}

/// Text behind its size in four bytes.
fn shortly_sized(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_ne_bytes(), text.as_bytes()].concat()
}
