// SPDX-License-Identifier: GPL-2.0-only
//! Is every shape of trace.dat understood: both versions, each compression, odd pages, options and order, and does
//! trace-cmd agree where it can read the file?

use crate::common;

use std::path::Path;

use common::agree::trace_cmd_agrees;
use common::writer::samples::{formats, small};
use common::writer::{Dat, Packed, Page, payload};
use idlewise_model::{Event, EventKind, HealthKind, Ipi, Note, NoteId};
use idlewise_trace::TraceFile;

fn open(dat: &Dat) -> TraceFile {
    TraceFile::from_bytes(Path::new("synthetic.dat"), dat.write()).unwrap()
}

fn events(dat: &Dat) -> Vec<Event> {
    open(dat).events().unwrap().collect()
}

#[test]
fn all_versions_and_compressions_hold_the_same_events() {
    let first = events(&small());
    let brief: Vec<_> = first.iter().map(|e| (e.ts_ns, e.cpu, e.pid, e.kind)).collect();
    assert_eq!(
        brief,
        [
            (1_000, 0, 0, EventKind::CpuIdle { cpu: 0, state: Some(1) }),
            (1_000, 3, 0, EventKind::CpuIdle { cpu: 3, state: Some(2) }),
            (1_100, 3, 0, EventKind::IpiEntry { ipi: Ipi::Reschedule }),
            (1_200, 3, 0, EventKind::CpuIdle { cpu: 3, state: None }),
            (500, 3, 0, EventKind::CpuIdle { cpu: 3, state: Some(0) }),
            (3_000_001_005, 0, 0, EventKind::IrqEntry { irq: 19 }),
            (3_000_001_013, 0, 0, EventKind::CpuIdle { cpu: 0, state: None }),
            (3_000_001_015, 0, 0, EventKind::CpuIdleMiss { cpu: 0, state: 1, below: true }),
            (3_000_001_017, 0, 42, EventKind::Other { id: 50 }),
            (4_000_000_003, 0, -1, EventKind::Lost { count: 7 }),
            (
                4_000_000_003,
                0,
                0,
                EventKind::SchedSwitch {
                    prev_pid: 0,
                    prev_prio: 120,
                    prev_state: 0,
                    next_pid: 42,
                    next_prio: 100
                }
            ),
            (4_000_000_100, 0, 42, EventKind::Other { id: 50 }),
            (6_000_000_001, 0, -1, EventKind::Lost { count: 0 }),
            (6_000_000_001, 0, 0, EventKind::Other { id: 99 }),
        ]
    );
    for (version, packed) in [(7, Packed::No), (7, Packed::Zlib), (7, Packed::Zstd), (6, Packed::No)] {
        // Version 6 numbers the CPUs by their place in the table.
        let mut dat = Dat { version, packed, ..small() };
        if version == 6 {
            dat.cpus = vec![dat.cpus[0].clone(), (1, vec![]), (2, vec![]), dat.cpus[1].clone()];
        }
        assert_eq!(events(&dat), first);
        if packed != Packed::Zlib {
            trace_cmd_agrees(&dat);
        }
    }
}

#[test]
fn machines_of_the_other_byte_order_are_understood() {
    let first = events(&small());
    let long_of = |long: u8| {
        let idle = payload(10, 7, &[(8, 4, 1), (12, 4, 0)]);
        let ipi = payload(40, 0, &[(8, long.into(), 0xffff_0000)]);
        let page = Page::new(1 << 40).event(3, &idle).extend(1 << 30).event(4, &ipi).missed(9);
        Dat { long, formats: formats(long), cpus: vec![(0, vec![page])], ..small() }
    };
    for (version, packed) in [(7, Packed::No), (7, Packed::Zlib), (7, Packed::Zstd), (6, Packed::No)] {
        let mut dat = Dat { version, packed, big_endian: true, ..small() };
        if version == 6 {
            dat.cpus = vec![dat.cpus[0].clone(), (1, vec![]), (2, vec![]), dat.cpus[1].clone()];
        }
        assert_eq!(events(&dat), first);
        let file = open(&dat);
        let mut stream = file.events().unwrap();
        stream.by_ref().for_each(drop);
        assert_eq!(stream.irq_name(19), Some("eth0"));
        assert!(file.meta().format.ends_with(", big-endian") && file.meta().notes.is_empty());
        for long in [4, 8] {
            let little = Dat { version, packed, ..long_of(long) };
            let big = Dat { big_endian: true, ..little.clone() };
            assert_eq!(events(&big), events(&little));
            if packed != Packed::Zlib {
                trace_cmd_agrees(&big);
            }
        }
        if packed != Packed::Zlib {
            trace_cmd_agrees(&dat);
        }
    }
}

