// SPDX-License-Identifier: GPL-2.0-only
//! Does a recording of trace-cmd, written as LTTng would have written it, give the same events, and the switches alone
//! the tasks that the kernel noted with every event?
//!
//! `IDLEWISE_UPDATE_DATA=1 cargo test -p idlewise-trace --test trace ctf_same_as_dat::` writes tests/data/lttng anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use idlewise_madetraces::ctf::{Files, Lttng, own_state, store};
use idlewise_model::{Event, EventKind};
use idlewise_trace::TraceFile;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

/// What is left of events whose ids are another file's.
fn without_ids(events: impl Iterator<Item = Event>) -> Vec<Event> {
    let kind = |kind| if matches!(kind, EventKind::Other { .. }) { EventKind::Other { id: 0 } } else { kind };
    events.map(|e| Event { kind: kind(e.kind), ..e }).collect()
}

/// The events of a recording, with the states of tasks as LTTng records them.
fn recorded(name: &str) -> Vec<Event> {
    let mut all = without_ids(TraceFile::open(&data(name)).unwrap().events().unwrap());
    for event in &mut all {
        if let EventKind::SchedSwitch { prev_state, .. } = &mut event.kind {
            *prev_state = own_state(*prev_state);
        }
    }
    all
}

#[test]
fn with_the_task_noted_every_event_is_the_same() {
    for name in ["mixed.dat", "sleeploop.dat", "kvm-guest/idle_quiet.dat"] {
        let all = recorded(name);
        for (big, large) in [(false, false), (true, true)] {
            let trace = Lttng { big, large, tid: true, per_packet: 500, ..Lttng::default() };
            let file = TraceFile::from_files(Path::new(name), trace.write(&all)).unwrap();
            let again = without_ids(file.events().unwrap());
            assert_eq!(again.len(), all.len());
            for (ours, theirs) in again.iter().zip(&all) {
                assert_eq!(ours, theirs, "{name}");
            }
        }
    }
}

#[test]
fn the_switches_alone_tell_the_task_of_every_event() {
    for name in ["mixed.dat", "sleeploop.dat", "kvm-guest/idle_quiet.dat"] {
        // On CPU 1 of these recordings the idle task's events, and so half of the switches, were not traced.
        let all: Vec<Event> = recorded(name).into_iter().filter(|e| e.cpu == 0).collect();
        let file = TraceFile::from_files(Path::new(name), Lttng::default().write(&all)).unwrap();
        let mut known = false;
        let (mut unknown, mut wrong) = (0, 0);
        for (ours, theirs) in without_ids(file.events().unwrap()).iter().zip(&all) {
            known |= ours.pid != -1;
            if known {
                assert_eq!((ours.ts_ns, ours.kind), (theirs.ts_ns, theirs.kind), "{name}");
                wrong += usize::from(ours.pid != theirs.pid);
            } else {
                assert_eq!((ours.ts_ns, ours.pid), (theirs.ts_ns, -1), "{name}");
                unknown += 1;
            }
        }
        // A few switches are not in the recordings: the next one is from another task than the last was to.
        println!(
            "{name}: of {} events {unknown} before the first switch, {wrong} of another task",
            all.len()
        );
        assert!(unknown < all.len() / 10 && wrong < all.len() / 100);
    }
}

/// The beginning of mixed.dat as LTTng would have stored it.
fn stored() -> Files {
    const EVENTS: usize = 1200;
    let all = recorded("mixed.dat");
    Lttng { plain: true, per_packet: 150, ..Lttng::default() }.write(&all[..EVENTS])
}

#[test]
fn the_stored_trace_is_what_the_writer_writes() {
    let dir = data("lttng/kernel");
    if std::env::var_os("IDLEWISE_UPDATE_DATA").is_some() {
        store(&dir, &stored());
    }
    let read =
        |e: std::fs::DirEntry| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap());
    let files: BTreeMap<String, Vec<u8>> = std::fs::read_dir(dir).unwrap().flatten().map(read).collect();
    assert!(
        files == stored(),
        "tests/data/lttng is not what the writer writes; IDLEWISE_UPDATE_DATA=1 writes it"
    );
    // A session's directory leads to the trace in it.
    let file = TraceFile::open(&data("lttng")).unwrap();
    assert_eq!(file.events().unwrap().count(), 1200);
    assert!(file.meta().health.is_empty());
    // Without the kernel's symbols the tick's timer is recognised by what it does.
    let [note] = &file.meta().notes[..] else { panic!("{:?}", file.meta().notes) };
    assert!(note.starts_with("timers have no names here"), "{note}");
}
