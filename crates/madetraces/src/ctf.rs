// SPDX-License-Identifier: GPL-2.0-only
//! Writes small CTF 1.8 traces as LTTng lays them out, so that a test can say what is in them.

mod kernel;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use idlewise_model::{Event, EventKind};
use idlewise_trace::TraceFile;
pub use kernel::own_state;
use kernel::{Value, declaration, fields_of};

/// The files of a trace by name.
pub type Files = BTreeMap<String, Vec<u8>>;

pub const UUID: [u8; 16] = *b"idlewise-testing";

/// Bits of fields, in one of the two byte orders.
#[derive(Clone)]
pub struct Bits {
    pub big: bool,
    pub bytes: Vec<u8>,
    pub at: usize,
}

impl Bits {
    pub fn new(big: bool) -> Self {
        Self { big, bytes: Vec::new(), at: 0 }
    }

    pub fn put(&mut self, value: u64, bits: usize) -> &mut Self {
        for i in 0..bits {
            self.bytes.resize(self.at / 8 + 1, 0);
            let from = if self.big { bits - 1 - i } else { i };
            let to = if self.big { 7 - self.at % 8 } else { self.at % 8 };
            self.bytes[self.at / 8] |= ((value >> from & 1) as u8) << to;
            self.at += 1;
        }
        self
    }

    pub fn align(&mut self, bits: usize) -> &mut Self {
        self.at = self.at.next_multiple_of(bits);
        self.bytes.resize(self.at.div_ceil(8), 0);
        self
    }

    /// A number of whole bytes at the next byte.
    pub fn int(&mut self, value: u64, bits: usize) -> &mut Self {
        self.align(8).put(value, bits)
    }

    /// Bytes at the next byte.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.align(8);
        self.bytes.extend(bytes);
        self.at = self.bytes.len() * 8;
        self
    }

    /// A text with its zero byte.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.raw(text.as_bytes()).raw(&[0])
    }

    /// A text in sixteen bytes.
    pub fn comm(&mut self, text: &str) -> &mut Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(16, 0);
        self.raw(&bytes)
    }

    fn patch(&mut self, byte: usize, value: u64) {
        let bytes = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes[byte..byte + 8].copy_from_slice(&bytes);
    }
}

/// A packet as LTTng lays it out.
#[derive(Clone)]
pub struct Packet {
    pub bits: Bits,
    large: bool,
    last: u64,
}

impl Packet {
    /// Where in a packet its numbers lie, bytes.
    pub const CONTENT_SIZE: usize = 48;
    pub const PACKET_SIZE: usize = 56;

    /// An empty packet of `cpu`, the `seq`th of its stream, after `discarded` lost events.
    pub fn new(big: bool, large: bool, cpu: u32, begin: u64, seq: u64, discarded: u64) -> Self {
        let mut bits = Bits::new(big);
        bits.int(0xc1fc_1fc1, 32).raw(&UUID).int(0, 32).int(u64::from(cpu), 64);
        bits.int(begin, 64).int(begin, 64).int(0, 64).int(0, 64).int(seq, 64).int(discarded, 64);
        bits.int(cpu.into(), 32);
        Self { bits, large, last: begin }
    }

    /// The header of an event; its fields follow.
    pub fn event(&mut self, id: u64, time: u64) -> &mut Bits {
        let (id_bits, time_bits) = if self.large { (16, 32) } else { (5, 27) };
        let most = (1u64 << id_bits) - 1;
        self.bits.align(8);
        if id < most && time.wrapping_sub(self.last) < 1 << time_bits {
            self.bits.put(id, id_bits).align(if self.large { 8 } else { 1 }).put(time, time_bits);
        } else {
            self.bits.put(most, id_bits).int(id, 32).int(time, 64);
        }
        self.last = time;
        &mut self.bits
    }

    /// The bytes, filled up to a multiple of `size`.
    pub fn finish(mut self, size: usize) -> Vec<u8> {
        let content = self.bits.at as u64;
        let len = self.bits.bytes.len().next_multiple_of(size);
        self.bits.patch(40, self.last);
        self.bits.patch(Self::CONTENT_SIZE, content);
        self.bits.patch(Self::PACKET_SIZE, len as u64 * 8);
        self.bits.bytes.resize(len, 0);
        self.bits.bytes
    }
}

/// How a trace is written.
#[derive(Clone)]
pub struct Lttng {
    pub big: bool,
    /// The event header of 16 and 32 bits instead of 5 and 27.
    pub large: bool,
    /// Metadata as plain text instead of in packets.
    pub plain: bool,
    /// The task is noted with every event, as by `lttng add-context -k -t tid`.
    pub tid: bool,
    /// So many events are in a packet at most.
    pub per_packet: usize,
    /// Packets are filled up to a multiple of so many bytes.
    pub packet_size: usize,
    /// Ticks in a second, and what the events' times are multiplied by to get ticks.
    pub freq: u64,
    /// What the clock is called.
    pub clock: &'static str,
}

