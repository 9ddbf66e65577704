// SPDX-License-Identifier: GPL-2.0-only
//! Do our governors decide as the kernel's compiled code did, on every recorded decision?

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_governor::Spec;

// The protocol lives on an upper floor, which this crate may not import; a test may include its source.
#[expect(unreachable_pub, reason = "a library's module, which a test includes")]
#[path = "../../lab/src/drive.rs"]
mod drive;

/// The folder with the golden vectors, or nothing with a message where it is missing.
fn golden() -> Option<PathBuf> {
    let shared = std::env::var_os("IDLEWISE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let closed = shared.join("golden/closed");
    if closed.is_dir() {
        return Some(closed);
    }
    eprintln!("skipped: no golden vectors in {} (set IDLEWISE_SHARED)", closed.display());
    None
}

fn assert_equal(spec: &str, folder: &str) {
    let Some(closed) = golden() else { return };
    let spec: Spec = spec.parse().unwrap();
    let mut files: Vec<PathBuf> =
        fs::read_dir(closed.join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.to_str().is_some_and(|n| n.ends_with(".csv.gz")));
    files.sort();
    assert!(!files.is_empty(), "{folder} is empty");
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
        "{spec} on {folder}: {} files, {steps} steps, {mismatches} mismatches, {asks} asks differ",
        files.len()
    );
    assert_eq!(mismatches, 0, "{spec} on {folder}:\n{wrong}");
    assert_eq!(asks, 0, "{spec} on {folder}: the sleep length is asked for at other times");
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
