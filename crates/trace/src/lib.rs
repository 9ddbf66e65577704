// SPDX-License-Identifier: GPL-2.0-only
//! Readers of recorded kernel traces: any format in, one stream of [`Event`]s out.
//!
//! A [`TraceFile`] is opened once and understood (who recorded it, which events it describes); each call of
//! [`TraceFile::events`] then walks its buffers anew, with all CPUs merged in time order. Memory does not grow with
//! the length of the recording. Dirt in the data is counted in a [`Health`](idlewise_model::Health) and never stops
//! the reading; only a file whose headers are broken is refused.
//!
//! Formats: `trace.dat` of trace-cmd, versions 6 and 7 (module `dat`); directories of raw ring buffers (module `ring`);
//! `perf.data` of perf (`perf`); text of ftrace, trace-cmd, perf script, systrace and atrace (`text`);
//! Perfetto protobuf (`perfetto`); CTF 1.8, the directories of LTTng (`ctf`). [`write`] goes the other way, to text and to
//! Perfetto.

mod ctf;
mod dat;
mod error;
mod input;
mod kernel;
mod learned;
mod meta;
mod packed;
mod perf;
mod perfetto;
mod ring;
mod sniff;
mod symbols;
mod text;
mod unpack;
pub mod write;

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_model::{Event, HIGHEST_CPU, Health, HealthKind, LATEST_NS};
use kernel::clock::seconds;
use kernel::order::Little;
use kernel::ring_buffer::{RingEvents, RingTrace};
use learned::Learned;

pub use error::TraceError;
use input::Input;
pub use meta::{CpuStats, Guest, TraceMeta};

/// A format's reader: a trace that was understood.
trait Reader: Send + Sync {
    fn meta(&self) -> &TraceMeta;

    /// The events from the first on.
    fn events(&self) -> Result<Box<dyn Stream + '_>, TraceError>;
}

/// The events of a trace, one after the other.
trait Stream {
    fn next_event(&mut self) -> Option<Event>;

    fn learned(&self) -> &Learned;

    fn learned_mut(&mut self) -> &mut Learned;
}

/// What to read of a trace that holds several.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The name of a trace instance; empty for the kernel's top one. `None` reads the top one or, if that has no events,
    /// the only one that has some. Formats that know no instances have the top one only.
    pub instance: Option<String>,
}

