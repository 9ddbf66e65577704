// SPDX-License-Identifier: GPL-2.0-only
//! What packets without events say: the machine, the clocks, the buffers, the names of tasks.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::NoteId;

use super::cpuidle::Samples;
use super::packets::Packing;
use super::wire::{Fields, Value};
use crate::meta::{CpuStats, TraceMeta};

/// Stands behind the recorder's name, and the name of the recording's clock behind it, in a file that was converted from a
/// recording of which Perfetto has no such clock; nothing follows where the recording names no clock.
pub(crate) const CLOCK_REMARK: &str = "; clock of the recording: ";

/// `TracePacket.sys_stats`.
const SYS_STATS: u32 = 7;
/// `BuiltinClock`.
const MONOTONIC: u64 = 3;
const BOOTTIME: u64 = 6;
/// The clocks of a snapshot are read one after the other; offsets this close are the same, ns.
const SAME_NS: u64 = 1_000_000;
/// `FtraceStats.phase`: the end of the recording.
const END_OF_TRACE: u64 = 2;
/// More names are not listed in a remark.
const MOST_LISTED: usize = 30;

/// What the packets of a file said.
#[derive(Default)]
pub(super) struct Facts {
    kernel: String,
    recorder: String,
    /// `FtraceClock` values of the bundles.
    clocks: BTreeSet<u64>,
    writers: BTreeSet<u32>,
    /// `CLOCK_BOOTTIME` minus `CLOCK_MONOTONIC`, ns: the least and the most that a snapshot shows.
    suspended_ns: Option<(u64, u64)>,
    comms: BTreeMap<i32, String>,
    stats: BTreeMap<u32, CpuStats>,
    /// Events that the recording asked for, "sched/sched_switch".
    pub(super) asked: BTreeSet<String>,
    /// Events that the recorder did not know or could not switch on.
    refused: BTreeSet<String>,
    /// Packets of kinds that are not read, by their field.
    skipped: BTreeMap<u32, u64>,
    cpuidle: Samples,
    /// Fields of bundles that are not known, by number.
    unknown: BTreeMap<u32, u64>,
    packing: BTreeSet<&'static str>,
    other_machines: u64,
}

impl Facts {
    /// A field of a packet that holds neither events nor other packets.
    pub(super) fn packet_field(&mut self, number: u32, value: Value<'_>) {
        match (number, value) {
            (2, Value::Bytes(tree)) => self.process_tree(tree),
            (6, Value::Bytes(snapshot)) => self.clock_snapshot(snapshot),
            (33, Value::Bytes(config)) => self.trace_config(config),
            (34, Value::Bytes(stats)) => self.ftrace_stats(stats),
            (45, Value::Bytes(info)) => self.system_info(info),
            // Times, the writer's process, marks for resynchronising, defaults for other sources' packets.
            (3 | 36 | 42 | 58 | 59 | 79 | 87, _) => {}
            _ => *self.skipped.entry(number).or_default() += 1,
        }
    }

    /// A packet of `linux.sys_stats`, of which the times in idle states are read.
    pub(super) fn sys_stats(&mut self, message: &[u8], at_ns: u64) {
        *self.skipped.entry(SYS_STATS).or_default() += 1;
        self.cpuidle.take(message, at_ns);
    }

    pub(super) fn bundle_field(&mut self, number: u32) {
        *self.unknown.entry(number).or_default() += 1;
    }

    pub(super) fn bundle(&mut self, clock: u64, writer: u32) {
        self.clocks.insert(clock);
        self.writers.insert(writer);
    }

    pub(super) fn packed(&mut self, packing: Packing) {
        self.packing.insert(match packing {
            Packing::Deflate => "deflate",
            Packing::Zstd => "zstd",
        });
    }

    pub(super) fn other_machine(&mut self) {
        self.other_machines += 1;
    }

