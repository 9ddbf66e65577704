// SPDX-License-Identifier: GPL-2.0-only
//! The same load once more, a little different: what several runs need, where the same run would be the same to the bit.

use crate::Random;

/// Keys of rt-app's files whose values are times; they may be followed by more letters or digits, to be different.
const TIMES: [&str; 4] = ["run", "runtime", "sleep", "period"];
/// Times become longer or shorter by at most this share, thousandths.
const MOST: u64 = 30;

/// The rt-app file `text` with every time of its tasks longer or shorter by up to 3 %, by chance from `seed`. All else, comments
/// included, is as it was.
///
/// ```
/// let text = r#"{ "tasks" : { "t" : { "run" : 1000, "sleep0" : 20000 } } }"#;
/// let other = idlewise_workload::varied(text, 1);
/// assert_ne!(other, text);
/// assert_eq!(other, idlewise_workload::varied(text, 1));
/// assert!(other.starts_with(r#"{ "tasks" : { "t" : { "run" : "#));
/// ```
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// a \"sleep\" : 7 that is none\n{ \"tasks\" : { \"sleep\" : { \"loop\" : 5, \"run0\" : 1000,\n\
                        \"timer\" : { \"ref\" : \"run\", \"period\" : 16667 }, \"sleep1\" : 90 } },\n\
                        \"global\" : { \"duration\" : 4 } }";

    #[test]
    fn times_change_a_little_and_nothing_else() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let text = varied(TEXT, seed);
            let changed: Vec<(&str, &str)> =
                TEXT.split(' ').zip(text.split(' ')).filter(|(a, b)| a != b).collect();
            assert!(changed.len() <= 3, "{changed:?}");
            for (a, b) in changed {
                let number = |t: &str| -> f64 {
                    t.trim_matches([',', '\n', '"']).split(',').next().unwrap().parse().unwrap()
                };
                assert!((number(b) / number(a) - 1.0).abs() <= 0.04, "{a} {b}");
            }
            seen.insert(text);
        }
        assert!(seen.len() > 45, "{}", seen.len());
    }

    #[test]
    fn a_text_that_is_none_stays_as_it_is() {
        for text in [
            "",
            "\"sleep",
            "\"run\" : ",
            "/* \"run\" : 5",
            "\"run\" : 99999999999999999999",
            "\\\"",
            "ä\"run\":x",
        ] {
            assert_eq!(varied(text, 3), text);
        }
    }
}
