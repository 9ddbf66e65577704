// SPDX-License-Identifier: GPL-2.0-only
//! Can a reader of the repository follow what it cites? Every document that is named is in it, and every section that a
//! comment or a page names by number exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::house::{files, root, shown};

const TEXTS: [&str; 10] = [".rs", ".c", ".h", ".toml", ".sh", ".py", ".md", ".json", "Makefile", "Kconfig"];

/// The pages of docs/reference whose sections are cited by number.
const PAGES: [&str; 4] =
    ["governor-behaviour.md", "signal-behaviour.md", "boot-behaviour.md", "published-documents.md"];

/// Names of documents that users write, and of templates.
const OF_USERS: [&str; 4] = ["GOVERNOR.md", "mine.md", "r.md", "top.md"];

/// Rooms whose comments name sections of signal-behaviour.md by number alone.
const BARE: [&str; 2] = ["crates/freq", "crates/signal"];

/// Every text of the repository: its name, and its words without comment marks, so that a citation may go over a line's end.
fn texts() -> Vec<(String, String)> {
    let text = |path: PathBuf| {
        let lines = fs::read_to_string(&path).unwrap();
        let bare = |line: &str| line.trim().trim_start_matches(['/', '*', '!', '#']).trim().to_owned();
        (shown(&path), lines.lines().map(bare).collect::<Vec<_>>().join(" "))
    };
    files(&root(), &TEXTS).into_iter().map(text).collect()
}

/// Whether `word` is the number of a section: `7`, `1.9`, `C10`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['A', 'B', 'C', 'D']).unwrap_or(word);
    let part = |p: &str| !p.is_empty() && p.len() < 3 && p.bytes().all(|b| b.is_ascii_digit());
    digits.split('.').all(part)
}

/// What a page's headings are called by: numbers, and the anchors of links.
struct Sections {
    numbers: BTreeSet<String>,
    anchors: BTreeSet<String>,
}

fn sections(page: &str) -> Sections {
    let text = fs::read_to_string(root().join("docs/reference").join(page)).unwrap();
    let titles = text.lines().filter(|l| l.starts_with('#')).map(|l| l.trim_start_matches('#').trim());
    let (mut numbers, mut anchors) = (BTreeSet::new(), BTreeSet::new());
    for title in titles {
        let word = title.split(' ').next().unwrap().trim_end_matches('.');
        if is_number(word) {
            assert!(numbers.insert(word.to_owned()), "{page}: two sections {word}");
        }
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        anchors.insert(kept.collect::<String>().to_lowercase().replace(' ', "-"));
    }
    Sections { numbers, anchors }
}

/// The numbers that follow a page's name: `, 1.4 and 1.6`, "section 15", `A3 to A8`.
fn cited(after: &str) -> Vec<&str> {
    let mut rest = after.trim_start_matches('`');
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        for word in ["section ", "sections ", "and ", "to "] {
            rest = rest.strip_prefix(word).unwrap_or(rest);
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
        let word = rest[..end].trim_end_matches('.');
        if !is_number(word) {
            return found;
        }
        found.push(word);
        rest = &rest[word.len()..];
    }
}