impl Choice {
    /// For formats that know no instances.
    fn only_top(&self, path: &Path) -> Result<(), TraceError> {
        match &self.instance {
            Some(name) if !name.is_empty() => Err(TraceError::NoInstance {
                path: path.to_path_buf(),
                name: name.clone(),
                there: "the top trace instance only".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// A trace that was opened and understood.
pub struct TraceFile {
    format: Format,
    wrapping: Option<&'static str>,
}

/// Ring buffers are what is read most and fastest, so their events come without a detour (those of big-endian machines
/// with one).
enum Format {
    Ring(Box<RingTrace>),
    Other(Box<dyn Reader>),
}

impl TraceFile {
    /// Opens the trace at `path`, a file or a directory (CTF, raw ring buffers); its format is recognised by its content. A file
    /// that is packed as a whole (gzip, zstd, xz) is unpacked into the temporary directory first.
    ///
    /// # Errors
    /// When it cannot be read, is something else (the error says what it looks like), or its headers are broken.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Self::open_with(path, &Choice::default())
    }

    /// Opens a part of the trace at `path`.
    ///
    /// # Errors
    /// As [`TraceFile::open`], and when the trace has no such part.
    pub fn open_with(path: &Path, choice: &Choice) -> Result<Self, TraceError> {
        if path.is_dir() {
            choice.only_top(path)?;
            return Self::understand_directory(path);
        }
        Self::understand(Input::open(path)?, choice)
    }

    /// A trace in memory; `name` stands for the path in errors.
    ///
    /// # Errors
    /// As [`TraceFile::open`].
    pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<Self, TraceError> {
        Self::understand(Input::memory(name, bytes), &Choice::default())
    }

    /// A trace of several files in memory: a CTF trace's `metadata` and its streams, by name. `name` stands for the path
    /// of the directory in errors.
    ///
    /// # Errors
    /// As [`TraceFile::open`].
    pub fn from_files(name: &Path, files: BTreeMap<String, Vec<u8>>) -> Result<Self, TraceError> {
        let files = ctf::Files::in_memory(name, files);
        Ok(Self { format: Format::Other(ctf::open_files(files)?), wrapping: None })
    }

    fn understand(input: Input, choice: &Choice) -> Result<Self, TraceError> {
        let input = input.unwrapped()?;
        let mut head = vec![0; sniff::HEAD];
        let got = input.read_at(0, &mut head).map_err(|source| TraceError::Read {
            path: input.path().to_path_buf(),
            offset: 0,
            what: "the start",
            source,
        })?;
        head.truncate(got);
        let wrapping = input.wrapping();
        let look = sniff::look(&head);
        if matches!(look, sniff::Look::Text(_) | sniff::Look::Perf | sniff::Look::Perfetto) {
            choice.only_top(input.path())?;
        }
        let format = match look {
            sniff::Look::Dat => Format::Ring(Box::new(dat::open(input, choice)?)),
            sniff::Look::Perf => Format::Other(perf::open(input)?),
            sniff::Look::Text(wrapping) => Format::Other(text::open(input, wrapping)?),
            sniff::Look::Perfetto => Format::Other(perfetto::open(input)?),
            sniff::Look::CtfMetadata => Format::Other(ctf::open_beside(&input)?),
            sniff::Look::Unread { looks_like, advice } => {
                return Err(TraceError::NotATrace { path: input.path().to_path_buf(), looks_like, advice });
            }
        };
        Ok(Self { format, wrapping })
    }

    fn understand_directory(path: &Path) -> Result<Self, TraceError> {
        let plain = |format| Ok(Self { format, wrapping: None });
        if sniff::starts_with(&path.join("data"), &[perf::MAGIC, perf::MAGIC_BIG]) {
            return plain(Format::Other(perf::open_directory(path)?));
        }
        if let Some(trace) = ring::open(path)? {
            return plain(Format::Ring(Box::new(trace)));
        }
        if let Some(trace) = ctf::open_directory(path)? {
            return plain(Format::Other(trace));
        }
        let (looks_like, advice) = if path.join("ebpf_trace").is_file() {
            (
                "a recording of schedviz made with bpftrace",
                "record with its trace.sh instead, which uses ftrace",
            )
        } else {
            (
                "a directory without a trace",
                "name a file, the directory of a CTF trace (with a file `metadata`), or one of raw ring buffers (with \
                 cpu0, ... and events/)",
            )
        };
        Err(TraceError::NotATrace { path: path.to_path_buf(), looks_like, advice })
    }

    /// How the file as a whole was packed ("gzip", "zstd", "xz"), if it was.
    #[must_use]
    pub fn packed(&self) -> Option<&'static str> {
        self.wrapping
    }

    /// What the trace says about itself.
    #[must_use]
    pub fn meta(&self) -> &TraceMeta {
        match &self.format {
            Format::Ring(ring) => &ring.meta,
            Format::Other(reader) => reader.meta(),
        }
    }

    /// The events from the first on. May be called several times, also at the same time.
    ///
    /// # Errors
    /// When reading cannot start.
    pub fn events(&self) -> Result<Events<'_>, TraceError> {
        let source = match &self.format {
            Format::Ring(ring) => ring.events(),
            Format::Other(reader) => Source::Other(reader.events()?),
        };
        Ok(Events { meta: self.meta(), source })
    }
}

/// The events of a trace: all CPUs merged in time order; of equal times the lower CPU first, then in the order of the
/// CPU's buffer. Text comes in the order of its lines.
pub struct Events<'a> {
    meta: &'a TraceMeta,
    source: Source<'a>,
}

enum Source<'a> {
    Ring(Box<RingEvents<'a, Little>>),
    Other(Box<dyn Stream + 'a>),
}

impl Events<'_> {
    /// What no kernel can have recorded is counted, and nobody else sees it: such a time would make sums overflow, such a CPU
    /// an array of billions.
    #[cold]
    fn leave_out(&mut self, event: &Event) {
        let learned = match &mut self.source {
            Source::Ring(ring) => ring.learned_mut(),
            Source::Other(stream) => stream.learned_mut(),
        };
        learned.health.add(HealthKind::BadEvent, 1, || {
            if let Some(field) = event.kind.timer_out_of_reach() {
                return format!(
                    "CPU {} at {}, a timer's `{field}`; expected a time that a clock of the machine can have",
                    event.cpu,
                    seconds(event.ts_ns)
                );
            }
            let named = event.kind.cpu().filter(|cpu| *cpu > HIGHEST_CPU);
            let named = named.map_or_else(String::new, |cpu| format!(", about CPU {cpu}"));
            format!(
                "CPU {} at {}{named}; expected a time below {} and CPUs up to {HIGHEST_CPU}",
                event.cpu,
                seconds(event.ts_ns),
                seconds(LATEST_NS)
            )
        });
    }

    fn learned(&self) -> &Learned {
        match &self.source {
            Source::Ring(ring) => ring.learned(),
            Source::Other(stream) => stream.learned(),
        }
    }

    /// What was lost or doubtful in the events so far; complete after the last.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.learned().health
    }

    /// How many events of each id came so far, those that became `Other` included, those made by the reader not.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<u16, u64> {
        self.learned().counts()
    }

    /// "system:name" of the events with this id, where the file or an event so far told it.
    #[must_use]
    pub fn event_name(&self, id: u16) -> Option<&str> {
        self.meta.event_names.get(&id).map(String::as_str).or_else(|| self.learned().event_name(id))
    }

    /// The name of the handler of interrupt `irq`, once an `irq_handler_entry` of it was read.
    #[must_use]
    pub fn irq_name(&self, irq: i32) -> Option<&str> {
        self.learned().irq_name(irq)
    }

    /// The name of task `pid`, once an event told it; else what the file says.
    #[must_use]
    pub fn comm(&self, pid: i32) -> Option<&str> {
        self.learned().comm_of(pid).or_else(|| self.meta.comms.get(&pid).map(String::as_str))
    }

    /// The kernel function that starts at the address in an event.
    #[must_use]
    pub fn symbol(&self, function: u64) -> Option<&str> {
        self.learned().function_name(function).or_else(|| self.meta.function(function))
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        loop {
            let event = match &mut self.source {
                Source::Ring(ring) => ring.next_event(),
                Source::Other(stream) => stream.next_event(),
            }?;
            if event.is_possible() {
                return Some(event);
            }
            self.leave_out(&event);
        }
    }
}
