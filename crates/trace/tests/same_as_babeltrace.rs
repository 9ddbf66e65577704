// SPDX-License-Identifier: GPL-2.0-only
//! Are the events of real CTF traces the ones that babeltrace2 prints: each one, its time, CPU, name, task and numbers?

use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::babeltrace::{compare, has_babeltrace, kernel_name};
use common::shared;
use idlewise_model::EventKind;
use idlewise_trace::TraceFile;

/// The archives of traces that are not part of the project, unpacked to `dir`; what cannot be unpacked is said.
fn unpacked(dir: &Path) -> Vec<PathBuf> {
    let Some(shared) = shared() else { return Vec::new() };
    let Ok(archives) = std::fs::read_dir(shared.join("traces/ctf")) else { return Vec::new() };
    let mut archives: Vec<PathBuf> = archives.flatten().map(|e| e.path()).collect();
    archives.sort();
    let mut all = Vec::new();
    for archive in archives {
        let to = dir.join(archive.file_name().unwrap());
        std::fs::create_dir(&to).unwrap();
        let tar = Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(&to).output();
        match tar {
            Ok(output) if output.status.success() => all.push(to),
            _ => println!("skipped {}: tar cannot unpack it (is zstd there?)", archive.display()),
        }
    }
    all
}

#[test]
fn every_event_of_every_trace() {
    let dir = tempfile::tempdir().unwrap();
    let traces = unpacked(dir.path());
    if traces.is_empty() || !has_babeltrace() {
        println!("skipped: no traces in ../shared (IDLEWISE_SHARED), or no babeltrace2");
        return;
    }
    let mut seen = BTreeMap::<String, u64>::new();
    for path in traces {
        let same = compare(&path);
        println!("{}", same.seen);
        assert!(same.events > 0);
        for (name, count) in same.names {
            *seen.entry(name).or_default() += count;
        }
    }
    let needed =
        ["cpu_idle", "cpu_frequency", "sched_switch", "sched_waking", "hrtimer_start", "softirq_entry"];
    assert!(needed.iter().all(|name| seen.contains_key(*name)), "{seen:?}");
}

/// babeltrace2 writes CTF of its own: another header, 64-bit times, all types spelled out.
#[test]
fn what_babeltrace_writes() {
    let dir = tempfile::tempdir().unwrap();
    let traces = unpacked(dir.path());
    if traces.is_empty() || !has_babeltrace() {
        println!("skipped: no traces in ../shared (IDLEWISE_SHARED), or no babeltrace2");
        return;
    }
    for path in traces {
        let written = dir.path().join("written").join(path.file_name().unwrap());
        let status = Command::new("babeltrace2")
            .args(["--output-format=ctf", "--output"])
            .arg(&written)
            .arg(&path)
            .status()
            .unwrap();
        assert!(status.success());
        compare(&written);
        let key = |path: &Path| {
            let file = TraceFile::open(path).unwrap();
            let mut events = file.events().unwrap();
            // The numbers of names differ, for the metadata has them in another order.
            let mut all = Vec::new();
            while let Some(mut e) = events.next() {
                let name = match &mut e.kind {
                    EventKind::Other { id } => events.event_name(std::mem::take(id)).unwrap().to_owned(),
                    _ => String::new(),
                };
                all.push((e.cpu, e, name));
            }
            all.sort_by_key(|(cpu, ..)| *cpu);
            all
        };
        let (from, to) = (key(&path), key(&written));
        assert_eq!(from.len(), to.len());
        for (a, b) in from.iter().zip(&to) {
            assert_eq!(a, b, "{}", path.display());
        }
    }
}

/// `perf data convert` where perf was built with it.
#[test]
fn what_perf_writes() {
    let dir = tempfile::tempdir().unwrap();
    let Some(shared) = shared().filter(|_| has_babeltrace()) else {
        println!("skipped: no ../shared (IDLEWISE_SHARED), or no babeltrace2");
        return;
    };
    let files = std::fs::read_dir(shared.join("traces/perf"))
        .map(|d| d.flatten().collect())
        .unwrap_or_else(|_| Vec::new());
    let mut compared = 0;
    for (i, file) in files.iter().enumerate() {
        let written = dir.path().join(i.to_string());
        let output = Command::new("perf")
            .args(["data", "convert", "--to-ctf"])
            .arg(&written)
            .arg("-i")
            .arg(file.path())
            .output();
        if output.is_ok_and(|o| o.status.success()) && TraceFile::open(&written).is_ok() {
            println!("{}", compare(&written).seen);
            compared += 1;
        }
    }
    if compared == 0 {
        println!("skipped: no perf that can convert to CTF, or no recording that it can convert");
    }
    assert_eq!(kernel_name("sched:sched_switch"), "sched_switch");
}
