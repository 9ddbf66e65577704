// SPDX-License-Identifier: GPL-2.0-only
//! What becomes of CTF traces that are damaged, lack something, lie in odd places or use what is not read?

use std::path::Path;

use idlewise_madetraces::ctf::{Files, Lttng, Packet, store};
use idlewise_model::{Event, EventKind, HealthKind};
use idlewise_trace::{TraceError, TraceFile};

fn idle(at: u64) -> Event {
    Event { ts_ns: at, cpu: 0, pid: 0, kind: EventKind::CpuIdle { cpu: 0, state: Some(1) } }
}

fn lost(at: u64) -> Event {
    Event { ts_ns: at, cpu: 0, pid: -1, kind: EventKind::Lost { count: 0 } }
}

/// Three packets of two events.
fn trace() -> Files {
    let all: Vec<Event> = (1..=6).map(|i| idle(i * 10)).collect();
    Lttng { per_packet: 2, ..Lttng::default() }.write(&all)
}

fn open(files: &Files) -> Result<TraceFile, TraceError> {
    TraceFile::from_files(Path::new("t"), files.clone())
}

fn refusal(files: &Files) -> String {
    open(files).err().unwrap_or_else(|| panic!("was read")).to_string()
}

/// The events, and how many of `kind` the health counts.
fn read(files: &Files, kind: HealthKind) -> (Vec<Event>, u64) {
    let file = open(files).unwrap_or_else(|e| panic!("{e}"));
    let mut events = file.events().unwrap();
    let all = events.by_ref().collect();
    let count = events.health().count(kind);
    assert_eq!(events.health().iter().count(), usize::from(count > 0), "{:?}", events.health());
    (all, count)
}

fn stream(files: &mut Files) -> &mut Vec<u8> {
    files.get_mut("k_0").unwrap()
}

fn with_metadata(text: &str) -> Files {
    let mut files = trace();
    files.insert("metadata".into(), text.as_bytes().to_vec());
    files
}

fn number(files: &mut Files, packet: usize, at: usize, value: u64) {
    let at = packet * 4096 + at;
    stream(files)[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn a_cut_stream_gives_the_events_before_the_cut() {
    let mut files = trace();
    // In the padding, in the content and in the header of the last packet.
    for (len, events, kind) in [
        (3 * 4096 - 1, 6, HealthKind::Truncated),
        (2 * 4096 + 84 + 13, 5, HealthKind::Truncated),
        (2 * 4096 + 20, 4, HealthKind::Truncated),
    ] {
        stream(&mut files).truncate(len);
        let (all, count) = read(&files, kind);
        assert_eq!((all, count), ((1..=events).map(|i| idle(i * 10)).collect(), 1), "{len} bytes");
    }
}

#[test]
fn packets_that_make_no_sense_end_their_stream_and_are_counted() {
    for (at, value, left) in [
        // The magic number, the packet's size.
        (0, 7, 2),
        (Packet::PACKET_SIZE, 8, 2),
        (Packet::PACKET_SIZE, 4096 * 8 + 1, 2),
        (Packet::PACKET_SIZE, 0, 2),
    ] {
        let mut files = trace();
        number(&mut files, 1, at, value);
        let (all, count) = read(&files, HealthKind::BadPage);
        assert_eq!((all.len(), count), (left, 1), "{at}: {value}");
    }
    let mut other = trace();
    stream(&mut other)[4096 + 4] ^= 1;
    assert_eq!(read(&other, HealthKind::BadPage).1, 1);
    // A content without room for the packet's own header, and one beyond the packet: what is there is read.
    let mut small = trace();
    number(&mut small, 1, Packet::CONTENT_SIZE, 3);
    let (all, count) = read(&small, HealthKind::BadPage);
    assert_eq!((all.iter().map(|e| e.ts_ns).collect::<Vec<_>>(), count), (vec![10, 20, 50, 60], 1));
    // A size beyond the file.
    let mut large = trace();
    number(&mut large, 2, Packet::PACKET_SIZE, u64::MAX / 8 * 8);
    let (all, count) = read(&large, HealthKind::Truncated);
    assert_eq!((all.len(), count), (6, 1));
}

#[test]
fn an_event_that_nobody_describes_costs_the_rest_of_its_packet() {
    let mut files = trace();
    // The compact header's five bits of id.
    stream(&mut files)[4096 + 84] |= 9;
    let (all, count) = read(&files, HealthKind::UnknownEvent);
    assert_eq!((all, count), (vec![idle(10), idle(20), lost(50), idle(50), idle(60)], 1));
}

#[test]
fn an_event_longer_than_its_packet_is_counted() {
    let mut files = trace();
    number(&mut files, 1, Packet::CONTENT_SIZE, (84 + 12 + 11) * 8);
    let (all, count) = read(&files, HealthKind::BadEvent);
    assert_eq!((all, count), (vec![idle(10), idle(20), idle(30), lost(50), idle(50), idle(60)], 1));
}

#[test]
fn events_that_take_no_room_do_not_go_on_for_ever() {
    let trace = Lttng::default();
    let head = trace.head();
    let bare: String = head.split("stream {").next().unwrap().to_owned()
        + "stream { id = 0; packet.context := struct packet_context; };
           event { name = e; id = 0; stream_id = 0; fields := struct { }; };";
    let mut packet = trace.packet(0, 5, 0, 0);
    packet.bits.int(1, 64);
    let files = Files::from([("metadata".into(), bare.into_bytes()), ("k_0".into(), packet.finish(4096))]);
    assert_eq!(read(&files, HealthKind::BadEvent), (vec![], 1));
    // Nor do sequences of nothing.
    let text = head
        + "event { name = e; id = 0; stream_id = 0; fields := struct { uint32_t n; struct { string s[0]; } a[n];
               struct { } b[4000000000]; struct { struct { } x[n]; } c[4000000000]; uint8_t d; }; };";
    let mut packet = trace.packet(0, 5, 0, 0);
    packet.event(0, 6).int(u32::MAX.into(), 32).int(1, 8);
    let files = Files::from([("metadata".into(), text.into_bytes()), ("k_0".into(), packet.finish(4096))]);
    let (all, count) = read(&files, HealthKind::BadEvent);
    assert_eq!((all.len(), count), (1, 0));
}

