// SPDX-License-Identifier: GPL-2.0-only
//! Lines that other programs carried: quoted and wrapped by mail, broken at a width, found by grep, behind the time of the
//! kernel's log, in the words of babeltrace, between the functions of a tracer. They are restored to what a tracer prints;
//! each keeps its line number.

use std::io::{self, Read};

use memchr::memmem;

use super::babeltrace::Babeltrace;
use super::folded::{Folds, MOST_PIECES, Quotes, begins, unquoted};
use super::graph;
use super::head::{Head, event, lacks_cpu, starts_with_time};
use super::line_kind::is_known;
use super::lines::{Lines, clean};
use super::values::{digits, trim, trim_start};

/// How many lines are looked at to know the carrier.
const LOOKED_AT: u64 = 10_000;

/// Who carried a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Nobody: lines are as a tracer prints them.
    Tracer,
    /// People: lines are quoted, numbered, wrapped, or broken at this width.
    People(Option<usize>),
    /// babeltrace, from a CTF trace.
    Babeltrace,
    /// The tracer `function_graph`, between its functions.
    FunctionGraph,
}

impl Carrier {
    /// Whoever carried these lines.
    pub(super) fn of(mut lines: Lines<'_>) -> Self {
        let (mut people, mut folds, mut nowhere) = (People::default(), Folds::default(), Vec::new());
        while lines.number() < LOOKED_AT {
            let Some(place) = lines.advance() else { break };
            let line = clean(lines.get(place));
            if !people.changed && Babeltrace::is_event(line) {
                return Self::Babeltrace;
            }
            if !people.changed && graph::is_line(line) {
                return Self::FunctionGraph;
            }
            people.line(line, &mut nowhere);
            folds.line(line);
            nowhere.clear();
        }
        let folded = folds.width().filter(|_| !people.encoded);
        if people.changed || folded.is_some() { Self::People(folded) } else { Self::Tracer }
    }

    /// The text as a tracer printed it.
    pub(super) fn restore<'a>(self, text: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
        let how = match self {
            Self::Tracer => return text,
            Self::People(folded) => How::People(People { folded, ..People::default() }),
            Self::Babeltrace => How::Babeltrace(Babeltrace::default()),
            Self::FunctionGraph => How::FunctionGraph,
        };
        Box::new(Restored { lines: Lines::new(text), how, out: Vec::new(), at: 0, ended: false })
    }
}

/// Ways in which a carrier changed lines.
enum How {
    People(People),
    Babeltrace(Babeltrace),
    FunctionGraph,
}

/// A text whose lines are restored while it is read.
struct Restored<'a> {
    lines: Lines<'a>,
    how: How,
    out: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Restored<'_> {
    /// Restores the next line.
    fn next(&mut self) -> io::Result<()> {
        self.out.clear();
        self.at = 0;
        if let Some(place) = self.lines.advance() {
            let line = clean(self.lines.get(place));
            match &mut self.how {
                How::People(people) => people.line(line, &mut self.out),
                How::Babeltrace(babeltrace) => babeltrace.line(line, &mut self.out),
                How::FunctionGraph => graph::restore(line, &mut self.out),
            }
            return Ok(());
        }
        self.ended = true;
        if let How::People(people) = &mut self.how {
            people.flush(&mut self.out);
        }
        self.lines.broken().map_or(Ok(()), Err)
    }
}

impl Read for Restored<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.out.len() {
            if self.ended {
                return Ok(0);
            }
            self.next()?;
        }
        let rest = self.out.get(self.at..).unwrap_or_default();
        let n = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        self.at += n;
        Ok(n)
    }
}

/// Lines that people handed on.
#[derive(Default)]
struct People {
    /// The last line, to which the next ones may belong.
    held: Vec<u8>,
    /// How many lines it was wrapped into; 0 before the first.
    lines: usize,
    /// A line was not as it came.
    changed: bool,
    /// The text is quoted-printable (RFC 2045), and its last line goes on in the next one.
    encoded: bool,
    soft: bool,
    /// The width at which lines are broken, and the length of the last one.
    folded: Option<usize>,
    length: usize,
    quotes: Quotes,
}

impl People {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        self.encoded |= memmem::find(line, EQUALS).is_some() && is_trace(bare(line));
        if self.encoded {
            self.changed = true;
            let soft = line.last() == Some(&b'=');
            let decoded = decoded(line.strip_suffix(b"=").unwrap_or(line));
            if std::mem::replace(&mut self.soft, soft) && self.lines < MOST_PIECES {
                self.held.extend(decoded);
                self.lines += 1;
                return;
            }
            return self.whole(&decoded, out);
        }
        self.whole(line, out);
    }

    fn whole(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if self.folded.is_some() && self.unfold(line) {
            return;
        }
        let text = bare(line);
        self.changed |= text.len() < line.len() && is_trace(text);
        if self.lines < MOST_PIECES && continues(&self.held, text) {
            self.held.truncate(self.held.trim_ascii_end().len());
            self.held.push(b' ');
            self.held.extend(trim(text));
            self.lines += 1;
            self.changed = true;
            return;
        }
        self.flush(out);
        self.held.extend(text);
        self.lines = 1;
    }

    /// Adds a line to the one before if that has the width at which lines are broken.
    fn unfold(&mut self, line: &[u8]) -> bool {
        let text = self.quotes.text(line);
        let full = self.folded == Some(std::mem::replace(&mut self.length, text.len()));
        if !full || self.lines == 0 || self.lines >= MOST_PIECES {
            return false;
        }
        // A line may be broken before the time in it.
        let completes =
            |held: &[u8]| Head::parse(held).is_none() && Head::parse(&[held, text].concat()).is_some();
        if begins(text) && !completes(&self.held) {
            return false;
        }
        self.held.extend(text);
        self.lines += 1;
        true
    }

    /// Gives out the last line, and an empty one for each that was added to it.
    fn flush(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        out.extend(std::iter::repeat_n(b'\n', std::mem::take(&mut self.lines)));
    }
}

