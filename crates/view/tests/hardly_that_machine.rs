// SPDX-License-Identifier: GPL-2.0-only
//! Does every answer that depends on a machine say what in the recording speaks against it, and is nothing warned of without cause?

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use idlewise_explain::convert::{ConvertRequest, Form, convert};
use idlewise_explain::{DecisionAddress, ExplainRequest, WhyDifferRequest, explain, why_differ};
use idlewise_machine::diff::{DiffRequest, diff};
use idlewise_model::Note;
use idlewise_recording::{Recording, RecordingOptions, ReplaySetup, TraceHead};
use idlewise_report::{Format, Report};
use idlewise_study::compare::{CompareRequest, compare};
use idlewise_study::info::info;
use idlewise_study::replay::Per;
use idlewise_study::score::score;
use idlewise_testkit::{known, recording, request, run, setup};
use idlewise_view as view;
use serde::Serialize;
use tempfile::TempDir;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data");
/// `mixed.dat` is of an x86 guest.
const OTHER_KIND: &str =
    "the recording is of x86, and pixel6 has idle states of Arm: it is not the machine that was recorded";

/// `mixed.dat` without what is known of it.
fn bare(dir: &TempDir, name: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::copy(Path::new(DATA).join("mixed.dat"), &path).unwrap();
    path
}

/// As ftrace writes it, of a CPU with two states and interrupts of `events`; nothing says which processor it is.
fn text(dir: &TempDir, events: &[&str]) -> PathBuf {
    let mut text = String::from("# tracer: nop\n#\n");
    for n in 0..12_u32 {
        let mut line = |us: u32, event: &str| {
            writeln!(text, "          <idle>-0     [000] d..2    10.{us:06}: {event}").unwrap();
        };
        line(n * 10_000, &format!("cpu_idle: state={} cpu_id=0", n % 2));
        line(n * 10_000 + 9_000, "cpu_idle: state=4294967295 cpu_id=0");
        for (i, event) in (1..).zip(events) {
            line(n * 10_000 + 9_000 + i, event);
        }
    }
    let path = dir.path().join("it.txt");
    std::fs::write(&path, text).unwrap();
    path
}

fn to_perfetto(trace: &Path, to: PathBuf) -> PathBuf {
    let asked = ConvertRequest {
        trace: trace.to_owned(),
        to: Form::Perfetto,
        output: to.clone(),
        governors: Vec::new(),
        setup: ReplaySetup::default(),
    };
    let mut bytes = Vec::new();
    convert(&asked, &mut bytes, &|_, _| ()).unwrap();
    std::fs::write(&to, bytes).unwrap();
    to
}

fn warnings(path: &Path, machine: &str) -> Vec<String> {
    Note::words(&TraceHead::new(&Recording::open(path, &known(machine, "")).unwrap(), |_| None).warnings)
}

