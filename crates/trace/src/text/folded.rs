// SPDX-License-Identifier: GPL-2.0-only
//! Lines that were broken at a fixed width, also within a word, as `fold` does it or a terminal from which they were copied.

use std::collections::BTreeMap;

use super::head::Head;
use super::line_kind::{LineKind, is_known, kind_of};
use super::shape::Shape;
use super::values::trim;
use super::words::Words;
use crate::kernel::meaning::{Op, system_of};
use crate::learned::Learned;

/// Nobody breaks traces into narrower lines.
const NARROWEST: usize = 40;
/// What is longer is not broken.
const LONGEST: usize = 4096;

/// No line is wrapped into more, nor quoted more often.
pub(super) const MOST_PIECES: usize = 16;

/// A line without the quotation marks of mail, of which it loses `most`, and how many it had of these.
pub(super) fn unquoted(line: &[u8], most: usize) -> (&[u8], usize) {
    let mut text = line;
    for marks in 0..most {
        let Some(quoted) = text.strip_prefix(b">").or_else(|| text.strip_prefix(b"| ")) else {
            return (text, marks);
        };
        text = quoted.strip_prefix(b" ").unwrap_or(quoted);
    }
    (text, most)
}

/// How many quotation marks the last line had that began something. What was broken within `==>` begins with one of its own.
#[derive(Default)]
pub(super) struct Quotes(usize);

impl Quotes {
    pub(super) fn text<'l>(&mut self, line: &'l [u8]) -> &'l [u8] {
        let (text, marks) = unquoted(line, MOST_PIECES);
        if begins(text) {
            self.0 = marks;
            return text;
        }
        unquoted(line, self.0).0
    }
}

/// Whether a line begins something, so that it belongs to no line before.
pub(super) fn begins(line: &[u8]) -> bool {
    // Of `==>` the last two signs may begin a line.
    let known = || is_known(line) && !trim(line).starts_with(b"=>");
    line.starts_with(b"#") || Head::parse(line).is_some() || known()
}

/// Finds the width at which lines were broken.
#[derive(Default)]
pub(super) struct Folds {
    /// The lines since the last one that began something, joined as they are and with blanks between.
    joined: Vec<u8>,
    spaced: Vec<u8>,
    pieces: usize,
    /// The length of the last line.
    last: usize,
    quotes: Quotes,
    /// How many lines of each length are followed by one that begins nothing.
    continued: BTreeMap<usize, u64>,
    /// Events that can be read only if lines are joined as they are, only if with blanks between, and either way.
    as_they_are: u64,
    with_blanks: u64,
    either: u64,
}

impl Folds {
    pub(super) fn line(&mut self, line: &[u8]) {
        let line = self.quotes.text(line);
        let line = line.get(..LONGEST).unwrap_or(line);
        if begins(line) || self.joined.len() > LONGEST {
            self.judge();
            self.joined.clear();
            self.spaced.clear();
            self.pieces = 0;
        } else if self.pieces > 0 {
            *self.continued.entry(self.last).or_default() += 1;
        }
        self.joined.extend(line);
        self.spaced.truncate(self.spaced.trim_ascii_end().len());
        self.spaced.push(b' ');
        self.spaced.extend(trim(line));
        self.pieces += 1;
        self.last = line.len();
    }

    fn judge(&mut self) {
        if self.pieces > 1 {
            let (as_they_are, with_blanks) = (is_sound(&self.joined), is_sound(&self.spaced));
            self.as_they_are += u64::from(as_they_are && !with_blanks);
            self.with_blanks += u64::from(with_blanks && !as_they_are);
            self.either += u64::from(as_they_are && with_blanks);
        }
    }

    /// The width, if lines were broken.
    pub(super) fn width(mut self) -> Option<usize> {
        self.judge();
        let all: u64 = self.continued.values().sum();
        let (width, lines) = self.continued.into_iter().max_by_key(|(_, lines)| *lines)?;
        let alike = lines * 10 >= all * 9 && width >= NARROWEST;
        // Lines that were wrapped at blanks do without them only where they still end with one.
        let several = self.with_blanks == 0 && self.as_they_are + self.either > 1;
        (alike && (several || self.as_they_are > self.with_blanks)).then_some(width)
    }
}

/// Whether a line has an event with all fields that it needs.
fn is_sound(line: &[u8]) -> bool {
    let LineKind::Event(_, name, fields) = kind_of(line) else { return false };
    let name = String::from_utf8_lossy(name);
    let name = name.rsplit_once(':').map_or(&*name, |(_, event)| event);
    let Some(system) = system_of(name) else { return false };
    let mut words = Words { learned: Learned::default(), addresses: BTreeMap::new(), timer_flags_told: true };
    Shape::learn(system, name, fields)
        .is_ok_and(|shape| !matches!(shape.op, Op::Other) && shape.read(fields, &mut words).is_some())
}
