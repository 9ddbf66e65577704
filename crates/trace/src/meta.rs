// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::{Health, HealthKind, Note, NoteId};

use crate::perfetto::CpuidleSample;
use crate::symbols::Symbols;

/// What a trace says about itself, known when it is opened.
#[derive(Debug, Default)]
pub struct TraceMeta {
    /// The format in words: "trace.dat version 7, zstd".
    pub format: String,
    /// Release and machine of the kernel that was traced; empty if the file does not tell.
    pub kernel: String,
    /// The trace clock ("mono", "local", ...); empty if the file does not tell.
    pub clock: String,
    /// The CPUs that the file has a buffer of, ascending.
    pub cpus: Vec<u32>,
    /// Bytes in the kernel's `long`.
    pub long_size: u8,
    /// Every event that the file describes: id to "system:name".
    pub event_names: BTreeMap<u16, String>,
    /// XXH3-128 of the file, in hexadecimal.
    pub hash: String,
    /// Length of the file, bytes.
    pub bytes: u64,
    /// What was lost or left out before the first event was read; the stream of events has a health of its own.
    pub health: Health,
    /// Remarks for the reader of a result, in plain words: events that cannot be understood, parts left out.
    pub notes: Vec<Note>,
    /// What the kernel counted for each CPU's buffer, where the file has it.
    pub cpu_stats: BTreeMap<u32, CpuStats>,
    /// Names of tasks by pid, as the kernel remembered them at the end of the recording.
    pub comms: BTreeMap<i32, String>,
    /// Trace instances in the file beside the one that is read; the top one has the empty name.
    pub other_instances: Vec<String>,
    /// Version of the program that wrote the file; empty if the file does not tell.
    pub recorder: String,
    /// What else is to be known of the recording, in the words that its recorder put into the file
    /// (`docs/reference/traces.md`); nothing where it put none.
    pub description: Option<String>,
    /// Added to every timestamp of the buffers, ns, because the recording asked for it (already in every event's time).
    pub ts_offset_ns: i64,
    /// The tracing session of this kernel, where the file names it; files of its hosts and guests refer to it.
    pub trace_id: Option<u64>,
    /// The guests of this host that were recorded at the same time.
    pub guests: Vec<Guest>,
    /// The kernel's time in each idle state, where the recorder sampled it (Perfetto's `linux.sys_stats`).
    pub cpuidle: Vec<CpuidleSample>,
    /// The text shows flags of wheel timers that they did not have: which are deferrable or pinned is not known.
    pub timer_kinds_unknown: bool,
    pub(crate) symbols: Symbols,
}

/// A guest of the host that was traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guest {
    pub name: String,
    /// The tracing session of its own file.
    pub trace_id: u64,
    /// Which task of the host is which CPU of the guest: CPU to pid.
    pub vcpu_pids: BTreeMap<u32, i32>,
}

/// What the kernel counted for one CPU's buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuStats {
    /// Events overwritten before they were read.
    pub overrun: u64,
    /// Events lost because an interrupt filled the buffer during a write.
    pub commit_overrun: u64,
    /// Events dropped because the buffer was full.
    pub dropped: u64,
    /// Events taken out of the buffer by the recorder.
    pub read_events: u64,
    /// The kernel's own text.
    pub text: String,
}

impl TraceMeta {
    /// Reads the lines of `saved_cmdlines`: "42 kworker/0:1".
    pub(crate) fn learn_comms(&mut self, saved_cmdlines: &str) {
        for line in saved_cmdlines.lines() {
            if let Some((pid, comm)) = line.trim_start().split_once(' ')
                && let Ok(pid) = pid.parse()
            {
                self.comms.insert(pid, comm.to_owned());
            }
        }
    }

    /// The first two numbers of the kernel's release (4, 15), where the file names it.
    #[must_use]
    pub fn kernel_version(&self) -> Option<(u32, u32)> {
        let release =
            self.kernel.split_ascii_whitespace().find(|w| w.starts_with(|c: char| c.is_ascii_digit()))?;
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }

    /// The kernel symbol that starts at `address`: the name behind a function pointer.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<&str> {
        self.symbols.at(address)
    }

    /// The id of the event "system:name", if the file describes it.
    #[must_use]
    pub fn event_id(&self, name: &str) -> Option<u16> {
        self.event_names.iter().find(|(_, n)| n.as_str() == name).map(|(id, _)| *id)
    }

    /// Adds a remark for the reader of a result.
    pub(crate) fn note(&mut self, id: NoteId, words: impl Into<String>) {
        self.notes.push(id.note(words));
    }

    /// Counts a damage that was met before the first event, and remarks it.
    pub(crate) fn damage(&mut self, kind: HealthKind, what: String) {
        let id = match kind {
            HealthKind::Truncated => NoteId::CutOff,
            HealthKind::UnknownEvent => NoteId::UnknownFormat,
            _ => NoteId::Reader,
        };
        self.note(id, what.clone());
        self.health.add(kind, 1, || what);
    }
}

impl CpuStats {
    /// Reads the text of `per_cpu/cpuN/stats`.
    pub(crate) fn of(text: &str) -> Self {
        let value = |key: &str| number(text, key).unwrap_or(0);
        Self {
            overrun: value("overrun"),
            commit_overrun: value("commit overrun"),
            dropped: value("dropped events"),
            read_events: value("read events"),
            text: text.to_owned(),
        }
    }

    /// Reads a text that says first which CPU it is about.
    pub(crate) fn parse(text: &str) -> Option<(u32, Self)> {
        let cpu = u32::try_from(number(text, "CPU")?).ok()?;
        Some((cpu, Self::of(text)))
    }
}

/// The number behind "key:" in one of the lines.
fn number(text: &str, key: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|l| l.split_once(':'));
    lines.into_iter().find(|(k, _)| k.trim() == key).and_then(|(_, v)| v.trim().parse().ok())
}
