// SPDX-License-Identifier: GPL-2.0-only
//! The comparison of a synthetic file with what trace-cmd makes of it.

use idlewise_model::{Event, EventKind};
use idlewise_trace::TraceFile;

use super::report::{Report, compare_fields};
use super::writer::Dat;
use super::{has_trace_cmd, is_called};

/// Compares with what trace-cmd prints, if it is there.
pub fn trace_cmd_agrees(dat: &Dat) {
    trace_cmd_agrees_on(&dat.write());
}

/// The same with the bytes of a file.
pub fn trace_cmd_agrees_on(bytes: &[u8]) {
    if !has_trace_cmd() {
        println!("skipped the comparison: no trace-cmd");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("synthetic.dat");
    std::fs::write(&path, bytes).unwrap();
    let file = TraceFile::open(&path).unwrap();
    let known =
        |e: &Event| !matches!(e.kind, EventKind::Other { id } if !file.meta().event_names.contains_key(&id));
    let mut events = file.events().unwrap();
    let ours: Vec<_> =
        events.by_ref().filter(|e| !matches!(e.kind, EventKind::Lost { .. }) && known(e)).collect();
    let theirs = Report::whole(&path);
    let of_ours: Vec<_> = ours.iter().map(|e| (e.ts_ns, e.cpu, e.pid)).collect();
    let of_theirs: Vec<_> = theirs.iter().map(|l| (l.ts_ns, l.cpu, l.pid)).collect();
    assert_eq!(of_ours, of_theirs);
    for (event, line) in ours.iter().zip(&theirs) {
        assert!(is_called(&event.kind, file.meta(), &line.name), "{event:?} {line:?}");
        if let Err(e) = compare_fields(event, line, file.meta(), &events) {
            panic!("{e}");
        }
    }
    assert!(!ours.is_empty());
}