/// On one line, with single spaces.
fn words(page: &Report, report: &impl Serialize) -> String {
    page.render(Format::Table, report).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_event_that_a_format_knows_is_none_that_was_recorded() {
    let dir = tempfile::tempdir().unwrap();
    for (events, of_x86) in [(&[][..], false), (&["local_timer_entry: vector=236"][..], true)] {
        let text = text(&dir, events);
        let perfetto = to_perfetto(&text, dir.path().join("it.pftrace"));
        let other = "the recording is of x86, and hikey960 has idle states of Arm: it is not the machine that was recorded";
        for trace in [text, perfetto] {
            let warned = warnings(&trace, "hikey960");
            assert_eq!(
                warned.iter().any(|w| w == other),
                of_x86,
                "{events:?} {}: {warned:?}",
                trace.display()
            );
        }
    }
}

#[test]
fn a_converted_recording_of_an_arm_board_is_not_of_x86() {
    let Some(juno) = recording("trace-dat/juno_sched_load_v6.dat") else { return };
    let dir = tempfile::tempdir().unwrap();
    let perfetto = to_perfetto(&juno, dir.path().join("j.perfetto-trace"));
    for trace in [juno, perfetto] {
        assert_eq!(warnings(&trace, "juno"), Vec::<String>::new(), "{}", trace.display());
    }
}

#[test]
fn another_machine_is_named_above_every_table() {
    let dir = tempfile::tempdir().unwrap();
    let path = bare(&dir, "bare.dat");
    let warning = format!("WARNING {OTHER_KIND}");

    let replayed = run(&request(&[&path], "pixel6", "", &["menu"]));
    let page = view::replay(&replayed);
    let text = words(&page, &replayed);
    assert!(text.find(&warning) < text.find(" metric ") && text.contains(&warning), "{text}");
    let json: serde_json::Value = serde_json::to_value(&replayed).unwrap();
    assert_eq!(json["traces"][0]["head"]["warnings"][0]["words"], OTHER_KIND);

    let judged = score(&path, &known("pixel6", ""), Per::All, None).unwrap();
    assert!(words(&view::score(&judged, Per::All), &judged).contains(&warning));

    let explained_one = explain(&ExplainRequest {
        trace: path.clone(),
        setup: ReplaySetup { recording: known("pixel6", ""), ..ReplaySetup::default() },
        governor: "menu".to_owned(),
        others: Vec::new(),
        cpu: None,
        which: DecisionAddress::Decision(1),
    })
    .unwrap();
    let page = idlewise_view::explain::explain(&explained_one);
    assert!(words(&page, &explained_one).contains(&warning));
    assert!(page.render(Format::Csv, &explained_one).unwrap().contains(OTHER_KIND));

    let differ = why_differ(&WhyDifferRequest {
        trace: path.clone(),
        setup: ReplaySetup { recording: known("pixel6", ""), ..ReplaySetup::default() },
        governors: ["menu".to_owned(), "teo-6.1".to_owned()],
        cpu: None,
    })
    .unwrap();
    assert!(words(&idlewise_view::explain::why_differ(&differ), &differ).contains(&warning));

    let about = info(&path, &known("pixel6", ""), &[]).unwrap();
    assert!(words(&view::info(&about), &about).contains(&warning));

    let second = dir.path().join("second.dat");
    std::fs::copy(Path::new(DATA).join("sleeploop.dat"), &second).unwrap();
    let runs = diff(&DiffRequest {
        before: path,
        after: Some(second),
        recording: known("pixel6", ""),
        ..DiffRequest::default()
    })
    .unwrap();
    for name in ["bare.dat", "second.dat"] {
        assert!(
            runs.notes.iter().any(|n| n.words == format!("{name}: WARNING: {OTHER_KIND}")),
            "{:?}",
            runs.notes
        );
    }
}

#[test]
fn another_machine_is_named_next_to_the_verdict_and_in_what_fails() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (bare(&dir, "bare.dat"), dir.path().join("second.dat"));
    std::fs::copy(Path::new(DATA).join("sleeploop.dat"), &two).unwrap();
    let compared = compare(
        &CompareRequest {
            traces: vec![one, two],
            setup: ReplaySetup {
                recording: RecordingOptions {
                    recorded_on: Some("same".to_owned()),
                    ..RecordingOptions::default()
                },
                platform: Some("pixel6".to_owned()),
                ..ReplaySetup::default()
            },
            a: "menu".to_owned(),
            b: "teo-6.1".to_owned(),
            fail_if: vec!["energy > +0%".to_owned()],
            ..CompareRequest::default()
        },
        &|_, _| (),
    )
    .unwrap();
    let page = view::compare(&compared);
    let text = words(&page, &compared);
    let behind = text.split(" verdict ").nth(1).unwrap();
    for name in ["bare.dat", "second.dat"] {
        assert!(behind.contains(&format!("WARNING {name}: {OTHER_KIND}")), "{text}");
        let checks = view::checks(&compared.checks);
        assert!(checks.contains(&format!("; WARNING: {name}: {OTHER_KIND}")), "{checks}");
    }
    let json = serde_json::to_value(&compared).unwrap();
    assert_eq!(json["checks"][0]["warnings"][1]["words"], format!("second.dat: {OTHER_KIND}"));
    for (name, warned) in column(&page.render(Format::Csv, &compared).unwrap(), "warnings") {
        let both = format!("bare.dat: {OTHER_KIND}; second.dat: {OTHER_KIND}");
        assert_eq!(warned, if name == "all traces" { &both } else { OTHER_KIND }, "{name}");
    }
}