#[test]
fn what_the_file_says_about_itself_is_read() {
    for version in [6, 7] {
        let dat = Dat { version, ..small() };
        let file = open(&dat);
        let m = file.meta();
        assert_eq!(
            (m.kernel.as_str(), m.clock.as_str(), m.recorder.as_str()),
            ("6.9.1 x86_64", "mono", "3.2.0 x")
        );
        assert_eq!(m.function(0xffff_1fff), None, "between first and second");
        assert_eq!(m.function(0xffff_2000), Some("second"));
        assert_eq!(m.comms[&42], "worker/0:1");
        assert_eq!(
            (m.event_names[&10].as_str(), m.event_id("irq:irq_handler_entry")),
            ("power:cpu_idle", Some(30))
        );
        assert!(m.health.is_empty() && m.notes.is_empty(), "{:?}", m.notes);
        let mut events = file.events().unwrap();
        assert_eq!(events.by_ref().count(), 14);
        assert_eq!(events.irq_name(19), Some("eth0"));
        assert_eq!(
            events.counts().iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>(),
            [(10, 5), (11, 1), (20, 1), (30, 1), (40, 1), (50, 2), (99, 1)]
        );
        let health: Vec<_> = events.health().iter().map(|(k, c)| (k, c.count)).collect();
        assert_eq!(
            health,
            [(HealthKind::LostEvents, 8), (HealthKind::ClockBackwards, 1), (HealthKind::UnknownEvent, 1)]
        );
    }
}

#[test]
fn sections_may_come_in_any_order() {
    let dat = Dat { backwards: true, ..small() };
    assert_eq!(events(&dat), events(&small()));
    assert!(open(&dat).meta().notes.is_empty());
}

#[test]
fn a_missing_section_costs_what_was_in_it() {
    for (without, events_left) in [(16, 14), (17, 14), (18, 14), (19, 14), (20, 14), (21, 14), (3, 0)] {
        let dat = Dat { without: vec![without], ..small() };
        let file = open(&dat);
        assert_eq!(file.events().unwrap().count(), events_left, "without section {without}");
        assert_eq!(
            file.meta().notes.is_empty(),
            matches!(without, 17 | 19 | 20 | 21),
            "{:?}",
            file.meta().notes
        );
        if without == 18 {
            assert!(
                file.events()
                    .unwrap()
                    .all(|e| matches!(e.kind, EventKind::Other { .. } | EventKind::Lost { .. }))
            );
        }
    }
}

#[test]
fn offsets_of_the_clock_are_applied_as_trace_cmd_does() {
    let tsc = [1_000_000u32.to_le_bytes(), 20u32.to_le_bytes(), 5_000u32.to_le_bytes(), 0u32.to_le_bytes()]
        .concat();
    let all: [Vec<(u16, Vec<u8>)>; 5] = [
        vec![(1, b"0x12345\0".to_vec())],
        vec![(1, b"123456\0".to_vec())],
        vec![(7, b"777\0".to_vec())],
        vec![(14, tsc.clone())],
        vec![(14, tsc), (7, b"777\0".to_vec()), (1, b"1\0".to_vec())],
    ];
    for options in all {
        for version in [6, 7] {
            let mut dat = Dat { version, options: options.clone(), ..small() };
            dat.cpus.truncate(1);
            trace_cmd_agrees(&dat);
            let shifted: Vec<_> = events(&dat).iter().map(|e| e.ts_ns).collect();
            let plain: Vec<_> = events(&Dat { options: vec![], ..dat }).iter().map(|e| e.ts_ns).collect();
            assert_ne!(shifted, plain);
        }
    }
}

#[test]
fn pages_of_any_size_and_of_32_bit_kernels() {
    let fill = |long: u8, page_size: usize| {
        let word = usize::from(long);
        let page = |t: u64| {
            let mut page = Page::new(t);
            for n in 0..page_size as u64 / 40 {
                page = page.event(10, &payload(10, 0, &[(8, 4, n % 3), (12, 4, 0)]));
            }
            let reason = payload(40, 0, &[(8, word, 0xffff_0000)]);
            page.event(1, &reason).missed(3)
        };
        Dat {
            long,
            page_size,
            formats: formats(long),
            cpus: vec![(0, vec![page(1_000), page(900_000)])],
            ..small()
        }
    };
    for (long, page_size) in [(4, 4096), (8, 4096), (8, 16_384), (8, 65_536), (4, 8192)] {
        for (version, packed) in [(6, Packed::No), (7, Packed::No), (7, Packed::Zstd), (7, Packed::Zlib)] {
            let dat = Dat { version, packed, ..fill(long, page_size) };
            let all = events(&dat);
            assert_eq!(all.len(), 2 * (page_size / 40 + 2));
            assert_eq!(
                all.iter().filter(|e| e.kind == EventKind::IpiEntry { ipi: Ipi::Reschedule }).count(),
                2
            );
            assert_eq!(all.iter().filter(|e| e.kind == EventKind::Lost { count: 3 }).count(), 2);
            assert_eq!(open(&dat).meta().long_size, long);
            if packed != Packed::Zlib {
                trace_cmd_agrees(&dat);
            }
        }
    }
}

