// SPDX-License-Identifier: GPL-2.0-only
//! Are texts that other people recorded, cut and wrote by hand read to the last line?

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]

mod common;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use common::shared;
use idlewise_model::{Event, HealthKind};
use idlewise_trace::TraceFile;

/// What a file gave.
struct Got {
    events: Vec<Event>,
    names: BTreeMap<String, u64>,
    health: BTreeMap<HealthKind, u64>,
}

/// Reads a file of ../shared, unpacked if need be; twice, which must give the same.
fn read(path: &Path) -> Got {
    let mut bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|e| e == "gz") {
        let packed = std::mem::take(&mut bytes);
        flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    }
    let file = TraceFile::from_bytes(path, bytes).unwrap();
    let mut events = file.events().unwrap();
    let all: Vec<Event> = events.by_ref().collect();
    let names = events
        .counts()
        .into_iter()
        .map(|(id, n)| (events.event_name(id).unwrap().to_owned(), n))
        .collect::<BTreeMap<_, _>>();
    let health = events.health().iter().map(|(k, c)| (k, c.count)).collect();
    println!(
        "{}: {} events, {} | {:?} | {:?}",
        path.display(),
        all.len(),
        file.meta().format,
        file.meta().notes,
        events.health()
    );
    assert_eq!(file.events().unwrap().collect::<Vec<_>>(), all);
    Got { events: all, names, health }
}

fn folder(name: &str) -> Option<Vec<std::path::PathBuf>> {
    let Some(shared) = shared() else {
        println!("skipped: no recordings in ../shared (IDLEWISE_SHARED)");
        return None;
    };
    let mut all: Vec<_> =
        std::fs::read_dir(shared.join("traces").join(name)).unwrap().flatten().map(|e| e.path()).collect();
    all.sort();
    Some(all)
}

#[test]
fn every_line_of_other_peoples_texts_is_an_event() {
    let Some(files) = folder("text") else { return };
    let mut seen = 0;
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|l| l.contains("[0") && l.contains(": ")).count();
        let Got { events, health, .. } = read(&path);
        assert_eq!(events.len(), lines, "{}", path.display());
        // sched.txt is cut together of pieces, and its tasks are on several CPUs at a time.
        assert!(
            health.keys().all(|k| matches!(
                k,
                HealthKind::ClockBackwards | HealthKind::ClockJump | HealthKind::BadEvent
            )),
            "{health:?}"
        );
        seen += 1;
    }
    assert!(seen >= 8);
}

#[test]
fn systrace_pages_old_and_new_are_read() {
    let Some(files) = folder("systrace") else { return };
    let mut seen = 0;
    for path in files {
        let Got { events, names, .. } = read(&path);
        println!("   {names:?}");
        assert!(!events.is_empty(), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 7);
}
