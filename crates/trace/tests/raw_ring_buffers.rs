// SPDX-License-Identifier: GPL-2.0-only
//! Are directories of raw ring buffers read as the trace.dat of the same pages is, wherever their parts lie, and does
//! trace-cmd see the same events in them?

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::report::{Report, assert_same, next_recorded};
use common::writer::directory::Shape;
use common::writer::samples::{formats, small};
use common::writer::{Dat, Page, format, payload};
use common::{has_trace_cmd, shared};
use idlewise_model::{Event, HealthKind};
use idlewise_trace::{Choice, TraceError, TraceFile};
use tempfile::{TempDir, tempdir};

const SHAPES: [Shape; 4] = [Shape::Tracefs, Shape::Record, Shape::Schedviz, Shape::TraceCmd];

fn written(dat: &Dat, shape: Shape) -> TempDir {
    let dir = tempdir().unwrap();
    dat.write_directory(dir.path(), shape);
    dir
}

fn events(file: &TraceFile) -> Vec<Event> {
    file.events().unwrap().collect()
}

fn of_file(dat: &Dat) -> Vec<Event> {
    events(&TraceFile::from_bytes(Path::new("same.dat"), dat.write()).unwrap())
}

/// One CPU's pages of a machine with this `long` and byte order.
fn machine(long: u8, big_endian: bool, page_size: usize) -> Dat {
    let idle = payload(10, 7, &[(8, 4, 1), (12, 4, 0)]);
    let ipi = payload(40, 0, &[(8, long.into(), 0xffff_0000)]);
    let page = |t| Page::new(t).event(3, &idle).extend(1 << 30).event(4, &ipi).missed(9);
    let cpus = vec![(0, vec![]), (1, vec![page(1 << 40), page(1 << 41)])];
    Dat { long, big_endian, page_size, formats: formats(long), cpus, ..small() }
}

#[test]
fn a_directory_of_any_shape_holds_the_events_of_the_file() {
    for shape in SHAPES {
        let dir = written(&small(), shape);
        let file = TraceFile::open(dir.path()).unwrap();
        assert_eq!(events(&file), of_file(&small()), "{shape:?}");
        let m = file.meta();
        assert!(m.notes.is_empty() && m.health.is_empty(), "{:?}", m.notes);
        assert_eq!((m.format.as_str(), m.clock.as_str()), ("raw ring buffers", "mono"));
        assert_eq!((m.kernel.as_str(), m.cpus.as_slice(), m.long_size), ("6.9.1 x86_64", &[0, 3][..], 8));
        assert_eq!((m.comms[&42].as_str(), m.function(0xffff_2000)), ("worker/0:1", Some("second")));
        assert_eq!((m.bytes, m.hash.len()), (6 * 4096, 32));
        assert_eq!(m.event_id("irq:irq_handler_entry"), Some(30));
        let mut stream = file.events().unwrap();
        stream.by_ref().for_each(drop);
        assert_eq!(stream.irq_name(19), Some("eth0"));
        assert_eq!(stream.health().count(HealthKind::LostEvents), 8);
    }
}

#[test]
fn the_byte_order_and_the_size_of_a_long_are_found_out() {
    for (long, big, page_size) in
        [(8, false, 4096), (8, true, 4096), (4, false, 4096), (4, true, 4096), (8, true, 65_536)]
    {
        let dat = machine(long, big, page_size);
        let file = TraceFile::open(written(&dat, Shape::Tracefs).path()).unwrap();
        assert_eq!(events(&file), of_file(&dat), "{long} {big}");
        assert_eq!(events(&file).len(), 6);
        assert_eq!((file.meta().long_size, file.meta().format.ends_with("big-endian")), (long, big));
    }
}

#[test]
fn reading_twice_gives_the_same_and_other_pages_another_hash() {
    let dir = written(&small(), Shape::Tracefs);
    let (a, b) = (TraceFile::open(dir.path()).unwrap(), TraceFile::open(dir.path()).unwrap());
    assert!(a.events().unwrap().eq(a.events().unwrap()));
    assert_eq!(a.meta().hash, b.meta().hash);
    fs::write(dir.path().join("per_cpu/cpu3/trace_pipe_raw"), b"").unwrap();
    assert_ne!(TraceFile::open(dir.path()).unwrap().meta().hash, a.meta().hash);
}

