// SPDX-License-Identifier: GPL-2.0-only
//! Is every shape of perf.data understood: file and pipe, compressed or not, both byte orders, every kind of sample; and is
//! damage counted?

use crate::common;

use std::path::Path;

use common::writer::perf::*;
use common::writer::samples::formats;
use common::writer::{Dat, Out, format, payload};
use idlewise_model::{Event, EventKind, Health, HealthKind};
use idlewise_trace::{TraceError, TraceFile};

fn open_bytes(bytes: Vec<u8>) -> Result<TraceFile, TraceError> {
    TraceFile::from_bytes(Path::new("synthetic.data"), bytes)
}

fn open(perf: &Perf) -> TraceFile {
    open_bytes(perf.write()).unwrap()
}

/// All events of a file and what was met on the way.
fn read(file: &TraceFile) -> (Vec<Event>, Health) {
    let mut events = file.events().unwrap();
    let all = events.by_ref().collect();
    (all, events.health().clone())
}

fn idle(state: u64, cpu: u64) -> common::writer::Payload {
    payload(10, 0, &[(8, 4, state), (12, 4, cpu)])
}

#[test]
fn file_and_pipe_packed_or_not_in_both_byte_orders_hold_the_same_events() {
    let event = |ts_ns, cpu, pid, kind| Event { ts_ns, cpu, pid, kind };
    let idle = |ts_ns, cpu, state| event(ts_ns, cpu, 0, EventKind::CpuIdle { cpu, state });
    let switch =
        EventKind::SchedSwitch { prev_pid: 7, prev_prio: 120, prev_state: 1, next_pid: 42, next_prio: 100 };
    let expected = [
        idle(1_000, 0, Some(1)),
        idle(1_100, 1, Some(2)),
        event(1_150, 1, 7, EventKind::Other { id: u16::MAX }),
        idle(1_900, 0, None),
        idle(1_900, 1, None),
        event(1_950, 0, 0, EventKind::IrqEntry { irq: 19 }),
        idle(2_000, 0, Some(0)),
        event(2_500, 1, 7, switch),
        idle(2_600, 0, None),
        event(2_700, 1, -1, EventKind::Lost { count: 5 }),
        event(2_700, 1, 7, switch),
    ];
    for big in [false, true] {
        for pipe in [false, true] {
            for packed in [Packed::No, Packed::Old, Packed::New] {
                let file = open(&Perf { pipe, packed, ..small_perf(big) });
                let place = file.meta().format.clone();
                assert!(place.contains(if pipe { "pipe" } else { "file" }), "{place}");
                assert_eq!(place.contains("zstd"), packed != Packed::No, "{place}");
                assert_eq!(place.contains("big-endian"), big, "{place}");
                let mut events = file.events().unwrap();
                assert_eq!(events.by_ref().collect::<Vec<_>>(), expected, "{place}");
                assert_eq!(events.health().count(HealthKind::LostEvents), 8, "{place}");
                assert_eq!(events.health().iter().count(), 1, "{place}: {:?}", events.health());
                let names = [(10, 6), (20, 2), (30, 1), (u16::MAX, 1)];
                assert_eq!(events.counts().into_iter().collect::<Vec<_>>(), names, "{place}");
                assert_eq!(events.event_name(u16::MAX), Some("cycles:P"), "{place}");
                assert_eq!((events.comm(7), events.comm(42)), (Some("seven"), Some("worker/0:1")), "{place}");
                assert_eq!(events.irq_name(19), Some("eth0"), "{place}");
                assert_eq!(read(&file).0, expected, "{place}: the second pass");
            }
        }
    }
}