    /// `ProcessTree`: processes (1) with pid (1), command line (3), and whether that is the comm (9); threads (2) with
    /// tid (1) and name (2).
    fn process_tree(&mut self, message: &[u8]) {
        for (number, value) in Fields::new(message) {
            let (mut pid, mut name, mut is_comm) = (0, None, number == 2);
            for (field, value) in Fields::new(value.bytes()) {
                match (number, field) {
                    (1 | 2, 1) => pid = value.number() as i32,
                    (2, 2) => name = Some(value.text()),
                    (1, 3) if name.is_none() => name = Some(value.text()),
                    (1, 9) => is_comm = value.number() != 0,
                    _ => {}
                }
            }
            if let Some(name) = name.filter(|_| is_comm && pid > 0) {
                self.comms.insert(pid, name);
            }
        }
    }

    /// `ClockSnapshot`: clocks (1), each with its number (1) and time (2).
    fn clock_snapshot(&mut self, message: &[u8]) {
        let mut times = BTreeMap::new();
        for (_, value) in Fields::new(message).filter(|(n, _)| *n == 1) {
            let (mut clock, mut time) = (0, 0);
            for (field, value) in Fields::new(value.bytes()) {
                match field {
                    1 => clock = value.number(),
                    2 => time = value.number(),
                    _ => {}
                }
            }
            times.insert(clock, time);
        }
        if let (Some(boot), Some(mono)) = (times.get(&BOOTTIME), times.get(&MONOTONIC)) {
            let now = boot.saturating_sub(*mono);
            let (least, most) = self.suspended_ns.get_or_insert((now, now));
            (*least, *most) = (now.min(*least), now.max(*most));
        }
    }

    /// `TraceConfig`: data sources (2), each with a config (1) whose `FtraceConfig` (100) lists events (1).
    fn trace_config(&mut self, message: &[u8]) {
        for (_, source) in Fields::new(message).filter(|(n, _)| *n == 2) {
            for (_, config) in Fields::new(source.bytes()).filter(|(n, _)| *n == 1) {
                for (_, ftrace) in Fields::new(config.bytes()).filter(|(n, _)| *n == 100) {
                    let events = Fields::new(ftrace.bytes()).filter(|(n, _)| *n == 1);
                    self.asked.extend(events.map(|(_, name)| name.text()));
                }
            }
        }
    }

    /// `FtraceStats`: phase (1), counters of the CPUs (2), events that are unknown (6) or failed (7).
    fn ftrace_stats(&mut self, message: &[u8]) {
        let (mut phase, mut all) = (0, BTreeMap::new());
        for (number, value) in Fields::new(message) {
            match number {
                1 => phase = value.number(),
                2 => {
                    let (mut cpu, mut stats) = (0, CpuStats::default());
                    for (field, value) in Fields::new(value.bytes()) {
                        match field {
                            1 => cpu = value.number(),
                            3 => stats.overrun = value.number(),
                            4 => stats.commit_overrun = value.number(),
                            8 => stats.dropped = value.number(),
                            9 => stats.read_events = value.number(),
                            _ => {}
                        }
                    }
                    all.insert(cpu as u32, stats);
                }
                6 | 7 => {
                    self.refused.insert(value.text());
                }
                _ => {}
            }
        }
        if phase == END_OF_TRACE {
            self.stats = all;
        }
    }

    /// `SystemInfo`: uname (1) with release (3) and machine (4); the recorder's version (4). Its `hz` (3) is what user
    /// space counts in, not the kernel's HZ.
    fn system_info(&mut self, message: &[u8]) {
        let (mut release, mut machine) = (String::new(), String::new());
        for (number, value) in Fields::new(message) {
            match number {
                1 => {
                    for (field, value) in Fields::new(value.bytes()) {
                        match field {
                            3 => release = value.text(),
                            4 => machine = value.text(),
                            _ => {}
                        }
                    }
                }
                4 => self.recorder = value.text(),
                _ => {}
            }
        }
        if !release.is_empty() {
            self.kernel = format!("{release} {machine}").trim_end().to_owned();
        }
    }

