// SPDX-License-Identifier: GPL-2.0-only
//! Are the numbers of a score of one world: causes of wakeups, shares of idle time, the time that was recorded?

use std::fmt::Write as _;
use std::path::PathBuf;

use idlewise_recording::ReplaySetup;
use idlewise_report::Format;
use idlewise_study::info::info;
use idlewise_study::replay::{Per, ReplayRequest};
use idlewise_study::score::{ScoreReport, score};
use idlewise_testkit::{known, recording, request, run, setup};
use idlewise_view as view;

/// A systrace of one CPU: nine idle periods in WFI, four in a state that no phone of ours has; first stands the mark by
/// which the recorder says what time it is.
fn systrace(dir: &tempfile::TempDir) -> PathBuf {
    let mut text = String::from("# tracer: nop\n#\n");
    text += "           <...>-77    [000] ...1     0.000000: tracing_mark_write: trace_event_clock_sync: parent_ts=0.0\n";
    for n in 0..13_u32 {
        let state = if n % 3 == 2 { 6 } else { 0 };
        let line = |us: u32, state: u32| {
            format!("          <idle>-0     [000] d..2 50260.{us:06}: cpu_idle: state={state} cpu_id=0\n")
        };
        write!(text, "{}{}", line(n * 10_000, state), line(n * 10_000 + 9_000, u32::MAX)).unwrap();
    }
    let path = dir.path().join("phone.txt");
    std::fs::write(&path, text).unwrap();
    path
}

fn text(report: &ScoreReport) -> String {
    view::score(report, Per::All).render(Format::Table, report).unwrap()
}

#[test]
fn idle_periods_in_states_that_the_machine_lacks_count_nowhere_or_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let report = score(&systrace(&dir), &known("hikey960", ""), Per::All, None).unwrap();
    let s = &report.score;
    assert_eq!((s.wakeups, s.unplaced[&6].entries, s.unplaced[&6].residency_ns), (9, 4, 36_000_000));
    assert_eq!(s.causes.values().sum::<u64>(), 9, "causes sum to 100 %");
    assert_eq!(s.states.iter().map(|s| s.residency_pct).sum::<f64>(), 100.0);
    assert_eq!(s.states.iter().map(|s| s.residency_ns).sum::<u64>(), s.idle_ns);
    let text = text(&report);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let warned = "WARNING 4 idle periods, 0.036 s together, are not counted among the kernel's choices: hikey960 does not have their states \
                  (state 6: 4); is it the machine that was recorded?";
    assert!(words.contains(warned), "{text}");
}

#[test]
fn what_a_trace_does_not_tell_is_a_question_mark() {
    let dir = tempfile::tempdir().unwrap();
    let report = score(&systrace(&dir), &known("hikey960", ""), Per::All, None).unwrap();
    let json = serde_json::to_value(&report.score).unwrap();
    for field in ["ticks", "ticks_kept", "ticks_stopped", "ticks_stopped_before"] {
        assert_eq!(json[field], serde_json::Value::Null, "{field}");
    }
    let text = text(&report);
    let row = text.lines().find(|l| l.starts_with(" all")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        cells.iter().filter(|c| **c == "?").count(),
        4,
        "tick wakes, kept, stopped, stopped before: {row}"
    );
    let csv = view::score(&report, Per::All).render(Format::Csv, &report).unwrap();
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let head = rows.headers().unwrap().clone();
    let cells = rows.records().next().unwrap().unwrap();
    for name in ["tick_wakes", "tick_kept", "tick_stopped", "tick_stopped_before"] {
        assert_eq!(&cells[head.iter().position(|h| h == name).unwrap()], "", "{name}");
    }
}

#[test]
fn a_clocks_mark_at_0_is_not_the_start_of_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let path = systrace(&dir);
    let report = score(&path, &known("hikey960", ""), Per::All, None).unwrap();
    assert_eq!(report.head.span_ns, 129_000_000);
    assert!(
        report.head.notes.iter().any(|n| n.starts_with("a mark at 0.000000000 s")),
        "{:?}",
        report.head.notes
    );
    let info = info(&path, &idlewise_recording::RecordingOptions::default(), &[]).unwrap();
    assert_eq!((info.first_ns, info.span_ns), (50_260_000_000_000, 129_000_000));
    assert_eq!(info.cpus[0].longest_silence_ns, 9_000_000);
    assert!(info.notes.iter().any(|n| n.starts_with("a mark at 0.000000000 s")), "{:?}", info.notes);
}