#[test]
fn a_clock_that_leaps_or_goes_back_is_counted() {
    let at = [10, 5_000_000_000_000, 20];
    let all: Vec<Event> = at.map(idle).into();
    // A packet each, so that each time is reported in full.
    let files = Lttng { per_packet: 1, ..Lttng::default() }.write(&all);
    let file = open(&files).unwrap();
    let mut events = file.events().unwrap();
    assert_eq!(events.by_ref().collect::<Vec<_>>(), all);
    let health = events.health();
    assert_eq!((health.count(HealthKind::ClockJump), health.count(HealthKind::ClockBackwards)), (1, 1));
}

#[test]
fn files_that_are_no_streams_are_left_out_and_named() {
    let mut files = trace();
    files.insert("notes.txt".into(), b"hello".to_vec());
    files.insert("k_1".into(), Vec::new());
    let mut stray = stream(&mut files).clone();
    stray[4] ^= 1;
    files.insert("k_9".into(), stray);
    let file = open(&files).unwrap();
    assert_eq!(file.events().unwrap().count(), 6);
    let meta = file.meta();
    assert_eq!((meta.health.count(HealthKind::Ignored), meta.notes.len()), (2, 2));
    assert!(meta.notes[0].contains("k_9") && meta.notes[0].contains("UUID"), "{:?}", meta.notes);
    assert!(meta.notes[1].contains("notes.txt"), "{:?}", meta.notes);
    files.remove("k_0");
    let text = refusal(&files);
    assert!(text.contains("at least one file") && text.contains("k_9") && text.contains("; "), "{text}");
}

