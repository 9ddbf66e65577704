// SPDX-License-Identifier: GPL-2.0-only
//! Are the fields of CTF events found wherever TSDL can put them: at any bit, in both byte orders, aligned, behind texts,
//! sequences and variants, in large events and packets; and does babeltrace2 agree?

use crate::common;

use common::babeltrace::babeltrace_agrees;
use idlewise_madetraces::ctf::{Bits, Files, Lttng, events, idle_event, open};
use idlewise_model::{Event, EventKind};

fn event(ts_ns: u64, cpu: u32, pid: i32, kind: EventKind) -> Event {
    Event { ts_ns, cpu, pid, kind }
}

/// A trace of one packet with idle events of these fields, which `write` fills with state and CPU, and what the reader
/// makes of two of them.
fn idle_trace(big: bool, declarations: &str, fields: &str, write: impl Fn(&mut Bits, u64, u64)) -> Files {
    let trace = Lttng { big, ..Lttng::default() };
    let mut packet = trace.packet(5, 100, 0, 0);
    write(packet.event(0, 101), 3, 5);
    write(packet.event(0, 102), 0xffff_ffff, 5);
    write(packet.event(0, 103), 2, 5);
    let text = trace.head() + declarations + &idle_event(fields);
    Files::from([("metadata".into(), trace.metadata(&text)), ("k_5".into(), packet.finish(4096))])
}

fn idle_events() -> Vec<Event> {
    let idle = |at, state| event(at, 5, 0, EventKind::CpuIdle { cpu: 5, state });
    vec![idle(101, Some(3)), idle(102, None), idle(103, Some(2))]
}

/// Checks fields in both byte orders, with babeltrace2 too.
fn idle_fields(declarations: &str, fields: &str, write: impl Fn(&mut Bits, u64, u64)) {
    for big in [false, true] {
        let files = idle_trace(big, declarations, fields, &write);
        assert_eq!(events(files.clone()), idle_events(), "big {big}: {fields}");
        babeltrace_agrees(&files);
    }
}

const STATE: &str = "integer { size = 32; align = 8; } _state;";
const CPU: &str = "integer { size = 32; align = 8; } _cpu_id;";

#[test]
fn numbers_lie_at_any_bit() {
    for gap in 1..=9usize {
        let fields = format!(
            "integer {{ size = {gap}; align = 1; }} a; integer {{ size = 32; align = 1; }} _state; \
             integer {{ size = 3; align = 1; }} _cpu_id;"
        );
        idle_fields("", &fields, |bits, state, cpu| {
            bits.align(1).put(0x1ff, gap).put(state, 32).put(cpu, 3);
        });
        // Eight bytes that lie in nine.
        let fields = format!(
            "integer {{ size = {gap}; align = 1; }} a; integer {{ size = 64; align = 1; signed = true; }} _state; \
             integer {{ size = 5; align = 1; }} _cpu_id;"
        );
        idle_fields("", &fields, |bits, state, cpu| {
            bits.put(0, gap).put(state, 64).put(cpu, 5);
        });
    }
}

#[test]
fn negative_numbers_keep_their_sign() {
    let trace = Lttng::default();
    let mut packet = trace.packet(0, 1, 0, 0);
    packet.event(0, 2).put(0b10110, 5).put(u64::MAX - 6, 59);
    let text = trace.head()
        + "event { name = \"power:pm_qos_update_target\"; id = 0; stream_id = 0; fields := struct {
            integer { size = 5; align = 1; signed = true; } curr_value;
            integer { size = 59; align = 1; signed = true; } prev_value; }; };";
    let files =
        Files::from([("metadata".into(), trace.metadata(&text)), ("k_0".into(), packet.finish(4096))]);
    assert_eq!(
        events(files),
        [event(2, 0, -1, EventKind::PmQosUpdateTarget { prev_value: -7, curr_value: -10 })]
    );
}

#[test]
fn fields_are_aligned_as_their_types_ask() {
    let fields = "integer { size = 8; align = 8; } a; struct { integer { size = 8; align = 64; } b; } c; \
         integer { size = 16; align = 32; } d; floating_point { exp_dig = 8; mant_dig = 24; align = 32; } f;
         integer { size = 32; align = 256; } _state; struct { } align(64) e;"
        .to_owned()
        + CPU;
    idle_fields("", &fields, |bits, state, cpu| {
        bits.align(256).put(1, 8).align(64).put(2, 8).align(32).put(3, 16).align(32).put(0, 32);
        bits.align(256).put(state, 32).align(64).int(cpu, 32);
    });
}

#[test]
fn what_varies_in_length_is_stepped_over() {
    // Texts, sequences of numbers, of structures with texts in them, arrays of them, and sequences in sequences.
    let declarations = "typealias integer { size = 16; align = 8; } := u16;
         typedef u16 pair[2];
         struct inner { u16 n; string s; pair p; };";
    let fields = format!(
        "string a; u16 len; u16 b[len]; {STATE} struct inner c[len]; struct inner d[2];
         struct {{ u16 n; struct {{ u16 m; u16 x[m]; }} y[n]; }} e;
         integer {{ size = 8; align = 8; encoding = UTF8; }} f[ len ]; {CPU} u16 g[ e.n ]; string z;"
    );
    idle_fields(declarations, &fields, |bits, state, cpu| {
        let inner = |bits: &mut Bits| {
            bits.int(7, 16).text("in").int(1, 16).int(2, 16);
        };
        bits.text("text").int(3, 16).int(1, 16).int(2, 16).int(3, 16).int(state, 32);
        (0..5).for_each(|_| inner(bits));
        bits.int(2, 16).int(0, 16).int(3, 16).int(1, 16).int(2, 16).int(3, 16);
        bits.raw(b"abc").int(cpu, 32).int(0, 16).int(0, 16).text("");
    });
    // An empty sequence still aligns what follows to its elements.
    let fields = format!(
        "integer {{ size = 8; align = 8; }} n; integer {{ size = 32; align = 32; }} s[n]; \
         integer {{ size = 8; align = 8; }} _state8; {STATE} {CPU}"
    );
    idle_fields("", &fields, |bits, state, cpu| {
        bits.align(32).put(0, 8).align(32).put(9, 8).int(state, 32).int(cpu, 32);
    });
}

