// SPDX-License-Identifier: GPL-2.0-only
//! Is Perfetto's wire format read and written in all of its forms?

use std::path::Path;

use idlewise_model::{Event, EventKind};
use idlewise_trace::write::PerfettoWriter;
use idlewise_trace::{TraceFile, TraceMeta};

use crate::common::Called;
use crate::common::proto::{Message, bundle, event, message, packet, trace};

fn open(packets: Vec<Message>) -> TraceFile {
    TraceFile::from_bytes(Path::new("it.perfetto-trace"), trace(packets)).unwrap()
}

/// The events of one bundle, and how much in it was damaged.
fn read(bundle: Message) -> (Vec<EventKind>, u64) {
    let file = open(vec![packet(bundle)]);
    let mut events = file.events().unwrap();
    let kinds = events.by_ref().map(|e| e.kind).collect();
    let mut health = file.meta().health.clone();
    health.merge(events.health());
    (kinds, health.iter().map(|(_, c)| c.count).sum())
}

#[test]
fn numbers_of_any_length_are_read_and_longer_ones_refused() {
    let function = u64::MAX - 4095;
    let of = |number: &[u8]| {
        let expires = Message([&[0x08][..], number].concat()).n(2, 5).n(3, function);
        read(bundle(0, vec![event(10, 7, 553, expires)]))
    };
    let whole = |hrtimer| (vec![EventKind::HrtimerExpireEntry { hrtimer, function, now: 5 }], 0);
    assert_eq!(of(&[0x2a]), whole(42));
    assert_eq!(of(&[0xac, 0x02]), whole(300));
    assert_eq!(of(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), whole(u64::MAX));
    // Nothing of the event is known then: it is broken, and lacks what it needs.
    let refused = |(kinds, damage): (Vec<EventKind>, u64)| {
        assert!(matches!(kinds[..], [EventKind::Other { .. }]) && damage == 2, "{kinds:?} {damage}");
    };
    refused(of(&[0x80; 11]));
    // It ends before its last byte.
    let cut = Message(vec![0x08, 0x80]);
    refused(read(bundle(0, vec![event(10, 7, 552, cut)])));
}

#[test]
fn a_message_ends_at_the_first_broken_field() {
    // What the kernel is called, with `between` after its release.
    let kernel = |between: &[u8]| {
        let mut uname = message().b(1, "Linux").b(3, "6.9.1");
        uname.0.extend(between);
        open(vec![message().m(45, message().m(1, uname.b(4, "x86_64")))]).meta().kernel.clone()
    };
    assert_eq!(kernel(&[]), "6.9.1 x86_64");
    // Numbers, and four and eight bytes that are not looked at.
    assert_eq!(kernel(&[0x28, 1, 0x35, 1, 2, 3, 4, 0x39, 1, 2, 3, 4, 5, 6, 7, 8]), "6.9.1 x86_64");
    // A text that is longer than what is there.
    assert_eq!(kernel(&[0x2a, 99, 0]).trim(), "6.9.1");
    // A field number of 0 and the wire types 3, 4, 6, 7 do not exist.
    for tag in [0x02u8, 0x0b, 0x0c, 0x0e, 0x0f] {
        assert_eq!(kernel(&[tag, 0]).trim(), "6.9.1", "{tag}");
        // An event that breaks off so is what stands before that, and counted.
        let mut broken = message().n(1, 1).n(2, 0);
        broken.0.extend([tag, 0]);
        let told = EventKind::CpuIdle { cpu: 0, state: Some(1) };
        assert_eq!(read(bundle(0, vec![event(10, 7, 13, broken)])), (vec![told], 1), "{tag}");
    }
}

#[test]
fn repeated_numbers_may_be_packed() {
    // Three switches: in one piece, in three, and in both.
    let columns: [&dyn Fn(Message, u32, [i64; 3]) -> Message; 3] = [
        &|m, field, n| m.packed(field, &n),
        &|m, field, n| n.into_iter().fold(m, |m, n| m.n(field, n)),
        &|m, field, [a, b, c]| m.packed(field, &[a, b]).n(field, c),
    ];
    let switches = columns.map(|column| {
        let compact = column(message(), 1, [1000, 300, 7]);
        let compact = column(column(column(compact, 2, [1, 300, 7]), 3, [42, 0, 300]), 4, [120, 120, 98]);
        read(bundle(0, vec![]).m(4, compact))
    });
    assert_eq!((switches[0].0.len(), switches[0].1), (3, 0), "{switches:?}");
    assert!(switches.iter().all(|s| *s == switches[0]), "{switches:?}");
    let EventKind::SchedSwitch { prev_state: 300, next_pid: 0, .. } = switches[0].0[1] else {
        panic!("{switches:?}")
    };
}

#[test]
fn messages_of_any_length_have_it_before_them() {
    let kind =
        EventKind::SchedSwitch { prev_pid: 5, prev_prio: 120, prev_state: 1, next_pid: 6, next_prio: 98 };
    let switch = Event { ts_ns: 1_000, cpu: 1, pid: 5, kind };
    // With the names its message has all lengths about 127 and 128, with its packet many more.
    for n in (0..150).chain([300, 8_000, 20_000]) {
        let names = Called(Some("x".repeat(n)));
        let mut written = PerfettoWriter::new(Vec::new(), &TraceMeta::default()).unwrap();
        written.event(&switch, &names).unwrap();
        let file = TraceFile::from_bytes(Path::new("written"), written.finish().unwrap()).unwrap();
        let mut events = file.events().unwrap();
        assert_eq!(events.by_ref().collect::<Vec<_>>(), [switch], "{n}");
        assert!(events.health().is_empty() && file.meta().health.is_empty(), "{n}");
        assert_eq!(events.comm(6), names.0.as_deref(), "{n}");
    }
}