#[test]
fn what_became_of_the_tick_adds_up_to_the_wakeups() {
    let data = |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    let options = idlewise_recording::RecordingOptions::default();
    let mut before = 0;
    for name in ["mixed.dat", "sleeploop.dat", "lab/teo-util-timer.dat"] {
        let s = score(&data(name), &options, Per::All, None).unwrap().score;
        let parts = [s.ticks_kept, s.ticks_stopped, s.ticks_stopped_before].map(Option::unwrap);
        assert_eq!(parts.iter().sum::<u64>() + s.ticks_unknown, s.wakeups, "{name}");
        before += parts[2];
    }
    assert!(before > 0, "entries with the tick stopped earlier in the visit have a column, too");
}

#[test]
fn entries_without_a_governor_are_not_refused_ones() {
    // While governors are switched the kernel's default idle routine runs, for up to 12 ms here.
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lab/teo-util-timer.dat");
    let report = score(&path, &idlewise_recording::RecordingOptions::default(), Per::All, None).unwrap();
    let s = &report.score;
    assert_eq!((s.wakeups, s.rejected, s.unplaced[&254].entries), (341, 0, 22));
    let words = text(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("22 idle periods, 0.038 s together, without a governor"), "{words}");
    assert!(!words.contains("is it the machine that was recorded"), "{words}");
}

#[test]
fn score_and_a_replay_of_the_same_choices_have_the_same_idle_time_and_energy() {
    let data = |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    // A guest runs the handlers before the exit: what the tick's cost is in both. In the lab's, governors were switched: time
    // without one is in neither.
    for (name, governor, energy_too) in [
        ("mixed.dat", "menu", true),
        ("sleeploop.dat", "menu", true),
        ("lab/teo-util-timer.dat", "teo-util", false),
    ] {
        let judged = score(&data(name), &idlewise_recording::RecordingOptions::default(), Per::All, None)
            .unwrap()
            .score;
        let recording = idlewise_recording::RecordingOptions::default();
        let replayed = run(&ReplayRequest {
            setup: ReplaySetup { recording, ..setup("", "") },
            ..request(&[&data(name)], "", "", &[governor])
        });
        let replayed = &replayed.traces[0].governors[0].score;
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.005;
        assert!(near(judged.idle_ns as f64, replayed.idle_ns as f64), "{name}");
        assert!(!energy_too || near(judged.energy, replayed.energy), "{name}");
    }
}

#[test]
fn another_machines_table_is_noticed() {
    let Some(path) = recording("mt8196/trace_6_12_sleep_length.dat") else { return };
    let warned = |machine: &str| score(&path, &known(machine, "teo"), Per::All, None).unwrap().head.warnings;
    assert_eq!(warned("mt8196"), [] as [&str; 0]);
    let [misses, kind] = &warned("skylake-sp")[..] else { panic!("{:?}", warned("skylake-sp")) };
    assert!(
        misses.contains("the kernel counted 2552 misses") && misses.contains("judged differently"),
        "{misses}"
    );
    assert_eq!(
        kind.words,
        "the recording is of Arm, and skylake-sp has idle states of x86: it is not the machine that was recorded"
    );
    let report = score(&path, &known("skylake-sp", "teo"), Per::All, None).unwrap();
    assert!(text(&report).contains("WARNING   the kernel counted 2552 misses"), "{}", text(&report));
}

#[test]
fn without_events_of_the_tick_nobody_knows_whether_it_was_kept() {
    let Some(path) = recording("mt8196/trace_6_12_sleep_length.dat") else { return };
    let report = score(&path, &known("mt8196", "teo"), Per::All, None).unwrap();
    let s = &report.score;
    assert!(s.ticks.is_some_and(|n| n > 1000), "timer interrupts are recorded: {:?}", s.ticks);
    assert_eq!((s.ticks_kept, s.ticks_stopped, s.ticks_unknown), (None, None, s.wakeups));
    assert!(s.rejected > 0 && s.rejected_ns > 0);
}