#[test]
fn a_32_bit_trace_cmd_may_record_a_64_bit_kernel() {
    for version in [6, 7] {
        let mut bytes = Dat { version, ..small() }.write();
        assert_eq!(std::mem::replace(&mut bytes[13], 4), 8);
        let file = TraceFile::from_bytes(Path::new("mixed.dat"), bytes).unwrap();
        assert!(file.events().unwrap().eq(open(&Dat { version, ..small() }).events().unwrap()));
        assert_eq!(file.meta().long_size, 8);
    }
}

#[test]
fn the_kernels_own_counts_of_lost_events_are_kept() {
    let stats = b"CPU: 3\nentries: 9\noverrun: 5\ncommit overrun: 0\ndropped events: 2\nread events: 44\n\0";
    let file = open(&Dat { options: vec![(2, stats.to_vec())], ..small() });
    let of_3 = &file.meta().cpu_stats[&3];
    assert_eq!((of_3.overrun, of_3.dropped, of_3.read_events), (5, 2, 44));
    assert!(
        file.meta()
            .notes
            .iter()
            .any(|n| n.id == NoteId::LostEvents && n.contains("CPU 3") && n.contains("7 events"))
    );
}

#[test]
fn a_clock_that_leaps_or_goes_back_is_counted_and_does_not_disturb_the_order() {
    let idle = |state: u64| payload(10, 0, &[(8, 4, state), (12, 4, 0)]);
    let hour = 3_600_000_000_000;
    let pages = vec![
        Page::new(9 * hour).event(0, &idle(0)).extend(2 * hour).event(0, &idle(1)),
        Page::new(hour).event(0, &idle(2)),
    ];
    let dat = Dat { cpus: vec![(0, pages)], ..small() };
    let file = open(&dat);
    let mut events = file.events().unwrap();
    let times: Vec<_> = events.by_ref().map(|e| e.ts_ns).collect();
    assert_eq!(times, [9 * hour, 11 * hour, hour]);
    let health = events.health();
    assert_eq!((health.count(HealthKind::ClockJump), health.count(HealthKind::ClockBackwards)), (1, 1));
    trace_cmd_agrees(&dat);
}

#[test]
fn a_count_of_lost_events_that_cannot_be_is_not_believed() {
    let idle = payload(10, 0, &[(8, 4, 1), (12, 4, 0)]);
    let page = |t| Page::new(t).event(0, &idle).missed(u64::MAX - 1);
    let file = open(&Dat { cpus: vec![(0, vec![page(1), page(2), page(3)])], ..small() });
    let mut events = file.events().unwrap();
    assert_eq!(events.by_ref().filter(|e| e.kind == EventKind::Lost { count: 0 }).count(), 3);
    assert_eq!(events.health().count(HealthKind::LostEvents), 3);
}

#[test]
fn regions_that_overlap_are_read_once() {
    let mut bytes = Dat { packed: Packed::No, ..small() }.write();
    // Both CPUs' entries in the buffer option: number, place, size.
    let find = |bytes: &[u8], cpu: u32, size: u64| {
        (0..bytes.len() - 20)
            .find(|at| {
                bytes[*at..at + 4] == cpu.to_le_bytes() && bytes[at + 12..at + 20] == size.to_le_bytes()
            })
            .unwrap()
    };
    let (a, b) = (find(&bytes, 0, 4 * 4096), find(&bytes, 3, 2 * 4096));
    let place = bytes[a + 4..a + 12].to_vec();
    bytes[b + 4..b + 12].copy_from_slice(&place);
    let file = TraceFile::from_bytes(Path::new("overlap.dat"), bytes).unwrap();
    assert_eq!(file.events().unwrap().count(), 10);
    assert_eq!(
        (file.meta().cpus.as_slice(), file.meta().health.count(HealthKind::Ignored)),
        (&[0, 3][..], 1)
    );
}

#[test]
fn a_cut_file_gives_the_events_before_the_cut() {
    let whole = Dat { version: 6, packed: Packed::No, ..small() }.write();
    // The last page is CPU 3's second, with an event of 20 bytes behind 16 of header; cut behind it, in it, before it.
    for (cut, left) in [(4096 - 36, 14), (4096 - 35, 13), (4096 - 3, 13), (4096, 13), (4096 + 2000, 13)] {
        let file = TraceFile::from_bytes(Path::new("cut.dat"), whole[..whole.len() - cut].to_vec()).unwrap();
        let mut events = file.events().unwrap();
        assert_eq!(events.by_ref().count(), left, "cut {cut}");
        assert_eq!(events.health().count(HealthKind::Truncated), 1);
    }
}

