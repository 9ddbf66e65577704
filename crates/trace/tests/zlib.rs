// SPDX-License-Identifier: GPL-2.0-only
//! Is a file that another zlib packed (Python's) read like the file before?

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::writer::samples::small;
use common::writer::{Dat, Packed};
use common::{has_trace_cmd, shared};
use idlewise_trace::{Events, TraceFile};

fn packed_by_python(plain: &Path) -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/pack_zlib.py");
    let out = plain.with_extension("zlib.dat");
    let done = Command::new("python3").arg(script).arg(plain).arg(&out).output().ok()?;
    assert!(done.status.success(), "{done:?}");
    Some(out)
}

/// Compares both files, event by event; `None` without Python.
fn same(plain: &Path) -> Option<usize> {
    let packed = packed_by_python(plain)?;
    let (a, b) = (TraceFile::open(plain).unwrap(), TraceFile::open(&packed).unwrap());
    assert!(b.meta().format.ends_with("zlib") && b.meta().bytes < a.meta().bytes);
    let (mut of_a, mut of_b) = (a.events().unwrap(), b.events().unwrap());
    let mut n = 0;
    for event in of_a.by_ref() {
        assert_eq!(of_b.next(), Some(event));
        n += 1;
    }
    assert!(of_b.next().is_none());
    let counts = |events: &Events<'_>| events.health().iter().map(|(k, c)| (k, c.count)).collect::<Vec<_>>();
    assert_eq!(counts(&of_a), counts(&of_b));
    assert_eq!((a.meta().comms.len(), &a.meta().event_names), (b.meta().comms.len(), &b.meta().event_names));
    Some(n)
}

#[test]
fn files_packed_by_pythons_zlib_hold_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("small.dat");
    std::fs::write(&plain, Dat { packed: Packed::No, ..small() }.write()).unwrap();
    match same(&plain) {
        Some(n) => assert_eq!(n, 14),
        None => println!("skipped: no python3"),
    }
}

#[test]
fn a_real_recording_packed_by_pythons_zlib_holds_the_same() {
    let Some(shared) = shared().filter(|_| has_trace_cmd()) else {
        println!("skipped: no recordings in ../shared (IDLEWISE_SHARED), or no trace-cmd");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain.dat");
    let mut convert = Command::new("trace-cmd");
    convert.args(["convert", "--file-version", "7", "--compression", "none", "-i"]);
    convert.arg(shared.join("traces/kvm-guest/hp200_sleeploop.dat")).arg("-o").arg(&plain);
    assert!(convert.output().unwrap().status.success());
    match same(&plain) {
        Some(n) => println!("{n} events"),
        None => println!("skipped: no python3"),
    }
}
