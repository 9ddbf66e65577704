// SPDX-License-Identifier: GPL-2.0-only
//! Does a file's clock come out as trace-cmd has it, and is said what a clock, a host or a guest means for the reader?

use crate::common;

use std::path::Path;

use common::agree::trace_cmd_agrees;
use common::writer::samples::small;
use common::writer::{Dat, Out, Page, payload};
use idlewise_trace::TraceFile;

fn open(dat: &Dat) -> TraceFile {
    TraceFile::from_bytes(Path::new("synthetic.dat"), dat.write()).unwrap()
}

fn tsc2nsec(big: bool) -> (u16, Vec<u8>) {
    let mut out = Out::new(big);
    [1_000_000, 20, 0, 0].iter().for_each(|n| out.u32(*n));
    (14, out.bytes)
}

#[test]
fn every_clock_is_named_and_explained_where_it_matters() {
    let plain = ["local", "global", "perf", "mono"];
    let odd = ["counter", "uptime", "mono_raw", "boot", "tai", "x86-tsc", "ppc-tb"];
    for clock in plain.iter().chain(&odd) {
        for (version, big_endian) in [(6, false), (7, false), (7, true)] {
            let mut dat = Dat { version, big_endian, clock: (*clock).to_owned(), ..small() };
            dat.cpus.truncate(1);
            let file = open(&dat);
            assert_eq!(file.meta().clock, *clock);
            let notes = &file.meta().notes;
            assert_eq!(notes.len(), usize::from(odd.contains(clock)), "{notes:?}");
            assert!(notes.iter().all(|n| n.contains(&format!("{clock:?}"))));
            trace_cmd_agrees(&dat);
        }
    }
}

#[test]
fn cycles_become_nanoseconds_where_the_file_tells_how() {
    for big_endian in [false, true] {
        let options = vec![tsc2nsec(big_endian)];
        let mut dat = Dat { big_endian, clock: "x86-tsc".into(), options, ..small() };
        dat.cpus.truncate(1);
        let file = open(&dat);
        assert!(file.meta().notes.is_empty(), "{:?}", file.meta().notes);
        assert_eq!(file.events().unwrap().next().unwrap().ts_ns, (1_000 * 1_000_000) >> 20);
        trace_cmd_agrees(&dat);
    }
}

/// The option TIME_SHIFT: for each of two CPUs when, how much, and the scaling.
fn time_shift(big: bool, shifts: &[i64], with_fractions: bool) -> (u16, Vec<u8>) {
    let mut out = Out::new(big);
    out.u64(0x1234);
    out.u32(0);
    out.u32(2);
    for _ in 0..2 {
        out.u32(shifts.len() as u32);
        (0..shifts.len() as u64).for_each(|n| out.u64(1000 * n));
        shifts.iter().for_each(|n| out.u64(*n as u64));
        shifts.iter().for_each(|_| out.u64(1));
    }
    if with_fractions {
        (0..2 * shifts.len()).for_each(|_| out.u64(0));
    }
    (12, out.bytes)
}

#[test]
fn a_guests_times_stay_its_own_and_the_shift_is_said() {
    for (version, big_endian) in [(6, false), (7, false), (6, true), (7, true)] {
        let alone = open(&Dat { version, big_endian, ..small() });
        for (shifts, words) in [(&[-500, -600][..], "-600 to -500 ns (4 measurements)"), (&[7], "by 7 ns")] {
            for with_fractions in [false, true] {
                let options = vec![time_shift(big_endian, shifts, with_fractions)];
                let file = open(&Dat { version, big_endian, options, ..small() });
                let notes = &file.meta().notes;
                assert!(
                    notes.len() == 1 && notes[0].contains("0x1234") && notes[0].contains(words),
                    "{notes:?}"
                );
                assert!(file.events().unwrap().eq(alone.events().unwrap()));
                assert!(file.meta().health.is_empty());
            }
        }
    }
    let (id, bytes) = time_shift(false, &[1, 2], false);
    for cut in 0..bytes.len() {
        let file = open(&Dat { options: vec![(id, bytes[..cut].to_vec())], ..small() });
        assert_eq!(file.meta().notes.len(), 1);
    }
}