    /// Writes down what was said.
    pub(super) fn tell(mut self, meta: &mut TraceMeta) {
        let packing: Vec<&str> = self.packing.into_iter().collect();
        meta.format = "Perfetto protobuf".to_owned();
        if !packing.is_empty() {
            meta.format = format!("{}, {}", meta.format, packing.join(" and "));
        }
        let mut clocks = self.clocks.iter().map(|clock| clock_name(*clock));
        meta.clock = clocks.next().unwrap_or_default().to_owned();
        if meta.clock == "boot" && self.suspended_ns.is_some_and(|(_, most)| most < SAME_NS) {
            meta.clock = "mono".to_owned();
        }
        if let Some((recorder, clock)) = self.recorder.split_once(CLOCK_REMARK) {
            // The clock of the recording that this was converted from; only one that could be a clock's name is taken.
            if meta.clock == "boot" && clock.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
            {
                clock.clone_into(&mut meta.clock);
            }
            let recorder = recorder.to_owned();
            self.recorder = recorder;
        }
        if clocks.next().is_some() {
            let names: Vec<&str> = self.clocks.iter().map(|clock| clock_name(*clock)).collect();
            meta.clock = String::new();
            meta.note(
                NoteId::TraceClock,
                format!(
                    "its bundles are on different clocks ({}), whose times are not brought together",
                    names.join(", ")
                ),
            );
        }
        if let Some((least, most)) = self.suspended_ns
            && most - least > SAME_NS
        {
            meta.note(
                NoteId::TraceClock,
                format!(
                    "the machine was suspended for {} s while it was recorded: times in events of hrtimers \
                 (CLOCK_MONOTONIC) and of the trace (CLOCK_BOOTTIME) diverge there",
                    (most - least) as f64 / 1e9
                ),
            );
        }
        if self.writers.len() > 1 {
            meta.note(NoteId::OtherRecording, format!(
                "{} ftrace sources in one trace: an event that several of them asked for comes several times",
                self.writers.len()
            ));
        }
        if self.other_machines > 0 {
            meta.note(
                NoteId::OtherRecording,
                format!("{} packets of other machines are left out", self.other_machines),
            );
        }
        if !self.refused.is_empty() {
            meta.note(NoteId::Reader, format!("the recorder could not give: {}", list(&self.refused)));
        }
        let counts = |counts: &BTreeMap<u32, u64>, name: fn(u32) -> String| {
            let words: BTreeSet<String> =
                counts.iter().map(|(f, n)| format!("{} ({n} times)", name(*f))).collect();
            list(&words)
        };
        meta.cpuidle = self.cpuidle.all;
        let sampled: u64 = meta.cpuidle.len() as u64;
        if sampled > 0 {
            meta.note(
                NoteId::Reader,
                format!("sys_stats: the kernel's time in each idle state, {sampled} samples; idlewise diff shows them"),
            );
        }
        // Such a packet may hold other counters as well; where all had idle states, nothing that counts is left out.
        self.skipped.retain(|field, n| *field != SYS_STATS || *n > sampled);
        if !self.skipped.is_empty() {
            meta.note(
                NoteId::UnknownFormat,
                format!("packets left out, by their field: {}", counts(&self.skipped, packet_name)),
            );
        }
        if !self.unknown.is_empty() {
            meta.note(
                NoteId::UnknownFormat,
                format!(
                    "unknown fields of bundles left out: {}",
                    counts(&self.unknown, |field| field.to_string())
                ),
            );
        }
        (meta.kernel, meta.recorder) = (self.kernel, self.recorder);
        (meta.comms, meta.cpu_stats) = (self.comms, self.stats);
    }
}

/// The field of a packet by its name in `TracePacket`, where it is one of the usual ones.
fn packet_name(field: u32) -> String {
    let name = match field {
        SYS_STATS => "sys_stats",
        9 => "process_stats",
        11 => "track_event",
        35 => "trace_stats",
        37 => "profile_packet",
        38 => "battery",
        39 => "android_log",
        40 => "power_rails",
        46 => "trigger",
        47 => "packages_list",
        66 => "perf_sample",
        67 => "cpu_info",
        69 => "service_event",
        _ => return field.to_string(),
    };
    name.to_owned()
}

/// `FtraceClock`; bundles say nothing where it is the usual one.
fn clock_name(clock: u64) -> &'static str {
    match clock {
        0 => "boot",
        2 => "global",
        3 => "local",
        4 => "mono_raw",
        _ => "unknown",
    }
}

fn list(words: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = words.iter().take(MOST_LISTED).map(String::as_str).collect();
    let more = words.len().saturating_sub(MOST_LISTED);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", shown.join(", "))
}
