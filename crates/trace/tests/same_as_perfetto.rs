// SPDX-License-Identifier: GPL-2.0-only
//! Are the events of Perfetto traces the ones that Perfetto's own messages give, read by Python: each one, its time, CPU,
//! name, task and numbers?

use crate::common;

use std::path::{Path, PathBuf};

use common::report::{Line, assert_same, next_recorded};
use common::{perfettos_opinion, python_perfetto, shared};
use idlewise_model::{EventKind, HealthKind};
use idlewise_trace::TraceFile;

/// Compares all events of a trace; says how many there were, and how many numbers were compared.
fn compare(python: &Path, path: &Path) -> (u64, u64) {
    let file = TraceFile::open(path).unwrap();
    let mut events = file.events().unwrap();
    let theirs = perfettos_opinion(python, &["print", path.to_str().unwrap()]).unwrap();
    let (mut n, mut numbers) = (0u64, 0u64);
    for text in theirs.lines() {
        let mut line = Line::parse(text).unwrap_or_else(|| panic!("not understood: {text}"));
        if text.starts_with("x--") {
            line.pid = -line.pid;
        }
        let place = format!("{}, event {n}", path.display());
        let event = next_recorded(&mut events);
        let event = event.unwrap_or_else(|| panic!("{place}: we end before {text}"));
        if let EventKind::Other { id } = event.kind {
            let (ours, theirs) = ((event.ts_ns, event.cpu, event.pid), (line.ts_ns, line.cpu, line.pid));
            assert_eq!(ours, theirs, "{place}: {event:?} against {text}");
            let name = events.event_name(id).unwrap();
            assert_eq!(name.rsplit(':').next(), Some(line.name.as_str()), "{place}");
        } else {
            numbers += u64::from(assert_same(&event, &line, file.meta(), &events, &place));
        }
        n += 1;
    }
    assert!(events.next().is_none(), "{}: we have more than {n} events", path.display());
    assert_eq!(events.counts().values().sum::<u64>(), n);
    assert_eq!(events.health().count(HealthKind::BadEvent), 0, "{:?}", events.health());
    println!("{}: {n} events, {numbers} numbers equal; {:?}", path.display(), events.health());
    let meta = file.meta();
    println!(
        "   {} | {} | clock {:?} | {:?} | {:?}",
        meta.format, meta.kernel, meta.clock, meta.health, meta.notes
    );
    (n, numbers)
}

#[test]
fn every_event_of_every_recording() {
    let (Some(shared), Some(python)) = (shared(), python_perfetto()) else {
        println!("skipped: no recordings in ../shared (IDLEWISE_SHARED), or no Perfetto in Python");
        return;
    };
    let dir = std::fs::read_dir(shared.join("traces/perfetto")).unwrap();
    let files: Vec<PathBuf> = dir.flatten().map(|e| e.path()).collect();
    assert!(!files.is_empty());
    for path in files {
        assert!(compare(&python, &path).0 > 0);
    }
}

#[test]
fn every_event_of_traces_with_every_feature() {
    let Some(python) = python_perfetto() else {
        println!("skipped: no Perfetto in Python (tools/python-perfetto.sh)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    perfettos_opinion(&python, &["make", dir.path().to_str().unwrap()]).unwrap();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.path()).collect();
    files.sort();
    assert_eq!(files.len(), 12);
    for path in files {
        let (events, numbers) = compare(&python, &path);
        assert!(events > 1000 && numbers > events, "{events} events, {numbers} numbers");
    }
}
