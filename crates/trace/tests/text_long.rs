// SPDX-License-Identifier: GPL-2.0-only
//! Does a text come whole however it is packed and fetched?

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use idlewise_model::{Event, EventKind, Health, HealthKind};

use crate::text_lines::{LINES, base64, page, read};

/// What is fetched at a time, and the longest line that is read whole, bytes.
const BUFFER: usize = 256 << 10;

fn packed(text: &[u8]) -> Vec<u8> {
    let mut w = ZlibEncoder::new(Vec::new(), Compression::default());
    w.write_all(text).unwrap();
    w.finish().unwrap()
}

/// The same text as it is, and as atrace packs it, which comes in other pieces.
fn both(text: &str) -> [(Vec<Event>, Health); 2] {
    let of_atrace = [b"capturing trace... done\nTRACE:\n".to_vec(), packed(text.as_bytes())].concat();
    [read(text), read(of_atrace)]
}

#[test]
fn base64_is_read_over_line_ends() {
    let (expected, _) = read(LINES);
    assert_eq!(expected.len(), 2);
    for more in 0..3 {
        // Of any length, so that it ends with none, one or two signs that stand for nothing.
        let text = format!("{LINES}#{}\n", "\u{b7}".repeat(7 * more));
        let plain: String = base64(&packed(text.as_bytes())).split_whitespace().collect();
        for between in ["", "\n", "\r\n", " "] {
            for width in [1, 3, 4, 7, 76] {
                let broken: Vec<&str> =
                    plain.as_bytes().chunks(width).map(|c| std::str::from_utf8(c).unwrap()).collect();
                let body = format!("<script class=\"trace-data\">\n{}\n</script>", broken.join(between));
                let (events, health) = read(page(&body));
                assert!(
                    events == expected && health.is_empty(),
                    "{width} {between:?}: {events:?} {health:?}"
                );
            }
        }
    }
}

#[test]
fn lines_come_whole_however_the_text_is_fetched() {
    let mut text = "# tracer: nop\n#\n".to_owned();
    let mut expected = Vec::new();
    // Lines of many lengths: some lie across the end of what is fetched at a time, wherever that is.
    while text.len() < 5 * BUFFER {
        let n = expected.len() as u64;
        let end = ["\n", "\r\n", "\n\n"][n as usize % 3];
        let comm = "x".repeat(n as usize % 15 + 1);
        write!(text, " {comm}-{} [002] d..1. 7.{n:09}: cpu_idle: state=1 cpu_id=2{end}", n + 1).unwrap();
        let kind = EventKind::CpuIdle { cpu: 2, state: Some(1) };
        expected.push(Event { ts_ns: 7_000_000_000 + n, cpu: 2, pid: n as i32 + 1, kind });
    }
    // The last one lacks its end, and its number stands where it is said to be broken.
    text.push_str(" x-1 [002] d..1. 8.000000000: cpu_idle: state=");
    let lines = text.lines().count();
    for (mut events, health) in both(&text) {
        let last = events.pop().unwrap();
        assert!(matches!(last.kind, EventKind::Other { .. }), "{last:?}");
        assert!(events == expected, "{} of {}", events.len(), expected.len());
        let told: Vec<_> = health.iter().map(|(kind, c)| (kind, c.count, c.first.clone())).collect();
        let [(HealthKind::BadEvent, 1, first)] = &told[..] else { panic!("{told:?}") };
        assert!(first.starts_with(&format!("line {lines},")), "{first}");
    }
}

#[test]
fn a_line_beyond_all_measure_is_cut_and_the_next_is_whole() {
    let event = |s: u32| format!(" a-1 [000] d..1. {s}.000000: cpu_idle: state=1 cpu_id=0\n");
    for long in [2 * BUFFER, 3 * BUFFER + 5] {
        let bad = " a-1 [000] d..1. 3.000000: cpu_idle: state=\n";
        let text = format!("# tracer: nop\n{}{}{}\n{bad}{}", event(1), event(2), "x".repeat(long), event(4));
        for (events, health) in both(&text) {
            let times: Vec<u64> = events.iter().map(|e| e.ts_ns / 1_000_000_000).collect();
            assert_eq!(times, [1, 2, 3, 4], "{long}");
            let of_bad = health.iter().find(|(kind, _)| *kind == HealthKind::BadEvent).unwrap().1;
            assert_eq!(of_bad.count, 1);
            assert!(of_bad.first.starts_with("line 5,"), "{}", of_bad.first);
        }
        // It may be the last one, too.
        let text = format!("# tracer: nop\n{}{}", event(1), "x".repeat(long));
        for (events, _) in both(&text) {
            assert_eq!(events.len(), 1, "{long}");
        }
    }
}
