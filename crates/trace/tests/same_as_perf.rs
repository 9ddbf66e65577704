// SPDX-License-Identifier: GPL-2.0-only
//! Are the events of perf.data files the ones that `perf script` reports: each one, its time, CPU, name, task and numbers?

use crate::common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::perf_script::{agrees, has_perf};
use common::shared;
use common::writer::perf::{Packed, Perf, small_perf};
use idlewise_checkout::thorough;
use idlewise_model::EventKind;
use idlewise_trace::TraceFile;

/// The recordings that belong to the project.
fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/perf")
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let Ok(dir) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<_> =
        dir.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e != "toml")).collect();
    all.sort();
    all
}

#[test]
fn every_event_of_every_recording() {
    let files = shared().map(|s| files_of(&s.join("traces/perf"))).unwrap_or_default();
    if files.is_empty() || !has_perf() {
        println!("skipped: no recordings in ../shared (IDLEWISE_SHARED), or no perf with Python");
        return;
    }
    let mut compared = 0;
    for path in files {
        match agrees(&path) {
            Some((events, numbers)) => {
                println!("{}: {events} events, {numbers} numbers equal", path.display());
                compared += 1;
            }
            None => println!("{}: this perf cannot read it", path.display()),
        }
    }
    assert!(compared > 0);
}

/// Files that Debian's perf 6.1 cannot read (`PERF_RECORD_COMPRESSED2`, longer descriptions of events), with the number
/// of samples in them and a hash of their times and tasks as the crate linux-perf-data 0.13 gives them.
const NEWER_THAN_PERF: [(&str, u64, u64); 5] = [
    ("lpd_fibo.compressed2.pipe.data", 547, 0x88e2_15fa_074f_2a73),
    ("lpd_sleep.compressed.data", 8, 0x692e_5de6_3fc9_e5f3),
    ("lpd_sleep.compressed2.data", 7, 0xfedc_123c_98f0_c530),
    ("lpd_sleep.compressed2.pipe.data", 7, 0x78fb_4011_2535_8c66),
    ("lpd_sleep.data", 7, 0xba81_a418_80b9_5d4d),
];

#[test]
fn every_sample_of_recordings_newer_than_perf() {
    let Some(shared) = shared() else {
        println!("skipped: no recordings in ../shared (IDLEWISE_SHARED)");
        return;
    };
    for (name, samples, expected) in NEWER_THAN_PERF {
        let file = TraceFile::open(&shared.join("traces/perf").join(name)).unwrap();
        let (mut n, mut hash) = (0, 0u64);
        for event in file.events().unwrap() {
            assert!(matches!(event.kind, EventKind::Other { .. }), "{name}: {event:?}");
            n += 1;
            let task = u64::from(event.pid as u32) << 20;
            hash = (hash ^ event.ts_ns ^ task).wrapping_mul(0x0000_0100_0000_01b3);
        }
        assert_eq!((n, hash), (samples, expected), "{name}");
        assert!(file.meta().notes.iter().any(|n| n.contains("nothing can be replayed")), "{name}");
    }
}

/// Our own recordings: idle entries and exits, starts of the tick's timer, all events.
const OWN: [(&str, u64, u64, u64); 2] = [("idle.data", 73, 65, 447), ("idle.pipe.data", 46, 38, 291)];

#[test]
fn every_event_of_our_own_recordings() {
    for (name, idle, ticks, all) in OWN {
        let path = &own().join(name);
        let file = TraceFile::open(path).unwrap();
        let meta = file.meta();
        assert_eq!((meta.clock.as_str(), meta.cpus.as_slice(), meta.long_size), ("mono", &[0, 1][..], 8));
        let mut events = file.events().unwrap();
        let (mut n, mut ticked) = (0, 0);
        for event in events.by_ref() {
            n += u64::from(matches!(event.kind, EventKind::CpuIdle { .. }));
            if let EventKind::HrtimerStart { function, .. } = event.kind {
                ticked += u64::from(meta.function(function) == Some("tick_nohz_handler"));
            }
        }
        assert_eq!((n, ticked, events.counts().values().sum()), (idle, ticks, all), "{name}");
        assert!(events.health().is_empty() && meta.health.is_empty());
        if !has_perf() {
            println!("skipped the comparison: no perf with Python");
            continue;
        }
        let (events, numbers) = agrees(path).unwrap();
        assert!(numbers > events as u64, "most events have numbers");
        println!("{}: {events} events, {numbers} numbers equal", path.display());
    }
}

#[test]
fn synthetic_files() {
    if !has_perf() {
        println!("skipped: no perf with Python");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("synthetic.data");
    // perf 6.1 itself cannot read what a machine of the other byte order wrote to a pipe, nor the newer compression.
    for (pipe, big, packed) in [
        (false, false, Packed::No),
        (true, false, Packed::No),
        (false, true, Packed::No),
        (false, false, Packed::Old),
        (true, false, Packed::Old),
    ] {
        std::fs::write(&path, Perf { pipe, packed, ..small_perf(big) }.write()).unwrap();
        assert_eq!(agrees(&path).unwrap().0, 10, "pipe {pipe}, big-endian {big}");
    }
}

/// Records this machine for a moment; `None` where that is not permitted.
fn record(path: &Path, more: &[&str]) -> Option<()> {
    let events = "power:cpu_idle,sched:sched_switch,sched:sched_waking,sched:sched_wakeup,timer:*,irq:*";
    let to = if more.contains(&"pipe") { Path::new("-") } else { path };
    let options = more.iter().filter(|o| **o != "pipe");
    let status = Command::new("perf")
        .args(["record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-e", events])
        .args(options)
        .arg("-o")
        .arg(to)
        .args(["--", "sleep", "0.3"])
        .stdout(if to == path { Stdio::null() } else { std::fs::File::create(path).ok()?.into() })
        .stderr(Stdio::null())
        .status()
        .ok()?;
    status.success().then_some(())
}

#[test]
fn recordings_made_now() {
    let dir = tempfile::tempdir().unwrap();
    // The last one has too small a buffer, so that events are lost.
    let ways: [&[&str]; 6] = [
        &[],
        &["pipe"],
        &["-z"],
        &["-z", "pipe"],
        &["--call-graph", "fp", "--data", "--period", "-c", "1"],
        &["-m", "1"],
    ];
    let quick = |i: usize| [0, 3, 5].contains(&i);
    for (i, way) in ways.iter().enumerate().filter(|(i, _)| thorough() || quick(*i)) {
        let path = dir.path().join(format!("{i}.data"));
        if !has_perf() || record(&path, way).is_none() {
            println!("skipped: no perf with Python, or recording is not permitted");
            return;
        }
        let (events, numbers) = agrees(&path).unwrap();
        let file = TraceFile::open(&path).unwrap();
        assert_eq!(file.meta().clock, "mono");
        let mut again = file.events().unwrap();
        assert!(again.by_ref().eq(file.events().unwrap()), "two passes differ");
        println!(
            "{way:?}: {events} events, {numbers} numbers equal; {}; {:?}",
            file.meta().format,
            again.health()
        );
    }
}