#[test]
fn the_features_tell_about_the_recording() {
    for pipe in [false, true] {
        let file = open(&Perf { pipe, ..small_perf(false) });
        let meta = file.meta();
        assert_eq!((meta.kernel.as_str(), meta.clock.as_str()), ("6.9.1 x86_64", "mono"));
        assert_eq!((meta.recorder.as_str(), meta.long_size, meta.cpus.len()), ("perf 6.9", 8, 4));
        assert_eq!(meta.event_id("sched:sched_switch"), Some(20));
        assert!(
            meta.hash.len() == 32 && meta.bytes > 1000 && meta.health.is_empty() && meta.notes.is_empty()
        );
    }
    let clock = |clock| {
        let mut perf = small_perf(false);
        perf.attrs.iter_mut().for_each(|a| a.clock = clock);
        open(&perf).meta().clock.clone()
    };
    assert_eq!([clock(None), clock(Some(4)), clock(Some(7))], ["perf", "mono_raw", "boot"]);
    let mut mixed = small_perf(false);
    mixed.attrs[0].clock = None;
    assert!(
        open(&mixed)
            .meta()
            .notes
            .iter()
            .any(|n| n.id == idlewise_model::NoteId::TraceClock && n.contains("several clocks"))
    );
}

#[test]
fn every_kind_of_sample_is_taken_apart() {
    let group = 1 | 2 | 4 | 8 | 16;
    for (sample_type, read_format) in [
        (TIME | CPU | RAW, 0),
        (TID | TIME | CPU | RAW | IDENTIFIER | STREAM_ID | ADDR | IP | ID | PERIOD, 0),
        (TID | TIME | CPU | RAW | READ, 0),
        (TID | TIME | CPU | RAW | READ, 1 | 2 | 4),
        (TID | TIME | CPU | RAW | READ | CALLCHAIN | BRANCH_STACK, group),
        (USUAL | CALLCHAIN, 4 | 16),
        (USUAL | READ | CALLCHAIN | BRANCH_STACK, 8),
    ] {
        for big in [false, true] {
            let mut perf = small_perf(big);
            perf.attrs.truncate(1);
            perf.attrs[0] = Attr { sample_type, read_format, ..perf.attrs[0].clone() };
            perf.entries = vec![
                Entry::Sample(101, 2, 50, 9, idle(3, 2)),
                Entry::Trailed(2, vec![0; 16], 101, 2, 60),
                Entry::Sample(102, 1, 70, 9, idle(0xffff_ffff, 1)),
            ];
            let (events, health) = read(&open(&perf));
            let brief: Vec<_> = events.iter().map(|e| (e.ts_ns, e.cpu, e.kind)).collect();
            let expected = [
                (50, 2, EventKind::CpuIdle { cpu: 2, state: Some(3) }),
                (60, 2, EventKind::Lost { count: 0 }),
                (70, 1, EventKind::CpuIdle { cpu: 1, state: None }),
            ];
            assert_eq!(brief, expected, "{sample_type:#x}, {read_format:#x}");
            assert_eq!(health.count(HealthKind::LostEvents), 1);
        }
    }
}

#[test]
fn descriptions_of_all_lengths_are_read() {
    for attr_size in [64, 96, 136, 200] {
        for pipe in [false, true] {
            let mut perf = Perf { attr_size: attr_size.max(96), pipe, ..small_perf(false) };
            if attr_size == 64 {
                // The first version of the structure knows no other clock.
                perf.attrs.iter_mut().for_each(|a| a.clock = None);
                perf.attr_size = 64;
            }
            assert_eq!(read(&open(&perf)).0.len(), 11, "{attr_size}");
        }
    }
}

#[test]
fn samples_of_several_shapes_need_an_identifier() {
    let mut perf = small_perf(false);
    perf.attrs[1].sample_type |= CALLCHAIN | ADDR;
    assert_eq!(read(&open(&perf)).0.len(), 11);
    perf.attrs.iter_mut().for_each(|a| a.sample_type &= !IDENTIFIER);
    let refused = open_bytes(perf.write()).err().unwrap();
    assert!(matches!(refused, TraceError::Unsupported { .. }), "{refused}");
    // All alike: the payload says what it is.
    perf.attrs[1].sample_type = perf.attrs[0].sample_type;
    perf.attrs.retain(|a| a.kind == 2);
    perf.entries.retain(|e| !matches!(e, Entry::Sample(302, ..)));
    assert_eq!(read(&open(&perf)).0.len(), 10);
}

