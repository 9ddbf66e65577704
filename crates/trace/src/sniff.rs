// SPDX-License-Identifier: GPL-2.0-only
//! What a file is, told by its first bytes.

use std::io::Read;
use std::path::Path;

use crate::{ctf, dat, perf, perfetto, text};

/// What a file looks like.
pub(crate) enum FileKind {
    /// `trace.dat` of trace-cmd.
    Dat,
    /// `perf.data` of perf.
    Perf,
    /// Text of a tracer, wrapped as told.
    Text(text::Wrapping),
    Perfetto,
    /// The metadata of a CTF trace.
    CtfMetadata,
    /// Something that is not read, and what to do with it.
    Unread {
        looks_like: &'static str,
        advice: &'static str,
    },
}

const READS: &str = "trace.dat, perf.data, text of ftrace, trace-cmd, perf script and systrace, Perfetto traces, and \
                     directories of CTF or raw ring buffers are read";
const UNPACK: &str = "unpack it first";
const WHOLE: &str = "name the directory that holds it and the file `metadata`";

/// Beginnings that tell a format, with what they tell.
const MAGIC: &[(&[u8], &str, &str)] = &[
    (b"PERFFILE", "a perf.data file of perf before 2.6.33", "record it again with a newer perf"),
    (&[0xc1, 0x1f, 0xfc, 0xc1], "a stream of a CTF trace (LTTng)", WHOLE),
    (&[0xc1, 0xfc, 0x1f, 0xc1], "a big-endian stream of a CTF trace (LTTng)", WHOLE),
    (&[0x1f, 0x8b], "a gzip archive, cut off or in another archive", UNPACK),
    (&[0x28, 0xb5, 0x2f, 0xfd], "a zstd archive, cut off or in another archive", UNPACK),
    (b"\xfd7zXZ\0", "an xz archive, cut off or in another archive", UNPACK),
    (b"BZh", "a bzip2 archive", UNPACK),
    (b"PK\x03\x04", "a zip archive", UNPACK),
    (b"\x7fELF", "an ELF binary", READS),
    (b"PAR1", "a Parquet file", READS),
    (b"SQLite format 3", "an SQLite database", READS),
    (b"\x17\x08\x44", "the start of a trace.dat file, damaged", "copy it again from where it was recorded"),
];

/// Whether the file at `path` starts with one of these magics.
pub(crate) fn starts_with(path: &Path, magics: &[&[u8; 8]]) -> bool {
    let mut head = [0; 8];
    let read = idlewise_files::open(path).and_then(|mut f| f.read_exact(&mut head));
    read.is_ok() && magics.contains(&&head)
}

/// Judges a file by its first bytes.
pub(crate) fn look(head: &[u8]) -> FileKind {
    let is = |looks_like, advice| FileKind::Unread { looks_like, advice };
    if head.starts_with(dat::MAGIC) {
        return FileKind::Dat;
    }
    if head.starts_with(perf::MAGIC) || head.starts_with(perf::MAGIC_BIG) {
        return FileKind::Perf;
    }
    if ctf::metadata::looks_like(head) {
        return FileKind::CtfMetadata;
    }
    if head.is_empty() {
        return is("an empty file", "check that the recording was finished");
    }
    if let Some((_, looks_like, advice)) = MAGIC.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return is(looks_like, advice);
    }
    if head.get(257..262) == Some(b"ustar") {
        return is("a tar archive", UNPACK);
    }
    if let Some(wrapping) = text::Wrapping::atrace(head) {
        return FileKind::Text(wrapping);
    }
    if json(head) {
        return FileKind::Text(text::Wrapping::Json);
    }
    if text::looks_like(head) && !html(head) {
        return FileKind::Text(text::Wrapping::Plain);
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return is("text in UTF-16 (as PowerShell writes it)", "store it as UTF-8");
    }
    if perfetto::looks_like(head) {
        return FileKind::Perfetto;
    }
    if head.contains(&0) {
        if head.first() == Some(&0x0a) {
            return is("a protobuf file, or a damaged Perfetto trace", READS);
        }
        return is("binary data of an unknown kind", READS);
    }
    if html(head) {
        return FileKind::Text(text::Wrapping::Html);
    }
    if head.first() == Some(&0x0a) && head.iter().any(|b| *b > 0x7f) {
        return is("a protobuf file, or a damaged Perfetto trace", READS);
    }
    if head.iter().any(|b| *b < 0x20 && !b.is_ascii_whitespace()) {
        return is("binary data of an unknown kind", READS);
    }
    if lacks_times(head) {
        return is(
            "the events of a trace without their times",
            "keep the column of times: nothing can be known without it",
        );
    }
    is("text of another kind", READS)
}

/// Whether lines name a CPU and an event and have no time between: people cut it off.
fn lacks_times(head: &[u8]) -> bool {
    const EVENTS: [&[u8]; 4] = [b"cpu_idle:", b"sched_switch:", b"sched_wakeup:", b"hrtimer_start:"];
    let is_cpu = |word: &[u8]| {
        let number = word.strip_prefix(b"[").and_then(|w| w.strip_suffix(b"]"));
        number.is_some_and(|n| n.len() == 3 && n.iter().all(u8::is_ascii_digit))
    };
    head.split(|b| *b == b'\n').any(|line| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.any(is_cpu) && words.any(|word| EVENTS.contains(&word))
    })
}

/// Whether an object or a list of JSON begins here. A CPU in brackets begins none.
fn json(head: &[u8]) -> bool {
    let Some((open, rest)) = head.trim_ascii_start().split_first() else { return false };
    let first = rest.trim_ascii_start().first();
    match open {
        b'{' => matches!(first, None | Some(b'"' | b'}')),
        b'[' => matches!(first, None | Some(b'"' | b'{' | b'[' | b']')),
        _ => false,
    }
}

fn html(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    let has = |word: &str| start.get(..word.len()).is_some_and(|s| s.eq_ignore_ascii_case(word.as_bytes()));
    has("<!doctype") || has("<html")
}