#[test]
fn the_guests_of_a_host_are_listed() {
    for big in [false, true] {
        let mut guest = Out::new(big);
        guest.text("virtual");
        guest.u64(0x77);
        guest.u32(2);
        [0, 101, 1, 102].iter().for_each(|n| guest.u32(*n));
        let mut id = Out::new(big);
        id.u64(0x1234);
        let options = vec![(11, id.bytes), (13, guest.bytes)];
        let file = open(&Dat { big_endian: big, options, ..small() });
        let m = file.meta();
        assert_eq!((m.trace_id, m.guests.len()), (Some(0x1234), 1));
        let guest = &m.guests[0];
        assert_eq!((guest.name.as_str(), guest.trace_id), ("virtual", 0x77));
        assert_eq!(guest.vcpu_pids.iter().collect::<Vec<_>>(), [(&0, &101), (&1, &102)]);
        assert!(m.notes.len() == 1 && m.notes[0].contains("\"virtual\""), "{:?}", m.notes);
    }
}

#[test]
fn events_of_tracers_and_stack_traces_between_the_others_do_no_harm() {
    let ftrace = [
        ("function", 1, &[("unsigned long ip", 8, 8, 0), ("unsigned long parent_ip", 16, 8, 0)][..]),
        ("kernel_stack", 4, &[("int size", 8, 4, 1), ("unsigned long caller[]", 16, 0, 0)]),
        ("print", 5, &[("unsigned long ip", 8, 8, 0), ("char buf[]", 16, 0, 0)]),
        ("funcgraph_exit", 10, &[("unsigned long func", 8, 8, 0), ("int depth", 16, 4, 1)]),
        ("funcgraph_entry", 11, &[("unsigned long func", 8, 8, 0), ("int depth", 16, 4, 1)]),
        ("user_stack", 12, &[("unsigned int tgid", 8, 4, 0), ("unsigned long caller[8]", 16, 64, 0)]),
        ("raw_data", 16, &[("unsigned int id", 8, 4, 0), ("char buf[]", 12, 0, 0)]),
    ];
    let idle = |n: u64| payload(110, 0, &[(8, 4, n), (12, 4, 0)]);
    for (version, big_endian) in [(6, false), (7, false), (7, true)] {
        let mut page = Page::new(1_000).event(1, &idle(0));
        for (k, (name, id, _)) in ftrace.iter().enumerate() {
            let event = match *name {
                "kernel_stack" => payload(*id, 3, &[(8, 4, 2), (16, 8, 0xffff_1000), (24, 8, 0xffff_2004)]),
                "user_stack" => payload(*id, 3, &[(8, 4, 3), (16, 8, 0x1000), (72, 8, 0)]),
                "print" => {
                    payload(*id, 3, &[(8, 8, 0xffff_1000)]).tail(b"cpu_frequency: state=700000 cpu_id=1\n\0")
                }
                "raw_data" => payload(*id, 3, &[(8, 4, 9)]).tail(b"1234567"),
                _ => payload(*id, 3, &[(8, 8, 0xffff_1000), (16, 8, 0xffff_2000)]),
            };
            page = page.event(2, &event).event(3, &idle(k as u64 % 2));
        }
        let mut dat = Dat { version, big_endian, cpus: vec![(0, vec![page])], ..small() };
        dat.formats.retain(|f| f.0 != "power");
        let of_idle = [("u32 state", 8, 4, 0), ("u32 cpu_id", 12, 4, 0)];
        dat.formats.push(("power", common::writer::format("cpu_idle", 110, &of_idle)));
        for (name, id, fields) in ftrace {
            dat.formats.push(("ftrace", common::writer::format(name, id, fields)));
        }
        let file = open(&dat);
        let mut stream = file.events().unwrap();
        let brief: Vec<_> = stream.by_ref().map(|e| (e.ts_ns, format!("{:?}", e.kind))).collect();
        let of = |word: &str| brief.iter().filter(|e| e.1.starts_with(word)).count();
        assert_eq!((of("CpuIdle"), of("Other"), of("CpuFrequency")), (8, 6, 1), "{brief:?}");
        assert_eq!(brief.last().unwrap().0, 1_000 + 1 + 5 * 7);
        assert!(stream.health().is_empty(), "{:?}", stream.health());
        assert_eq!(stream.counts().len(), 8);
        trace_cmd_agrees(&dat);
    }
}