#[test]
fn samples_of_unknown_events_and_broken_ones_are_counted() {
    let mut perf = small_perf(false);
    perf.entries = vec![
        Entry::Sample(101, 0, 10, 0, idle(1, 0)),
        // Nobody has this id.
        Entry::Record(9, 0, [999u64.to_le_bytes(), [0; 8]].concat()),
        // Too short for what it should hold.
        Entry::Record(9, 0, 101u64.to_le_bytes().to_vec()),
        // A payload that reaches beyond its record.
        Entry::Record(9, 0, [&101u64.to_le_bytes()[..], &[0; 40], &[0xff; 8]].concat()),
        // A CPU that cannot be.
        Entry::Sample(101, 1 << 20, 20, 0, idle(1, 0)),
        // A payload shorter than its format, one of an unknown format, and none.
        Entry::Sample(201, 0, 30, 5, payload(20, 5, &[])),
        Entry::Sample(101, 0, 40, 6, payload(999, 6, &[(8, 8, 0)])),
        Entry::Sample(101, 0, 50, 7, idle(0xffff_ffff, 0)),
    ];
    let (events, health) = read(&open(&perf));
    let brief: Vec<_> = events.iter().map(|e| (e.ts_ns, e.pid, e.kind)).collect();
    assert_eq!(
        brief,
        [
            (10, 0, EventKind::CpuIdle { cpu: 0, state: Some(1) }),
            (30, 5, EventKind::Other { id: 20 }),
            (40, 6, EventKind::Other { id: 999 }),
            (50, 0, EventKind::CpuIdle { cpu: 0, state: None }),
        ]
    );
    assert_eq!((health.count(HealthKind::UnknownEvent), health.count(HealthKind::BadEvent)), (2, 4));
}

#[test]
fn without_marks_of_rounds_all_is_put_in_order() {
    let mut perf = small_perf(false);
    perf.entries.retain(|e| !matches!(e, Entry::Round));
    let (events, health) = read(&open(&perf));
    assert!(events.is_sorted_by_key(|e| e.ts_ns) && events.len() == 11);
    assert_eq!(health.count(HealthKind::ClockBackwards), 0);
}

#[test]
fn what_comes_after_its_time_is_counted() {
    let mut perf = small_perf(false);
    let at = |ts| Entry::Sample(101, 0, ts, 0, idle(1, 0));
    // The second mark lets out what is no newer than 200; then comes 150.
    perf.entries = vec![at(100), at(200), Entry::Round, at(300), Entry::Round, at(150), at(400)];
    let (events, health) = read(&open(&perf));
    assert_eq!(events.iter().map(|e| e.ts_ns).collect::<Vec<_>>(), [100, 200, 150, 300, 400]);
    assert_eq!(health.count(HealthKind::ClockBackwards), 1);
    perf.entries = vec![at(100), at(4_000_000_000_000)];
    assert_eq!(read(&open(&perf)).1.count(HealthKind::ClockJump), 1);
}

#[test]
fn files_without_what_replaying_needs_say_so() {
    let note = |perf: &Perf, word: &str| {
        let notes = open(perf).meta().notes.clone();
        assert!(notes.iter().any(|n| n.contains(word)), "{word}: {notes:?}");
    };
    let mut counters = small_perf(false);
    counters.attrs.retain(|a| a.kind == 0);
    counters.entries = vec![Entry::Sample(301, 0, 5, 3, payload(0, 0, &[]))];
    note(&counters, "nothing can be replayed");
    assert_eq!(read(&open(&counters)).0[0].kind, EventKind::Other { id: u16::MAX });
    let undescribed = Perf { with_tracing_data: false, ..small_perf(false) };
    note(&undescribed, "no formats of its tracepoints");
    assert_eq!(read(&open(&undescribed)).1.count(HealthKind::UnknownEvent), 9);
    let mut placeless = small_perf(false);
    placeless.attrs[0].sample_type &= !CPU;
    placeless.attrs[0].name = "power:cpu_idle";
    note(&placeless, "power:cpu_idle: recorded without CPUs");
    let (events, _) = read(&open(&placeless));
    assert!(!events.iter().any(|e| matches!(e.kind, EventKind::CpuIdle { .. })), "a guess is no meaning");
    let empty = Perf { attrs: Vec::new(), entries: Vec::new(), ..small_perf(false) };
    note(&empty, "describes no events");
}

