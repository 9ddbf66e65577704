// SPDX-License-Identifier: GPL-2.0-only
//! Finds the text in a file, such as the page that systrace writes.

use std::io::Read;

use idlewise_model::NoteId;
use memchr::memmem;

use super::carrier::Carrier;
use super::json;
use super::lines::Lines;
use super::source::{Base64, Packing, Part};
use super::survey::Survey;
use super::wrapping::{BYTE_ORDER_MARK, Wrapping, zlib};
use crate::error::TraceError;
use crate::input::Input;
use crate::meta::TraceMeta;

/// A newer page has the trace, and other things, in scripts of this class at the start of a line.
const SCRIPT: &[u8] = b"<script class=\"trace-data\"";

/// An older page has the trace in a string.
const VARIABLE: &[u8] = b"linuxPerfData = \"";

const END: &[u8] = b"</script>";

/// No page has more places that look like its trace.
const MOST_PLACES: usize = 256;

/// Where the text is in a file that is wrapped so.
pub(super) fn part_of(wrapping: Wrapping, input: &Input, meta: &mut TraceMeta) -> Result<Part, TraceError> {
    match wrapping {
        Wrapping::Plain => {
            let mut head = [0; 3];
            read(input, 0, &mut head)?;
            let from = if &head == BYTE_ORDER_MARK { 3 } else { 0 };
            Ok(Part { from, to: input.len(), packing: Packing::Plain })
        }
        Wrapping::Atrace(from) => Ok(Part { from, to: input.len(), packing: Packing::Zlib }),
        Wrapping::Html => page(input, meta),
        Wrapping::Json => json(input, meta),
    }
}

/// The trace in a page: the page's own program speaks of traces, too, so what it holds is looked at.
fn page(input: &Input, meta: &mut TraceMeta) -> Result<Part, TraceError> {
    let mut found: Option<Part> = None;
    for (needle, line_start) in [(SCRIPT, true), (VARIABLE, false)] {
        let mut pos = 0;
        for _ in 0..MOST_PLACES {
            let Some(at) = find(input, needle, pos)? else { break };
            pos = at + needle.len() as u64;
            if line_start && !starts_line(input, at)? {
                continue;
            }
            let from = if line_start { find(input, b">", pos)?.map_or(pos, |p| p + 1) } else { pos };
            let to = find(input, END, from)?.unwrap_or(input.len());
            pos = to;
            let part = Part { from, to, packing: packing(input, from, to)? };
            let carrier = Carrier::of(Lines::new(part.read(input)));
            if !Survey::of(&mut Lines::new(carrier.restore(part.read(input)))).is_trace() {
                continue;
            }
            if found.is_some() {
                meta.note(
                    NoteId::OtherRecording,
                    format!("a second trace in the page, at byte {from}, is left out"),
                );
                break;
            }
            found = Some(part);
        }
        if found.is_some() {
            break;
        }
    }
    found.ok_or_else(|| TraceError::NotATrace {
        path: input.path().to_path_buf(),
        looks_like: "an HTML page without ftrace text".into(),
        advice: "pages of systrace are read; a page of another tool may offer to save the trace itself",
    })
}

/// Where Chrome puts the text of the kernel's tracer.
const CHROMES_KEY: &str = "systemTraceEvents";

/// The trace in a document of JSON, which may be any of its strings.
fn json(input: &Input, meta: &mut TraceMeta) -> Result<Part, TraceError> {
    let fail = |source| TraceError::Read {
        path: input.path().to_path_buf(),
        offset: 0,
        what: "the strings",
        source,
    };
    let mut strings = json::Strings::of(input);
    let mut found: Option<Part> = None;
    let mut places = 0;
    while let Some(string) = strings.next().map_err(fail)? {
        let chromes = string.key == CHROMES_KEY;
        places += 1;
        if places > MOST_PLACES && !chromes {
            continue;
        }
        let part = Part { from: string.from, to: string.to, packing: Packing::Json };
        let carrier = Carrier::of(Lines::new(part.read(input)));
        if !Survey::of(&mut Lines::new(carrier.restore(part.read(input)))).is_trace() {
            continue;
        }
        if found.is_some() {
            let note = format!("a second trace in the JSON, \"{}\", is left out", string.key);
            meta.note(NoteId::OtherRecording, note);
        } else if !chromes {
            meta.note(NoteId::Reader, format!("the text is \"{}\" of the JSON", string.key));
        }
        found = found.or(Some(part));
    }
    found.ok_or_else(|| {
        let keys = strings.outer.iter().map(|key| format!("\"{key}\"")).collect::<Vec<_>>();
        let keys = if keys.is_empty() { String::new() } else { format!(" (it has {})", keys.join(", ")) };
        TraceError::NotATrace {
            path: input.path().to_path_buf(),
            looks_like: format!("JSON without ftrace text{keys}").into(),
            advice: "of JSON, strings of ftrace text are read, as Chrome has one in \"systemTraceEvents\"",
        }
    })
}

/// How the text between these places is packed.
fn packing(input: &Input, from: u64, to: u64) -> Result<Packing, TraceError> {
    let mut head = [0; 256];
    let got = read(input, from, &mut head)?;
    let got = got.min(usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX));
    let text = head.get(..got).unwrap_or_default().trim_ascii_start();
    let base64 =
        text.iter().all(|b| b.is_ascii_alphanumeric() || b.is_ascii_whitespace() || b"+/=".contains(b));
    let mut start = [0; 2];
    let decoded = base64 && matches!(Base64::new(text).read(&mut start), Ok(2));
    Ok(match start {
        GZIP if decoded => Packing::GzipBase64,
        start if decoded && zlib(&start) => Packing::ZlibBase64,
        _ => Packing::Plain,
    })
}

/// The first bytes of gzip (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn read(input: &Input, at: u64, buf: &mut [u8]) -> Result<usize, TraceError> {
    input.read_at(at, buf).map_err(|source| TraceError::Read {
        path: input.path().to_path_buf(),
        offset: at,
        what: "the page",
        source,
    })
}

/// Whether nothing but blanks is before `at` in its line.
fn starts_line(input: &Input, at: u64) -> Result<bool, TraceError> {
    let mut before = [0; 64];
    let from = at.saturating_sub(before.len() as u64);
    let n = usize::try_from(at - from).unwrap_or(0);
    let Some(before) = before.get_mut(..n) else { return Ok(false) };
    let got = read(input, from, before)?;
    let before = before.get(..got).unwrap_or_default();
    let line = before.iter().rposition(|b| *b == b'\n').map_or(0, |p| p + 1);
    Ok((line > 0 || from == 0) && before.get(line..).is_some_and(|b| b.trim_ascii().is_empty()))
}

/// The first place of `needle` from `pos` on.
fn find(input: &Input, needle: &[u8], mut pos: u64) -> Result<Option<u64>, TraceError> {
    let finder = memmem::Finder::new(needle);
    // Mostly it is near.
    let mut buf = vec![0; 4 << 10];
    loop {
        let got = read(input, pos, &mut buf)?;
        let block = buf.get(..got).unwrap_or_default();
        if let Some(at) = finder.find(block) {
            return Ok(Some(pos + at as u64));
        }
        if got < buf.len() {
            return Ok(None);
        }
        pos += (got - needle.len()) as u64;
        buf.resize(256 << 10, 0);
    }
}