#[test]
fn the_kernels_counts_of_lost_events_are_taken_from_beside_the_pages() {
    let dir = written(&small(), Shape::Tracefs);
    let stats = "entries: 3\noverrun: 4\ncommit overrun: 1\ndropped events: 2\nread events: 9\n";
    fs::write(dir.path().join("per_cpu/cpu3/stats"), stats).unwrap();
    let file = TraceFile::open(dir.path()).unwrap();
    assert_eq!((file.meta().cpu_stats[&3].overrun, file.meta().cpu_stats[&3].read_events), (4, 9));
    assert!(file.meta().notes.iter().any(|n| n.contains("CPU 3") && n.contains("7 events")));
}

#[test]
fn a_missing_part_is_named_with_the_way_to_get_it() {
    let refusal = |remove: &str| {
        let dir = written(&small(), Shape::Tracefs);
        let path = dir.path().join(remove);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        match TraceFile::open(dir.path()) {
            Err(e) => (matches!(e, TraceError::Incomplete { .. }), e.to_string()),
            Ok(file) => panic!("was read: {:?}", file.meta()),
        }
    };
    for (remove, words) in [
        ("events/header_page", ["events/header_page", "cp --parents"]),
        ("events", ["events/SYSTEM/EVENT/format", "cp --parents"]),
        ("per_cpu", ["pages of the CPUs", "dd if=$cpu/trace_pipe_raw"]),
    ] {
        let (incomplete, text) = refusal(remove);
        assert!(incomplete && words.iter().all(|w| text.contains(w)), "{text}");
    }
    // What only explains may be missing.
    for (remove, notes) in
        [("saved_cmdlines", 0), ("kallsyms", 0), ("printk_formats", 0), ("uname", 0), ("trace_clock", 1)]
    {
        let dir = written(&small(), Shape::Tracefs);
        fs::remove_file(dir.path().join(remove)).unwrap();
        let file = TraceFile::open(dir.path()).unwrap();
        assert_eq!((events(&file).len(), file.meta().notes.len()), (14, notes), "{remove}");
    }
}

#[test]
fn a_directory_has_no_other_instances() {
    let dir = written(&small(), Shape::Tracefs);
    let choice = |name: &str| Choice { instance: Some(name.to_owned()) };
    assert!(TraceFile::open_with(dir.path(), &choice("")).is_ok());
    let error = TraceFile::open_with(dir.path(), &choice("mine")).err().unwrap();
    assert!(matches!(error, TraceError::NoInstance { .. }), "{error}");
}

#[test]
fn tracefs_itself_is_no_recording() {
    let dir = written(&Dat { cpus: vec![(0, vec![]), (1, vec![])], ..small() }, Shape::Tracefs);
    assert_eq!(events(&TraceFile::open(dir.path()).unwrap()), []);
    for name in ["tracing_on", "set_event", "events/header_page"] {
        fs::write(dir.path().join(name), b"").unwrap();
    }
    let text = TraceFile::open(dir.path()).err().unwrap().to_string();
    assert!(text.contains("tracefs") && text.contains("dd if="), "{text}");
}

#[test]
fn a_header_page_that_makes_no_sense_is_refused() {
    for text in ["", "rubbish", "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"] {
        let dir = written(&small(), Shape::Tracefs);
        fs::write(dir.path().join("events/header_page"), text).unwrap();
        let error = TraceFile::open(dir.path()).err().unwrap();
        assert!(matches!(error, TraceError::Malformed { .. }), "{error}");
    }
}

#[test]
fn the_last_page_may_be_cut_short() {
    let dir = written(&small(), Shape::Tracefs);
    let path = dir.path().join("per_cpu/cpu3/trace_pipe_raw");
    let whole = fs::read(&path).unwrap();
    // The last page is CPU 3's second: an event of 20 bytes behind 16 of header.
    for (len, left, bad) in
        [(4096 + 36, 14, false), (4096 + 35, 13, true), (4096 + 7, 13, true), (4096, 13, false)]
    {
        fs::write(&path, &whole[..len]).unwrap();
        let file = TraceFile::open(dir.path()).unwrap();
        let mut stream = file.events().unwrap();
        assert_eq!(stream.by_ref().count(), left, "{len}");
        assert_eq!(stream.health().count(HealthKind::BadPage) > 0, bad, "{len}");
    }
}

