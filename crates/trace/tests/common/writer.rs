// SPDX-License-Identifier: GPL-2.0-only
//! Writes small trace.dat files, byte by byte, so that a test can say what is in them.

use std::io::Write;

/// One page of the ring buffer.
#[derive(Clone)]
pub struct Page {
    time: u64,
    data: Vec<u8>,
    missed: Option<u64>,
}

impl Page {
    pub fn new(time: u64) -> Self {
        Self { time, data: Vec::new(), missed: None }
    }

    fn word(&mut self, word: u32) {
        self.data.extend(word.to_le_bytes());
    }

    /// An event `delta` ns (below 2^27) after the entry before.
    pub fn event(mut self, delta: u32, payload: &[u8]) -> Self {
        let words = payload.len().div_ceil(4) as u32;
        if (1..=28).contains(&words) {
            self.word(words | delta << 5);
        } else {
            self.word(delta << 5);
            self.word(payload.len() as u32 + 4);
        }
        self.data.extend(payload);
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        self
    }

    pub fn extend(mut self, delta: u64) -> Self {
        self.word(30 | (delta as u32 & 0x7ff_ffff) << 5);
        self.word((delta >> 27) as u32);
        self
    }

    pub fn stamp(mut self, time: u64) -> Self {
        self.word(31 | (time as u32 & 0x7ff_ffff) << 5);
        self.word((time >> 27) as u32);
        self
    }

    /// A discarded entry of `body` bytes behind its length word.
    pub fn padding(mut self, delta: u32, body: u32) -> Self {
        self.word(29 | delta << 5);
        self.word(body + 4);
        self.data.resize(self.data.len() + body as usize, 0xa5);
        self
    }

    /// Any bytes.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.data.extend(bytes);
        self
    }

    /// Events were lost before this page; `u64::MAX` for "nobody knows how many".
    pub fn missed(mut self, count: u64) -> Self {
        self.missed = Some(count);
        self
    }

    fn bytes(&self, page_size: usize, long: u8) -> Vec<u8> {
        let mut flags = 0u32;
        if let Some(count) = self.missed {
            flags |= 1 << 31 | if count == u64::MAX { 0 } else { 1 << 30 };
        }
        let mut out = self.time.to_le_bytes().to_vec();
        out.extend((flags | self.data.len() as u32).to_le_bytes());
        if long == 8 {
            out.extend([0; 4]);
        }
        out.extend(&self.data);
        if let Some(count) = self.missed.filter(|c| *c != u64::MAX) {
            out.extend(count.to_le_bytes().iter().take(long.into()));
        }
        assert!(out.len() <= page_size, "the page is too full");
        out.resize(page_size, 0);
        out
    }
}

/// How a version 7 file is packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    No,
    Zlib,
    Zstd,
}

