// SPDX-License-Identifier: GPL-2.0-only
//! Writes small CTF 1.8 traces as LTTng lays them out, so that a test can say what is in them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use idlewise_model::{Event, EventKind, Ipi, Vector};

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

/// A field of an event: TSDL's type and name, and what is written.
enum Value {
    Number(u64, usize),
    Text(String),
    Comm(String),
}

type Field = (String, Value);

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
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/ctf/write.py");
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

/// The description of an event in the metadata.
fn declaration(name: &str, id: u64, fields: &[Field]) -> String {
    let mut text =
        format!("event {{\n\tname = \"{name}\";\n\tid = {id};\n\tstream_id = 0;\n\tfields := struct {{\n");
    for (name, value) in fields {
        let (kind, name) = name.split_once(' ').unwrap_or(("u", name));
        match value {
            Value::Number(_, size) => writeln!(
                text,
                "\t\tinteger {{ size = {size}; align = 8; signed = {}; encoding = none; base = {}; }} _{name};",
                u8::from(kind == "s"),
                if kind == "x" { 16 } else { 10 }
            ),
            Value::Text(_) => writeln!(text, "\t\tstring _{name};"),
            Value::Comm(_) => writeln!(
                text,
                "\t\tinteger {{ size = 8; align = 8; signed = 0; encoding = UTF8; base = 10; }} _{name}[16];"
            ),
        }
        .unwrap();
    }
    text.push_str("\t};\n};\n\n");
    text
}

