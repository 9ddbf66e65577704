// SPDX-License-Identifier: GPL-2.0-only
//! Does a text whose lines are not in order give the events in order of time, each once?

use std::path::Path;

use idlewise_model::{Event, EventKind, Health, HealthKind};
use idlewise_trace::TraceFile;

fn read(text: &str) -> (Vec<Event>, Health, String) {
    let file = TraceFile::from_bytes(Path::new("text"), text.as_bytes().to_vec()).unwrap();
    let mut events = file.events().unwrap();
    let all = events.by_ref().collect();
    let notes: Vec<_> = file.meta().notes.iter().map(|note| note.words.clone()).collect();
    (all, events.health().clone(), notes.join("; "))
}

const HEAD: &str = "# tracer: nop\n#\n";

/// Lines of two CPUs, by time; the number is that of the line.
fn lines() -> Vec<(u32, String)> {
    (0..40u32)
        .map(|n| {
            let (cpu, state) = (n % 3 % 2, if n % 4 < 2 { 1 } else { u32::MAX });
            (cpu, format!("          <idle>-0     [{cpu:03}] d..1.    1.0000{n:02}: cpu_idle: state={state} cpu_id={cpu}\n"))
        })
        .collect()
}

fn of(lines: &[(u32, String)], cpu: Option<u32>) -> String {
    lines.iter().filter(|line| cpu.is_none_or(|cpu| cpu == line.0)).map(|line| line.1.as_str()).collect()
}

#[test]
fn cpus_one_after_the_other_are_sorted_and_it_is_said() {
    let lines = lines();
    let (expected, health, notes) = read(&format!("{HEAD}{}", of(&lines, None)));
    assert!(health.is_empty() && !notes.contains("sorted"), "{notes}");
    let [zero, one] = [0, 1].map(|cpu| of(&lines, Some(cpu)));
    for text in [
        format!("{HEAD}{zero}{HEAD}{one}"),
        format!("{HEAD}{one}{HEAD}{zero}"),
        format!("{HEAD}{zero}{HEAD}{HEAD}{one}"),
        format!("{zero}{one}"),
        format!("{HEAD}{zero}{one}").replace('\n', "\r\n"),
        format!("{HEAD}{zero}{one}").lines().map(|line| format!("> {line}\n")).collect(),
    ] {
        let (events, health, notes) = read(&text);
        assert_eq!(events, expected, "{text}");
        assert!(health.is_empty(), "{health:?}");
        assert!(notes.contains("one after the other") && notes.contains("sorted by time"), "{notes}");
    }
}

#[test]
fn losses_stand_where_they_were() {
    let lines = lines();
    let zero = of(&lines, Some(0));
    let one = of(&lines, Some(1)).lines().enumerate().fold(String::new(), |text, (i, line)| {
        let lost = if i == 3 { "CPU:1 [LOST 7 EVENTS]\n" } else { "" };
        text + lost + line + "\n"
    });
    let (events, health, _) = read(&format!("{HEAD}{zero}{HEAD}{one}"));
    assert_eq!(health.count(HealthKind::LostEvents), 7);
    let at = events.iter().position(|e| e.kind == EventKind::Lost { count: 7 }).unwrap();
    assert!(events.is_sorted_by_key(|e| e.ts_ns) && events[at].cpu == 1);
    assert_eq!(events[..at].iter().filter(|e| e.cpu == 1).count(), 3);
}

#[test]
fn parts_that_overlap_count_once() {
    let lines = lines();
    let (expected, ..) = read(&format!("{HEAD}{}", of(&lines, None)));
    let part = |range: std::ops::Range<usize>| format!("{HEAD}{}", of(&lines[range], None));
    for text in [
        part(0..25) + &part(15..40),
        part(15..40) + &part(0..25),
        part(0..20) + &part(10..30) + &part(18..40),
        part(0..40) + &part(0..40),
        part(0..40) + &part(10..30),
        (part(0..25) + &part(15..40)).replace(HEAD, ""),
    ] {
        let (events, health, notes) = read(&text);
        assert_eq!(events, expected, "{text}");
        assert!(health.is_empty(), "{health:?}");
        assert!(notes.contains("overlap in the text"), "{notes}");
    }
}

#[test]
fn recordings_that_only_share_a_file_come_as_they_stand() {
    let lines = lines();
    let again = of(&lines, None).replace("d..1.", "d..2.");
    let (events, health, notes) = read(&format!("{HEAD}{}{HEAD}{again}", of(&lines, None)));
    assert_eq!(health.count(HealthKind::NewRecording), 1);
    assert!(events.len() > 80 && !notes.contains("overlap"), "{notes}");
    assert!(
        notes.contains("2 recordings of the same time") && notes.contains("a file of its own"),
        "{notes}"
    );
    let (_, _, notes) = read(&format!("{HEAD}{}{again}", of(&lines, None)));
    assert!(notes.contains("in the order of the lines"), "{notes}");
}

/// Of another time, or another boot: each is read, and nothing goes over from one to the other.
#[test]
fn recordings_apart_in_time_are_both_read_whatever_their_order() {
    for (head, format) in [(HEAD, "trace"), ("cpus=2\n", "trace-cmd report")] {
        let earlier = of(&lines(), None);
        let later = earlier.replace("1.0000", "7.0000");
        for (text, backwards) in [
            (format!("{head}{earlier}{head}{later}"), false),
            (format!("{head}{later}{head}{earlier}"), true),
        ] {
            let (events, health, notes) = read(&text);
            let times: Vec<u64> = events
                .iter()
                .filter(|e| !matches!(e.kind, EventKind::Lost { .. }))
                .map(|e| e.ts_ns)
                .collect();
            assert!(times.len() == 80 && times.is_sorted(), "{format}: {times:?}");
            assert_eq!(health.count(HealthKind::NewRecording), 1, "{format}: {health:?}");
            assert_eq!(health.count(HealthKind::ClockBackwards), 0, "{format}: {health:?}");
            let gaps: Vec<u32> = events[40..42].iter().map(|e| e.cpu).collect();
            assert!(
                matches!(events[40].kind, EventKind::Lost { count: 0 }) && gaps == [0, 1],
                "{format}: {events:?}"
            );
            assert_eq!(
                notes.contains("a later part stands before an earlier one"),
                backwards,
                "{format}: {notes}"
            );
        }
    }
}
