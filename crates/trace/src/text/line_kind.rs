// SPDX-License-Identifier: GPL-2.0-only
//! Which lines hold an event, which report losses, and which are there for people only.

use super::head::{Head, MOST_CPUS, event};
use super::values;

/// What a line is.
pub(super) enum LineKind<'l> {
    Event(Head<'l>, &'l [u8], &'l [u8]),
    Lost(u32, u64),
    /// The first line of a `trace` file, or of what `trace-cmd report` writes: here one begins, whatever stood before.
    Begin,
    /// A heading, a stack, an empty line.
    Nothing,
    /// Something else, which is counted.
    Odd,
}

/// What a line is.
#[inline]
pub(super) fn kind_of(line: &[u8]) -> LineKind<'_> {
    if line.is_empty() || line.starts_with(b"#") {
        return if line.starts_with(b"# tracer:") { LineKind::Begin } else { LineKind::Nothing };
    }
    let Some(head) = Head::parse(line) else {
        return if line.starts_with(b"cpus=") { LineKind::Begin } else { aside(line) };
    };
    let Some((name, fields)) = event(head.style, head.rest) else { return no_event(&head) };
    LineKind::Event(head, name, fields.strip_prefix(FAILED).map_or(fields, values::trim_start))
}

/// What libtraceevent puts before the raw fields of an event whose format it does not understand.
const FAILED: &[u8] = b"[FAILED TO PARSE]";

/// A line with a time and no event.
#[cold]
fn no_event<'l>(head: &Head<'l>) -> LineKind<'l> {
    let rest = values::trim_start(head.rest);
    if rest.starts_with(b"PERF_RECORD_LOST") {
        let count = rest.rsplit(|b| *b == b' ').next().and_then(values::number);
        return LineKind::Lost(head.cpu, count.unwrap_or(0));
    }
    if STACKS.iter().any(|s| rest.starts_with(s)) { LineKind::Nothing } else { LineKind::Odd }
}

/// What the kernel prints in place of an event's name before a stack.
const STACKS: [&[u8]; 2] = [b"<stack trace", b"<user stack trace"];

/// A line without a time.
#[cold]
fn aside(line: &[u8]) -> LineKind<'_> {
    let text = values::trim(line);
    if let Some(rest) = text.strip_prefix(b"CPU:") {
        return loss(rest).map_or(LineKind::Odd, |(cpu, count)| LineKind::Lost(cpu, count));
    }
    if let Some((cpu, count)) = discarded(text) {
        return LineKind::Lost(cpu, count);
    }
    if is_known(line) { LineKind::Nothing } else { LineKind::Odd }
}

/// `Tracer discarded 123 events between ...` of babeltrace: which CPU's, LTTng's name of its stream has (`channel0_3`).
fn discarded(text: &[u8]) -> Option<(u32, u64)> {
    const WORDS: &[u8] = b"Tracer discarded ";
    let at = memchr::memmem::find(text, WORDS)?;
    let (count, _) = values::digits(text.get(at + WORDS.len()..)?)?;
    let stream = text.get(memchr::memmem::rfind(text, b"channel")?..)?;
    let (cpu, _) = values::digits(stream.get(memchr::memchr(b'_', stream)? + 1..)?)?;
    Some((u32::try_from(cpu).ok().filter(|cpu| *cpu < MOST_CPUS)?, count))
}

/// `2 [LOST 123 EVENTS]` of the kernel, `2 [123 EVENTS DROPPED]` of trace-cmd; without a number where it is not known.
fn loss(text: &[u8]) -> Option<(u32, u64)> {
    let (cpu, n) = values::digits(text)?;
    let told = values::trim(text.get(n..)?).strip_prefix(b"[")?;
    let known = told.starts_with(b"LOST") || told.ends_with(b"DROPPED]");
    let count = told.split(|b| *b == b' ').find_map(values::number);
    let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < MOST_CPUS)?;
    known.then_some((cpu, count.unwrap_or(0)))
}

/// Starts of lines that are no events and need no mention.
const HEADINGS: [&[u8]; 8] = [
    b"cpus=",
    b"version = ",
    b"idlestat version",
    b"trace-cmd ",
    b"capturing trace",
    b"TRACE:",
    b"<stack trace",
    b"<user stack trace",
];

/// Whether a line without a time is one that need not be mentioned: a heading, a line of a stack.
pub(super) fn is_known(line: &[u8]) -> bool {
    let text = values::trim(line);
    // perf indents the functions of a call chain with a tab; the others put an arrow before them.
    text.is_empty()
        || line.starts_with(b"\t")
        || text.starts_with(b"=>")
        || HEADINGS.iter().any(|h| text.starts_with(h))
        || text.starts_with(b"CPU ") && text.ends_with(b" is empty")
}
