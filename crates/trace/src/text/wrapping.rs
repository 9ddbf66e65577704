// SPDX-License-Identifier: GPL-2.0-only
//! Text inside something else: the page that systrace writes, the output of atrace.

use std::io::Read;

use memchr::memmem;

use super::lines::Lines;
use super::source::{Base64, Packing, Part};
use super::survey::Survey;
use crate::error::TraceError;
use crate::input::Input;
use crate::meta::TraceMeta;

/// What a text is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// Nothing.
    Plain,
    /// A page of systrace.
    Html,
    /// The output of `atrace -z`: zlib from this byte on.
    Atrace(u64),
}

/// A newer page has the trace, and other things, in scripts of this class at the start of a line.
const SCRIPT: &[u8] = b"<script class=\"trace-data\"";

/// An older page has the trace in a string.
const VARIABLE: &[u8] = b"linuxPerfData = \"";

const END: &[u8] = b"</script>";

/// No page has more places that look like its trace.
const MOST_PLACES: usize = 256;

/// What Windows puts before UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8; 3] = b"\xef\xbb\xbf";

impl Wrapping {
    /// The wrapping of `atrace -z`, if the file starts like that.
    pub(crate) fn atrace(head: &[u8]) -> Option<Self> {
        const MARK: &[u8] = b"TRACE:\n";
        let at = memmem::find(head.get(..4096).unwrap_or(head), MARK)? + MARK.len();
        zlib(head.get(at..)?).then_some(Self::Atrace(at as u64))
    }

    /// Where the text is.
    pub(super) fn part(self, input: &Input, meta: &mut TraceMeta) -> Result<Part, TraceError> {
        match self {
            Self::Plain => {
                let mut head = [0; 3];
                read(input, 0, &mut head)?;
                let from = if &head == BYTE_ORDER_MARK { 3 } else { 0 };
                Ok(Part { from, to: input.len(), packing: Packing::Plain })
            }
            Self::Atrace(from) => Ok(Part { from, to: input.len(), packing: Packing::Zlib }),
            Self::Html => page(input, meta),
        }
    }
}

/// Whether a zlib stream starts here (RFC 1950: deflate, a window of up to 32 KiB, a check of both bytes).
fn zlib(bytes: &[u8]) -> bool {
    let Some([cmf, flags]) = bytes.first_chunk::<2>().copied() else { return false };
    cmf & 0x0f == 8 && cmf >> 4 <= 7 && (u16::from(cmf) << 8 | u16::from(flags)) % 31 == 0
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
            if !Survey::of(&mut Lines::new(part.read(input))).is_trace() {
                continue;
            }
            if found.is_some() {
                meta.notes.push(format!("a second trace in the page, at byte {from}, is left out"));
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
        looks_like: "an HTML page without ftrace text",
        advice: "pages of systrace are read; a page of another tool may offer to save the trace itself",
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
