// SPDX-License-Identifier: GPL-2.0-only
//! Are idle entries found that could not last, since another CPU's interrupt was on its way?

use std::path::Path;

use idlewise_report::Format;
use idlewise_study::info::info;
use idlewise_study::replay::Per;
use idlewise_study::score::{ScoreReport, score};
use idlewise_testkit::known;
use idlewise_view as view;

/// CPU 1 enters state 1 four times. The first time an interrupt was sent 2 us before and ends the stay; the second time
/// it is sent during the stay; the third time it was sent before and has come before; the fourth time one was sent before,
/// but a device ends the stay.
const EVENTS: [(u32, u32, &str); 18] = [
    (0, 98, "ipi_send_cpu: cpu=1 callsite=ttwu_queue_wakelist+0x1/0x2 callback=0x0"),
    (1, 100, "cpu_idle: state=1 cpu_id=1"),
    (1, 107, "cpu_idle: state=4294967295 cpu_id=1"),
    (1, 108, "call_function_single_entry: vector=251"),
    (1, 109, "call_function_single_exit: vector=251"),
    (1, 1_000, "cpu_idle: state=1 cpu_id=1"),
    (0, 1_400, "ipi_send_cpu: cpu=1 callsite=ttwu_queue_wakelist+0x1/0x2 callback=0x0"),
    (1, 1_401, "cpu_idle: state=4294967295 cpu_id=1"),
    (1, 1_402, "call_function_single_entry: vector=251"),
    (0, 1_990, "ipi_send_cpu: cpu=1 callsite=ttwu_queue_wakelist+0x1/0x2 callback=0x0"),
    (1, 1_992, "call_function_single_entry: vector=251"),
    (1, 2_000, "cpu_idle: state=1 cpu_id=1"),
    (1, 2_300, "cpu_idle: state=4294967295 cpu_id=1"),
    (1, 2_301, "call_function_single_entry: vector=251"),
    (0, 2_998, "ipi_send_cpu: cpu=1 callsite=ttwu_queue_wakelist+0x1/0x2 callback=0x0"),
    (1, 3_000, "cpu_idle: state=1 cpu_id=1"),
    (1, 3_050, "cpu_idle: state=4294967295 cpu_id=1"),
    (1, 3_051, "irq_handler_entry: irq=31 name=eth0"),
];

/// The same, where the sending is not recorded but what led to it.
fn by_wakeups(what: &str) -> String {
    match what.strip_prefix("ipi_send_cpu: cpu=1") {
        Some(_) => "sched_waking: comm=x pid=9 prio=120 target_cpu=001".to_owned(),
        None => what.to_owned(),
    }
}

fn judged(dir: &Path, with: impl Fn(&str) -> bool) -> ScoreReport {
    told(dir, with, str::to_owned)
}

fn told(dir: &Path, with: impl Fn(&str) -> bool, said: impl Fn(&str) -> String) -> ScoreReport {
    let line = |(cpu, us, what): &(u32, u32, &str)| {
        format!("          <idle>-0     [{cpu:03}] d..2   100.{us:06}: {}\n", said(what))
    };
    let lines: String = EVENTS.iter().filter(|e| with(e.2)).map(line).collect();
    let path = dir.join("d.txt");
    std::fs::write(&path, format!("# tracer: nop\n#\n{lines}")).unwrap();
    score(&path, &known("hikey960", ""), Per::All, None).unwrap()
}

fn text(report: &ScoreReport) -> String {
    view::score(report, Per::All).render(Format::Table, report).unwrap()
}

#[test]
fn an_interrupt_sent_before_the_entry_that_ends_the_stay_dooms_it() {
    let dir = tempfile::tempdir().unwrap();
    let report = judged(dir.path(), |_| true);
    let d = &report.doomed;
    assert_eq!((d.known, d.entries, d.doomed, d.lost_ns), (true, 4, Some(1), Some(7_000)));
    let [cpu] = d.cpus.as_slice() else { panic!("one CPU: {d:?}") };
    assert_eq!((cpu.cpu, cpu.entries, cpu.states[0].state, cpu.states[0].doomed), (1, 4, 1, 1));
    let text = text(&report);
    assert!(text.contains("doomed    1 of 4 idle entries (25.00 %)"), "{text}");
    assert!(text.contains("\ndoomed entries\n"), "{text}");
    let info = info(&dir.path().join("d.txt"), &known("hikey960", ""), &[]).unwrap();
    assert_eq!(info.replayed.as_ref().unwrap().doomed, *d);
    let text = view::info(&info).render(Format::Table, &info).unwrap();
    assert!(text.contains("doomed    1 of 4 idle entries"), "{text}");
}

#[test]
fn without_events_of_sending_none_can_be_told() {
    let dir = tempfile::tempdir().unwrap();
    let report = judged(dir.path(), |what| !what.starts_with("ipi_send_cpu"));
    let d = &report.doomed;
    assert_eq!((d.known, d.entries, d.doomed, d.lost_ns), (false, 4, None, None));
    assert!(text(&report).contains("doomed    not known"), "{}", text(&report));
}