impl Default for Lttng {
    fn default() -> Self {
        Self {
            big: false,
            large: false,
            plain: false,
            tid: false,
            per_packet: 7,
            packet_size: 4096,
            freq: 1_000_000_000,
            clock: "monotonic",
        }
    }
}

impl Lttng {
    /// The metadata up to the first event. The types and blocks are those of LTTng's metadata, which the CTF
    /// specification describes.
    pub fn head(&self) -> String {
        let uuid: String = UUID.iter().map(|b| format!("{b:02x}")).collect();
        let part = |from: usize, to: usize| uuid[from..to].to_owned();
        let uuid = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-");
        let order = if self.big { "be" } else { "le" };
        let (clock, freq) = (self.clock, self.freq);
        let mut text = "/* CTF 1.8 */\n\n".to_owned();
        for bits in [8, 16, 32, 64] {
            let int = format!("integer {{ size = {bits}; align = 8; signed = false; }}");
            writeln!(text, "typealias {int} := uint{bits}_t;").unwrap();
        }
        text.push_str("typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n");
        text.push_str("typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n\n");
        write!(
            text,
            "trace {{\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"{uuid}\";\n\tbyte_order = {order};\n\
             \tpacket.header := struct {{\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\
             \t\tuint64_t stream_instance_id;\n\t}};\n}};\n\n\
             env {{\n\thostname = \"test\";\n\tdomain = \"kernel\";\n\tsysname = \"Linux\";\n\
             \tkernel_release = \"6.12.0\";\n\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n\
             \ttracer_minor = 13;\n\ttracer_patchlevel = 9;\n}};\n\n\
             clock {{\n\tname = \"{clock}\";\n\tdescription = \"A clock\";\n\tfreq = {freq}; /* Hz */\n\
             \t// from the epoch\n\toffset_s = 1700000000;\n\toffset = 5;\n}};\n\n"
        )
        .unwrap();
        for (bits, align) in [(27, 1), (32, 8), (64, 8)] {
            writeln!(
                text,
                "typealias integer {{ size = {bits}; align = {align}; signed = false; \
                 map = clock.{clock}.value; }} := uint{bits}_clock_t;"
            )
            .unwrap();
        }
        text.push_str(
            "\nstruct packet_context {\n\tuint64_clock_t timestamp_begin;\n\tuint64_clock_t timestamp_end;\n\
             \tuint64_t content_size;\n\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n\
             \tunsigned long events_discarded;\n\tuint32_t cpu_id;\n};\n\n",
        );
        let (id, time, last) = if self.large { (16, 32, 65534) } else { (5, 27, 30) };
        write!(
            text,
            "struct event_header {{\n\tenum : uint{id}_t {{ compact = 0 ... {last}, extended = {} }} id;\n\
             \tvariant <id> {{\n\t\tstruct {{\n\t\t\tuint{time}_clock_t timestamp;\n\t\t}} compact;\n\
             \t\tstruct {{\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_t timestamp;\n\t\t}} extended;\n\t}} v;\n\
             }} align(8);\n\n",
            last + 1
        )
        .unwrap();
        let context = if self.tid {
            "\tevent.context := struct {\n\t\tinteger { size = 32; align = 8; signed = 1; } _tid;\n\t};\n"
        } else {
            ""
        };
        write!(
            text,
            "stream {{\n\tid = 0;\n\tevent.header := struct event_header;\n\
             \tpacket.context := struct packet_context;\n{context}}};\n\n"
        )
        .unwrap();
        text
    }

    /// An empty packet.
    pub fn packet(&self, cpu: u32, begin: u64, seq: u64, discarded: u64) -> Packet {
        Packet::new(self.big, self.large, cpu, begin, seq, discarded)
    }

    /// The bytes of the file `metadata`.
    pub fn metadata(&self, text: &str) -> Vec<u8> {
        if self.plain {
            return text.as_bytes().to_vec();
        }
        let mut out = Vec::new();
        for chunk in text.as_bytes().chunks(1000) {
            let mut bits = Bits::new(self.big);
            bits.int(0x75d1_1d57, 32).raw(&UUID).int(0, 32);
            bits.int((37 + chunk.len() as u64) * 8, 32).int(4096 * 8, 32).raw(&[0, 0, 0, 1, 8]).raw(chunk);
            bits.bytes.resize(4096, 0);
            out.extend(bits.bytes);
        }
        out
    }

