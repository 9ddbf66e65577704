// SPDX-License-Identifier: GPL-2.0-only
//! What the parts of a recording say about the kernel and its events, in every way in which they say it.

use std::fs;
use std::path::Path;

use idlewise_model::{CpuMask, Event, EventKind, HealthKind};
use idlewise_trace::{TraceFile, TraceMeta};

use crate::common::writer::directory::Shape;
use crate::common::writer::samples::small;
use crate::common::writer::{Dat, FieldSpec, Page, format, payload};

fn open(dat: &Dat) -> TraceFile {
    TraceFile::from_bytes(Path::new("t.dat"), dat.write()).unwrap()
}

fn events(dat: &Dat) -> Vec<Event> {
    open(dat).events().unwrap().collect()
}

/// Most bytes of a description of the recording.
const MOST_DESCRIPTION: usize = 16 << 20;

#[test]
fn a_description_stands_behind_the_recorders_name() {
    const DESCRIPTION: &[u8] = b"# idlewise: the recording\n";
    for version in [6, 7] {
        let version = |bytes: &[u8]| open(&Dat { version, options: vec![(9, bytes.to_vec())], ..small() });
        let with = |said: &[u8]| version(&[b"idlewise 1\0", DESCRIPTION, said].concat());
        let of = |file: &TraceFile| (file.meta().recorder.clone(), file.meta().description.clone());
        let said = Some("governor = \"menu\"\n".to_owned());
        assert_eq!(of(&with(b"governor = \"menu\"\n\0")), ("idlewise 1".to_owned(), said));
        for (other, name) in
            [(&b"3.1.6\0"[..], "3.1.6"), (b"3.1.6", "3.1.6"), (b"3.1.6\0more\0", "3.1.6"), (b"", "")]
        {
            let file = version(other);
            assert_eq!(of(&file), (name.to_owned(), None));
            assert!(file.meta().notes.is_empty(), "{:?}", file.meta().notes);
        }
        for (said, why) in [(b"a\xff".to_vec(), "byte 1"), (vec![b'#'; MOST_DESCRIPTION + 1], "at most")] {
            let file = with(&said);
            let meta = file.meta();
            assert_eq!(meta.description, None);
            assert!(meta.notes[0].contains(why) && !meta.health.is_empty(), "{:?}", meta.notes);
        }
    }
}

#[test]
fn offsets_are_decimal_or_hexadecimal() {
    let first = |offset: &str| {
        let options = vec![(7, [offset.as_bytes(), b"\0"].concat())];
        let file = open(&Dat { options, ..small() });
        let noted = file.meta().notes.iter().any(|n| n.contains("is no number"));
        (file.events().unwrap().next().unwrap().ts_ns, noted)
    };
    let plain = first("0").0;
    for (offset, ns) in [
        ("0x10", Some(16)),
        ("-0x10", Some(-16)),
        ("-7", Some(-7)),
        ("", None),
        ("0xffffffffffffffff", Some(-1)),
    ] {
        let moved = plain.checked_add_signed(ns.unwrap_or(0)).unwrap();
        assert_eq!(first(offset), (moved, ns.is_none()), "{offset:?}");
    }
}