/// The sign `=` in quoted-printable text.
const EQUALS: &[u8] = b"=3D";

/// A line of quoted-printable text, without the sign `=` at its end that says that the line goes on.
fn decoded(line: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(line.len()), line);
    let digit = |b: &u8| char::from(*b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    while let Some((b, behind)) = rest.split_first() {
        let code = behind.first_chunk::<2>().filter(|_| *b == b'=');
        let code = code.and_then(|[high, low]| Some(digit(high)? << 4 | digit(low)?));
        out.push(code.unwrap_or(*b));
        rest = behind.get(code.map_or(0, |_| 2)..).unwrap_or_default();
    }
    out
}

/// Whether it may be a line of a trace.
fn is_trace(text: &[u8]) -> bool {
    text.starts_with(b"#") || Head::parse(text).is_some()
}

/// A line without what mail, grep and the kernel's log put before it.
fn bare(line: &[u8]) -> &[u8] {
    let (text, _) = unquoted(line, MOST_PIECES);
    let found = of_grep(text).unwrap_or(text);
    of_log(found).unwrap_or(found)
}

/// Behind `12:` or `file:12:` of `grep -n`; behind `file:`, `12-` or a time of the log only what is a trace. The colon in `kworker/0:2`
/// belongs to a task's name.
fn of_grep(text: &[u8]) -> Option<&[u8]> {
    if text.starts_with(b"kworker/") {
        return None;
    }
    let word = text.iter().position(|b| matches!(b, b':' | b' ' | b'\t'))?;
    let numbered = |text: &'_ [u8]| digits(text).map(|(_, n)| n);
    if let Some(n) = numbered(text) {
        let rest = text.get(n..)?;
        return rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"-").filter(|rest| is_trace(rest)));
    }
    let rest = text.get(word..)?.strip_prefix(b":").filter(|_| word > 0)?;
    let line = numbered(rest).and_then(|n| rest.get(n..)?.strip_prefix(b":"));
    line.or(Some(rest).filter(|rest| is_trace(rest)))
}

/// Behind the time of the kernel's log, as dmesg and the journal print it.
fn of_log(text: &[u8]) -> Option<&[u8]> {
    const JOURNAL: &[u8] = b" kernel: ";
    let front = text.get(..80).unwrap_or(text);
    let own = memmem::find(front, JOURNAL).and_then(|at| text.get(at + JOURNAL.len()..)).unwrap_or(text);
    let behind = own.strip_prefix(b"[").map(trim_start).and_then(|time| {
        let (_, n) = digits(time)?;
        let fraction = time.get(n..)?.strip_prefix(b".")?;
        let rest = fraction.get(digits(fraction)?.1..)?.strip_prefix(b"]")?;
        Some(rest.strip_prefix(b" ").unwrap_or(rest))
    });
    behind.or((own.len() < text.len()).then_some(own)).filter(|rest| is_trace(rest))
}

/// Whether a line goes on where `before` was wrapped.
fn continues(before: &[u8], line: &[u8]) -> bool {
    let (before, text) = (trim(before), trim(line));
    if before.is_empty() || text.starts_with(b"#") || is_known(line) || Head::parse(line).is_some() {
        return false;
    }
    let Some(head) = Head::parse(before) else {
        return starts_with_time(text) && Head::parse(&[before, b" ", text].concat()).is_some();
    };
    let Some((_, fields)) = event(head.style, head.rest) else {
        return trim(head.rest).is_empty() && event(head.style, text).is_some();
    };
    if lacks_cpu(line) {
        return false;
    }
    let open = |bracket: u8, close: u8| {
        let all = |b: u8| fields.iter().filter(|f| **f == b).count();
        all(bracket) > all(close)
    };
    text.split(|b| *b == b' ').any(is_pair)
        || memmem::find(text, b"==>").is_some() && memmem::find(before, b"==>").is_none()
        || before.ends_with(b"==>")
        || before.ends_with(b"=")
        || text.strip_prefix(b"CPU:").and_then(digits).is_some_and(|(_, n)| n + 4 == text.len())
        || text.starts_with(b"(") && text.ends_with(b")")
        || text.ends_with(b")") && open(b'(', b')')
}

/// Whether a word is `key=value`.
fn is_pair(word: &[u8]) -> bool {
    let Some((key, value)) = word.iter().position(|b| *b == b'=').and_then(|at| word.split_at_checked(at))
    else {
        return false;
    };
    let key = key.strip_prefix(b"[").unwrap_or(key);
    value.len() > 1
        && !key.is_empty()
        && key.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_')
}
