// SPDX-License-Identifier: GPL-2.0-only
//! Does any damage to a file make the reader panic or hang?
//!
//! `IDLEWISE_FUZZ_INPUTS=100000 cargo test --release -p idlewise-workload --test workload hostile_text::` runs that many inputs.

use idlewise_workload::{Workload, shipped};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Words of the grammar, to be put where they do not belong.
const WORDS: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "/*",
    "*/",
    "//",
    "\\",
    "\"loop\": -1,",
    "\"suspend\",",
    "\"phases\": {",
    "-1",
    "1e309",
    "99999999999999999999",
    "null",
    "\"run\": 0,",
    "\"timer\": {",
    "\"idlewise-run\": {",
    "\u{feff}",
    "é",
    "\0",
];

fn edited(text: &str, edits: &[(prop::sample::Index, prop::sample::Index, usize)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, word, cut) in edits {
        let start = at.index(chars.len() + 1);
        let end = (start + cut).min(chars.len());
        chars.splice(start..end, WORDS[word.index(WORDS.len())].chars());
    }
    chars.into_iter().collect()
}

#[test]
fn damaged_files_are_read_or_refused() {
    let cases = std::env::var("IDLEWISE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let edits =
        prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..30), 0..4);
    let read = std::cell::Cell::new(0);
    TestRunner::new(config)
        .run(&(any::<prop::sample::Index>(), edits), |(which, edits)| {
            let text = edited(shipped()[which.index(shipped().len())].1, &edits);
            match Workload::from_text("hostile.json", &text) {
                Ok(workload) => {
                    read.set(read.get() + 1);
                    prop_assert_eq!(Workload::from_text("hostile.json", &text), Ok(workload));
                }
                Err(error) => prop_assert!(error.to_string().contains("; "), "{}", error),
            }
            Ok(())
        })
        .unwrap();
    assert!(read.get() > 0, "no damaged file could be read: the damage is too coarse to test anything");
}

#[test]
fn texts_that_are_no_workload_at_all_are_refused() {
    TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() })
        .run(&"(\\PC|[{}\\[\\],:\"/*\n]){0,200}", |text| {
            prop_assert!(Workload::from_text("hostile.json", &text).is_err());
            Ok(())
        })
        .unwrap();
}

#[test]
fn large_files_take_linear_time() {
    let events: String = (0..200_000).map(|n| format!("\"run{n}\": 1, \"lock{n}\": \"m{n}\",")).collect();
    let text = format!("{{ \"tasks\": {{ \"a\": {{ {events} }} }} }}");
    let workload = Workload::from_text("large.json", &text).unwrap();
    assert_eq!((workload.tasks[0].phases[0].events.len(), workload.resources.len()), (400_000, 200_000));
}