/// Name and fields of an event, as LTTng has them where it has the event.
fn fields_of(kind: &EventKind) -> (String, Vec<Field>) {
    let u32s = |all: &[(&str, u32)]| -> Vec<Field> {
        all.iter().map(|(name, n)| (format!("u {name}"), Value::Number((*n).into(), 32))).collect()
    };
    let u64s = |all: &[(&str, u64)]| -> Vec<Field> {
        all.iter().map(|(name, n)| (format!("x {name}"), Value::Number(*n, 64))).collect()
    };
    let signed = |name: &str, n: i64, bits: usize| (format!("s {name}"), Value::Number(n as u64, bits));
    let text = |name: &str, text: &str| (name.to_owned(), Value::Text(text.to_owned()));
    let task = |key: &str, pid: i32, name: &str| {
        let comm = Value::Comm(if pid == 0 { "swapper".to_owned() } else { format!("task-{pid}") });
        [(key.to_owned(), comm), signed(name, pid.into(), 32)]
    };
    let (name, fields) = match *kind {
        EventKind::CpuIdle { cpu, state } => {
            ("power_cpu_idle", u32s(&[("state", state.unwrap_or(u32::MAX)), ("cpu_id", cpu)]))
        }
        EventKind::CpuIdleMiss { cpu, state, below } => {
            ("power:cpu_idle_miss", u32s(&[("cpu_id", cpu), ("state", state), ("below", below.into())]))
        }
        EventKind::CpuFrequency { cpu, khz } => {
            ("power_cpu_frequency", u32s(&[("state", khz), ("cpu_id", cpu)]))
        }
        EventKind::PmQosUpdateTarget { curr_value } => {
            ("power:pm_qos_update_target", vec![signed("curr_value", curr_value.into(), 32)])
        }
        EventKind::GuestHaltPollNs { grow, new, old } => {
            ("power:guest_halt_poll_ns", u32s(&[("grow", grow.into()), ("new", new), ("old", old)]))
        }
        EventKind::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio } => {
            let mut fields: Vec<Field> = task("prev_comm", prev_pid, "prev_tid").into();
            fields.push(signed("prev_prio", i64::from(prev_prio) - 100, 32));
            fields.push(signed("prev_state", prev_state as i64, 64));
            fields.extend(task("next_comm", next_pid, "next_tid"));
            fields.push(signed("next_prio", i64::from(next_prio) - 100, 32));
            ("sched_switch", fields)
        }
        EventKind::SchedWaking { pid, target_cpu } | EventKind::SchedWakeup { pid, target_cpu, .. } => {
            let mut fields: Vec<Field> = task("comm", pid, "tid").into();
            fields.push(signed("prio", 20, 32));
            fields.push(signed("target_cpu", target_cpu.into(), 32));
            let name = match kind {
                EventKind::SchedWakeup { new: true, .. } => "sched_wakeup_new",
                EventKind::SchedWakeup { .. } => "sched_wakeup",
                _ => "sched_waking",
            };
            (name, fields)
        }
        EventKind::SchedMigrateTask { pid, orig_cpu, dest_cpu } => {
            let mut fields: Vec<Field> = task("comm", pid, "tid").into();
            fields.extend(u32s(&[("orig_cpu", orig_cpu), ("dest_cpu", dest_cpu)]));
            ("sched_migrate_task", fields)
        }
        EventKind::SchedBlockedReason { pid, io_wait } => {
            ("sched:sched_blocked_reason", u32s(&[("pid", pid as u32), ("io_wait", io_wait.into())]))
        }
        EventKind::PeltCfs { cpu, util } => {
            ("sched:sched_load_avg_cpu", u32s(&[("cpu", cpu), ("util_avg", util)]))
        }
        EventKind::SchedWakeIdleWithoutIpi { cpu } => {
            ("sched:sched_wake_idle_without_ipi", u32s(&[("cpu", cpu)]))
        }
        EventKind::IrqEntry { irq } => (
            "irq_handler_entry",
            vec![signed("irq", irq.into(), 32), text("name", &format!("handler-{irq}"))],
        ),
        EventKind::IrqExit { irq } => {
            ("irq_handler_exit", vec![signed("irq", irq.into(), 32), signed("ret", 1, 32)])
        }
        EventKind::SoftirqEntry { vec } => ("irq_softirq_entry", u32s(&[("vec", vec)])),
        EventKind::SoftirqExit { vec } => ("irq_softirq_exit", u32s(&[("vec", vec)])),
        EventKind::SoftirqRaise { vec } => ("irq_softirq_raise", u32s(&[("vec", vec)])),
        EventKind::VectorEntry { vector } | EventKind::VectorExit { vector } => {
            let end = if matches!(kind, EventKind::VectorEntry { .. }) { "entry" } else { "exit" };
            return (format!("x86_irq_vectors_{}_{end}", vector_name(vector)), u32s(&[("vector", 236)]));
        }
        EventKind::IpiEntry { ipi } => ("ipi:ipi_entry", vec![text("reason", ipi_name(ipi))]),
        EventKind::IpiExit { ipi } => ("ipi:ipi_exit", vec![text("reason", ipi_name(ipi))]),
        EventKind::IpiSendCpu { cpu } => ("ipi:ipi_send_cpu", u32s(&[("cpu", cpu)])),
        EventKind::HrtimerStart { hrtimer, function, expires, softexpires, mode, was_armed } => {
            let mut fields = u64s(&[("hrtimer", hrtimer), ("function", function)]);
            fields.extend([signed("expires", expires, 64), signed("softexpires", softexpires, 64)]);
            fields.extend(u32s(&[("mode", mode.0)]));
            if let Some(armed) = was_armed {
                fields.extend(u32s(&[("was_armed", armed.into())]));
            }
            ("timer_hrtimer_start", fields)
        }
        EventKind::HrtimerCancel { hrtimer } => ("timer_hrtimer_cancel", u64s(&[("hrtimer", hrtimer)])),
        EventKind::HrtimerExpireEntry { hrtimer, function, now } => {
            let mut fields = u64s(&[("hrtimer", hrtimer)]);
            fields.push(signed("now", now, 64));
            fields.extend(u64s(&[("function", function)]));
            ("timer_hrtimer_expire_entry", fields)
        }
        EventKind::HrtimerExpireExit { hrtimer } => {
            ("timer_hrtimer_expire_exit", u64s(&[("hrtimer", hrtimer)]))
        }
        EventKind::TimerStart { timer, function, expires, bucket_expiry, now, flags } => {
            let mut fields =
                u64s(&[("timer", timer), ("function", function), ("expires", expires), ("now", now)]);
            fields.extend(u32s(&[("flags", flags.0)]));
            if let Some(bucket) = bucket_expiry {
                fields.extend(u64s(&[("bucket_expiry", bucket)]));
            }
            ("timer_start", fields)
        }
        EventKind::TimerCancel { timer } => ("timer_cancel", u64s(&[("timer", timer)])),
        EventKind::TimerExpireEntry { timer, function, now } => {
            ("timer_expire_entry", u64s(&[("timer", timer), ("now", now), ("function", function)]))
        }
        EventKind::TimerExpireExit { timer } => ("timer_expire_exit", u64s(&[("timer", timer)])),
        EventKind::TimerBaseIdle { is_idle, cpu } => {
            ("timer:timer_base_idle", u32s(&[("is_idle", is_idle.into()), ("cpu", cpu)]))
        }
        EventKind::TmigrCpuIdle { cpu, nextevt, wakeup } => {
            let mut fields = u64s(&[("nextevt", nextevt), ("wakeup", wakeup)]);
            fields.extend(u32s(&[("cpu", cpu)]));
            ("timer_migration:tmigr_cpu_idle", fields)
        }
        EventKind::TickStop { success, dependency } => {
            ("timer:tick_stop", u32s(&[("success", success.into()), ("dependency", dependency)]))
        }
        EventKind::Other { id } => return (format!("other_{id}"), Vec::new()),
        EventKind::Lost { .. } => unreachable!("lost events are no events"),
    };
    (name.to_owned(), fields)
}

fn vector_name(vector: Vector) -> &'static str {
    match vector {
        Vector::LocalTimer => "local_timer",
        Vector::Reschedule => "reschedule",
        Vector::CallFunction => "call_function",
        Vector::CallFunctionSingle => "call_function_single",
        Vector::IrqWork => "irq_work",
        Vector::Other => "thermal_apic",
    }
}

fn ipi_name(ipi: Ipi) -> &'static str {
    match ipi {
        Ipi::Reschedule => "Rescheduling interrupts",
        Ipi::CallFunction => "Function call interrupts",
        Ipi::TimerBroadcast => "Timer broadcast interrupts",
        Ipi::IrqWork => "IRQ work interrupts",
        Ipi::Other => "CPU stop interrupts",
    }
}

/// Stores the files of a trace in a directory.
pub fn store(dir: &Path, files: &Files) {
    std::fs::create_dir_all(dir).unwrap();
    for (name, bytes) in files {
        std::fs::write(dir.join(name), bytes).unwrap();
    }
}