#[test]
fn every_section_that_is_cited_exists() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    let texts = texts();
    for page in PAGES {
        let there = sections(page);
        assert!(there.numbers.len() > 3, "{page}: {:?}", there.numbers);
        for (name, text) in &texts {
            let within = name.ends_with(page).then(|| text.match_indices("]("));
            let places = text.match_indices(page).chain(within.into_iter().flatten());
            for (at, found) in places {
                let after = &text[at + found.len()..];
                if let Some(anchor) = after.strip_prefix('#') {
                    let anchor = anchor.split([')', ' ']).next().unwrap();
                    seen += 1;
                    if !there.anchors.contains(anchor) {
                        wrong.push(format!("{name}: {page} has no heading #{anchor}"));
                    }
                }
                for number in cited(after) {
                    seen += 1;
                    if !there.numbers.contains(number) {
                        wrong.push(format!("{name}: {page} has no section {number}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 120, "only {seen} citations were found");
}

#[test]
fn sections_that_frequency_governors_and_signals_name_by_number_alone_exist() {
    let there = sections("signal-behaviour.md").numbers;
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for path in BARE.iter().flat_map(|folder| files(&root().join(folder), &[".rs"])) {
        for line in fs::read_to_string(&path).unwrap().lines() {
            let comment = line.split_once("//").map(|(_, comment)| comment);
            let source = line.trim().strip_prefix("source: ");
            for word in comment.into_iter().chain(source).flat_map(|t| t.split([' ', '(', ')', ',', '"'])) {
                let word = word.trim_end_matches(['.', ':', ';', '?']);
                if word.starts_with(['A', 'B', 'C', 'D']) && is_number(word) {
                    seen += 1;
                    if !there.contains(word) {
                        wrong.push(format!("{}: no section {word} in signal-behaviour.md", shown(&path)));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 40, "only {seen} numbers were found");
}

#[test]
fn the_tables_of_published_experiments_are_in_the_list_of_documents() {
    let there = sections("published-documents.md").numbers;
    let mut repeated = BTreeSet::new();
    // Predictions are of what nobody has published.
    let others = ["experiments/samples", "experiments/predictions"].map(|folder| root().join(folder));
    for path in files(&root().join("experiments"), &[".toml"]) {
        if others.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let list = |key: &str| -> Vec<String> {
            let mark = format!("\n{key} = \"");
            let value = text.split_once(&mark).and_then(|(_, rest)| rest.split('"').next());
            value.unwrap_or_else(|| panic!("{path:?}: no {key}")).split(", ").map(str::to_owned).collect()
        };
        let (documents, tables) = (list("number"), list("tables"));
        for number in documents.iter().chain(&tables) {
            assert!(there.contains(number), "{path:?}: published-documents.md has no section {number}");
        }
        for table in &tables {
            assert!(documents.iter().any(|d| table.starts_with(&format!("{d}."))), "{path:?}: {table}");
        }
        repeated.extend(tables);
    }
    let tables: BTreeSet<String> = there.into_iter().filter(|n| n.contains('.')).collect();
    assert_eq!(repeated, tables, "every table in the list is repeated by an experiment");
}

/// The repository has to explain itself without papers that only its authors have.
#[test]
fn no_text_names_a_document_that_is_not_here() {
    let known: BTreeSet<String> = files(&root(), &[".md"])
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .chain(OF_USERS.map(str::to_owned))
        .collect();
    let elsewhere =
        [concat!("seed", " 00"), concat!("seeds", " 00"), concat!("seeds", "/"), concat!("(des", "ign")];
    let mut wrong = Vec::new();
    for (name, text) in texts() {
        for (at, _) in text.match_indices(".md") {
            let before = &text[..at];
            let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && !['-', '_', '.'].contains(&c));
            let document = format!("{}.md", &before[start.map_or(0, |s| s + 1)..]);
            let ends = !text[at + 3..].starts_with(|c: char| c.is_ascii_alphanumeric());
            if ends && document != ".md" && !known.contains(&document) {
                wrong.push(format!("{name}: {document} is not in the repository"));
            }
        }
        for words in elsewhere.iter().filter(|words| text.contains(**words)) {
            wrong.push(format!("{name}: `{words}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn numbers_of_sections_are_read_out_of_sentences() {
    assert_eq!(cited("` 1.2, 1.3, 1.8)."), ["1.2", "1.3", "1.8"]);
    assert_eq!(cited(", section 15). All"), ["15"]);
    assert_eq!(cited(", A3 to A8, hold by itself"), ["A3", "A8"]);
    assert_eq!(cited("` D2 to D4 and A7), 6.1's"), ["D2", "D4", "A7"]);
    assert_eq!(cited("` 2, quirk 2, and 3)."), ["2"]);
    assert!(cited(" describes last.").is_empty());
    assert!(is_number("C10") && !is_number("WALT") && !is_number("2024") && !is_number("1."));
}
