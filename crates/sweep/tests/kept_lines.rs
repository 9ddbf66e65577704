// SPDX-License-Identifier: GPL-2.0-only
//! What a line of kept results must be to count.

use std::fs;
use std::path::Path;

use idlewise_sweep::SweepRequest;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::sweeping::{data, request, warned};

/// The first file of a folder of results, and one that another process might have added.
const FIRST: &str = "000001.results.jsonl";
const OTHER: &str = "other-000001.results.jsonl";

fn one_recording() -> SweepRequest {
    SweepRequest { recordings: vec![data("sleeploop.dat")], ..request(&["teo:decay_shift=2"]) }
}

/// The line of a run among those that a sweep has kept in `folder`.
fn line_of_run(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join(FIRST)).unwrap();
    text.lines().find(|line| line.contains("\"energy\"")).unwrap().to_owned()
}

/// A line of `rest`, what stands behind the checksum, with its own checksum.
fn with_sum(rest: &str) -> String {
    format!("{{\"sum\":\"{:016x}\",{rest}", xxh3_64(rest.as_bytes()))
}

/// How many of `lines` are damaged, when a sweep finds them beside its results; and what is said of the first.
fn damaged(folder: &Path, lines: &[Vec<u8>]) -> (usize, String) {
    let request = one_recording();
    let (fresh, _, none) = warned(&request, folder);
    assert!(none.is_empty(), "{none:?}");
    let text: Vec<u8> = lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
    fs::write(folder.join(OTHER), text).unwrap();
    let (report, runs, warnings) = warned(&request, folder);
    fs::remove_file(folder.join(OTHER)).unwrap();
    assert_eq!((report, runs), (fresh, 0));
    let [why] = &warnings[..] else { return (0, warnings.concat()) };
    let others = why.split_once(", and so are ").map_or("0", |(_, rest)| rest.split(' ').next().unwrap());
    let others = if why.contains(", and so is another;") { 1 } else { others.parse::<usize>().unwrap() };
    (1 + others, why.clone())
}

#[test]
fn a_line_says_what_was_kept_and_no_byte_of_it_may_change() {
    let folder = tempfile::tempdir().unwrap();
    let (fresh, ran, _) = warned(&one_recording(), folder.path());
    let (again, runs, _) = warned(&one_recording(), folder.path());
    assert!(ran > 0 && runs == 0 && again == fresh);
    let text = line_of_run(folder.path());
    let whole = text.as_bytes();
    assert!(serde_json::from_slice::<Value>(whole).is_ok(), "{text}");
    let mut all: Vec<Vec<u8>> = Vec::new();
    for at in 0..whole.len() {
        for bit in [1, 0x80] {
            let mut changed = whole.to_vec();
            changed[at] ^= bit;
            all.push(changed);
        }
        all.push(whole[..at].to_vec());
    }
    let (found, why) = damaged(folder.path(), &all);
    assert_eq!(found, all.len(), "{why}");
}

#[test]
fn all_members_are_needed_and_other_forms_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    warned(&one_recording(), folder.path());
    let text = line_of_run(folder.path());
    let (_, rest) = text.split_once(',').unwrap();
    assert_eq!(with_sum(rest), text);
    let line: Value = serde_json::from_str(&format!("{{{rest}")).unwrap();
    // The line after `change` of its numbers.
    let changed = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        let mut line = line.clone();
        change(line["numbers"].as_object_mut().unwrap());
        with_sum(&line.to_string()[1..]).into_bytes()
    };
    assert_eq!(changed(&|_| ()), text.as_bytes());
    let mut all: Vec<Vec<u8>> = ["energy", "latency_p99_ns", "decisions"]
        .iter()
        .map(|member| changed(&|numbers| drop(numbers.shift_remove(*member).unwrap())))
        .collect();
    all.push(changed(&|numbers| numbers["energy"] = (-5.25).into()));
    all.push(changed(&|numbers| {
        let wakeups = numbers.shift_remove("wakeups").unwrap();
        numbers.insert("wakeup".to_owned(), wakeups);
    }));
    all.extend([&b""[..], b"{}", b"\xff\xfe", b"{\"form\":2}"].map(<[u8]>::to_vec));
    for line in &all {
        let (found, why) = damaged(folder.path(), std::slice::from_ref(line));
        assert_eq!(found, 1, "{}: {why}", String::from_utf8_lossy(line));
    }
    let other_form = with_sum(&rest.replacen("\"form\":2", "\"form\":3", 1));
    assert_ne!(other_form, text);
    let passed_over = [other_form.as_bytes().to_vec(), b"{\"form\":1,\"case\":\"12\"}".to_vec()];
    assert_eq!(damaged(folder.path(), &passed_over).0, 0);
    // In place of the result it is none.
    let kept = fs::read_to_string(folder.path().join(FIRST)).unwrap();
    fs::write(folder.path().join(FIRST), kept.replace(&text, &other_form)).unwrap();
    let (_, runs, warnings) = warned(&one_recording(), folder.path());
    assert_eq!((runs, warnings.len()), (1, 0));
}
