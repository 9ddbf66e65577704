// SPDX-License-Identifier: GPL-2.0-only
//! Does any text that stands for limits make their reader panic, or read what it cannot write?
//!
//! `make fuzz` runs 100,000 inputs.

use std::cell::Cell;

use idlewise_power::{Limit, LimitRequest, LimitSet, Limits};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// Parts of the grammar and numbers, to be put where they do not belong.
const WORDS: [&str; 32] = [
    "pl1=",
    "pl2=",
    "pl3=",
    "none",
    "4W",
    "4500mW",
    "8W..4W/1W",
    "1W..900W/1W",
    "1mW..1000000W/1mW",
    "..",
    "/",
    "0W",
    "0",
    "-1",
    "1.5",
    "0.000001W",
    "0.0000001W",
    "18446744073709551615W",
    "18446744073709551616",
    "999999W",
    ":28s",
    ":976us",
    ":86400s",
    ":0s",
    ":18446744073709551615us",
    ":clamp",
    ":no-clamp",
    "@5W",
    "@",
    ",",
    "é",
    "\0",
];

const OWN: Limit = Limit { power_uw: 6_000_000, window_ns: 28_000_000_000, clamp: true, start_uw: None };

fn cases(few: u32) -> u32 {
    std::env::var("IDLEWISE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// Reads a text; whether it means something. What it means is read again from its name; what it does not is said.
fn read(text: &str) -> bool {
    let asked = match LimitRequest::parse(text) {
        Ok(asked) => asked,
        Err(e) => {
            assert!(e.to_string().contains("; expected ") && !e.why.is_empty(), "{text:?}: {e}");
            return false;
        }
    };
    for own in [Limits::default(), Limits { pl1: Some(OWN), pl2: None }] {
        let rows = match asked.rows(&own) {
            Ok(rows) => rows,
            Err(e) => {
                assert!(e.to_string().contains("and the platform gives none"), "{text:?}: {e}");
                continue;
            }
        };
        assert!(!rows.is_empty() && rows.len() <= 1000, "{text:?}: {} rows", rows.len());
        for row in [rows.first(), rows.last()].into_iter().flatten() {
            assert!(row.limits.named().all(|(_, l)| l.power_uw > 0 && l.window_ns > 0), "{text:?}: {row:?}");
            let again = LimitRequest::parse(&row.name).unwrap().rows(&own).unwrap();
            assert_eq!(again, [LimitSet { short: String::new(), ..row.clone() }], "{text:?}");
        }
    }
    true
}

#[test]
fn damaged_requests_are_read_or_refused() {
    let config = Config { cases: cases(5000), failure_persistence: None, ..Config::default() };
    let edits = prop::collection::vec((any::<Index>(), any::<Index>(), 0..8_usize), 0..4);
    let whole = ["pl1=4W..8W/1W:28s,pl2=12W:976us", "pl1=6W:28s:no-clamp@5W", "pl2=12500mW", "none"];
    let counts = Cell::new([0, 0]);
    TestRunner::new(config)
        .run(&(any::<Index>(), edits), |(which, edits)| {
            let mut chars: Vec<char> = whole[which.index(whole.len())].chars().collect();
            for (at, word, cut) in edits {
                let start = at.index(chars.len() + 1);
                let end = (start + cut).min(chars.len());
                chars.splice(start..end, WORDS[word.index(WORDS.len())].chars());
            }
            let mut count = counts.get();
            count[usize::from(read(&chars.into_iter().collect::<String>()))] += 1;
            counts.set(count);
            Ok(())
        })
        .unwrap();
    let [refused, done] = counts.get();
    assert!(refused > 0 && done > 0, "{refused} refused, {done} read: the damage tests nothing");
}

#[test]
fn texts_of_the_grammar_s_signs_are_read_or_refused() {
    TestRunner::new(Config { cases: cases(5000), failure_persistence: None, ..Config::default() })
        .run(&"[pl123=none0-9.W/m:us,@ ]{0,60}|\\PC{0,40}", |text| {
            read(&text);
            Ok(())
        })
        .unwrap();
}
