// SPDX-License-Identifier: GPL-2.0-only
//! What a run printed, searched window by window: a command may print more than there is memory.

use std::io::{self, Read};

use regex_lite::Regex;

/// What is read at once, and what of it is looked at again with the next: no match is longer than that.
const STEP: usize = 1 << 20;
const OVERLAP: usize = 64 << 10;

/// What a benchmark printed, as far as a session keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Printed {
    /// Of each pattern what the group of its last match holds; nothing where there is no match.
    pub(super) found: Vec<Option<String>>,
    pub(super) last_line: String,
}

impl Printed {
    /// Looks for the last match of each pattern in what `from` gives.
    pub(super) fn search(from: impl Read, patterns: &[Option<&Regex>]) -> io::Result<Self> {
        Self::by_windows(from, patterns, STEP, OVERLAP)
    }

    fn by_windows(
        mut from: impl Read,
        patterns: &[Option<&Regex>],
        step: usize,
        overlap: usize,
    ) -> io::Result<Self> {
        let mut out = Self { found: vec![None; patterns.len()], last_line: String::new() };
        let mut bytes = Vec::new();
        // Where a search begins: behind what is there for `^` and `\b` only.
        let mut begin = 0;
        loop {
            let more = from.by_ref().take(step as u64).read_to_end(&mut bytes)?;
            let is_last = more < step;
            let text = String::from_utf8_lossy(&bytes);
            for (found, pattern) in out.found.iter_mut().zip(patterns) {
                if let Some(value) = pattern.and_then(|p| last_match(p, &text, begin, is_last)) {
                    *found = Some(value);
                }
            }
            if is_last {
                text.lines().last().unwrap_or_default().clone_into(&mut out.last_line);
                return Ok(out);
            }
            let tail = bytes.len().saturating_sub(overlap);
            let ends = |b: &u8| *b == b'\n';
            let cut =
                bytes.get(tail..).and_then(|rest| rest.iter().position(ends)).map_or(tail, |at| tail + at);
            bytes.drain(..cut);
            begin = String::from_utf8_lossy(&bytes).chars().next().map_or(0, char::len_utf8);
        }
    }
}

/// What the group of the last match in `text` holds, of those that begin at `begin` or later. Where the text goes on, a match up to
/// its end may be longer.
fn last_match(pattern: &Regex, text: &str, begin: usize, is_last: bool) -> Option<String> {
    let mut at = begin;
    let mut out = None;
    while let Some(captures) = (at <= text.len()).then(|| pattern.captures_at(text, at)).flatten() {
        let Some(whole) = captures.get(0) else { break };
        if is_last || whole.end() < text.len() {
            out = captures.get(1).or(out);
        }
        let next = text.get(whole.end()..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        at = if whole.is_empty() { whole.end() + next } else { whole.end() };
    }
    out.map(|group| group.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_any_size_find_what_the_whole_text_has() {
        let text: String = (0..400).map(|n| format!("line {n}: µ {} ops/sec\n", n * 7919 % 1000)).collect();
        let text = format!("start 5\n{text}end 12345");
        for pattern in
            ["([0-9]+) ops/sec", "(?m)^line ([0-9]+)", "^start ([0-9]+)", "([0-9]+)$", "µ (2[0-9]*)", "(x*)"]
        {
            let regex = Regex::new(pattern).unwrap();
            let whole = regex.captures_iter(&text).last().map(|c| c[1].to_owned());
            for step in [64, 65, 66, 67, 100, 1000, 100_000] {
                let found = Printed::by_windows(text.as_bytes(), &[Some(&regex), None], step, 48).unwrap();
                assert_eq!(found.found, [whole.clone(), None], "{pattern} by {step}");
                assert_eq!(found.last_line, "end 12345");
            }
        }
    }

    #[test]
    fn more_than_memory_is_searched_in_little_memory() {
        /// Prints for ever, nearly.
        struct Endless(u64, usize);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.1 = self.1.max(buffer.len());
                let n = self.0.min(buffer.len() as u64);
                self.0 -= n;
                let n = usize::try_from(n).unwrap();
                buffer[..n].fill(b'y');
                Ok(n)
            }
        }
        let regex = Regex::new("ops ([0-9]+)").unwrap();
        let mut endless = Endless(64 << 20, 0);
        let found = Printed::search(b"ops 7\n".as_slice().chain(&mut endless), &[Some(&regex)]).unwrap();
        assert_eq!(found.found, [Some("7".to_owned())]);
        assert!(endless.1 <= 2 * STEP, "{} bytes at once", endless.1);
    }
}
