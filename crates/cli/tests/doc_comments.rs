// SPDX-License-Identifier: GPL-2.0-only
//! Does a doc comment say more than the name of what it describes?

use std::fs;

use crate::house::{files, root, shown};

/// What a public item begins with, in a trait or not.
const ITEMS: [&str; 8] = ["fn ", "struct ", "enum ", "trait ", "type ", "const ", "static ", "mod "];

/// Crates that only tests use.
const KITS: [&str; 4] = ["checkout", "madeinput", "madetraces", "testkit"];

/// Units, which a name does not always have.
const UNITS: [&str; 8] = ["ns", "us", "ms", "MHz", "kHz", "mW", "fJ", "bytes"];

/// Whether a comment of few words names code, a number or a unit.
fn is_precise(text: &str) -> bool {
    text.contains(['`', '%'])
        || text.contains(|c: char| c.is_ascii_digit())
        || text.split([' ', ',', '.']).any(|word| UNITS.contains(&word))
}

/// A function that only gives what its name says: it takes nothing but `&self`.
fn is_accessor(item: &str) -> bool {
    item.contains("(&self) ->") || item.contains("(self) ->")
}

/// What is wrong with the doc comments of a file: line, reason.
fn complaints(text: &str) -> Vec<(usize, &'static str)> {
    let mut wrong = Vec::new();
    // The comment that stands before the next item: its first line, its text.
    let mut comment: Option<(usize, String)> = None;
    let mut in_attribute = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(more) = doc {
            let (_, text) = comment.get_or_insert_with(|| (i + 1, String::new()));
            text.push_str(more);
            text.push(' ');
            continue;
        }
        // An attribute, which may have several lines.
        in_attribute |= line.starts_with("#[");
        if in_attribute || line.starts_with("//") {
            in_attribute &= !line.ends_with(']');
            continue;
        }
        match comment.take() {
            Some((at, text)) if text.split_whitespace().count() <= 3 && !is_precise(&text) => {
                wrong.push((at, "a doc comment of three words: say what the name does not, or nothing"));
            }
            Some(_) => {}
            None => {
                let item = line.strip_prefix("pub ");
                let item = item.filter(|item| ITEMS.iter().any(|word| item.starts_with(word)));
                if item.is_some_and(|item| !item.ends_with(';') && !is_accessor(item)) {
                    wrong.push((i + 1, "a public item without a doc comment"));
                }
            }
        }
    }
    wrong
}

#[test]
fn every_public_item_has_one_that_says_something() {
    let mut wrong = Vec::new();
    let mut files_read = 0;
    for path in files(&root().join("crates"), &[".rs"]) {
        let name = shown(&path);
        // The arguments' comments are the help texts; a test kit's functions are read with their callers.
        let kit = KITS.iter().any(|kit| name.starts_with(&format!("crates/{kit}/")));
        if !name.contains("/src/") || name.ends_with("tests.rs") || kit || name.starts_with("crates/cli/src/")
        {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        files_read += 1;
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        wrong.extend(complaints(code).into_iter().map(|(line, why)| format!("{name}:{line}: {why}")));
    }
    assert!(files_read > 200, "only {files_read} files were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_comment_that_says_nothing_and_a_missing_one_are_seen() {
    let text = "/// The answer.\npub struct A {\n    /// In ns.\n    pub b: u64,\n    pub c: u64,\n}\n\n\
                pub fn f() {}\n\npub fn g(&self) -> u64 {\n    0\n}\n\n/// Of all CPUs, ascending.\n#[must_use]\npub fn h() {}\n";
    let lines: Vec<usize> = complaints(text).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [1, 8]);
}
