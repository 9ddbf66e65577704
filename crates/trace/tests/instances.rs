// SPDX-License-Identifier: GPL-2.0-only
//! Can each trace instance of a file be read by its name, and does trace-cmd see the same events in it?

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::has_trace_cmd;
use common::report::Report;
use common::writer::samples::small;
use common::writer::{Cpus, Dat, Packed, Page, payload};
use idlewise_model::{Event, EventKind, HealthKind};
use idlewise_trace::{Choice, TraceError, TraceFile};

fn stored(dir: &tempfile::TempDir, name: &str, dat: &Dat) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, dat.write()).unwrap();
    path
}

fn open(path: &Path, instance: &str) -> TraceFile {
    TraceFile::open_with(path, &Choice { instance: Some(instance.to_owned()) }).unwrap()
}

fn events(file: &TraceFile) -> Vec<Event> {
    file.events().unwrap().collect()
}

/// `n` idle events on each of some CPUs, from `start` on.
fn idle(cpus: u32, start: u64, n: u64) -> Cpus {
    let page = |cpu: u32| {
        (0..n).fold(Page::new(start), |page, k| {
            page.event(10, &payload(10, cpu as i32, &[(8, 4, k % 3), (12, 4, cpu.into())]))
        })
    };
    (0..cpus).map(|cpu| (cpu, vec![page(cpu)])).collect()
}

fn three(version: u8, packed: Packed, big_endian: bool) -> Dat {
    let instances = vec![("mine".to_owned(), idle(2, 5_000, 7)), ("empty".to_owned(), idle(2, 0, 0))];
    let empty = |cpus: &mut Cpus| cpus.iter_mut().for_each(|(_, pages)| pages.clear());
    let mut dat = Dat { version, packed, big_endian, cpus: idle(2, 1_000, 3), instances, ..small() };
    empty(&mut dat.instances[1].1);
    dat
}

fn all_shapes() -> Vec<Dat> {
    let shapes = [(6, Packed::No), (7, Packed::No), (7, Packed::Zstd), (7, Packed::Zlib)];
    shapes.into_iter().flat_map(|(v, p)| [three(v, p, false), three(v, p, true)]).collect()
}

#[test]
fn every_instance_can_be_read_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    for dat in all_shapes() {
        let path = stored(&dir, "three.dat", &dat);
        let top = TraceFile::open(&path).unwrap();
        assert_eq!(events(&top).len(), 6);
        assert_eq!(events(&open(&path, "")), events(&top));
        assert_eq!(top.meta().other_instances, ["mine", "empty"]);
        assert_eq!(top.meta().notes, ["the buffer of trace instance \"mine\" is left out"]);
        assert_eq!(top.meta().health.count(HealthKind::Ignored), 1);
        let mine = open(&path, "mine");
        let times: Vec<_> = events(&mine).iter().map(|e| (e.ts_ns, e.cpu)).collect();
        assert_eq!((times.len(), times[0], times[13]), (14, (5_010, 0), (5_070, 1)));
        let mut others = mine.meta().other_instances.clone();
        others.sort();
        assert_eq!(others, ["", "empty"]);
        assert_eq!(mine.meta().notes, ["the buffer of the top trace instance is left out"]);
        assert_eq!(events(&open(&path, "empty")), []);
    }
}

#[test]
fn a_name_that_is_not_there_is_refused_with_those_that_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = stored(&dir, "three.dat", &three(7, Packed::Zstd, false));
    let wanted = Choice { instance: Some("yours".into()) };
    let error = TraceFile::open_with(&path, &wanted).err().unwrap();
    assert!(matches!(error, TraceError::NoInstance { .. }));
    let text = error.to_string();
    assert!(["\"yours\"", "\"mine\"", "\"empty\"", "the top"].iter().all(|w| text.contains(w)), "{text}");
}

#[test]
fn an_empty_top_instance_gives_way_to_the_only_other_with_events() {
    let dir = tempfile::tempdir().unwrap();
    for mut dat in all_shapes() {
        dat.cpus.iter_mut().for_each(|(_, pages)| pages.clear());
        let file = TraceFile::open(&stored(&dir, "one.dat", &dat)).unwrap();
        assert_eq!(events(&file).len(), 14);
        assert!(file.meta().notes.iter().any(|n| n.contains("those of trace instance \"mine\"")));
        // With two to choose from, nobody chooses.
        dat.instances[1].1 = idle(2, 9_000, 2);
        let file = TraceFile::open(&stored(&dir, "two.dat", &dat)).unwrap();
        assert_eq!(events(&file), []);
        assert_eq!(file.meta().notes.len(), 2, "{:?}", file.meta().notes);
    }
}

#[test]
fn counts_of_lost_events_belong_to_their_instance() {
    let stats =
        |n: u32| format!("CPU: 1\nentries: 9\noverrun: {n}\ncommit overrun: 0\ndropped events: 0\n\0");
    let texts = [stats(5), "\nBuffer: mine\n\n\0".to_owned(), stats(77)];
    let dir = tempfile::tempdir().unwrap();
    for mut dat in all_shapes() {
        dat.options = texts.iter().map(|t| (2, t.clone().into_bytes())).collect();
        let path = stored(&dir, "lost.dat", &dat);
        assert_eq!(TraceFile::open(&path).unwrap().meta().cpu_stats[&1].overrun, 5);
        assert_eq!(open(&path, "mine").meta().cpu_stats[&1].overrun, 77);
        assert!(open(&path, "empty").meta().cpu_stats.is_empty());
    }
}

#[test]
fn trace_cmd_sees_the_same_events_in_each_instance() {
    if !has_trace_cmd() {
        println!("skipped: no trace-cmd");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for dat in all_shapes().iter().filter(|d| d.packed != Packed::Zlib) {
        let path = stored(&dir, "three.dat", dat);
        // It prints all instances, merged; those with a name have it before each line.
        let theirs: Vec<_> = Report::run(&path).collect();
        let of = |name: &str| {
            let events = events(&open(&path, name));
            assert!(events.iter().all(|e| matches!(e.kind, EventKind::CpuIdle { .. })));
            events.iter().map(|e| (e.ts_ns, e.cpu, e.pid)).collect::<Vec<_>>()
        };
        for name in ["", "mine", "empty"] {
            let printed = theirs.iter().filter(|l| l.instance == name);
            assert_eq!(of(name), printed.map(|l| (l.ts_ns, l.cpu, l.pid)).collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn instances_of_files_that_trace_cmd_wrote() {
    if !has_trace_cmd() {
        println!("skipped: no trace-cmd");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // What trace-cmd 3.1.6 converts of big-endian machines, it cannot read itself.
    let ours = stored(&dir, "ours.dat", &three(7, Packed::No, false));
    for version in ["6", "7"] {
        let theirs = dir.path().join("theirs.dat");
        let mut convert = Command::new("trace-cmd");
        convert.args(["convert", "--file-version", version, "-i"]).arg(&ours).arg("-o").arg(&theirs);
        let done = convert.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        // Empty ones are not converted.
        for name in ["", "mine"] {
            assert_eq!(events(&open(&theirs, name)), events(&open(&ours, name)), "{version} {name:?}");
        }
    }
}
