// SPDX-License-Identifier: GPL-2.0-only
//! Does any damage to the files of a CTF trace make the reader panic, hang, or allocate what a length field claims?
//!
//! `IDLEWISE_FUZZ_INPUTS=100000 cargo test --release -p idlewise-trace --test trace hostile_ctf::` runs that many inputs; with
//! `IDLEWISE_FUZZ_CORPUS=DIR` the undamaged traces are written to DIR, to start the fuzz target of `fuzz/` from.

use crate::common;

use std::path::Path;

use common::damage::{Chance, damage, inputs, survives};
use idlewise_madetraces::ctf::{Files, Lttng};
use idlewise_model::{Event, EventKind, HrtimerMode};
use idlewise_trace::TraceFile;

/// Words that metadata is made of, to be put where they do not belong.
const WORDS: [&str; 40] = [
    "struct",
    "variant",
    "enum",
    "integer",
    "string",
    "{",
    "}",
    ";",
    "[",
    "]",
    "<",
    ">",
    ":=",
    "=",
    "...",
    "-",
    "typealias",
    "typedef",
    "event",
    "stream",
    "trace",
    "clock",
    "size = 64",
    "size = 1",
    "align = 4096",
    "align = 1",
    "byte_order = be",
    "signed = 1",
    "uint32_t",
    "uint5_t",
    "fields",
    "id",
    "timestamp",
    "[ n ]",
    "4294967295",
    "0",
    "<id>",
    "struct { } x;",
    "string s;",
    "map = clock.monotonic.value",
];

/// Metadata with a few words put elsewhere.
fn reword(text: &[u8], chance: &mut Chance) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', '\t', ';']).collect();
    for _ in 0..=chance.below(3) {
        if words.is_empty() {
            break;
        }
        let (at, from) = (chance.below(words.len()), chance.below(words.len()));
        match chance.below(5) {
            0 => words[at] = WORDS[chance.below(WORDS.len())],
            1 => words.insert(at, WORDS[chance.below(WORDS.len())]),
            2 => words[at] = words[from],
            3 => {
                words.remove(at);
            }
            _ => {
                let piece: Vec<&str> = words[from..].iter().take(chance.below(40)).copied().collect();
                words.splice(at..at, piece);
            }
        }
    }
    words.concat().into_bytes()
}

/// Reads all there is, within bounds that no honest trace of this size reaches.
fn read(files: Files) -> u64 {
    let len: usize = files.values().map(Vec::len).sum();
    let Ok(file) = TraceFile::from_files(Path::new("hostile"), files) else { return 0 };
    let mut events = file.events().unwrap();
    let mut n = 0u64;
    for _ in events.by_ref() {
        n += 1;
        // An event takes a bit at least, and may follow a loss.
        assert!(n < 16 * (len as u64 + 4096), "more events than the files can hold");
    }
    let _ = (events.health(), events.counts(), events.irq_name(19), file.meta().function(1));
    n
}

/// Small traces of every shape.
fn bases() -> Vec<Files> {
    let mut all: Vec<Event> = Vec::new();
    for i in 0..30u64 {
        let cpu = (i % 2) as u32;
        let kind = match i % 6 {
            0 => EventKind::CpuIdle { cpu, state: Some(1) },
            1 => EventKind::IrqEntry { irq: 19 },
            2 => EventKind::SchedSwitch {
                prev_pid: 0,
                prev_prio: 120,
                prev_state: 0,
                next_pid: 7,
                next_prio: 120,
            },
            3 => EventKind::Lost { count: i },
            4 => EventKind::HrtimerStart {
                hrtimer: 1,
                function: 2,
                expires: 3,
                softexpires: 4,
                mode: HrtimerMode(0),
                was_armed: None,
            },
            _ => EventKind::SoftirqRaise { vec: 1 },
        };
        all.push(Event { ts_ns: 1_000_000 + i * 40_000_000, cpu, pid: 7, kind });
    }
    let mut bases = Vec::new();
    for big in [false, true] {
        for large in [false, true] {
            let trace = Lttng { big, large, plain: true, tid: large, packet_size: 512, ..Lttng::default() };
            bases.push(trace.write(&all));
            let packed = Lttng { plain: false, ..trace.clone() };
            bases.push(packed.write(&all));
            bases.push(odd(&trace));
        }
    }
    bases
}

