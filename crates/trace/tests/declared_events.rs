// SPDX-License-Identifier: GPL-2.0-only
//! Is every event that is declared read and written, and is what a declaration says of it unambiguous?

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use idlewise_model::{Event, EventKind, kernel_events};
use idlewise_trace::write::{FtraceText, PerfettoWriter};
use idlewise_trace::{TraceFile, TraceMeta};

use crate::common::Called;
use crate::common::writer::{Dat, FieldSpec, Page, format, payload};

/// An event as it is declared: what the kernel calls it, and how each field is stored under which names.
struct Declared {
    forms: &'static [(&'static str, &'static str)],
    fields: &'static [(&'static str, &'static [&'static str])],
}

macro_rules! table {
    ($(
        $(#[$doc:meta])* $kind:ident [$($system:literal $name:literal),+]
        { $($field:ident: $type:ty as $stored:ident [$($key:literal),+],)+ }
        $(only $decides:ident as $guard:ident [$its_key:literal])?;
    )+) => {
        static EVENTS: &[Declared] = &[$(Declared {
            forms: &[$(($system, $name)),+],
            fields: &[$((stringify!($stored), &[$($key),+]),)+ $((stringify!($guard), &[$its_key]),)?],
        },)+];
    };
}

kernel_events!(table);

/// All declared events: system and name.
fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    EVENTS.iter().flat_map(|event| event.forms).copied()
}

/// How a line of text spells a field that is stored so: under its first name, and under the others. None: nobody reads it there.
fn spelled(stored: &str) -> [Option<&'static str>; 2] {
    match stored {
        "Number" | "EnteredState" | "TargetCpu" | "IoWait" | "Softirq" | "Below" | "Bits" | "Newer"
        | "ArmedAt" => [Some("number"); 2],
        "Pointer" => [Some("pointer"); 2],
        "Function" => [Some("function"); 2],
        "PrevState" => [Some("state"); 2],
        "Mode" => [Some("mode"); 2],
        "WheelFlags" => [Some("flags of a timer"); 2],
        "Dependency" => [Some("dependency"); 2],
        "Task" => [Some("number"), None],
        "Handler" => [Some("number"), Some("rest of the line")],
        "Text" | "Cpus" | "RootGroup" => [Some("word"); 2],
        "Reason" | "TargetReason" | "TargetCpus" => [Some("rest of the line"); 2],
        "NameEnd" => [None; 2],
        other => unreachable!("how is a field spelled that is stored as {other}?"),
    }
}

/// The names of all fields that a line of text is read for, with how they are spelled.
fn spellings() -> impl Iterator<Item = (&'static str, &'static str)> {
    EVENTS.iter().flat_map(|event| event.fields).flat_map(|(stored, keys)| {
        let [first, others] = spelled(stored);
        let how = std::iter::once(first).chain(std::iter::repeat(others));
        keys.iter().zip(how).filter_map(|(key, how)| Some((*key, how?)))
    })
}

#[test]
fn a_name_of_a_field_is_spelled_the_same_in_every_event() {
    let mut known = BTreeMap::new();
    for (key, how) in spellings() {
        assert_eq!(*known.entry(key).or_insert(how), how, "{key}");
    }
    assert!(known.len() > 50, "{known:?}");
}

#[test]
fn no_event_is_declared_twice() {
    let mut all: Vec<_> = forms().collect();
    let n = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), n);
}

/// The events of a file, and what the first of them is called.
fn read(bytes: Vec<u8>) -> (Vec<Event>, String, String) {
    let file = TraceFile::from_bytes(Path::new("written"), bytes).unwrap();
    let mut events = file.events().unwrap();
    let all = events.by_ref().collect();
    let name = events.counts().keys().find_map(|id| events.event_name(*id)).unwrap_or_default().to_owned();
    (all, name, file.meta().format.clone())
}

#[test]
fn formats_without_systems_give_events_theirs() {
    for (name, system) in [
        ("cpu_idle", Some("power")),
        ("print", Some("ftrace")),
        ("lisa__sched_pelt_cfs", Some("lisa")),
        ("sched_pelt_cfs", Some("sched")),
        ("irq_work_exit", Some("irq_vectors")),
        ("other_entry", None),
        ("sched_process_exec", Some("sched")),
        ("timer_init", Some("timer")),
        ("clock_enable", None),
    ] {
        let (_, full, _) =
            read(format!("# tracer: nop\n   a-1   [000] d..1.   1.000000: {name}: x\n").into_bytes());
        assert_eq!(full, system.map_or_else(|| name.to_owned(), |system| format!("{system}:{name}")));
    }
}

