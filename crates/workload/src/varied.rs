// SPDX-License-Identifier: GPL-2.0-only
//! The same load once more, a little different: what several runs need, where the same run would be the same to the bit.

use crate::Random;

/// Keys of rt-app's files whose values are times; they may be followed by more letters or digits, to be different.
const TIMES: [&str; 4] = ["run", "runtime", "sleep", "period"];
/// Times become longer or shorter by at most this share, thousandths.
const MOST: u64 = 30;

/// The rt-app file `text` with every time of its tasks longer or shorter by up to 3 %, by chance from `seed`. All else, comments
/// included, is as it was.
#[must_use]
pub fn varied(text: &str, seed: u64) -> String {
    let mut random = Random::stream(seed, 0);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let piece = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if c == '"' {
            string_len(rest)
        } else {
            c.len_utf8()
        };
        let (now, then) = rest.split_at(piece);
        out.push_str(now);
        rest = then;
        let Some((between, number)) = value(now, then) else { continue };
        out.push_str(&then[..between]);
        let factor = 1000 - MOST + random.draw() % (2 * MOST + 1);
        let time = then[between..between + number].parse::<u64>().ok();
        match time.and_then(|t| t.checked_mul(factor)) {
            Some(time) => out.push_str(&time.div_ceil(1000).to_string()),
            None => out.push_str(&then[between..between + number]),
        }
        rest = &then[between + number..];
    }
    out
}

/// The length of the string that `text` begins with, quotes included.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// Where `token` is the key of a time: the length of what is between it and its value, and that of the value.
fn value(token: &str, then: &str) -> Option<(usize, usize)> {
    let key = token.strip_prefix('"')?.strip_suffix('"')?;
    let is_time = TIMES.iter().any(|name| {
        key.strip_prefix(name).is_some_and(|more| more.chars().all(|c| c.is_ascii_digit() || c == '_'))
    });
    let after = then.trim_start().strip_prefix(':')?.trim_start();
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    (is_time && digits > 0).then_some((then.len() - after.len(), digits))
}
