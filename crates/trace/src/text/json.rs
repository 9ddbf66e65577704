// SPDX-License-Identifier: GPL-2.0-only
//! Finds the strings of a JSON document of any length, with the keys that lead to them. A list of lines counts as one string.

use std::io::{self, BufReader, Read};

use super::source::Region;
use crate::input::Input;

/// Keys of deeper values are not kept, nor more of a key than this.
const MOST_DEPTH: usize = 16;
const MOST_KEY: usize = 64;
/// No shorter string holds a trace.
const SHORTEST: u64 = 40;

/// A string, or a list of lines: the bytes between the first and the last quotation mark, and the keys that lead to it, joined by dots.
pub(super) struct Found {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) key: String,
}

/// The strings of a document, keys and short ones left out.
pub(super) struct Strings<'a> {
    bytes: io::Bytes<BufReader<Region<'a>>>,
    /// How many bytes were taken.
    at: u64,
    /// The byte behind a string, which says whether that was a key.
    ahead: Option<u8>,
    depth: usize,
    /// The string behind the last one that was given.
    next: Option<Found>,
    /// Of each open object the key of its last member; empty for a list.
    keys: Vec<String>,
    /// The keys of the outermost object.
    pub(super) outer: Vec<String>,
}

impl<'a> Strings<'a> {
    pub(super) fn of(input: &'a Input) -> Self {
        let region = Region { input, at: 0, end: input.len() };
        Self {
            bytes: BufReader::with_capacity(256 << 10, region).bytes(),
            at: 0,
            ahead: None,
            depth: 0,
            next: None,
            keys: Vec::new(),
            outer: Vec::new(),
        }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.bytes.next().transpose()?;
        self.at += u64::from(byte.is_some());
        Ok(byte)
    }

    /// The next string that may hold a trace.
    pub(super) fn next(&mut self) -> io::Result<Option<Found>> {
        loop {
            if let Some(found) = self.next.take() {
                return Ok(Some(found));
            }
            let byte = match self.ahead.take() {
                None => self.byte()?,
                ahead => ahead,
            };
            match byte {
                None => return Ok(None),
                Some(b'"') => {
                    let (from, string) = (self.at, self.string()?);
                    self.ahead = self.behind_blanks()?;
                    if self.ahead == Some(b':') {
                        self.key(string.start);
                        continue;
                    }
                    let to = if string.is_line { self.last_line(string.to)? } else { string.to };
                    if to - from >= SHORTEST {
                        return Ok(Some(self.found(from, to)));
                    }
                }
                Some(b'{' | b'[') => {
                    self.depth += 1;
                    if self.depth <= MOST_DEPTH {
                        self.keys.push(String::new());
                    }
                }
                Some(b'}' | b']') => {
                    if self.depth <= MOST_DEPTH {
                        self.keys.pop();
                    }
                    self.depth = self.depth.saturating_sub(1);
                }
                Some(_) => {}
            }
        }
    }

    fn key(&mut self, text: String) {
        if self.depth == 1 && self.outer.len() < MOST_DEPTH {
            self.outer.push(text.clone());
        }
        if self.depth <= MOST_DEPTH
            && let Some(key) = self.keys.last_mut()
        {
            *key = text;
        }
    }

    fn found(&self, from: u64, to: u64) -> Found {
        let keys: Vec<_> = self.keys.iter().filter(|key| !key.is_empty()).cloned().collect();
        Found { from, to, key: keys.join(".") }
    }

    fn behind_blanks(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.byte()? {
                Some(b) if b.is_ascii_whitespace() => {}
                behind => return Ok(behind),
            }
        }
    }

    /// Goes behind the last of the lines of which the first ends at `to`: where that ends. What follows in the same list and is more than
    /// a line comes next.
    fn last_line(&mut self, mut to: u64) -> io::Result<u64> {
        while self.ahead == Some(b',') {
            self.ahead = self.behind_blanks()?;
            if self.ahead != Some(b'"') {
                break;
            }
            let (from, string) = (self.at, self.string()?);
            self.ahead = self.behind_blanks()?;
            if self.ahead == Some(b':') {
                self.key(string.start);
                break;
            }
            if !string.is_line {
                self.next = Some(self.found(from, string.to)).filter(|next| next.to - next.from >= SHORTEST);
                break;
            }
            to = string.to;
        }
        Ok(to)
    }

    /// Goes behind the string that has begun.
    fn string(&mut self) -> io::Result<Passed> {
        let mut start = Vec::new();
        let mut escaped = false;
        // The last escaped line end is the last of the string.
        let (mut ended, mut is_line) = (false, true);
        while let Some(b) = self.byte()? {
            if b == b'"' && !escaped {
                let start = String::from_utf8_lossy(&start).into_owned();
                return Ok(Passed { to: self.at - 1, start, is_line });
            }
            is_line &= !ended;
            ended = escaped && b == b'n';
            escaped = b == b'\\' && !escaped;
            if start.len() < MOST_KEY {
                start.push(b);
            }
        }
        Ok(Passed { to: self.at, start: String::from_utf8_lossy(&start).into_owned(), is_line })
    }
}

/// A string that was passed.
struct Passed {
    to: u64,
    /// Its first characters, as many as are kept of a key.
    start: String,
    /// No more than one line is in it.
    is_line: bool,
}