#[test]
fn other_directories_are_told_apart() {
    let dir = tempdir().unwrap();
    fs::create_dir_all(dir.path().join("cpu0")).unwrap();
    fs::write(dir.path().join("cpuinfo"), b"x").unwrap();
    let error = TraceFile::open(dir.path()).err().unwrap();
    assert!(matches!(error, TraceError::NotATrace { .. }), "{error}");
}

/// Makes a trace.dat of a directory with trace-cmd; `None` where it cannot.
fn restored(pages: &[PathBuf], tracing: &Path, to: &Path) -> Option<PathBuf> {
    let (none, head, dat) = (to.join("none"), to.join("head"), to.join("restored.dat"));
    fs::write(&none, b"").unwrap();
    let mut make_head = Command::new("trace-cmd");
    make_head.args(["restore", "-c", "-t"]).arg(tracing).arg("-k").arg(&none).arg("-o").arg(&head);
    let mut make = Command::new("trace-cmd");
    make.args(["restore", "-i"]).arg(&head).arg("-o").arg(&dat).args(pages);
    let done = |c: &mut Command| c.output().is_ok_and(|o| o.status.success());
    (done(&mut make_head) && done(&mut make)).then_some(dat)
}

/// Compares every event with those of the file that trace-cmd made of the same pages, and with its report of it.
fn trace_cmd_agrees(directory: &Path, dat: &Path) -> u64 {
    let file = TraceFile::open(directory).unwrap();
    let same = TraceFile::open(dat).unwrap();
    assert!(file.events().unwrap().eq(same.events().unwrap()));
    let mut stream = file.events().unwrap();
    let mut n = 0;
    for line in Report::run(dat) {
        let event = next_recorded(&mut stream).unwrap();
        assert_same(&event, &line, file.meta(), &stream, &format!("event {n}"));
        n += 1;
    }
    assert!(stream.next().is_none());
    n
}

#[test]
fn archives_of_schedviz_hold_what_trace_cmd_restores_from_them() {
    let Some(shared) = shared() else {
        println!("skipped: no recordings in ../shared (IDLEWISE_SHARED)");
        return;
    };
    let mut seen = 0;
    for name in ["test", "test_no_metadata"] {
        let archive = shared.join(format!("traces/raw-ring-buffer/{name}.tar.gz"));
        let dir = tempdir().unwrap();
        let unpacked =
            Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(dir.path()).output().unwrap();
        assert!(unpacked.status.success(), "{unpacked:?}");
        let file = TraceFile::open(dir.path()).unwrap();
        let mut stream = file.events().unwrap();
        let n = stream.by_ref().count() as u64;
        println!("{name}: {n} events, {:?}, {:?}", stream.counts(), stream.health());
        assert_eq!(
            stream.health().count(HealthKind::BadEvent) + stream.health().count(HealthKind::BadPage),
            0
        );
        // trace-cmd wants the names of tracefs.
        let tracing = dir.path().join("tracing");
        fs::create_dir(&tracing).unwrap();
        fs::rename(dir.path().join("formats"), tracing.join("events")).unwrap();
        let print = format("print", 5, &[("unsigned long ip", 8, 8, 0), ("char buf[]", 16, 0, 0)]);
        fs::create_dir_all(tracing.join("events/ftrace/print")).unwrap();
        for (file, text) in [
            ("printk_formats", ""),
            ("saved_cmdlines", "1 init\n"),
            ("events/header_event", "# compressed entry header\n"),
            ("events/ftrace/print/format", print.as_str()),
        ] {
            fs::write(tracing.join(file), text).unwrap();
        }
        if !has_trace_cmd() {
            println!("skipped the comparison: no trace-cmd");
            continue;
        }
        match restored(&[dir.path().join("traces/cpu0")], &tracing, dir.path()) {
            Some(dat) => {
                assert_eq!(trace_cmd_agrees(dir.path(), &dat), n);
                seen += 1;
            }
            None => println!("skipped the comparison: trace-cmd restore fails (it wants root and tracefs)"),
        }
    }
    println!("{seen} archives compared");
}

#[test]
fn a_recording_made_with_bpftrace_is_refused_by_name() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("ebpf_trace"), b"Attaching 6 probes...\nST:0:cc6b0587\n").unwrap();
    let text = TraceFile::open(dir.path()).err().unwrap().to_string();
    assert!(text.contains("bpftrace"), "{text}");
}
