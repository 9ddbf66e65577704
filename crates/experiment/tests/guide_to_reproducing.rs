// SPDX-License-Identifier: GPL-2.0-only
//! Does docs/guide/reproducing.md say what `idlewise reproduce` says? Its table of grades, and the numbers in its sentences.
//!
//! What takes long is not run here: of that only the sentences are looked for, and whether the table counts all cells.
//! `make reproduce` runs everything and sets `IDLEWISE_REPRODUCED` to the JSON of it; then all is compared.

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_experiment::reproduce::{Compare, ReproduceRequest, find, reproduce, shipped};
use serde_json::Value;

/// A few seconds each in a build without optimisation; the others take minutes.
const CHEAP: [&str; 6] =
    ["pelt-times", "rk3399-hackbench", "rk3399-timer", "walt-cpufreq-bench", "walt-ramp", "walt-video"];

/// A number that a sentence copies.
enum Copied {
    /// Ours, of a row and a column, times this, with so many digits behind the point.
    Ours(&'static str, &'static str, f64, usize),
    /// Our change against the baseline, per cent, without its sign.
    Change(&'static str, &'static str, usize),
    /// What is left of the fit, per cent.
    Left(usize),
}

use Copied::{Change, Left, Ours};

mod sentences;
use sentences::SENTENCES;

fn guide() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/reproducing.md");
    std::fs::read_to_string(path).unwrap()
}

/// Results by experiment: all from the file that `IDLEWISE_REPRODUCED` names, or what is cheap from runs.
fn results() -> BTreeMap<String, Value> {
    let all: Value = match std::env::var_os("IDLEWISE_REPRODUCED") {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap(),
        None => {
            let left: Vec<&str> =
                shipped().iter().map(|(id, _)| *id).filter(|id| !CHEAP.contains(id)).collect();
            eprintln!("not run, too slow here: {} (make reproduce)", left.join(", "));
            let request = ReproduceRequest { experiments: CHEAP.map(str::to_owned).to_vec(), fit: false };
            serde_json::to_value(reproduce(&request, &|_, _, _| {}).unwrap()).unwrap()
        }
    };
    let by_id = |one: &Value| (one["experiment"]["id"].as_str().unwrap().to_owned(), one.clone());
    all["experiments"].as_array().unwrap().iter().map(by_id).collect()
}

/// Grades in the order of the table's columns.
const GRADES: [&str; 6] = ["matches", "same-sign", "differs", "missing", "fit", "unpublished"];

/// The guide's table: counts by experiment, and of `all`.
fn table(guide: &str) -> BTreeMap<String, Vec<usize>> {
    let row = |line: &str| -> Option<(String, Vec<usize>)> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let counts: Option<Vec<usize>> = cells.get(1..)?.iter().map(|c| c.parse().ok()).collect();
        Some((cells[0].trim_matches('`').to_owned(), counts.filter(|c| c.len() == GRADES.len())?))
    };
    guide.lines().filter(|l| l.starts_with('|')).filter_map(row).collect()
}

#[test]
fn the_table_counts_every_cell_of_every_experiment() {
    let table = table(&guide());
    let mut sums = vec![0; GRADES.len()];
    for (id, _) in shipped() {
        let row = table.get(*id).unwrap_or_else(|| panic!("the guide's table has no row {id}"));
        sums.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
        let e = find(id).unwrap();
        let published: usize = e.row.iter().map(|r| r.published.len()).sum();
        let base = e.baseline();
        let counted_from = |r: &&idlewise_experiment::reproduce::Row| {
            r.compare == Compare::Change && base.is_some_and(|b| !e.is_fitted(r, b))
        };
        let baseline = e.row.iter().filter(counted_from).count();
        assert_eq!(
            row[..5].iter().sum::<usize>() + baseline,
            published,
            "{id}: is the guide's row of this file?"
        );
    }
    assert_eq!(table.len(), shipped().len() + 1);
    assert_eq!(table["all"], sums);
}

#[test]
fn the_table_and_the_sentences_have_the_commands_numbers() {
    let (guide, results) = (guide(), results());
    let words = guide.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut wrong = Vec::new();
    let counts = table(&guide);
    for (id, one) in &results {
        let cells = one["cells"].as_array().unwrap();
        let count = |grade: &&str| cells.iter().filter(|c| c["grade"] == **grade).count();
        let found: Vec<usize> = GRADES.iter().map(count).collect();
        if counts.get(id) != Some(&found) {
            wrong.push(format!("table: {id} {:?}, the command says {found:?}", counts.get(id)));
        }
    }
    for (id, says, numbers) in SENTENCES {
        assert_eq!(says.matches("{}").count(), numbers.len(), "{says}");
        let Some(one) = results.get(*id) else {
            if !in_order(&words, says) {
                wrong.push(format!("{id}: the guide does not say `{says}`"));
            }
            continue;
        };
        let mut told = (*says).to_owned();
        for number in *numbers {
            told = told.replacen("{}", &shown(one, number), 1);
        }
        if !words.contains(&told) {
            wrong.push(format!("{id}: the guide does not say `{told}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the words stand in the text, a number in each gap.
fn in_order(text: &str, says: &str) -> bool {
    let mut parts = says.split("{}");
    let first = parts.next().unwrap_or_default();
    let follow = |from| parts.clone().try_fold(from, |rest, part| behind_a_number(rest).strip_prefix(part));
    text.match_indices(first).any(|(at, _)| follow(&text[at + first.len()..]).is_some())
}

/// A full stop belongs to a number if a digit follows.
fn behind_a_number(text: &str) -> &str {
    let digit = |at: usize| text[at..].starts_with(|c: char| c.is_ascii_digit());
    let ends = |(at, c): &(usize, char)| !(c.is_ascii_digit() || *c == '.' && digit(at + 1));
    text.char_indices().find(ends).map_or("", |(at, _)| &text[at..])
}

fn shown(one: &Value, number: &Copied) -> String {
    let cell = |row: &str, column: &str| {
        let cells = one["cells"].as_array().unwrap();
        let found = cells.iter().find(|c| c["row"] == row && c["column"] == column);
        found.unwrap_or_else(|| panic!("no cell {row} of {column}")).clone()
    };
    match number {
        Ours(row, column, times, digits) => {
            format!("{:.*}", *digits, cell(row, column)["ours"].as_f64().unwrap() * times)
        }
        Change(row, column, digits) => {
            format!("{:.*}", *digits, cell(row, column)["our_change_pct"].as_f64().unwrap().abs())
        }
        Left(digits) => format!("{:.*}", *digits, one["residual_pct"].as_f64().unwrap()),
    }
}

#[test]
fn a_sentence_is_found_with_numbers_in_its_gaps_only() {
    assert!(in_order("it takes 12.5 ms, not 3.", "takes {} ms, not {}."));
    assert!(!in_order("it takes long, not 3.", "takes {} ms, not {}."));
    assert!(in_order("a takes 1 s. b takes 2 ms.", "takes {} ms"));
}