/// A file to be written.
#[derive(Clone)]
pub struct Dat {
    pub version: u8,
    pub packed: Packed,
    pub long: u8,
    pub page_size: usize,
    pub clock: String,
    pub options: Vec<(u16, Vec<u8>)>,
    /// System and text of each format.
    pub formats: Vec<(&'static str, String)>,
    pub kallsyms: String,
    pub printk: String,
    pub cpus: Vec<(u32, Vec<Page>)>,
    /// Further instances: names only, with the pages of the top one.
    pub instances: Vec<String>,
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
    for (d, o, s, sign) in common.iter().chain(fields) {
        text += &format!("\tfield:{d};\toffset:{o};\tsize:{s};\tsigned:{sign};\n");
    }
    text + "\nprint fmt: \"%d\", REC->common_pid\n"
}

/// The bytes of an event: header, then `(offset, size, value)` of each field.
pub fn payload(id: u16, pid: i32, fields: &[(usize, usize, u64)]) -> Vec<u8> {
    let mut out = vec![0; 8];
    out[..2].copy_from_slice(&id.to_le_bytes());
    out[4..].copy_from_slice(&pid.to_le_bytes());
    for (at, size, value) in fields {
        out.resize(out.len().max(at + size), 0);
        out[*at..at + size].copy_from_slice(&value.to_le_bytes()[..*size]);
    }
    out
}

impl Default for Dat {
    fn default() -> Self {
        Self {
            version: 7,
            packed: Packed::Zstd,
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
    fn header_info(&self) -> Vec<u8> {
        let (long, data) = (self.long, if self.long == 8 { 16 } else { 12 });
        let page = format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:{data};\tsize:{};\tsigned:0;\n",
            self.page_size - data
        );
        let event = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
                     \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
        let mut out = b"header_page\0".to_vec();
        out.extend((page.len() as u64).to_le_bytes());
        out.extend(page.as_bytes());
        out.extend(b"header_event\0");
        out.extend((event.len() as u64).to_le_bytes());
        out.extend(event.as_bytes());
        out
    }

    fn event_formats(&self) -> Vec<u8> {
        let mut systems: Vec<&str> = self.formats.iter().map(|f| f.0).collect();
        systems.dedup();
        let mut out = (systems.len() as u32).to_le_bytes().to_vec();
        for system in systems {
            let texts: Vec<_> = self.formats.iter().filter(|f| f.0 == system).collect();
            out.extend(system.as_bytes());
            out.push(0);
            out.extend((texts.len() as u32).to_le_bytes());
            for (_, text) in texts {
                out.extend((text.len() as u64).to_le_bytes());
                out.extend(text.as_bytes());
            }
        }
        out
    }

    fn sized(text: &str) -> Vec<u8> {
        let mut out = (text.len() as u32).to_le_bytes().to_vec();
        out.extend(text.as_bytes());
        out
    }

    fn cmdlines() -> Vec<u8> {
        let text = "1 init\n42 worker/0:1\n";
        let mut out = (text.len() as u64).to_le_bytes().to_vec();
        out.extend(text.as_bytes());
        out
    }

    fn start(&self) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing".to_vec();
        out.extend([b'0' + self.version, 0, 0, self.long]);
        out.extend((self.page_size as u32).to_le_bytes());
        out
    }

    fn pages(&self, pages: &[Page]) -> Vec<u8> {
        pages.iter().flat_map(|p| p.bytes(self.page_size, self.long)).collect()
    }

    pub fn write(&self) -> Vec<u8> {
        if self.version == 6 { self.write_6() } else { self.write_7() }
    }