/// The trace of each row, and its cell in the column `name`.
fn column(csv: &str, name: &str) -> Vec<(String, String)> {
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let at = rows.headers().unwrap().iter().position(|h| h == name).unwrap();
    let cells = |row: csv::StringRecord| (row[0].to_owned(), row[at].to_owned());
    let out: Vec<_> = rows.records().map(|row| cells(row.unwrap())).collect();
    assert!(!out.is_empty());
    out
}

#[test]
fn a_replay_elsewhere_contradicts_nothing() {
    let asked = CompareRequest {
        traces: vec![Path::new(DATA).join("mixed.dat")],
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), ..ReplaySetup::default() },
        a: "menu".to_owned(),
        b: "teo-6.1".to_owned(),
        fail_if: vec!["energy > +0%".to_owned()],
        ..CompareRequest::default()
    };
    let compared = compare(&asked, &|_, _| ()).unwrap();
    assert_eq!(compared.traces[0].head.warnings, [] as [&str; 0]);
    let page = view::compare(&compared);
    assert!(!words(&page, &compared).contains("WARNING"), "{}", words(&page, &compared));
    assert!(column(&page.render(Format::Csv, &compared).unwrap(), "warnings").iter().all(|c| c.1.is_empty()));
}

#[test]
fn a_tape_keeps_what_speaks_against_its_machine() {
    let dir = tempfile::tempdir().unwrap();
    let recording = Recording::open(&bare(&dir, "bare.dat"), &known("pixel6", "")).unwrap();
    let tape = dir.path().join("bare.tape");
    std::fs::write(&tape, recording.tape_bytes().unwrap()).unwrap();
    let again = Recording::open(&tape, &RecordingOptions::default()).unwrap();
    for r in [&recording, &again] {
        assert_eq!(TraceHead::new(r, |_| None).warnings, [OTHER_KIND]);
    }
}

#[test]
fn a_tape_of_a_recording_whose_side_car_names_another_processor_keeps_that() {
    let dir = tempfile::tempdir().unwrap();
    // Nothing but its interrupts says which processor it is, and no tape holds those.
    let trace = text(&dir, &["ipi_entry: (Rescheduling interrupts)", "ipi_exit: (Rescheduling interrupts)"]);
    std::fs::write(trace.with_extension("toml"), "platform = \"skylake-sp\"\n").unwrap();
    let recording = Recording::open(&trace, &RecordingOptions::default()).unwrap();
    let of = |r: &Recording| TraceHead::new(r, |_| None).warnings;
    let said = of(&recording);
    assert!(said.iter().any(|w| w.starts_with("the recording is of Arm, and skylake-sp has")), "{said:?}");
    let tape = dir.path().join("it.tape");
    std::fs::write(&tape, recording.tape_bytes().unwrap()).unwrap();
    let again = Recording::open(&tape, &RecordingOptions::default()).unwrap();
    assert_eq!(of(&again), said);
    assert!(!again.machine_assumed, "the recording names it");
}

#[test]
fn a_replay_that_does_not_make_the_kernels_choices_is_not_to_be_trusted() {
    let path = Path::new(DATA).join("mixed.dat");
    let replayed = |governor: &str| {
        let recording =
            RecordingOptions { kernel_governor: Some(governor.to_owned()), ..RecordingOptions::default() };
        run(&idlewise_study::replay::ReplayRequest {
            setup: ReplaySetup { recording, ..setup("", "") },
            ..request(&[&path], "", "", &["menu"])
        })
    };
    let [right, wrong] = ["menu", "shallow"].map(replayed);
    assert_eq!(right.traces[0].head.warnings, [] as [&str; 0]);
    let pct = wrong.traces[0].fidelity.as_ref().unwrap().same_state_pct.unwrap();
    let [warned] = &wrong.traces[0].head.warnings[..] else { panic!("{:?}", wrong.traces[0].head.warnings) };
    assert_eq!(
        warned.words,
        format!(
            "replay of shallow repeats only {pct:.2} % of the kernel's own choices (state), less than 90 %: do not trust the \
             table for this recording"
        )
    );
    let page = view::replay(&wrong);
    assert!(words(&page, &wrong).contains(&format!("WARNING {warned}")));
    let csv = column(&page.render(Format::Csv, &wrong).unwrap(), "warnings");
    assert!(csv.iter().all(|(_, cell)| *cell == warned.words), "{csv:?}");
}