/// A trace of everything that varies in length.
fn odd(trace: &Lttng) -> Files {
    let text = trace.head()
        + "enum kind : integer { size = 8; align = 8; } { none, one = 1 ... 3, text = 4 };
           event { name = \"power_cpu_idle\"; id = 0; stream_id = 0; fields := struct { uint32_t n; uint8_t a[n];
               struct { string s; uint16_t m; uint16_t x[m]; } b[n]; enum kind k; variant <k> { struct { } none;
               integer { size = 13; align = 1; } one; string text; } v; integer { size = 32; align = 1; } _state;
               integer { size = 64; align = 1; } _cpu_id; string c[2]; struct { integer { size = 8; align = 64; } z; }
               d[n]; integer { size = 3; align = 1; } e[n]; }; };";
    let mut packet = trace.packet(0, 100, 0, 0);
    for i in 0..8u64 {
        let start = packet.event(0, 101 + i);
        let n = i % 3;
        if trace.tid {
            start.int(3, 32);
        }
        start.align(64).int(n, 32).raw(&vec![1; n as usize]);
        for _ in 0..n {
            start.text("text").int(2, 16).int(5, 16).int(6, 16);
        }
        start.int(i % 5, 8);
        match i % 5 {
            0 => {}
            4 => {
                start.text("four");
            }
            _ => {
                start.put(99, 13);
            }
        }
        start.put(i, 32).put(0, 64).text("a").text("b").align(64);
        for _ in 0..n {
            start.align(64).put(1, 8);
        }
        (0..n).for_each(|_| {
            start.put(5, 3);
        });
    }
    Files::from([("metadata".into(), trace.metadata(&text)), ("k_0".into(), packet.finish(512))])
}

/// The files of a trace in one, as the fuzz target takes them: each stream behind a mark.
fn joined(files: &Files) -> Vec<u8> {
    let mut all = files["metadata"].clone();
    for (_, bytes) in files.iter().filter(|(name, _)| *name != "metadata") {
        all.extend(b"\0CTF\0");
        all.extend(bytes);
    }
    all
}

fn damaged(base: &Files, other: &Files, chance: &mut Chance) -> Files {
    let mut files = base.clone();
    let names: Vec<&String> = base.keys().collect();
    for _ in 0..=chance.below(2) {
        let name = names[chance.below(names.len())];
        let bytes = files[name].clone();
        if bytes.is_empty() {
            continue;
        }
        let changed = if name == "metadata" && chance.below(4) > 0 {
            reword(&bytes, chance)
        } else {
            damage(&bytes, other.values().next_back().unwrap(), chance)
        };
        files.insert(name.clone(), changed);
    }
    files
}

#[test]
fn the_traces_are_whole_before_they_are_damaged() {
    for base in bases() {
        let file = TraceFile::from_files(Path::new("whole"), base).unwrap_or_else(|e| panic!("{e}"));
        let mut events = file.events().unwrap();
        assert!(events.by_ref().count() >= 8);
        let damage =
            events.health().iter().filter(|(k, _)| *k != idlewise_model::HealthKind::LostEvents).count();
        assert_eq!(
            (damage, file.meta().notes.len()),
            (0, 0),
            "{:?} {:?}",
            events.health(),
            file.meta().notes
        );
    }
}

#[test]
fn damaged_traces_never_break_the_reader() {
    let bases = bases();
    if let Some(dir) = std::env::var_os("IDLEWISE_FUZZ_CORPUS") {
        for (i, base) in bases.iter().enumerate() {
            std::fs::write(Path::new(&dir).join(format!("{i}.ctf")), joined(base)).unwrap();
        }
    }
    survives(inputs(8_000), 20_241_121, 10, |chance| {
        let (a, b) = (chance.below(bases.len()), chance.below(bases.len()));
        read(damaged(&bases[a], &bases[b], chance))
    });
}

#[test]
fn numbers_at_every_place_of_a_stream_are_not_believed() {
    for base in bases() {
        let name = base.keys().next().unwrap().clone();
        let len = base[&name].len();
        for at in (0..len).step_by(if len > 1000 { 5 } else { 1 }) {
            for value in [0u64, u64::MAX, 0x7fff_ffff, 0xffff_fff8] {
                let mut files = base.clone();
                let bytes = files.get_mut(&name).unwrap();
                for (to, from) in bytes[at..].iter_mut().zip(value.to_le_bytes()) {
                    *to = from;
                }
                read(files);
            }
        }
    }
}

#[test]
fn every_cut_is_survived() {
    for base in bases() {
        for (name, whole) in &base {
            for len in (0..whole.len()).step_by(13) {
                let mut files = base.clone();
                files.insert(name.clone(), whole[..len].to_vec());
                read(files);
            }
        }
    }
}
