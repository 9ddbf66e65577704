// SPDX-License-Identifier: GPL-2.0-only
//! The lines of a text of any length, in bounded memory.

use std::io::Read;

use memchr::memchr;

/// What is fetched at a time, and the longest line that is read whole.
const BUFFER: usize = 256 << 10;

/// A text, line by line.
pub(super) struct Lines<'a> {
    source: Box<dyn Read + 'a>,
    buf: Vec<u8>,
    /// What of `buf` is text that was not yet given out.
    start: usize,
    end: usize,
    /// The rest of a line that is too long is skipped.
    skipping: bool,
    ended: bool,
    number: u64,
    /// Where in the text `buf` begins.
    base: u64,
    /// Why reading stopped before the end of the text.
    broken: Option<std::io::Error>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: Box<dyn Read + 'a>) -> Self {
        Self {
            source,
            buf: vec![0; BUFFER],
            start: 0,
            end: 0,
            skipping: false,
            ended: false,
            number: 0,
            base: 0,
            broken: None,
        }
    }

    /// The rest of a text, which begins behind `number` lines.
    pub(super) fn behind(number: u64, source: Box<dyn Read + 'a>) -> Self {
        Self { number, ..Self::new(source) }
    }

    /// The place of the next line in [`Lines::get`]; the last one may lack its line end.
    #[inline]
    pub(super) fn advance(&mut self) -> Option<(usize, usize)> {
        let mut looked = 0;
        loop {
            let fresh = self.buf.get(self.start + looked..self.end).unwrap_or_default();
            if let Some(n) = memchr(b'\n', fresh) {
                let from = self.start;
                self.start += looked + n + 1;
                self.number += 1;
                if std::mem::take(&mut self.skipping) {
                    looked = 0;
                    continue;
                }
                return Some((from, self.start - 1));
            }
            looked += fresh.len();
            if self.ended {
                let from = self.start;
                self.start = self.end;
                self.number += 1;
                return (from < self.end && !self.skipping).then_some((from, self.end));
            }
            if looked == self.buf.len() {
                self.base += self.end as u64;
                (self.start, self.end, looked) = (0, 0, 0);
                if !std::mem::replace(&mut self.skipping, true) {
                    return Some((0, self.buf.len()));
                }
            }
            self.fetch();
        }
    }

    /// The bytes at a place that [`Lines::advance`] gave last.
    #[inline]
    pub(super) fn get(&self, (from, to): (usize, usize)) -> &[u8] {
        self.buf.get(from..to).unwrap_or_default()
    }

    /// Where in the text a place is that [`Lines::advance`] gave last.
    pub(super) fn offset(&self, (from, _): (usize, usize)) -> u64 {
        self.base + from as u64
    }

    /// The number of the last line, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number + u64::from(self.skipping)
    }

    /// Why the text ended early; told once.
    pub(super) fn broken(&mut self) -> Option<std::io::Error> {
        self.broken.take()
    }

    #[cold]
    fn fetch(&mut self) {
        if self.start > 0 {
            self.base += self.start as u64;
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let Some(free) = self.buf.get_mut(self.end..) else { return };
        match self.source.read(free) {
            Ok(0) => self.ended = true,
            Ok(n) => self.end += n.min(free.len()),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => {
                self.ended = true;
                self.broken = Some(e);
            }
        }
    }
}

/// A line without its end: without the carriage return of Windows, and without what makes it a line of a JavaScript
/// string in a systrace page.
#[inline]
pub(super) fn clean(line: &[u8]) -> &[u8] {
    match line.last() {
        Some(b'\r') => clean_more(line.strip_suffix(b"\r").unwrap_or(line)),
        Some(b'\\' | b';') => clean_more(line),
        _ => line,
    }
}

#[inline(never)]
fn clean_more(line: &[u8]) -> &[u8] {
    if line == b"\\" {
        return b"";
    }
    [&b"\\n\\"[..], b"\\n\";", b"\";"].iter().find_map(|end| line.strip_suffix(*end)).unwrap_or(line)
}