#[test]
fn an_event_that_cannot_be_read_is_noted_and_costs_only_its_packets() {
    let trace = Lttng { per_packet: 1, ..Lttng::default() };
    let text = trace.head()
        + "event { name = odd; id = 1; stream_id = 0; fields := struct { uint8_t a[nowhere]; }; };
           event { name = \"power_cpu_idle\"; id = 0; stream_id = 0; fields := struct { uint32_t state; uint32_t cpu_id; }; };";
    let mut first = trace.packet(0, 5, 0, 0);
    first.event(0, 6).int(1, 32).int(0, 32);
    first.event(1, 7).int(1, 32);
    let mut second = trace.packet(0, 8, 1, 0);
    second.event(0, 9).int(1, 32).int(0, 32);
    let bytes = [first.finish(4096), second.finish(4096)].concat();
    let files = Files::from([("metadata".into(), text.into_bytes()), ("k_0".into(), bytes)]);
    assert_eq!(read(&files, HealthKind::BadEvent), (vec![idle(6), lost(9), idle(9)], 1));
    let notes = open(&files).unwrap().meta().notes.clone();
    assert!(notes.len() == 1 && notes[0].contains("odd") && notes[0].contains("nowhere"), "{notes:?}");
}

#[test]
fn an_event_without_a_needed_field_is_passed_on_and_noted() {
    let trace = Lttng::default();
    let text = trace.head()
        + "event { name = \"sched_switch\"; id = 0; stream_id = 0; fields := struct { uint32_t _prev_tid; }; };";
    let mut packet = trace.packet(0, 5, 0, 0);
    packet.event(0, 6).int(1, 32);
    let files = Files::from([("metadata".into(), text.into_bytes()), ("k_0".into(), packet.finish(4096))]);
    let (all, _) = read(&files, HealthKind::BadEvent);
    assert!(matches!(all[..], [Event { kind: EventKind::Other { id: 0 }, pid: -1, .. }]), "{all:?}");
    assert!(
        open(&files).unwrap().meta().notes[0].contains("sched:sched_switch has no usable field prev_prio")
    );
}

#[test]
fn what_is_not_known_in_the_metadata_is_noted() {
    let text = Lttng::default().head()
        + "weather { sun = 1; rain := struct { }; };
           event { name = x; id = 3; stream_id = 0; colour = \"red\"; fields := struct {
               integer { size = 8; align = 8; taste = sweet; } a; }; };";
    let notes = open(&with_metadata(&text)).unwrap().meta().notes.clone();
    let all = notes.iter().map(|n| n.words.as_str()).collect::<Vec<_>>().join(" ");
    assert!(["block.weather", "event.colour", "integer.taste"].iter().all(|n| all.contains(n)), "{notes:?}");
}

#[test]
fn broken_metadata_is_refused_with_its_line() {
    let head = Lttng::default().head();
    let lines = head.matches('\n').count();
    for (text, words) in [
        ("event { name = ; };", "instead of \";\""),
        ("event { fields := struct { nothing x; }; };", "declared before instead of \"nothing\""),
        ("event { fields := struct a; };", "struct \"a\" to be declared"),
        ("event { id = -1; };", "event.id to be a number"),
        ("struct { integer { size = 0; } a; };", "a size of 1"),
        ("struct { integer { size = 8; align = 3; } a; };", "a power of two"),
        ("struct { integer { size = 8; align = 65536; } a; };", "a power of two up to"),
        ("struct { integer { align = 8; } a; };", "to have a size"),
        ("typealias integer { size = 8; byte_order = middle; } := x;", "byte order"),
        ("typealias integer { size = 8; map = somewhere; } := x;", "clock.NAME.value"),
        ("enum { A } x;", "\"int\""),
        ("enum e : struct { } { A };", "kept in an integer"),
        ("clock { freq = 0; name = c; };", "a clock of 1 kHz to 100 GHz instead of 0 Hz"),
        ("clock { freq = 18446744073709551615; };", "100 GHz instead of 18446744073709551615 Hz"),
        ("clock { freq = 99999999999999999999; };", "64 bits"),
        ("/* no end", "the end of a comment"),
        ("event { name = \"no end; };", "closing quote"),
        ("event { name = x; ", "instead of the end"),
        ("}", "a name"),
        ("\u{1}", "a word, a number"),
    ] {
        let refused = refusal(&with_metadata(&format!("{head}{text}")));
        assert!(refused.contains(words), "{text}: {refused}");
        assert!(refused.contains(&format!("(line {} of", lines + 1)), "{text}: {refused}");
        assert!(refused.starts_with("t/metadata: "), "{refused}");
    }
    let minor = refusal(&with_metadata(&head.replace("minor = 8", "minor = 9")));
    assert!(minor.contains("version 1.8 of CTF"), "{minor}");
    let order = refusal(&with_metadata(&head.replace("byte_order = le;", "")));
    assert!(order.contains("byte_order"), "{order}");
    let clock = refusal(&with_metadata(&head.replace("name = \"monotonic\"", "name = \"other\"")));
    assert!(clock.contains("no clock monotonic"), "{clock}");
    let two = refusal(&with_metadata("\u{1e}{\"type\":\"preamble\",\"version\":2}\n"));
    assert!(two.contains("version 2 of CTF is not supported yet; convert it"), "{two}");
    let nothing = refusal(&Files::from([("k_0".into(), Vec::new())]));
    assert!(nothing.contains("metadata of CTF 1.8"), "{nothing}");
}

