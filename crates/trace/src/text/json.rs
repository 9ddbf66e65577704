// SPDX-License-Identifier: GPL-2.0-only
//! Finds the strings of a JSON document of any length, with the keys that lead to them.

use std::io::{self, BufReader, Read};

use super::source::Region;
use crate::input::Input;

/// Keys of deeper values are not kept, nor more of a key than this.
const MOST_DEPTH: usize = 16;
const MOST_KEY: usize = 64;
/// No shorter string holds a trace.
const SHORTEST: u64 = 40;

/// A string: the bytes between its quotation marks, and the keys that lead to it, joined by dots.
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
            let byte = match self.ahead.take() {
                None => self.byte()?,
                ahead => ahead,
            };
            match byte {
                None => return Ok(None),
                Some(b'"') => {
                    let from = self.at;
                    let (to, text) = self.string()?;
                    self.ahead = loop {
                        match self.byte()? {
                            Some(b) if b.is_ascii_whitespace() => {}
                            behind => break behind,
                        }
                    };
                    if self.ahead == Some(b':') {
                        self.key(text);
                    } else if to - from >= SHORTEST {
                        let keys: Vec<_> = self.keys.iter().filter(|key| !key.is_empty()).cloned().collect();
                        return Ok(Some(Found { from, to, key: keys.join(".") }));
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

    /// Goes behind the string that has begun: where it ends, and how it begins.
    fn string(&mut self) -> io::Result<(u64, String)> {
        let mut text = Vec::new();
        let mut escaped = false;
        while let Some(b) = self.byte()? {
            match b {
                b'"' if !escaped => return Ok((self.at - 1, String::from_utf8_lossy(&text).into_owned())),
                b'\\' => escaped = !escaped,
                _ => escaped = false,
            }
            if text.len() < MOST_KEY {
                text.push(b);
            }
        }
        Ok((self.at, String::from_utf8_lossy(&text).into_owned()))
    }
}