#[test]
fn a_recording_that_perf_did_not_finish_gives_its_records() {
    let mut bytes = small_perf(false).write();
    bytes[48..56].fill(0);
    let file = open_bytes(bytes).unwrap();
    assert_eq!(file.meta().health.count(HealthKind::Truncated), 1);
    assert!(
        file.meta()
            .notes
            .iter()
            .any(|n| n.id == idlewise_model::NoteId::CutOff && n.contains("did not finish")),
        "{:?}",
        file.meta().notes
    );
    assert!(read(&file).0.len() >= 11);
}

#[test]
fn a_cut_or_broken_stream_gives_what_is_before() {
    let whole = Perf { pipe: true, ..small_perf(false) }.write();
    let (events, health) = read(&open_bytes(whole[..whole.len() - 60].to_vec()).unwrap());
    assert_eq!((events.len(), health.count(HealthKind::Truncated)), (10, 1));
    for packed in [Packed::Old, Packed::New] {
        let mut perf = Perf { pipe: true, packed, ..small_perf(false) };
        perf.entries.extend((0..300).map(|i| Entry::Sample(101, 0, 3_000 + i * i * 7919, 0, idle(i % 3, 0))));
        let mut bytes = perf.write();
        let at = bytes.len() - 2000;
        bytes[at..at + 64].fill(0x5a);
        let (events, health) = read(&open_bytes(bytes).unwrap());
        assert!(events.len() >= 11 && events.len() < 311, "{}", events.len());
        assert!(health.count(HealthKind::Truncated) >= 1, "{health:?}");
    }
    let mut perf = small_perf(false);
    perf.entries.insert(9, Entry::Behind(vec![0; 8]));
    let (events, health) = read(&open(&perf));
    assert_eq!((events.len(), health.count(HealthKind::Truncated)), (7, 1), "a record of 0 bytes");
}

#[test]
fn records_of_perf_itself_are_used_or_passed_over() {
    let number = |n: u64| n.to_le_bytes().to_vec();
    let mut perf = Perf { pipe: true, version: "0.5", ..small_perf(false) };
    let index: Vec<u8> =
        [2, 101, 0, 0, u64::MAX, 102, 1, 6, u64::MAX].iter().flat_map(|n| number(*n)).collect();
    let name = [number(2), number(101), b"idle!\0\0\0".to_vec()].concat();
    let mut first = vec![
        Entry::Record(69, 0, index),
        Entry::Record(78, 0, name),
        // Data of another tracer, which stands behind its record.
        Entry::Record(71, 0, [number(24), vec![0; 32]].concat()),
        Entry::Behind(vec![0xff; 24]),
    ];
    first.append(&mut perf.entries);
    perf.entries = first;
    let later =
        [Entry::Record(71, 0, [number(1 << 40), vec![0; 32]].concat()), Entry::Behind(vec![0xff; 24])];
    perf.entries
        .insert(12, Entry::Trailed(5, [2_450u64, 202, 0].map(u64::to_le_bytes).concat(), 202, 1, 2_450));
    perf.entries
        .insert(13, Entry::Trailed(5, [2_460u64, 302, 0].map(u64::to_le_bytes).concat(), 302, 1, 2_460));
    let child = [8u32, 7, 8, 7].map(u32::to_le_bytes).concat();
    perf.entries.insert(14, Entry::Trailed(7, [child, number(2_470)].concat(), 101, 0, 2_470));
    perf.entries.extend(later);
    let file = open(&perf);
    assert_eq!(file.meta().cpus, [0, 6]);
    let mut events = file.events().unwrap();
    let lost: Vec<_> = events.by_ref().filter(|e| matches!(e.kind, EventKind::Lost { count: 0 })).collect();
    assert_eq!((lost.len(), lost[0].ts_ns), (1, 2_450), "tracepoints that were throttled are lost");
    assert_eq!(events.health().count(HealthKind::Ignored), 1, "samples of a counter are not missed");
    assert_eq!(events.comm(8), Some("seven"), "a new task bears its parent's name");
    assert_eq!(events.counts().values().sum::<u64>(), 10);
}

