// SPDX-License-Identifier: GPL-2.0-only
//! Do our governors decide as the kernel's compiled code did, on every recorded decision?

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_governor::Spec;
use idlewise_lab::drive;

/// The folders with golden vectors: the repository's selection, and all of them where they are there.
fn golden() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("IDLEWISE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let mut folders = vec![root.join("tests/data/golden/closed")];
    let all = shared.join("golden/closed");
    if all.is_dir() {
        folders.push(all);
    } else {
        eprintln!("skipped: the full set of golden vectors, {} (set IDLEWISE_SHARED)", all.display());
    }
    folders
}

fn assert_equal(spec: &str, folder: &str) {
    for closed in golden() {
        assert_equal_in(spec, &closed.join(folder));
    }
}

/// For variants of which the repository keeps no file.
fn assert_equal_where_there(spec: &str, folder: &str) {
    for folder in golden().iter().map(|closed| closed.join(folder)).filter(|f| f.is_dir()) {
        assert_equal_in(spec, &folder);
    }
}

fn assert_equal_in(spec: &str, folder: &Path) {
    let spec: Spec = spec.parse().unwrap();
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.to_str().is_some_and(|n| n.ends_with(".csv.gz")));
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    let (mut steps, mut mismatches, mut asks, mut wrong) = (0, 0, 0, String::new());
    for file in &files {
        let done = drive::drive(&spec, file).unwrap();
        assert!(done.steps > 0, "{}: no steps", file.display());
        steps += done.steps;
        mismatches += done.mismatches;
        asks += done.sleep_asks_differ;
        for m in &done.first {
            wrong += &format!("{}: {m}\n", file.file_name().unwrap().display());
        }
    }
    eprintln!(
        "{spec} on {}: {} files, {steps} steps, {mismatches} mismatches, {asks} asks differ",
        folder.display(),
        files.len()
    );
    assert_eq!(mismatches, 0, "{spec} on {}:\n{wrong}", folder.display());
    assert_eq!(asks, 0, "{spec} on {}: the sleep length is asked for at other times", folder.display());
}

#[test]
fn menu_6_1() {
    assert_equal("menu-6.1", "menu-6.1");
}

#[test]
fn menu() {
    assert_equal("menu", "menu-7.3");
}

#[test]
fn teo_6_1() {
    assert_equal("teo-6.1", "teo-6.1");
}

#[test]
fn teo_util() {
    assert_equal("teo-util", "teo-6.3");
}

#[test]
fn teo_util_without_steps_is_teo_6_1() {
    assert_equal("teo-util:util_steps=0", "teo-6.1");
}

#[test]
fn ladder() {
    assert_equal("ladder", "ladder-7.3");
}

#[test]
fn haltpoll() {
    assert_equal("haltpoll", "haltpoll-7.3");
}

#[test]
fn teo_5_6() {
    assert_equal("teo-5.6", "teo-5.10");
}

#[test]
fn teo_weighted() {
    assert_equal("teo-weighted", "teo-rfc-weighted-feb2020");
}

#[test]
fn teo_weighted_as_posted_again() {
    assert_equal_where_there(
        "teo-weighted:draw=1,learning_rate=10,own_weight=6000,other_weight=4000",
        "teo-rfc-weighted-may2020",
    );
}

#[test]
fn a_parameter_that_the_user_gives_beats_the_recorded_one() {
    let folder = golden()[0].join("haltpoll-7.3");
    let with_params = |f: &PathBuf| f.to_str().is_some_and(|n| n.contains("__hp") && n.ends_with(".csv.gz"));
    let file = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).find(with_params).unwrap();
    let mismatches = |spec: &str| drive::drive(&spec.parse().unwrap(), &file).unwrap().mismatches;
    assert_eq!(mismatches("haltpoll"), 0);
    assert!(mismatches("haltpoll:guest_halt_poll_grow=7") > 0);
}

#[test]
fn teo_util_v1() {
    assert_equal("teo-util-v1", "teo-rfc-util-v1");
}

#[test]
fn teo_6_6() {
    assert_equal("teo-6.6", "teo-6.6");
}

#[test]
fn teo_fixed() {
    assert_equal("teo-fixed", "teo-rfc-loehle-v1");
}

#[test]
fn teo_fixed_without_its_fixes_is_teo_6_6() {
    assert_equal(
        "teo-fixed:higher_util_threshold=0,keep_tick_utilised=0,stop_tick_one_state=0,tick_margin=0,\
         no_recent_intercepts=0,no_fake_intercepts=0",
        "teo-6.6",
    );
}

#[test]
fn teo() {
    assert_equal("teo", "teo-7.3");
}
