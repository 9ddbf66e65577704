// SPDX-License-Identifier: GPL-2.0-only
//! Writes small trace.dat files, byte by byte, so that a test can say what is in them.

pub mod directory;
mod page;
pub mod perf;
pub mod samples;

use std::io::Write;

pub use page::{Page, Payload, payload};

/// Bytes in the byte order of a machine.
pub struct Out {
    pub bytes: Vec<u8>,
    big: bool,
}

impl Out {
    pub fn new(big: bool) -> Self {
        Self { bytes: Vec::new(), big }
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// A text with its zero byte.
    pub fn text(&mut self, text: &str) {
        self.raw(text.as_bytes());
        self.raw(&[0]);
    }

    pub fn u16(&mut self, n: u16) {
        self.raw(&if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
    }

    pub fn u32(&mut self, n: u32) {
        self.raw(&if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
    }

    pub fn u64(&mut self, n: u64) {
        self.raw(&if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
    }

    pub fn long(&mut self, n: u64, size: u8) {
        if size == 8 { self.u64(n) } else { self.u32(n as u32) }
    }
}

/// How a version 7 file is packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    No,
    Zlib,
    Zstd,
}

/// Pids and names of tasks.
pub const COMMS: &str = "1 init\n42 worker/0:1\n";

/// CPUs and their pages.
pub type Cpus = Vec<(u32, Vec<Page>)>;

/// A file to be written.
#[derive(Clone)]
pub struct Dat {
    pub version: u8,
    pub packed: Packed,
    pub big_endian: bool,
    pub long: u8,
    pub page_size: usize,
    pub clock: String,
    pub options: Vec<(u16, Vec<u8>)>,
    /// System and text of each format.
    pub formats: Vec<(&'static str, String)>,
    pub kallsyms: String,
    pub printk: String,
    pub cpus: Cpus,
    /// Further instances.
    pub instances: Vec<(String, Cpus)>,
    /// Options of these ids are left out (version 7).
    pub without: Vec<u16>,
    /// Write the options before the sections that they point to, and those in reverse order (version 7).
    pub backwards: bool,
}

/// A field: type and name, offset, size, signed.
pub type FieldSpec<'a> = (&'a str, u16, u16, u8);

/// The text of a format file.
pub fn format(name: &str, id: u16, fields: &[FieldSpec<'_>]) -> String {
    let mut text = format!("name: {name}\nID: {id}\nformat:\n");
    let common: [FieldSpec<'_>; 4] = [
        ("unsigned short common_type", 0, 2, 0),
        ("unsigned char common_flags", 2, 1, 0),
        ("unsigned char common_preempt_count", 3, 1, 0),
        ("int common_pid", 4, 4, 1),
    ];
    for some in [&common, fields] {
        for (d, o, s, sign) in some {
            text += &format!("\tfield:{d};\toffset:{o};\tsize:{s};\tsigned:{sign};\n");
        }
        text += "\n";
    }
    text + "print fmt: \"%d\", REC->common_pid\n"
}

impl Default for Dat {
    fn default() -> Self {
        Self {
            version: 7,
            packed: Packed::Zstd,
            big_endian: false,
            long: 8,
            page_size: 4096,
            clock: "mono".into(),
            options: Vec::new(),
            formats: Vec::new(),
            kallsyms: String::new(),
            printk: String::new(),
            cpus: Vec::new(),
            instances: Vec::new(),
            without: Vec::new(),
            backwards: false,
        }
    }
}

impl Dat {
    fn out(&self) -> Out {
        Out::new(self.big_endian)
    }

    /// Text behind its size.
    fn sized(&self, text: &str, wide: bool) -> Vec<u8> {
        let mut out = self.out();
        if wide {
            out.u64(text.len() as u64)
        } else {
            out.u32(text.len() as u32)
        }
        out.raw(text.as_bytes());
        out.bytes
    }

    /// The text of `events/header_page`.
    pub fn header_page(&self) -> String {
        let (long, data) = (self.long, if self.long == 8 { 16 } else { 12 });
        format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:{data};\tsize:{};\tsigned:0;\n",
            self.page_size - data
        )
    }

    fn header_info(&self) -> Vec<u8> {
        let event = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
                     \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
        let mut out = self.out();
        out.text("header_page");
        out.raw(&self.sized(&self.header_page(), true));
        out.text("header_event");
        out.raw(&self.sized(event, true));
        out.bytes
    }

    /// The formats of ftrace's own events.
    fn ftrace_events(&self) -> Vec<u8> {
        let mut out = self.out();
        let texts: Vec<_> = self.formats.iter().filter(|f| f.0 == "ftrace").collect();
        out.u32(texts.len() as u32);
        for (_, text) in texts {
            out.raw(&self.sized(text, true));
        }
        out.bytes
    }

    fn event_formats(&self) -> Vec<u8> {
        let mut systems: Vec<&str> = self.formats.iter().map(|f| f.0).filter(|s| *s != "ftrace").collect();
        systems.dedup();
        let mut out = self.out();
        out.u32(systems.len() as u32);
        for system in systems {
            let texts: Vec<_> = self.formats.iter().filter(|f| f.0 == system).collect();
            out.text(system);
            out.u32(texts.len() as u32);
            for (_, text) in texts {
                out.raw(&self.sized(text, true));
            }
        }
        out.bytes
    }

    fn start(&self) -> Out {
        let mut out = self.out();
        out.raw(b"\x17\x08\x44tracing");
        out.raw(&[b'0' + self.version, 0, self.big_endian.into(), self.long]);
        out.u32(self.page_size as u32);
        out
    }

    /// The bytes of one CPU's pages.
    pub fn pages(&self, pages: &[Page]) -> Vec<u8> {
        pages.iter().flat_map(|p| p.bytes(self.page_size, self.long, self.big_endian)).collect()
    }

    /// The bytes of the option CPUCOUNT.
    fn cpu_count(&self) -> Vec<u8> {
        let mut out = self.out();
        out.u32(self.cpus.len() as u32);
        out.bytes
    }

    pub fn write(&self) -> Vec<u8> {
        if self.version == 6 { self.write_6() } else { self.write_7() }
    }

    fn write_6(&self) -> Vec<u8> {
        let mut out = self.start();
        out.raw(&self.header_info());
        out.raw(&self.ftrace_events());
        out.raw(&self.event_formats());
        out.raw(&self.sized(&self.kallsyms, false));
        out.raw(&self.sized(&self.printk, false));
        out.raw(&self.sized(COMMS, true));
        out.u32(self.cpus.len() as u32);
        out.raw(b"options  \0");
        let mut options = self.options.clone();
        options.push((4, Vec::new()));
        for (id, bytes) in &options {
            out.u16(*id);
            out.u32(bytes.len() as u32);
            out.raw(bytes);
        }
        let mut places = Vec::new();
        for (name, _) in &self.instances {
            out.u16(3);
            out.u32(8 + name.len() as u32 + 1);
            places.push(out.bytes.len());
            out.u64(0);
            out.text(name);
        }
        out.u16(0);
        self.flyrecord(&mut out, &self.cpus);
        for ((_, cpus), place) in self.instances.iter().zip(places) {
            let mut at = self.out();
            at.u64(out.bytes.len() as u64);
            out.bytes[place..place + 8].copy_from_slice(&at.bytes);
            self.flyrecord(&mut out, cpus);
        }
        out.bytes
    }

    /// A version 6 buffer: the table of its CPUs, the clock, the pages.
    fn flyrecord(&self, out: &mut Out, cpus: &[(u32, Vec<Page>)]) {
        out.raw(b"flyrecord\0");
        let clock = format!("[{}]", self.clock);
        let mut at = (out.bytes.len() + 16 * cpus.len() + 8 + clock.len()).next_multiple_of(self.page_size);
        let data: Vec<_> = cpus.iter().map(|(_, pages)| self.pages(pages)).collect();
        let first = at;
        for d in &data {
            out.u64(at as u64);
            out.u64(d.len() as u64);
            at += d.len();
        }
        out.raw(&self.sized(&clock, true));
        out.bytes.resize(first, 0);
        out.raw(&data.concat());
    }

    fn pack(&self, bytes: &[u8]) -> Vec<u8> {
        match self.packed {
            Packed::No => bytes.to_vec(),
            Packed::Zstd => zstd::bulk::compress(bytes, 3).unwrap(),
            Packed::Zlib => {
                let mut z = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                z.write_all(bytes).unwrap();
                z.finish().unwrap()
            }
        }
    }

    fn section(&self, id: u16, bytes: &[u8], packed: bool) -> Vec<u8> {
        let packed = packed && self.packed != Packed::No;
        let mut body = self.out();
        if packed {
            let small = self.pack(bytes);
            body.u32(small.len() as u32);
            body.u32(bytes.len() as u32);
            body.raw(&small);
        } else {
            body.raw(bytes);
        }
        let mut out = self.out();
        out.u16(id);
        out.u16(packed.into());
        out.u32(0);
        out.u64(body.bytes.len() as u64);
        out.raw(&body.bytes);
        out.bytes
    }

    /// Writes the section of a buffer at the end of `out`; gives the option that points to it.
    fn buffer(&self, out: &mut Out, name: &str, cpus: &[(u32, Vec<Page>)]) -> Vec<u8> {
        let start = out.bytes.len();
        out.u16(3);
        out.u16((self.packed != Packed::No).into());
        out.u32(0);
        let size_at = out.bytes.len();
        out.u64(0);
        let mut option = self.out();
        option.u64(start as u64);
        option.text(name);
        option.text(&self.clock);
        option.u32(self.page_size as u32);
        option.u32(cpus.len() as u32);
        for (cpu, pages) in cpus {
            let plain = self.pages(pages);
            out.bytes.resize(out.bytes.len().next_multiple_of(self.page_size), 0);
            let offset = out.bytes.len();
            let mut size = plain.len();
            if self.packed == Packed::No {
                out.raw(&plain);
            } else {
                let chunks: Vec<_> = plain.chunks(2 * self.page_size).collect();
                out.u32(chunks.len() as u32);
                size = 0;
                for chunk in chunks {
                    let small = self.pack(chunk);
                    out.u32(small.len() as u32);
                    out.u32(chunk.len() as u32);
                    out.raw(&small);
                    size += 8 + small.len();
                }
            }
            option.u32(*cpu);
            option.u64(offset as u64);
            option.u64(size as u64);
        }
        let mut size = self.out();
        size.u64((out.bytes.len() - start - 16) as u64);
        out.bytes[size_at..size_at + 8].copy_from_slice(&size.bytes);
        option.bytes
    }

    fn write_7(&self) -> Vec<u8> {
        let mut out = self.start();
        out.raw(match self.packed {
            Packed::No => &b"none\0\0"[..],
            Packed::Zlib => b"zlib\x001.2\0",
            Packed::Zstd => b"zstd\x001.5\0",
        });
        let pointer = out.bytes.len();
        out.u64(0);
        let mut sections = vec![
            (16, self.header_info()),
            (17, self.ftrace_events()),
            (18, self.event_formats()),
            (19, self.sized(&self.kallsyms, false)),
            (20, self.sized(&self.printk, false)),
            (21, self.sized(COMMS, true)),
        ];
        sections.retain(|s| !self.without.contains(&s.0));
        let mut options = self.options.clone();
        if self.backwards {
            sections.reverse();
            // The first options section comes before all that it knows nothing of, and chains to the second.
            self.point_here(&mut out, pointer);
            let mut first = self.out();
            first.u16(8);
            first.u32(4);
            first.raw(&self.cpu_count());
            first.u16(0);
            first.u32(8);
            let next_at = out.bytes.len() + 16 + first.bytes.len();
            first.u64(0);
            out.raw(&self.section(0, &first.bytes, false));
            self.rest_of_7(&mut out, &sections, &mut options, next_at);
        } else {
            options.push((8, self.cpu_count()));
            self.rest_of_7(&mut out, &sections, &mut options, pointer);
        }
        out.bytes
    }

    /// Writes the end of `out` to `pointer`.
    fn point_here(&self, out: &mut Out, pointer: usize) {
        let mut here = self.out();
        here.u64(out.bytes.len() as u64);
        out.bytes[pointer..pointer + 8].copy_from_slice(&here.bytes);
    }

    /// Writes the sections, then the options; their place goes to `pointer`.
    fn rest_of_7(
        &self,
        out: &mut Out,
        sections: &[(u16, Vec<u8>)],
        options: &mut Vec<(u16, Vec<u8>)>,
        pointer: usize,
    ) {
        let mut buffers = Vec::new();
        if !self.without.contains(&3) {
            for (name, cpus) in &self.instances {
                buffers.push((3, self.buffer(out, name, cpus)));
            }
            buffers.push((3, self.buffer(out, "", &self.cpus)));
        }
        for (id, bytes) in sections {
            let mut place = self.out();
            place.u64(out.bytes.len() as u64);
            options.push((*id, place.bytes));
            out.raw(&self.section(*id, bytes, true));
        }
        if self.backwards {
            options.reverse();
            options.splice(0..0, buffers);
        } else {
            options.extend(buffers);
        }
        options.push((0, vec![0; 8]));
        let mut body = self.out();
        for (id, bytes) in options {
            body.u16(*id);
            body.u32(bytes.len() as u32);
            body.raw(bytes);
        }
        self.point_here(out, pointer);
        out.raw(&self.section(0, &body.bytes, self.backwards));
    }
}