#[test]
fn what_was_lost_after_the_last_event_of_a_cpu_is_told_at_its_end() {
    let number = |n: u64| n.to_le_bytes().to_vec();
    let mut perf = small_perf(false);
    let index: Vec<u8> =
        [2, 101, 0, 0, u64::MAX, 202, 1, 1, u64::MAX].iter().flat_map(|n| number(*n)).collect();
    perf.entries.insert(0, Entry::Record(69, 0, index));
    let lost = |perf: &Perf| {
        let (events, health) = read(&open(perf));
        let lost = events.iter().filter_map(|e| match e.kind {
            EventKind::Lost { count } => Some((e.ts_ns, e.cpu, count)),
            _ => None,
        });
        (lost.collect::<Vec<_>>(), health.count(HealthKind::LostEvents))
    };
    assert_eq!(lost(&perf), (vec![(2_700, 1, 5), (2_700, 1, 3)], 8));
    // Eight of CPU 1, of which the kernel told five, and four of CPU 0.
    perf.entries.push(Entry::Trailed(13, number(4), 101, 0, 0));
    assert_eq!(lost(&perf), (vec![(2_600, 0, 4), (2_700, 1, 5), (2_700, 1, 3)], 12));
    // What a filter left out is no loss.
    perf.entries.push(Entry::Record(13, 1 << 15, vec![9; 48]));
    assert_eq!(lost(&perf).1, 12);
}

#[test]
fn the_ticks_function_is_found_by_when_it_starts() {
    let start = format(
        "hrtimer_start",
        60,
        &[
            ("void * hrtimer", 8, 8, 0),
            ("void * function", 16, 8, 0),
            ("s64 expires", 24, 8, 1),
            ("s64 softexpires", 32, 8, 1),
        ],
    );
    let stop = format("tick_stop", 61, &[("int success", 8, 4, 1), ("int dependency", 12, 4, 1)]);
    let mut perf = small_perf(false);
    perf.attrs.extend([tracepoint(60, &[601]), tracepoint(61, &[611])]);
    let mut files = formats(8);
    files.extend([("timer", start), ("timer", stop)]);
    perf.files.formats = files;
    let timer = |ts, function| Entry::Sample(601, 0, ts, 0, payload(60, 0, &[(16, 8, function), (32, 8, 9)]));
    for i in 0..6 {
        let ts = 3_000 + 100 * i;
        let stop = payload(61, 0, &[(8, 4, 1), (12, 4, 0)]);
        perf.entries.extend([
            Entry::Sample(611, 0, ts, 0, stop),
            timer(ts + 10, 0xffff_1000),
            timer(ts + 20, 0xffff_2000),
        ]);
    }
    let file = open(&perf);
    assert_eq!(file.meta().function(0xffff_1000), Some("tick_nohz_handler"));
    assert_eq!(file.meta().function(0xffff_2000), None);
    assert!(file.meta().notes.iter().any(|n| n.contains("taken for the tick's")));
    // Symbols in the file are better.
    perf.files.kallsyms = "ffff1000 t tick_sched_timer\n".into();
    assert_eq!(open(&perf).meta().function(0xffff_1000), Some("tick_sched_timer"));
}

#[test]
fn a_directory_of_perf_is_opened_with_its_symbols() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("data"), small_perf(false).write()).unwrap();
    std::fs::create_dir(dir.path().join("kcore_dir")).unwrap();
    std::fs::write(dir.path().join("kcore_dir/kallsyms"), "ffff1000 T first\n").unwrap();
    let file = TraceFile::open(dir.path()).unwrap();
    assert_eq!(file.meta().function(0xffff_1000), Some("first"));
    std::fs::write(dir.path().join("data.0"), b"").unwrap();
    let refused = TraceFile::open(dir.path()).err().unwrap().to_string();
    assert!(refused.contains("several files"), "{refused}");
}

