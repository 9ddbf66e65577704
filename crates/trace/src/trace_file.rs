// SPDX-License-Identifier: GPL-2.0-only
//! Opening a trace of any format.

use std::collections::BTreeMap;
use std::path::Path;

use crate::choice::Choice;
use crate::error::TraceError;
use crate::events::{Events, Source};
use crate::input::Input;
use crate::kernel::order::{Big, ByteOrder, Little};
use crate::kernel::ring_buffer::{RingEvents, RingTrace};
use crate::meta::TraceMeta;
use crate::meter::Meter;
use crate::reader::Reader;
use crate::{ctf, dat, perf, perfetto, ring, sniff, text};

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
        let wrapping = input.wrapping();
        let look = sniff::look(&input.head()?);
        if matches!(look, sniff::FileKind::Text(_) | sniff::FileKind::Perf | sniff::FileKind::Perfetto) {
            choice.only_top(input.path())?;
        }
        let format = match look {
            sniff::FileKind::Dat => Format::Ring(Box::new(dat::open(input, choice)?)),
            sniff::FileKind::Perf => Format::Other(perf::open(input)?),
            sniff::FileKind::Text(wrapping) => Format::Other(text::open(input, wrapping)?),
            sniff::FileKind::Perfetto => Format::Other(perfetto::open(input)?),
            sniff::FileKind::CtfMetadata => Format::Other(ctf::open_beside(&input)?),
            sniff::FileKind::Unread { looks_like, advice } => {
                let path = input.path().to_path_buf();
                return Err(TraceError::NotATrace { path, looks_like: looks_like.into(), advice });
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
        Err(TraceError::NotATrace { path: path.to_path_buf(), looks_like: looks_like.into(), advice })
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

    /// Whether the system gave every byte that was asked for so far. A place that cannot be read ends the events, or leaves
    /// some out: who has gone through [`TraceFile::events`] asks here before the result is used.
    ///
    /// # Errors
    /// [`TraceError::Read`] names the first such place.
    pub fn check_read(&self) -> Result<(), TraceError> {
        self.inputs().into_iter().try_for_each(Input::check_read)
    }

    /// Lets `meter` count what is read from now on, and expect that [`TraceFile::events`] is walked through so many `times`.
    pub fn count_into(&self, meter: &Meter, times: u64) {
        self.inputs().into_iter().for_each(|input| input.count_into(meter, times));
    }

    /// The files that the events are read from.
    fn inputs(&self) -> Vec<&Input> {
        match &self.format {
            Format::Ring(ring) => ring.inputs.iter().collect(),
            Format::Other(reader) => reader.inputs(),
        }
    }

    /// The events from the first on. May be called several times, also at the same time.
    ///
    /// # Errors
    /// When reading cannot start.
    pub fn events(&self) -> Result<Events<'_>, TraceError> {
        let source = match &self.format {
            Format::Ring(ring) => match ring.order {
                ByteOrder::Little => Source::Ring(Box::new(RingEvents::new(ring, Little))),
                ByteOrder::Big => Source::Other(Box::new(RingEvents::new(ring, Big))),
            },
            Format::Other(reader) => Source::Other(reader.events()?),
        };
        Ok(Events::new(self.meta(), source))
    }
}