    fn write_6(&self) -> Vec<u8> {
        let mut out = self.start();
        out.extend(self.header_info());
        out.extend(0u32.to_le_bytes());
        out.extend(self.event_formats());
        out.extend(Self::sized(&self.kallsyms));
        out.extend(Self::sized(&self.printk));
        out.extend(Self::cmdlines());
        out.extend((self.cpus.len() as u32).to_le_bytes());
        out.extend(b"options  \0");
        let mut options = self.options.clone();
        options.push((4, Vec::new()));
        options.extend(self.instances.iter().map(|n| (3, [&[0; 8], n.as_bytes(), &[0]].concat())));
        for (id, bytes) in &options {
            out.extend(id.to_le_bytes());
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend(bytes);
        }
        out.extend(0u16.to_le_bytes());
        out.extend(b"flyrecord\0");
        let clock = format!("[{}]", self.clock);
        let table = out.len();
        let mut at = (table + 16 * self.cpus.len() + 8 + clock.len()).next_multiple_of(self.page_size);
        let data: Vec<_> = self.cpus.iter().map(|(_, pages)| self.pages(pages)).collect();
        let first = at;
        for d in &data {
            out.extend((at as u64).to_le_bytes());
            out.extend((d.len() as u64).to_le_bytes());
            at += d.len();
        }
        out.extend((clock.len() as u64).to_le_bytes());
        out.extend(clock.as_bytes());
        out.resize(first, 0);
        out.extend(data.concat());
        out
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
        let mut body = Vec::new();
        if packed {
            let small = self.pack(bytes);
            body.extend((small.len() as u32).to_le_bytes());
            body.extend((bytes.len() as u32).to_le_bytes());
            body.extend(small);
        } else {
            body.extend(bytes);
        }
        let mut out = id.to_le_bytes().to_vec();
        out.extend(u16::from(packed).to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend((body.len() as u64).to_le_bytes());
        out.extend(body);
        out
    }

    /// The section of a buffer and the option that points to it, both for a section at `at`.
    fn buffer(&self, at: usize, name: &str) -> (Vec<u8>, Vec<u8>) {
        let mut section = 3u16.to_le_bytes().to_vec();
        section.extend(u16::from(self.packed != Packed::No).to_le_bytes());
        section.extend([0; 12]);
        let mut option = (at as u64).to_le_bytes().to_vec();
        option.extend(name.as_bytes());
        option.push(0);
        option.extend(self.clock.as_bytes());
        option.push(0);
        option.extend((self.page_size as u32).to_le_bytes());
        option.extend((self.cpus.len() as u32).to_le_bytes());
        for (cpu, pages) in &self.cpus {
            let plain = self.pages(pages);
            section.resize((at + section.len()).next_multiple_of(self.page_size) - at, 0);
            let offset = at + section.len();
            let mut size = plain.len();
            if self.packed == Packed::No {
                section.extend(plain);
            } else {
                let chunks: Vec<_> = plain.chunks(2 * self.page_size).collect();
                section.extend((chunks.len() as u32).to_le_bytes());
                size = 0;
                for chunk in chunks {
                    let small = self.pack(chunk);
                    section.extend((small.len() as u32).to_le_bytes());
                    section.extend((chunk.len() as u32).to_le_bytes());
                    section.extend(&small);
                    size += 8 + small.len();
                }
            }
            option.extend(cpu.to_le_bytes());
            option.extend((offset as u64).to_le_bytes());
            option.extend((size as u64).to_le_bytes());
        }
        let size = section.len() as u64 - 16;
        section[8..16].copy_from_slice(&size.to_le_bytes());
        (section, option)
    }

    fn write_7(&self) -> Vec<u8> {
        let mut out = self.start();
        out.extend(match self.packed {
            Packed::No => &b"none\0\0"[..],
            Packed::Zlib => b"zlib\x001.2\0",
            Packed::Zstd => b"zstd\x001.5\0",
        });
        let pointer = out.len();
        out.extend([0; 8]);
        let mut sections = vec![
            (16, self.header_info()),
            (17, 0u32.to_le_bytes().to_vec()),
            (18, self.event_formats()),
            (19, Self::sized(&self.kallsyms)),
            (20, Self::sized(&self.printk)),
            (21, Self::cmdlines()),
        ];
        sections.retain(|s| !self.without.contains(&s.0));
        let mut options = self.options.clone();
        if self.backwards {
            sections.reverse();
            // The first options section comes before all that it knows nothing of, and chains to the second.
            let at = out.len() as u64;
            let mut first = 8u16.to_le_bytes().to_vec();
            first.extend(4u32.to_le_bytes());
            first.extend((self.cpus.len() as u32).to_le_bytes());
            let mut done = 0u16.to_le_bytes().to_vec();
            done.extend(8u32.to_le_bytes());
            first.extend(&done);
            let next_at = at as usize + 16 + first.len();
            first.extend([0; 8]);
            out.extend(self.section(0, &first, false));
            out[pointer..pointer + 8].copy_from_slice(&at.to_le_bytes());
            self.rest_of_7(&mut out, &sections, &mut options, next_at);
        } else {
            self.rest_of_7(&mut out, &sections, &mut options, pointer);
        }
        out
    }

    /// Writes the sections, then the options; their place goes to `pointer`.
    fn rest_of_7(
        &self,
        out: &mut Vec<u8>,
        sections: &[(u16, Vec<u8>)],
        options: &mut Vec<(u16, Vec<u8>)>,
        pointer: usize,
    ) {
        let mut buffers = Vec::new();
        if !self.without.contains(&3) {
            for name in self.instances.iter().map(String::as_str).chain([""]) {
                let (section, option) = self.buffer(out.len(), name);
                out.extend(section);
                buffers.push((3, option));
            }
        }
        for (id, bytes) in sections {
            options.push((*id, (out.len() as u64).to_le_bytes().to_vec()));
            out.extend(self.section(*id, bytes, true));
        }
        if self.backwards {
            options.reverse();
            options.splice(0..0, buffers);
        } else {
            options.extend(buffers);
        }
        options.push((0, vec![0; 8]));
        let mut body = Vec::new();
        for (id, bytes) in options {
            body.extend(id.to_le_bytes());
            body.extend((bytes.len() as u32).to_le_bytes());
            body.extend(&*bytes);
        }
        let at = out.len() as u64;
        out[pointer..pointer + 8].copy_from_slice(&at.to_le_bytes());
        out.extend(self.section(0, &body, self.backwards));
    }
}

/// Formats of a few events, with the ids that [`small`] uses.
pub fn formats(long: u8) -> Vec<(&'static str, String)> {
    let l = u16::from(long);
    vec![
        ("power", format("cpu_idle", 10, &[("u32 state", 8, 4, 0), ("u32 cpu_id", 12, 4, 0)])),
        (
            "power",
            format(
                "cpu_idle_miss",
                11,
                &[("u32 cpu_id", 8, 4, 0), ("u32 state", 12, 4, 0), ("bool below", 16, 1, 0)],
            ),
        ),
        (
            "sched",
            format(
                "sched_switch",
                20,
                &[
                    ("char prev_comm[16]", 8, 16, 0),
                    ("pid_t prev_pid", 24, 4, 1),
                    ("int prev_prio", 28, 4, 1),
                    ("long prev_state", 32, l, 1),
                    ("char next_comm[16]", 32 + l, 16, 0),
                    ("pid_t next_pid", 48 + l, 4, 1),
                    ("int next_prio", 52 + l, 4, 1),
                ],
            ),
        ),
        (
            "irq",
            format("irq_handler_entry", 30, &[("int irq", 8, 4, 1), ("__data_loc char[] name", 12, 4, 0)]),
        ),
        ("ipi", format("ipi_entry", 40, &[("const char * reason", 8, l, 0)])),
        ("other", format("something", 50, &[("u64 x", 8, 8, 0)])),
    ]
}

/// A small trace of two CPUs with every kind of entry.
pub fn small() -> Dat {
    let idle = |state: u64, cpu: u64| payload(10, 0, &[(8, 4, state), (12, 4, cpu)]);
    let mut irq = payload(30, 0, &[(8, 4, 19), (12, 4, 16 | 5 << 16)]);
    irq.extend(b"eth0\0");
    let long = payload(50, 42, &[(8, 8, 1), (200, 4, 9)]);
    let switch = payload(20, 0, &[(24, 4, 0), (28, 4, 120), (32, 8, 0), (56, 4, 42), (60, 4, 100)]);
    let cpu0 = vec![
        Page::new(1_000)
            .event(0, &idle(1, 0))
            .extend(3_000_000_000)
            .event(5, &irq)
            .padding(7, 12)
            .event(1, &idle(0xffff_ffff, 0))
            .event(2, &payload(11, 0, &[(8, 4, 0), (12, 4, 1), (16, 1, 1)]))
            .event(2, &long),
        Page::new(4_000_000_000).missed(7).event(3, &switch).stamp(4_000_000_100).event(0, &long),
        Page::new(5_000_000_000),
        Page::new(6_000_000_000).missed(u64::MAX).event(1, &payload(99, 1, &[(8, 4, 0)])),
    ];
    let cpu3 = vec![
        Page::new(1_000)
            .event(0, &idle(2, 3))
            .event(100, &payload(40, 0, &[(8, 8, 0xffff_0000)]))
            .event(100, &idle(0xffff_ffff, 3)),
        Page::new(500).event(0, &idle(0, 3)),
    ];
    Dat {
        formats: formats(8),
        printk: "0xffff0000 : \"Rescheduling interrupts\"\n0xffff0020 : \"other: text\"\n".into(),
        kallsyms: "ffff1000 T first\nffff2000 T second\n".into(),
        cpus: vec![(0, cpu0), (3, cpu3)],
        options: vec![(5, b"Linux host 6.9.1 x86_64\0".to_vec()), (9, b"3.2.0 x\0".to_vec())],
        ..Dat::default()
    }
}