    /// The trace of `events`: one stream for each CPU, in the order of the list. [`EventKind::Lost`] becomes a step of
    /// a packet's count of lost events, or a missing packet where the count is 0. Events that LTTng does not have get
    /// the kernel's `system:name`.
    pub fn write(&self, events: &[Event]) -> Files {
        let mut text = self.head();
        let mut ids: BTreeMap<String, u64> = BTreeMap::new();
        let mut streams: BTreeMap<u32, Stream> = BTreeMap::new();
        for event in events {
            let stream = streams.entry(event.cpu).or_default();
            if let EventKind::Lost { count } = event.kind {
                stream.close(self.packet_size);
                stream.discarded += count;
                stream.seq += u64::from(count == 0);
                continue;
            }
            let (name, fields) = fields_of(&event.kind);
            let next = ids.len() as u64;
            // Kernels differ in some fields; each kind is declared once.
            let id = *ids.entry(format!("{name} {}", fields.len())).or_insert_with(|| {
                text.push_str(&declaration(&name, next, &fields));
                next
            });
            let ticks = (u128::from(event.ts_ns) * u128::from(self.freq) / 1_000_000_000) as u64;
            if stream.events == self.per_packet {
                stream.close(self.packet_size);
            }
            let (seq, discarded) = (stream.seq, stream.discarded);
            let packet = stream.packet.get_or_insert_with(|| self.packet(event.cpu, ticks, seq, discarded));
            stream.events += 1;
            let bits = packet.event(id, ticks);
            if self.tid {
                bits.int(event.pid as u64, 32);
            }
            for (_, value) in &fields {
                match value {
                    Value::Number(n, size) => bits.int(*n, *size),
                    Value::Text(text) => bits.text(text),
                    Value::Comm(text) => bits.comm(text),
                };
            }
        }
        let mut files = Files::from([("metadata".to_owned(), self.metadata(&text))]);
        for (cpu, mut stream) in streams {
            stream.close(self.packet_size);
            files.insert(format!("k_{cpu}"), stream.bytes);
        }
        files
    }
}

/// Whether babeltrace's library can be asked to write a trace.
pub fn has_bt2() -> bool {
    Command::new(PYTHON).args(["-c", "import bt2"]).output().is_ok_and(|o| o.status.success())
}

/// The Python that Debian's packages are for.
const PYTHON: &str = "/usr/bin/python3";

/// Lets babeltrace's library write a trace of `events` to `dir`; lost events are left out.
pub fn write_with_bt2(events: &[Event], dir: &Path) {
    let mut lines = String::new();
    for event in events.iter().filter(|e| !matches!(e.kind, EventKind::Lost { .. })) {
        let (name, fields) = fields_of(&event.kind);
        write!(lines, "{} {} {name}", event.ts_ns, event.cpu).unwrap();
        for (name, value) in &fields {
            let (kind, name) = name.split_once(' ').unwrap_or(("u", name));
            match value {
                Value::Number(n, 64) if kind == "s" => write!(lines, " s:{name}={}", *n as i64),
                Value::Number(n, _) if kind == "s" => write!(lines, " s:{name}={}", *n as i32),
                Value::Number(n, _) => write!(lines, " u:{name}={n}"),
                Value::Text(text) | Value::Comm(text) => {
                    write!(lines, " t:{name}={}", text.replace(' ', "%20"))
                }
            }
            .unwrap();
        }
        lines.push('\n');
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ctf/write.py");
    let list = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(list.path(), lines).unwrap();
    let output = Command::new(PYTHON).arg(script).arg(list.path()).arg(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    packet: Option<Packet>,
    events: usize,
    seq: u64,
    discarded: u64,
}

impl Stream {
    fn close(&mut self, size: usize) {
        if let Some(packet) = self.packet.take() {
            self.bytes.extend(packet.finish(size));
            self.seq += 1;
            self.events = 0;
        }
    }
}

/// The trace that these files are.
pub fn open(files: Files) -> TraceFile {
    TraceFile::from_files(Path::new("synthetic"), files).unwrap()
}

/// Its events.
pub fn events(files: Files) -> Vec<Event> {
    open(files).events().unwrap().collect()
}

/// Stores the files of a trace in a directory.
pub fn store(dir: &Path, files: &Files) {
    std::fs::create_dir_all(dir).unwrap();
    for (name, bytes) in files {
        std::fs::write(dir.join(name), bytes).unwrap();
    }
}

/// An event `power_cpu_idle` with these fields.
pub fn idle_event(fields: &str) -> String {
    format!("event {{ name = \"power_cpu_idle\"; id = 0; stream_id = 0; fields := struct {{ {fields} }}; }};")
}
