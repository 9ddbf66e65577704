// SPDX-License-Identifier: GPL-2.0-only
//! What a user may get wrong: places where a result cannot go, names that are odd, options that contradict each other.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Output};

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    path.canonicalize().unwrap_or(path).display().to_string()
}

fn idlewise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).output().unwrap()
}

fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

#[test]
fn names_that_are_no_utf8_are_written_as_far_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(std::ffi::OsStr::from_bytes(b"odd\xff\xfe.dat"));
    fs::copy(data("sleeploop.dat"), &path).unwrap();
    let on = ["--recorded-on", "kvm-guest", "--format", "json"];
    for args in [
        &["info"][..],
        &["score"],
        &["replay", "-g", "menu"],
        &["explain", "-g", "menu", "--decision", "1", "--others", "none"],
        &["explain", "--why-differ", "menu,teo-6.1"],
        &["compare", "menu", "teo-6.1", "--trace"],
    ] {
        let o = Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).arg(&path).args(on).output().unwrap();
        assert_eq!(o.status.code(), Some(0), "{args:?}: {}", err(&o));
        let json: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
        assert!(json.to_string().contains("odd\u{fffd}\u{fffd}.dat"), "{args:?}");
    }
}