#[test]
fn bits_after_a_sequence_of_bits_follow_at_once() {
    let fields = "integer { size = 5; align = 1; } n; integer { size = 3; align = 1; } s[n];
         integer { size = 32; align = 1; } _state; integer { size = 7; align = 1; } _cpu_id;";
    idle_fields("", fields, |bits, state, cpu| {
        bits.put(3, 5).put(1, 3).put(2, 3).put(3, 3).put(state, 32).put(cpu, 7);
    });
}

#[test]
fn variants_are_as_long_as_the_chosen_option() {
    let declarations = "enum kind : integer { size = 8; align = 8; signed = true; } { none = -1, \"one\", \
             two = 2 ... 4, text = 5, };
         variant any { struct { } none; integer { size = 8; align = 8; } one; struct { \
             integer { size = 64; align = 64; } big; } two; string text; };";
    let fields = format!(
        "enum kind k; variant any <k> v; {STATE} enum kind l; struct {{ variant any <l> w; }} x; {CPU} \
         variant any <k> y;"
    );
    for (tag, other) in [(-1i64, 5i64), (0, 3), (3, 0), (5, -1)] {
        idle_fields(declarations, &fields, |bits, state, cpu| {
            let option = |bits: &mut Bits, tag: i64| {
                match tag {
                    -1 => bits,
                    0 => bits.int(1, 8),
                    5 => bits.text("five"),
                    _ => bits.align(64).put(2, 64),
                };
            };
            bits.int(tag as u64, 8);
            option(bits, tag);
            bits.int(state, 32).int(other as u64, 8);
            option(bits, other);
            bits.int(cpu, 32);
            option(bits, tag);
        });
    }
}

#[test]
fn lengths_are_found_in_contexts_and_by_full_paths() {
    let trace = Lttng::default();
    let mut packet = trace.packet(5, 100, 0, 0);
    for (at, state) in [(101, 3), (102, 0xffff_ffff), (103, 2)] {
        // The stream's context, the event's, then the fields.
        packet
            .event(0, at)
            .int(2, 8)
            .int(1, 8)
            .raw(&[9; 2])
            .raw(&[8; 1])
            .int(state, 32)
            .raw(&[7; 2])
            .int(5, 32);
    }
    let context = "\tevent.context := struct { integer { size = 8; align = 8; } n; };\n};\n\nevent";
    let head = trace.head().trim_end().strip_suffix("};").unwrap().to_owned() + context;
    let text = head
        + &format!(
            " {{ name = \"power_cpu_idle\"; id = 0; stream_id = 0;
             context := struct {{ integer {{ size = 8; align = 8; }} m; }};
             fields := struct {{ uint8_t a[stream.event.context.n]; uint8_t b[event.context.m]; {STATE}
                 uint8_t c[stream.event.context.n]; {CPU} }}; }};"
        );
    let files =
        Files::from([("metadata".into(), trace.metadata(&text)), ("k_5".into(), packet.finish(4096))]);
    assert_eq!(events(files.clone()), idle_events());
    babeltrace_agrees(&files);
}

#[test]
fn events_and_packets_may_be_larger_than_the_window() {
    // One packet of a megabyte and events of up to 300 kB, whose alignments count from the packet's start.
    let trace = Lttng::default();
    let text = trace.head()
        + &idle_event(&format!(
            "uint32_t n; uint8_t s[n]; integer {{ size = 32; align = 4096; }} z; {STATE} {CPU}"
        ));
    let mut packet = trace.packet(5, 100, 0, 0);
    let mut all = Vec::new();
    for i in 0..40u64 {
        let n = if i % 10 == 3 { 300_000 } else { 5_001 * i as usize };
        // The event is aligned as its most aligned field.
        let bits = packet.event(0, 200 + i).align(4096);
        bits.int(n as u64, 32).raw(&vec![b'x'; n]).align(4096).put(1, 32).int(i, 32).int(5, 32);
        all.push(event(200 + i, 5, 0, EventKind::CpuIdle { cpu: 5, state: Some(i as u32) }));
    }
    let mut bytes = packet.finish(4);
    assert!(bytes.len() > 1 << 20);
    // A second packet, whose start is no round number.
    let mut packet = trace.packet(5, 1_000, 1, 0);
    packet.event(0, 1_001).align(4096).int(1, 32).raw(b"y").align(4096).put(1, 32).int(9, 32).int(5, 32);
    all.push(event(1_001, 5, 0, EventKind::CpuIdle { cpu: 5, state: Some(9) }));
    bytes.extend(packet.finish(1));
    let files = Files::from([("metadata".into(), trace.metadata(&text)), ("k_5".into(), bytes)]);
    let file = open(files.clone());
    let mut stream = file.events().unwrap();
    assert_eq!(stream.by_ref().collect::<Vec<_>>(), all);
    assert!(stream.health().is_empty(), "{:?}", stream.health());
    babeltrace_agrees(&files);
}
