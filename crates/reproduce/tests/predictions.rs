// SPDX-License-Identifier: GPL-2.0-only
//! Are `experiments/m18-predictions.csv` and its second version whole: each of the seven tests, each number within its interval, each sign that of its
//! change? Their numbers stay as they were committed, so they are not computed again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use idlewise_reproduce::Experiment;

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// The cells of a line; quoted ones may hold commas.
fn cells(line: &str) -> Vec<String> {
    let (mut out, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(String::new()),
            c => out.last_mut().unwrap().push(c),
        }
    }
    out
}

#[test]
fn every_prediction_has_a_number_an_interval_and_the_sign_of_its_change() {
    for file in ["m18-predictions.csv", "m18-predictions-2.csv"] {
        is_whole(&std::fs::read_to_string(experiments().join(file)).unwrap());
    }
}

fn is_whole(text: &str) {
    let (comments, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| l.starts_with('#'));
    for word in ["tools/predictions.py", "seed", "sha256"] {
        assert!(comments.iter().any(|c| c.contains(word)), "the header does not say {word}");
    }
    let head = cells(lines[0]);
    let at = |name: &str| head.iter().position(|h| h == name).unwrap();
    let (mut tests, mut ids, mut signs) = (BTreeSet::new(), BTreeSet::new(), 0);
    for line in &lines[1..] {
        let row = cells(line);
        assert_eq!(row.len(), head.len(), "{line}");
        let text = |name: &str| row[at(name)].as_str();
        let number = |name: &str| text(name).parse::<f64>().unwrap_or_else(|_| panic!("{name}: {line}"));
        assert!(number("low") <= number("median") && number("median") <= number("high"), "{line}");
        for name in ["kernel", "governor", "stand_in", "quantity", "unit"] {
            assert!(!text(name).is_empty(), "{name}: {line}");
        }
        tests.insert(text("test").to_owned());
        ids.insert(text("experiment").to_owned());
        if text("sign").is_empty() {
            assert!(text("change").is_empty() && text("reference").is_empty(), "{line}");
            continue;
        }
        signs += 1;
        let (change, low, high) = (number("change"), number("change_low"), number("change_high"));
        assert!(low <= change && change <= high, "{line}");
        let sign = if change.abs() < 0.5 {
            "0"
        } else if change > 0.0 {
            "+"
        } else {
            "-"
        };
        assert_eq!(text("sign"), sign, "{line}");
    }
    assert!(tests.iter().map(String::as_str).eq(["1", "2", "3", "4", "5", "6", "7"]), "{tests:?}");
    assert!(signs > 400, "only {signs} changes");
    for id in ids {
        let file = experiments().join(format!("predictions/m18/{id}.toml"));
        let e = Experiment::from_toml(&std::fs::read_to_string(file).unwrap(), &id).unwrap();
        assert!(e.row.iter().all(|r| r.published.is_empty()), "{id}: nothing of it may be published");
    }
}
