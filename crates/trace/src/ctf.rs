// SPDX-License-Identifier: GPL-2.0-only
//! CTF 1.8, the Common Trace Format: the kernel traces of LTTng, and what perf and babeltrace write.
//!
//! A trace is a directory with a file `metadata`, which describes every packet and event in a language of its own
//! (TSDL: [`lex`], [`declare`], [`describe`]), and one file of packets for each CPU and channel. Each kind of events
//! is compiled once ([`compile`]) to places of its numbers and to the steps to its end ([`program`]). Memory is a window
//! into each stream; the length of a recording does not matter.
//!
//! Times stay on the clock's own origin: LTTng's clock `monotonic` is `CLOCK_MONOTONIC`, so they agree with the expiries
//! of hrtimers. The clock's offset to 1970, which babeltrace adds, is left out.
//!
//! LTTng stores addresses of functions but not their names. A copy of `/proc/kallsyms` from the same boot, called
//! `kallsyms`, in the trace's directory or the one around it, gives them.
//!
//! [`Event::pid`](idlewise_model::Event::pid) is what the recording noted with the event (the context `tid`; else
//! `pid`), or what the switches on its CPU tell; -1 before the first, and after lost events until the next.

mod compile;
mod declare;
mod describe;
mod events;
mod find;
mod header;
mod kinds;
mod lex;
pub(crate) mod metadata;
mod names;
mod packet;
mod parser;
mod program;
mod shared;
mod stream;
mod trace;
mod types;
mod window;

use std::path::Path;

use idlewise_model::{HealthKind, NoteId};
use xxhash_rust::xxh3::Xxh3;

use describe::Description;
use events::CtfEvents;
pub(crate) use find::Files;
use kinds::Kinds;
pub(crate) use names::{kernel_field, kernel_name};
use trace::{CtfTrace, StreamFile};
use types::Order;

use crate::error::TraceError;
use crate::input::Input;
use crate::kernel::tick;
use crate::meta::TraceMeta;
use crate::reader::{Reader, Stream};
use crate::symbols::Symbols;

/// Larger metadata is damage: LTTng's with all events and system calls has half a megabyte. So are larger symbols.
const MOST_METADATA: u64 = 256 << 20;
/// No more remarks of one kind are made.
const MOST_NOTES: usize = 20;

/// Opens the trace in a directory or in one of its inner directories; `None` when there is none.
pub(crate) fn open_directory(path: &Path) -> Result<Option<Box<dyn Reader>>, TraceError> {
    let Some(dir) = find::trace_in(path)? else { return Ok(None) };
    open_files(Files::in_directory(&dir)?).map(Some)
}

/// Opens the trace whose metadata was named.
pub(crate) fn open_beside(metadata: &Input) -> Result<Box<dyn Reader>, TraceError> {
    let path = metadata.path();
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if metadata.in_memory() || path.file_name().is_none_or(|name| name != find::METADATA) {
        return Err(TraceError::NotATrace {
            path: path.to_path_buf(),
            looks_like: "the metadata of a CTF trace".into(),
            advice: "name the directory that holds it, as `metadata`, and its streams",
        });
    }
    open_files(Files::in_directory(dir)?)
}

/// Opens a trace of which these are the files.
pub(crate) fn open_files(files: Files) -> Result<Box<dyn Reader>, TraceError> {
    CtfTrace::open(files).map(|trace| Box::new(trace) as Box<dyn Reader>)
}

impl Reader for CtfTrace {
    fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    fn inputs(&self) -> Vec<&Input> {
        self.files.iter().map(|file| &file.input).collect()
    }

    fn events(&self) -> Result<Box<dyn Stream + '_>, TraceError> {
        Ok(Box::new(CtfEvents::new(self)))
    }
}

impl CtfTrace {
    fn open(files: Files) -> Result<Self, TraceError> {
        let Files { metadata, streams, kallsyms } = files;
        let mut meta = TraceMeta::default();
        let description = read_metadata(&metadata, &mut meta)?;
        let kinds = Kinds::compile(&description).map_err(|why| TraceError::Unsupported {
            path: metadata.path().to_path_buf(),
            what: format!("this layout of a CTF trace ({why}) is"),
            advice: "convert it with babeltrace2, or report it with its metadata",
        })?;
        let mut trace = Self { meta, kinds, uuid: description.uuid, freq: 1_000_000_000, files: Vec::new() };
        if let Some((_, clock)) = &trace.kinds.clock {
            trace.freq = clock.freq;
        }
        let mut hash = Xxh3::new();
        metadata.feed(&mut hash)?;
        trace.meta.bytes = metadata.len();
        for input in streams {
            trace.add_stream(input, &mut hash)?;
        }
        if let Some(input) = kallsyms.filter(|input| input.len() <= MOST_METADATA) {
            input.feed(&mut hash)?;
            trace.meta.symbols = Symbols::new(input.whole("the symbols of the kernel")?);
        }
        if trace.files.is_empty() {
            return Err(TraceError::Malformed {
                path: metadata.path().to_path_buf(),
                section: "the streams next to the metadata",
                offset: 0,
                expected: format!("at least one file with packets of this trace{}", trace.refusals()),
                advice: "check that the session recorded something, and copy the whole directory",
            });
        }
        // Of one CPU they stay in the order of their names.
        trace.files.sort_by_key(|file| file.cpu);
        trace.meta.hash = format!("{:032x}", hash.digest128());
        trace.describe(&description);
        if trace.meta.symbols.is_empty() {
            let found = tick::find(&mut CtfEvents::new(&trace));
            if let Some(tick) = found {
                tick.tell(&mut trace.meta);
            }
        }
        Ok(trace)
    }