#[test]
fn names_that_hold_a_cpu() {
    let folder = tempfile::tempdir().unwrap();
    small().write_directory(folder.path(), Shape::Tracefs);
    let pages = fs::read(folder.path().join("per_cpu/cpu3/trace_pipe_raw")).unwrap();
    fs::remove_dir_all(folder.path().join("per_cpu")).unwrap();
    let of = ["cpu0", "cpu12.raw", "trace.dat.cpu3", "cpu", "cpuidle", "cpu99999", "xcpu1", "cpu1x"];
    for name in of {
        fs::write(folder.path().join(name), &pages).unwrap();
    }
    let file = TraceFile::open(folder.path()).unwrap();
    let mut cpus: Vec<u32> = file.events().unwrap().map(|e| e.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    assert_eq!(cpus, [0, 3, 12]);
}

#[test]
fn a_mask_is_made_of_the_longs_of_the_recorded_machine() {
    /// The CPUs of an event with these bytes behind the place of a mask; `beyond`: it is said to be so much longer.
    fn cpus(big_endian: bool, mask: &[u8], beyond: u64) -> Vec<u32> {
        let fields: &[FieldSpec<'_>] = &[("__data_loc cpumask_t cpumask", 8, 4, 0)];
        let place = 12 | (mask.len() as u64 + beyond) << 16;
        let sent = payload(60, 0, &[(8, 4, place)]).tail(mask);
        let dat = Dat {
            big_endian,
            formats: vec![("ipi", format("ipi_send_cpumask", 60, fields))],
            cpus: vec![(0, vec![Page::new(1_000).event(0, &sent)])],
            ..Dat::default()
        };
        let all = events(&dat);
        let [Event { kind: EventKind::IpiSendCpumask { cpus }, .. }] = all[..] else { panic!("{all:?}") };
        let of = |cpus: CpuMask| cpus.iter().collect();
        of(cpus)
    }
    let little = (65 | 1u64 << 63).to_le_bytes();
    assert_eq!(cpus(false, &little, 0), [0, 6, 63]);
    let big = [(65 | 1u64 << 63).to_be_bytes(), 2u64.to_be_bytes()].concat();
    assert_eq!(cpus(true, &big, 0), [0, 6, 63, 65]);
    assert_eq!(cpus(true, &65u32.to_be_bytes(), 0), [0, 6]);
    assert_eq!(cpus(false, &65u32.to_le_bytes(), 0), [0, 6]);
    // What lies outside of the event is no mask.
    assert_eq!(cpus(false, &little, 1), [0u32; 0]);
}

#[test]
fn the_selected_clock_stands_in_brackets() {
    let clock = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        small().write_directory(folder.path(), Shape::Record);
        fs::write(folder.path().join("tracing/trace_clock"), text).unwrap();
        TraceFile::open(folder.path()).unwrap().meta().clock.clone()
    };
    assert_eq!(clock("local [mono] boot\n"), "mono");
    assert_eq!(clock("mono"), "mono");
}

/// The only event of a trace with one format, whose events have these bytes; and the file.
fn only(
    system: &'static str,
    name: &str,
    fields: &[FieldSpec<'_>],
    values: &[(usize, usize, u64)],
    tail: &[u8],
) -> (TraceFile, EventKind) {
    let dat = Dat {
        formats: vec![(system, format(name, 60, fields))],
        printk: "0xffff0000 : \"Rescheduling interrupts\"\n".into(),
        cpus: vec![(0, vec![Page::new(1_000).event(0, &payload(60, 7, values).tail(tail))])],
        ..Dat::default()
    };
    let file = open(&dat);
    let all: Vec<Event> = file.events().unwrap().collect();
    let [Event { kind, pid: 7, .. }] = all[..] else { panic!("{all:?}") };
    (file, kind)
}

#[test]
fn declarations_of_every_shape_give_their_name() {
    let array = [
        ("char prev_comm[16]", 8, 16, 0),
        ("pid_t prev_pid", 24, 4, 1),
        ("int prev_prio", 28, 4, 1),
        ("long prev_state", 32, 8, 1),
        ("char next_comm[16]", 40, 16, 0),
        ("pid_t next_pid", 56, 4, 1),
        ("int next_prio", 60, 4, 1),
    ];
    let comm = |at: usize, text: &[u8; 8]| (at, 8, u64::from_le_bytes(*text));
    let values =
        [comm(8, b"before\0\0"), (24, 4, 5), (28, 4, 120), comm(40, b"after\0\0\0"), (56, 4, 6), (60, 4, 98)];
    let (_, kind) = only("sched", "sched_switch", &array, &values, b"");
    let expected =
        EventKind::SchedSwitch { prev_pid: 5, prev_prio: 120, prev_state: 0, next_pid: 6, next_prio: 98 };
    assert_eq!(kind, expected);
    // A text is in the event itself, up to its zero byte.
    let group = [("int cpu", 8, 4, 1), ("char path[8]", 12, 8, 0), ("unsigned long util", 20, 8, 0)];
    for (path, load) in
        [(b"/\0a\0\0\0\0\0", Some(EventKind::PeltCfs { cpu: 3, util: 77 })), (b"/a\0\0\0\0\0\0", None)]
    {
        let values = [(8, 4, 3), (12, 8, u64::from_le_bytes(*path)), (20, 8, 77)];
        let (_, kind) = only("sched", "sched_load_cfs_rq", &group, &values, b"");
        assert_eq!(Some(kind).filter(|kind| !matches!(kind, EventKind::Other { .. })), load, "{path:?}");
    }
    // A place from the start of the event, and from the end of the field.
    for (declaration, place) in [("__data_loc char[] name", 16), ("__rel_loc char[] name", 0)] {
        let fields = [("int irq", 8, 4, 1), (declaration, 12, 4, 0)];
        let (file, kind) =
            only("irq", "irq_handler_entry", &fields, &[(8, 4, 19), (12, 4, place | 5 << 16)], b"eth0\0");
        assert_eq!(kind, EventKind::IrqEntry { irq: 19 }, "{declaration}");
        let mut entries = file.events().unwrap();
        assert_eq!(entries.by_ref().count(), 1);
        assert_eq!(entries.irq_name(19), Some("eth0"), "{declaration}");
    }
    let reason = [("const char * reason", 8, 8, 0)];
    let (_, kind) = only("ipi", "ipi_entry", &reason, &[(8, 8, 0xffff_0000)], b"");
    assert_eq!(kind, EventKind::IpiEntry { ipi: idlewise_model::Ipi::Reschedule });
    let pointer = [("void *hrtimer", 8, 8, 0)];
    let (_, kind) = only("timer", "hrtimer_cancel", &pointer, &[(8, 8, 77)], b"");
    assert_eq!(kind, EventKind::HrtimerCancel { hrtimer: 77 });
    let byte = [("u32 cpu_id", 8, 4, 0), ("u32 state", 12, 4, 0), ("unsigned char below", 16, 1, 0)];
    let (_, kind) = only("power", "cpu_idle_miss", &byte, &[(8, 4, 3), (12, 4, 2), (16, 1, 1)], b"");
    assert_eq!(kind, EventKind::CpuIdleMiss { cpu: 3, state: 2, below: true });
}

#[test]
fn the_text_of_a_marker_is_one_in_every_kernel() {
    for declaration in ["char buf", "char buf[]"] {
        let fields = [("unsigned long ip", 8, 8, 0), (declaration, 16, 0, 0)];
        let said = b"cpu_frequency: state=450000 cpu_id=5\n\0";
        let (_, kind) = only("ftrace", "print", &fields, &[(8, 8, 1)], said);
        assert_eq!(kind, EventKind::CpuFrequency { cpu: 5, khz: 450_000 }, "{declaration}");
    }
}

#[test]
fn functions_win_over_data_and_marks_are_no_symbols() {
    let kallsyms = "0000 A per_cpu\n1000 D data\n1000 T code\n1000 t $x\n2000 t next\t[module]\nbad\n";
    let file = open(&Dat { kallsyms: kallsyms.into(), ..small() });
    let at = |address| file.meta().function(address);
    assert_eq!(
        (at(0x1000), at(0x1001), at(0x2000), at(0x2fff), at(0xfff)),
        (Some("code"), None, Some("next"), None, None)
    );
    // Neither a kernel that hides its addresses nor one without symbols has any.
    for kallsyms in ["", "0000000000000000 A per_cpu\n0000000000000000 T code\n"] {
        let file = open(&Dat { kallsyms: kallsyms.into(), ..small() });
        assert_eq!([0, 0x1000].map(|address| file.meta().function(address)), [None; 2]);
    }
}

#[test]
fn a_kernels_version_is_the_beginning_of_its_release() {
    let version = |kernel: &str| {
        let mut meta = TraceMeta::default();
        kernel.clone_into(&mut meta.kernel);
        meta.kernel_version()
    };
    assert_eq!(version("4.15.0-29-generic x86_64"), Some((4, 15)));
    assert_eq!(version("7.0-rc1"), Some((7, 0)));
    assert_eq!(version("6"), None);
    assert_eq!(version("Linux host"), None);
    assert_eq!(version(""), None);
}

/// The CPUs in the order in which they give their events, which have these times.
fn order(cpus: &[&[u64]]) -> Vec<u32> {
    let idle = payload(10, 0, &[(8, 4, 1), (12, 4, 0)]);
    let pages = |times: &&[u64]| times.iter().map(|ts_ns| Page::new(*ts_ns).event(0, &idle)).collect();
    let dat = Dat { cpus: (0..).zip(cpus.iter().map(pages)).collect(), ..small() };
    events(&dat).iter().map(|e| e.cpu).collect()
}

#[test]
fn events_come_in_order_of_time_then_of_source() {
    assert_eq!(order(&[&[3, 4], &[1, 4, 9], &[4]]), [1, 0, 0, 1, 2, 1]);
    assert_eq!(order(&[&[7]]), [0]);
    assert!(order(&[]).is_empty());
}

#[test]
fn a_source_whose_clock_goes_back_keeps_its_turn() {
    assert_eq!(order(&[&[5, 2, 6], &[3, 4]]), [1, 1, 0, 0, 0]);
}

#[test]
fn a_damaged_chunk_costs_no_more_than_itself() {
    let mixed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
    let bytes = fs::read(mixed).unwrap();
    let read = |bytes: Vec<u8>| {
        let file = TraceFile::from_bytes(Path::new("t.dat"), bytes).unwrap();
        let mut stream = file.events().unwrap();
        let all: Vec<Event> = stream.by_ref().collect();
        let gaps = all.iter().filter(|e| matches!(e.kind, EventKind::Lost { .. })).count();
        (all.len(), gaps, stream.health().count(HealthKind::BadPage))
    };
    let (all, none, sound) = read(bytes.clone());
    assert_eq!((none, sound), (0, 0));
    for percent in [50, 60, 70, 80, 90] {
        let mut damaged = bytes.clone();
        let at = bytes.len() * percent / 100;
        damaged[at..at + 64].iter_mut().for_each(|b| *b ^= 0x5a);
        let (some, gaps, bad) = read(damaged);
        assert!((1..=2).contains(&bad) && gaps == bad as usize, "{percent} %: {gaps} gaps, {bad} chunks");
        assert!(some * 100 > all * 95, "{percent} %: {some} of {all}");
    }
}