/// An event of `declared` in a file that has all of its fields: each number is 1, each function lies where functions do, each
/// mask is of CPU 0, each text is `/`.
fn complete(declared: &Declared, system: &'static str, name: &str) -> Event {
    let mut specs: Vec<(String, u16, u16, u64)> = Vec::new();
    let mut end = 8;
    let mut add = |declaration: String, size: u16, value: u64| {
        specs.push((declaration, end, size, value));
        end += size;
    };
    for (stored, keys) in declared.fields {
        let key = keys[0];
        match *stored {
            "NameEnd" => {}
            "Cpus" => add(format!("__rel_loc cpumask_t {key}"), 4, 0),
            "TargetCpus" => add("__rel_loc cpumask_t target_cpus".to_owned(), 4, 0),
            "Text" | "RootGroup" | "Reason" | "TargetReason" => add(format!("__rel_loc char[] {key}"), 4, 1),
            "Handler" => {
                add(format!("u64 {key}"), 8, 1);
                add(format!("__rel_loc char[] {}", keys[1]), 4, 1);
            }
            "Function" => add(format!("u64 {key}"), 8, 1 << 40),
            _ => add(format!("u64 {key}"), 8, 1),
        }
    }
    let fields: Vec<FieldSpec<'_>> =
        specs.iter().map(|(d, at, size, _)| (d.as_str(), *at, *size, 0)).collect();
    // Behind the last field stand a mask and a text, to which places point.
    let values: Vec<(usize, usize, u64)> = specs
        .iter()
        .map(|(declaration, at, size, value)| {
            let behind = u64::from(end - at - size);
            let (mask, text) = (behind | 8 << 16, (behind + 8) | 2 << 16);
            let located = declaration.starts_with("__rel_loc");
            let value = if !located {
                *value
            } else if *value == 0 {
                mask
            } else {
                text
            };
            (usize::from(*at), usize::from(*size), value)
        })
        .collect();
    let tail = [&1u64.to_le_bytes()[..], b"/\0"].concat();
    let dat = Dat {
        formats: vec![(system, format(name, 60, &fields))],
        cpus: vec![(1, vec![Page::new(1_000).event(0, &payload(60, 1, &values).tail(&tail))])],
        ..Dat::default()
    };
    let (all, ..) = read(dat.write());
    let [event] = all[..] else { panic!("{system}:{name}: {all:?}") };
    event
}

#[test]
fn every_declared_event_is_read_and_written_and_read_again() {
    // What stands in a line of text for a part of a number, or beside one.
    let parts = ["timeout", "idx", "action", "type"];
    let keys: BTreeSet<&str> = spellings().map(|(key, _)| key).chain(parts).collect();
    let mut kinds = Vec::new();
    for declared in EVENTS {
        for (system, name) in declared.forms {
            let name = name.replace('*', "irq_work");
            let event = complete(declared, system, &name);
            assert!(
                !matches!(event.kind, EventKind::Other { .. }),
                "{system}:{name} has no meaning: {event:?}"
            );
            assert_eq!((event.ts_ns, event.cpu, event.pid), (1_000, 1, 1));
            let mut text = FtraceText::new(Vec::new(), &TraceMeta::default()).unwrap();
            text.event(&event, &Called(None)).unwrap();
            let mut perfetto = PerfettoWriter::new(Vec::new(), &TraceMeta::default()).unwrap();
            perfetto.event(&event, &Called(None)).unwrap();
            let text = text.finish().unwrap();
            let line = String::from_utf8(text.clone()).unwrap();
            let fields = line.lines().last().unwrap().split_once(": ").map_or("", |(_, fields)| fields);
            let words = fields.split([' ', '[', ']']).filter_map(|word| word.split_once('='));
            for (key, _) in words.filter(|(key, _)| !key.is_empty()) {
                assert!(key.ends_with("comm") || keys.contains(key), "{system}:{name}: nobody reads {key}");
            }
            for bytes in [text, perfetto.finish().unwrap()] {
                let (read, written, format) = read(bytes);
                assert_eq!(read, [event], "{system}:{name} in {format}");
                // What several of the kernel's events mean is written as the first.
                let (its, called) = written.split_once(':').unwrap();
                assert!(
                    forms().any(|form| form.0 == its && called.ends_with(form.1.trim_start_matches('*'))),
                    "{written} in {format}"
                );
            }
            kinds.push(std::mem::discriminant(&event.kind));
        }
    }
    kinds.dedup();
    assert!(kinds.len() >= 38, "only {} kinds are declared", kinds.len());
}