    /// Takes in a file beside the metadata, if it is a stream of the trace.
    fn add_stream(&mut self, input: Input, hash: &mut Xxh3) -> Result<(), TraceError> {
        if input.len() == 0 {
            // The buffer of a CPU that had nothing to record.
            return Ok(());
        }
        let mut window = window::Window::new(usize::MAX);
        let mut bases = vec![0; self.kinds.bases];
        let name = input.path().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let first = packet::read(&input, &mut window, 0, &self.kinds, self.uuid, &mut bases);
        let says = match first {
            Ok(Some(says)) => says,
            other => {
                let why =
                    other.err().unwrap_or_else(|| "it ends in the header of its first packet".to_owned());
                self.meta.health.add(HealthKind::Ignored, 1, || name.clone());
                self.meta.note(NoteId::UnknownFormat, format!("{name} is no stream of this trace: {why}"));
                return Ok(());
            }
        };
        input.feed(hash)?;
        self.meta.bytes = self.meta.bytes.saturating_add(input.len());
        let cpu = says.cpu.unwrap_or_else(|| {
            let cpu = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
            self.meta
                .note(NoteId::Reader, format!("{name} does not say whose CPU's it is: taken as CPU {cpu}'s"));
            cpu
        });
        self.files.push(StreamFile { input, stream_id: says.stream_id, cpu });
        Ok(())
    }

    fn refusals(&self) -> String {
        let notes: Vec<&str> = self.meta.notes.iter().take(3).map(|n| n.words.as_str()).collect();
        if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) }
    }

    /// Fills what the metadata says into [`TraceMeta`].
    fn describe(&mut self, description: &Description) {
        let env = |key: &str| description.env.get(key).map_or("", String::as_str);
        let words =
            |words: &[&str]| words.iter().copied().filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
        let meta = &mut self.meta;
        let version: Vec<&str> = ["tracer_major", "tracer_minor", "tracer_patchlevel"]
            .iter()
            .filter_map(|key| description.env.get(*key).map(String::as_str))
            .collect();
        meta.recorder = words(&[env("tracer_name"), &version.join(".")]);
        let order = if description.order == Order::Big { "CTF 1.8 big-endian" } else { "CTF 1.8" };
        let by = if meta.recorder.is_empty() { String::new() } else { format!(", {}", meta.recorder) };
        meta.format = format!("{order}{by}");
        // The first is LTTng's, the others are perf's.
        meta.kernel = words(&[env("kernel_release"), env("release"), env("machine")]);
        meta.clock = match &self.kinds.clock {
            Some((name, _)) if name == "monotonic" => "mono".to_owned(),
            Some((name, _)) if name == "perf_clock" => "perf".to_owned(),
            Some((name, _)) => name.clone(),
            None => String::new(),
        };
        meta.cpus = self.files.iter().map(|file| file.cpu).collect();
        meta.cpus.dedup();
        meta.long_size = description.long_bits.and_then(|bits| u8::try_from(bits / 8).ok()).unwrap_or(8);
        meta.event_names = std::mem::take(&mut self.kinds.names);
        if env("domain") == "ust" {
            meta.note(NoteId::Reader, "a trace of programs, not of the kernel (LTTng's domain ust)");
        }
        if !description.unknown.is_empty() {
            meta.note(
                NoteId::UnknownFormat,
                format!("not known in the metadata: {}", description.unknown.join(", ")),
            );
        }
        let more = self.kinds.notes.len().saturating_sub(MOST_NOTES);
        let first = self.kinds.notes.drain(..).take(MOST_NOTES);
        meta.notes.extend(first.map(|what| NoteId::UnknownFormat.note(what)));
        if more > 0 {
            meta.note(NoteId::UnknownFormat, format!("{more} more remarks on events of the metadata"));
        }
    }
}

/// Reads and parses the metadata.
fn read_metadata(input: &Input, meta: &mut TraceMeta) -> Result<Description, TraceError> {
    const SECTION: &str = "the metadata";
    let malformed = |(expected, at): (String, usize), section| TraceError::Malformed {
        path: input.path().to_path_buf(),
        section,
        offset: at as u64,
        expected,
        advice: "if babeltrace2 reads the trace, report it with its metadata; else record it again",
    };
    if input.len() > MOST_METADATA {
        return Err(malformed((format!("at most {MOST_METADATA} bytes"), 0), SECTION));
    }
    let bytes = input.whole(SECTION)?;
    if bytes.starts_with(metadata::CTF2) {
        return Err(TraceError::Unsupported {
            path: input.path().to_path_buf(),
            what: "version 2 of CTF is".to_owned(),
            advice: "convert it to CTF 1.8 with babeltrace2 (sink.ctf.fs, ctf-version=\"1\"), or record as CTF 1.8",
        });
    }
    let (text, note) = metadata::text(&bytes).map_err(|e| malformed(e, SECTION))?;
    meta.notes.extend(note.map(|what| NoteId::CutOff.note(what)));
    describe::parse(&text).map_err(|(what, at)| {
        let line = text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        malformed((format!("{what} (line {line} of its text)"), at), "the text of the metadata")
    })
}