#[test]
fn metadata_in_packets_may_be_cut_off_but_not_packed() {
    let mut files = trace();
    let metadata = files.get_mut("metadata").unwrap();
    let whole = metadata.clone();
    metadata[32] = 1;
    assert!(refusal(&files).contains("without compression"));
    // Behind the last packet there may be a piece of another.
    files.insert("metadata".into(), [&whole[..], &whole[..20]].concat());
    let file = open(&files).unwrap();
    assert!(file.meta().notes[0].contains("cut off"), "{:?}", file.meta().notes);
    assert_eq!(file.events().unwrap().count(), 6);
    files.insert("metadata".into(), [&whole[..], &[7; 40]].concat());
    assert!(refusal(&files).contains("magic number"));
}

#[test]
fn types_that_grow_without_bound_are_refused_in_time() {
    let head = Lttng::default().head();
    // Each holds the one before twice.
    let mut doubling = "struct s0 { string a; };".to_owned();
    let mut nested = "struct n0 { uint8_t a; };".to_owned();
    let mut wide = "struct w0 { uint8_t a; };".to_owned();
    for i in 1..60 {
        doubling += &format!("struct s{i} {{ struct s{} a; struct s{} b; }};", i - 1, i - 1);
        wide += &format!("struct w{i} {{ struct w{} a[4000000000]; }};", i - 1);
    }
    for i in 1..5_000 {
        nested += &format!("struct n{i} {{ struct n{} a; }};", i - 1);
    }
    for (types, last) in [(doubling, "s59"), (nested, "n4999"), (wide, "w59")] {
        let event = format!("event {{ name = x; id = 5; stream_id = 0; fields := struct {last}; }};");
        let file = open(&with_metadata(&format!("{head}{types}{event}"))).unwrap();
        assert!(file.meta().notes[0].contains("x cannot be read"), "{last}: {:?}", file.meta().notes);
    }
    let deep = format!("{head}{}", "struct { ".repeat(100_000));
    assert!(refusal(&with_metadata(&deep)).contains("levels of braces"));
    let dimensions = format!("{head}struct {{ uint8_t a{}; }};", "[2]".repeat(100_000));
    assert!(refusal(&with_metadata(&dimensions)).contains("dimensions"));
}

#[test]
fn a_trace_is_found_in_the_directory_that_is_named() {
    let root = tempfile::tempdir().unwrap();
    let dir = |name: &str| root.path().join(name);
    let count = |path: &Path| TraceFile::open(path).map(|f| f.events().unwrap().count());
    store(&dir("session/kernel"), &trace());
    std::fs::create_dir(dir("session/kernel/index")).unwrap();
    std::fs::write(dir("session/kernel/index/k_0.idx"), b"\xc1\xf1\xdc\xc1").unwrap();
    for name in ["session", "session/kernel", "session/kernel/metadata", "."] {
        assert_eq!(count(&dir(name)).unwrap(), 6, "{name}");
    }
    // Of several the kernel's, if there is one.
    let mut ust = trace();
    let text = Lttng::default().head().replace("domain = \"kernel\"", "domain = \"ust\"");
    ust.insert("metadata".into(), text.into_bytes());
    store(&dir("session/ust/uid/1000/64-bit"), &ust);
    assert_eq!(count(&dir("session")).unwrap(), 6);
    let programs = TraceFile::open(&dir("session/ust")).unwrap();
    assert!(
        programs.meta().notes.iter().any(|n| n.contains("not of the kernel")),
        "{:?}",
        programs.meta().notes
    );
    store(&dir("session/again/kernel"), &trace());
    let refused = count(&dir("session")).unwrap_err().to_string();
    assert!(
        refused.contains("holds 3 CTF traces: ") && refused.contains("session/again/kernel"),
        "{refused}"
    );
    // A stream alone, metadata under another name, and a directory without a trace.
    let stream = count(&dir("session/kernel/k_0")).unwrap_err().to_string();
    assert!(stream.contains("a stream of a CTF trace") && stream.contains("directory"), "{stream}");
    std::fs::copy(dir("session/kernel/metadata"), dir("copy")).unwrap();
    let copy = count(&dir("copy")).unwrap_err().to_string();
    assert!(copy.contains("the metadata of a CTF trace"), "{copy}");
    let memory = TraceFile::from_bytes(Path::new("metadata"), trace()["metadata"].clone());
    assert!(memory.err().unwrap().to_string().contains("the metadata of a CTF trace"));
    std::fs::create_dir(dir("empty")).unwrap();
    assert!(count(&dir("empty")).unwrap_err().to_string().contains("a directory"));
}