#[test]
fn a_kernel_that_hides_its_addresses_has_no_symbols() {
    const TICK: u64 = 0xffff_ffff_8111_0000;
    let stop = payload(70, 0, &[(8, 4, 1), (12, 4, 0)]);
    let start = payload(71, 0, &[(8, 8, 9), (16, 8, TICK), (24, 8, 5), (32, 8, 5), (40, 4, 0)]);
    let stops = (0..6).flat_map(|n| {
        [
            Entry::Sample(701, 0, 1_000 * n + 100, 0, stop.clone()),
            Entry::Sample(702, 0, 1_000 * n + 200, 0, start.clone()),
        ]
    });
    let mut formats = formats(8);
    formats
        .push(("timer", format("tick_stop", 70, &[("int success", 8, 4, 1), ("int dependency", 12, 4, 1)])));
    let fields = [
        ("void * hrtimer", 8, 8, 0),
        ("void * function", 16, 8, 0),
        ("s64 expires", 24, 8, 1),
        ("s64 softexpires", 32, 8, 1),
        ("enum hrtimer_mode mode", 40, 4, 0),
    ];
    formats.push(("timer", format("hrtimer_start", 71, &fields)));
    let perf = Perf {
        attrs: vec![tracepoint(70, &[701]), tracepoint(71, &[702])],
        entries: stops.chain([Entry::Round]).collect(),
        files: Dat { formats, ..Dat::default() },
        ..small_perf(false)
    };
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("data"), perf.write()).unwrap();
    std::fs::create_dir(dir.path().join("kcore_dir")).unwrap();
    // Where no function has a name, the tick's is found by what it does.
    let tick = |kallsyms: &str| {
        std::fs::write(dir.path().join("kcore_dir/kallsyms"), kallsyms).unwrap();
        TraceFile::open(dir.path()).unwrap().meta().function(TICK).map(str::to_owned)
    };
    let found = Some("tick_nohz_handler".to_owned());
    assert_eq!(tick("0000000000000000 A per_cpu\n0000000000000000 T code\n"), found);
    assert_eq!(tick(""), found);
    assert_eq!(
        tick("0000 A per_cpu\n1000 D data\n1000 T code\n1000 t $x\n2000 t next\t[module]\nbad\n"),
        None
    );
}

#[test]
fn broken_headers_are_refused_with_a_reason() {
    let whole = small_perf(false).write();
    let refused = |change: fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        open_bytes(bytes).err().unwrap().to_string()
    };
    assert!(refused(|b| b.truncate(12)).contains("the size of the header"));
    assert!(refused(|b| b[8] = 17).contains("a header of 16 or 104 bytes"));
    assert!(refused(|b| b[16] = 3).contains("the descriptions of events"));
    assert!(refused(|b| b[30] = 0xff).contains("cut off"));
    assert!(refused(|b| b[108] = 0xff).contains("the description of an event"));
    let mut out = Out::new(false);
    [1, 2, 1, 10, 4096].iter().for_each(|n| out.u32(*n));
    let odd = Perf { features: vec![(27, out.bytes)], ..small_perf(false) };
    assert!(open_bytes(odd.write()).err().unwrap().to_string().contains("something else than zstd"));
    let other =
        Perf { files: Dat { formats: formats(8), ..Dat::default() }, version: "0.6", ..small_perf(false) };
    let mut bytes = other.write();
    let at = bytes.windows(10).position(|w| w == b"\x17\x08\x44tracing").unwrap();
    bytes[at + 14] = 1;
    let file = open_bytes(bytes).unwrap();
    assert!(
        file.meta().notes.iter().any(|n| n.contains("byte order of the file")),
        "{:?}",
        file.meta().notes
    );
}