#[test]
fn an_interrupt_sent_to_several_cpus_at_once_is_sent_to_each() {
    let dir = tempfile::tempdir().unwrap();
    let expected = judged(dir.path(), |_| true).doomed;
    for several in [
        "ipi_raise: target_mask=00000000,0000000e (Function call interrupts)",
        "ipi_send_cpumask: cpumask=00000000,00000006 callsite=smp_call_function_many_cond+0x1/0x2 callback=0x0",
    ] {
        let said = |what: &str| if what.starts_with("ipi_send_cpu:") { several } else { what }.to_owned();
        assert_eq!(told(dir.path(), |_| true, said).doomed, expected, "{several}");
    }
}

#[test]
fn where_interrupts_are_not_seen_to_come_a_long_stay_was_ended_by_another() {
    // Both times an interrupt was sent before the entry, and a task is woken during the stay; the first may end it.
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        (0, 98, "ipi_raise: target_mask=00000000,00000002 (Rescheduling interrupts)"),
        (1, 100, "cpu_idle: state=0 cpu_id=1"),
        (0, 101, "sched_waking: comm=x pid=9 prio=120 target_cpu=001"),
        (1, 102, "cpu_idle: state=4294967295 cpu_id=1"),
        (0, 994, "ipi_raise: target_mask=00000000,00000002 (Rescheduling interrupts)"),
        (1, 1_000, "cpu_idle: state=0 cpu_id=1"),
        (0, 1_085, "sched_waking: comm=x pid=9 prio=120 target_cpu=001"),
        (1, 1_090, "cpu_idle: state=4294967295 cpu_id=1"),
        (1, 2_000, "cpu_idle: state=0 cpu_id=1"),
    ];
    let line = |(cpu, us, what): (u32, u32, &str)| {
        format!("          <idle>-0     [{cpu:03}] d..2   100.{us:06}: {what}\n")
    };
    let path = dir.path().join("d.txt");
    std::fs::write(&path, format!("# tracer: nop\n#\n{}", lines.map(line).concat())).unwrap();
    let report = score(&path, &known("hikey960", ""), Per::All, None).unwrap();
    let d = &report.doomed;
    assert_eq!((d.grade, d.entries, d.doomed, d.lost_ns), (Some("derived"), 2, Some(1), Some(2_000)));
    let text = text(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("doomed derived: 1 of 2 idle entries (50.00 %)"), "{text}");
}

#[test]
fn a_wakeup_that_has_only_begun_bounds_what_is_doomed() {
    let dir = tempfile::tempdir().unwrap();
    let report = told(dir.path(), |_| true, by_wakeups);
    let d = &report.doomed;
    assert_eq!((d.known, d.grade, d.entries, d.doomed), (true, Some("bounded"), 4, Some(1)));
    let text = text(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("doomed bounded: at most 1 of 4 idle entries (25.00 %)"), "{text}");
    assert!(text.contains("the sending of the interrupt is not recorded"), "{text}");
}

#[test]
fn where_sending_is_recorded_a_begun_wakeup_is_no_evidence() {
    // The task is about to be woken before the entry, the interrupt is sent after it.
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        (0, 98, "sched_waking: comm=x pid=9 prio=120 target_cpu=001"),
        (1, 100, "cpu_idle: state=1 cpu_id=1"),
        (0, 103, "ipi_send_cpu: cpu=1 callsite=ttwu_queue_wakelist+0x1/0x2 callback=0x0"),
        (1, 107, "cpu_idle: state=4294967295 cpu_id=1"),
        (1, 108, "call_function_single_entry: vector=251"),
    ];
    let line = |(cpu, us, what): (u32, u32, &str)| {
        format!("          <idle>-0     [{cpu:03}] d..2   100.{us:06}: {what}\n")
    };
    let path = dir.path().join("d.txt");
    std::fs::write(&path, format!("# tracer: nop\n#\n{}", lines.map(line).concat())).unwrap();
    let report = score(&path, &known("hikey960", ""), Per::All, None).unwrap();
    assert_eq!(
        (report.doomed.grade, report.doomed.entries, report.doomed.doomed),
        (Some("recorded"), 1, Some(0))
    );
}

#[test]
fn of_a_cpu_to_which_nothing_sent_is_recorded_it_is_not_known() {
    // CPU 2 is the only one that was recorded: it sends others interrupts, and nobody was seen to send it any.
    let dir = tempfile::tempdir().unwrap();
    let to_others = |what: &str| what.replace("ipi_send_cpu: cpu=1", "ipi_send_cpu: cpu=3");
    let report = told(dir.path(), |_| true, to_others);
    let d = &report.doomed;
    assert_eq!((d.known, d.doomed, d.not_known.as_slice()), (false, None, &[1][..]));
    assert!(text(&report).contains("doomed    not known"), "{}", text(&report));
}

#[test]
fn in_a_load_of_tasks_that_wake_each_other_some_are_doomed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
    let options = idlewise_recording::RecordingOptions::default();
    let report = score(&path, &options, Per::All, None).unwrap();
    let d = &report.doomed;
    // As counted by a script from what trace-cmd prints; six of the interrupts were sent while the CPU left the state before.
    assert_eq!((d.grade, d.entries, d.doomed), (Some("recorded"), 8238, Some(20)));
    assert_eq!(d.lost_ns, Some(380_255), "{d:?}");
    assert!(d.cpus.iter().all(|c| c.lost_ns / c.doomed < 1_000_000), "an interrupt takes no ms: {d:?}");
}
