// SPDX-License-Identifier: GPL-2.0-only
//! Are texts that other people recorded, cut and wrote by hand read to the last line?

use crate::common;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use common::shared;
use idlewise_model::{Event, EventKind, HealthKind};
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

/// Time in each idle state, us: of CPU 1, of CPU 2, and of both at once, in the shallower of their states.
fn idle_us(events: &[Event]) -> [BTreeMap<u32, u64>; 3] {
    let mut now = [None; 2];
    let mut before = 0;
    let mut sums = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
    for e in events {
        let us = e.ts_ns / 1000 - before;
        before = e.ts_ns / 1000;
        let both = match now {
            [Some(a), Some(b)] => Some(std::cmp::min::<u32>(a, b)),
            _ => None,
        };
        for (sum, state) in sums.iter_mut().zip([now[0], now[1], both]) {
            if let Some(state) = state.filter(|_| us > 0) {
                *sum.entry(state).or_default() += us;
            }
        }
        if let EventKind::CpuIdle { cpu: cpu @ (1 | 2), state } = e.kind {
            now[cpu as usize - 1] = state;
        }
    }
    sums
}

#[test]
fn idlestats_hand_written_traces_give_the_residencies_drawn_in_them() {
    let Some(files) = folder("oracle") else { return };
    let mut seen = 0;
    for path in files {
        let Got { events, health, names } = read(&path);
        // Start and end of idlestat's own are no events.
        assert_eq!(health, BTreeMap::from([(HealthKind::Ignored, 2)]));
        assert_eq!(names.keys().collect::<Vec<_>>(), ["power:cpu_frequency", "power:cpu_idle"]);
        assert!(events.is_sorted_by_key(|e| e.ts_ns) && events.iter().all(|e| e.pid == -1 && e.cpu < 5));
        let [one, two, both] = idle_us(&events);
        // Each of nine pieces of 100 us: CPU 1 C0 C0 C0 C1 C1 C1 Px Px Px, CPU 2 C0 C1 Px C0 C1 Px C0 C1 Px.
        assert_eq!(one, BTreeMap::from([(0, 300), (1, 300)]));
        assert_eq!(two, BTreeMap::from([(0, 300), (1, 300)]));
        assert_eq!(both, BTreeMap::from([(0, 300), (1, 100)]));
        seen += 1;
    }
    assert_eq!(seen, 2);
}