#[test]
fn a_trace_may_be_empty_or_without_idle_events() {
    for version in [6, 7] {
        let empty = Dat { version, cpus: vec![], ..small() };
        assert_eq!(events(&empty), []);
        assert!(
            open(&empty).meta().notes.iter().any(|n| n.id == NoteId::CutOff && n.contains("no trace data"))
        );
        let no_pages = Dat { version, cpus: vec![(0, vec![]), (1, vec![Page::new(5)])], ..small() };
        assert_eq!(events(&no_pages), []);
        assert_eq!(open(&no_pages).meta().cpus, [0, 1]);
        let mut no_idle = Dat { version, ..small() };
        no_idle.formats.retain(|f| f.0 != "power");
        let file = open(&no_idle);
        let mut events = file.events().unwrap();
        assert!(!events.by_ref().any(|e| matches!(e.kind, EventKind::CpuIdle { .. })));
        assert_eq!(events.health().count(HealthKind::UnknownEvent), 7);
        assert_eq!(file.meta().event_id("power:cpu_idle"), None);
    }
}

#[test]
fn an_event_without_a_needed_field_is_passed_on_and_noted() {
    let mut dat = small();
    dat.formats[0].1 = dat.formats[0].1.replace("cpu_id;", "core;");
    let file = open(&dat);
    assert_eq!(file.events().unwrap().filter(|e| e.kind == EventKind::Other { id: 10 }).count(), 5);
    assert!(
        file.meta()
            .notes
            .iter()
            .any(|n| n.id == NoteId::UnknownFormat && n.contains("power:cpu_idle") && n.contains("cpu_id"))
    );
}

#[test]
fn fields_that_moved_are_found() {
    let mut dat = small();
    dat.formats[0].1 = dat.formats[0]
        .1
        .replace("u32 state;\toffset:8", "u32 state;\toffset:12")
        .replace("cpu_id;\toffset:12", "cpu_id;\toffset:8");
    assert!(events(&dat).iter().any(|e| e.kind == EventKind::CpuIdle { cpu: 2, state: Some(3) }));
}

#[test]
fn absolute_times_keep_the_topmost_bits_of_the_clock() {
    let high = (1u64 << 59) + 1_000;
    let idle = payload(10, 0, &[(8, 4, 1), (12, 4, 0)]);
    let page = Page::new(high).stamp(high + 5).event(1, &idle).stamp(999).event(0, &idle);
    let dat = Dat { cpus: vec![(0, vec![page])], ..small() };
    let times: Vec<_> = events(&dat).iter().map(|e| e.ts_ns).collect();
    assert_eq!(times, [high + 6, (2u64 << 59) + 999]);
}

#[test]
fn reading_twice_gives_the_same() {
    let file = open(&small());
    let (a, b) = (file.events().unwrap(), file.events().unwrap());
    assert!(a.eq(b));
    assert_eq!(file.meta().hash, open(&small()).meta().hash);
    assert_eq!(file.meta().hash.len(), 32);
}

#[test]
fn a_second_recording_behind_the_first_is_told() {
    for (version, packed) in [(7, Packed::No), (7, Packed::Zlib), (7, Packed::Zstd), (6, Packed::No)] {
        let mut dat = small();
        (dat.version, dat.packed) = (version, packed);
        let alone = open(&dat);
        let joined = |n: &Note| n.id == NoteId::OtherRecording && n.contains("another recording, from byte");
        let told = |t: &TraceFile| t.meta().notes.iter().any(joined);
        assert!(!told(&alone), "{:?}", alone.meta().notes);
        let one = dat.write();
        let joined = [one.clone(), one].concat();
        let file = TraceFile::from_bytes(Path::new("joined.dat"), joined).unwrap();
        assert!(told(&file), "version {version}: {:?}", file.meta().notes);
        assert_eq!(file.meta().health.count(HealthKind::Ignored), 1);
        assert_eq!(file.events().unwrap().count(), alone.events().unwrap().count());
    }
}

#[test]
fn no_real_file_is_taken_for_two() {
    for path in common::recordings() {
        let Ok(file) = TraceFile::open(&path) else { continue };
        let notes = &file.meta().notes;
        assert!(notes.iter().all(|n| !n.contains("another recording")), "{}: {notes:?}", path.display());
    }
}

#[test]
fn a_file_that_ends_before_its_buffers_are_described_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/sleeploop.dat");
    let mut bytes = std::fs::read(path).unwrap();
    bytes.truncate(50_000);
    let error = TraceFile::from_bytes(Path::new("cut.dat"), bytes).err().unwrap().to_string();
    for part in ["cut.dat", "the file ends at byte 50000", "copy it again", "trace-cmd restore"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}
