// SPDX-License-Identifier: GPL-2.0-only
//! Are the kernel's counters what the trace of the same time tells?

use std::path::{Path, PathBuf};

use idlewise_machine::diff::{DiffReport, DiffRequest, diff};
use idlewise_model::{NoteId, TapeCpu};
use idlewise_recording::{CommandError, Recording, RecordingOptions, ReplaySetup};
use idlewise_study::replay::{Per, ReplayReport, ReplayRequest, replay};
use idlewise_study::score::{ScoreReport, score};
use idlewise_testkit::{error_text, known};

const SYNTH4: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/lab/synth4.toml");

/// Stays of CPU 0: entry and exit, us; state; `cpu_idle_miss`, if any. State 1 pays from 2000 us on.
const STAYS: [(u64, u64, u32, Option<&str>); 6] = [
    (1_000, 1_500, 0, None),
    (10_000, 13_000, 1, None),
    (20_000, 20_600, 1, Some("above")),
    (30_000, 39_000, 0, Some("below")),
    // Refused: short, and not counted.
    (50_000, 50_001, 1, None),
    (60_000, 63_000, 1, None),
];

fn trace() -> String {
    let mut text = "# tracer: nop\n#\n".to_owned();
    let mut event = |us: u64, event: String| {
        text += &format!(
            "          <idle>-0       [000] ..... {:>5}.{:06}: {event}\n",
            us / 1_000_000,
            us % 1_000_000
        );
    };
    for (from, to, state, miss) in STAYS {
        event(from, format!("cpu_idle: state={state} cpu_id=0"));
        event(to, "cpu_idle: state=4294967295 cpu_id=0".to_owned());
        if let Some(kind) = miss {
            event(to, format!("cpu_idle_miss: cpu_id=0 state={state} type={kind}"));
        }
    }
    text
}

/// Usage, time, above, below and rejected of both states.
type Counts = [[u64; 5]; 2];

fn look(at: Option<u64>, counts: Counts) -> String {
    let mut text = at.map_or_else(String::new, |us| format!("cpu0/at_ns:{}\n", us * 1000));
    for (state, values) in counts.iter().enumerate() {
        for (file, value) in ["usage", "time", "above", "below", "rejected"].iter().zip(values) {
            text += &format!("cpu0/cpuidle/state{state}/{file}:{value}\n");
        }
    }
    text
}

const BEFORE: Counts = [[7, 100, 0, 1, 0], [3, 5_000, 2, 0, 4]];
/// What the kernel must have counted from 5 ms to 55 ms.
const AFTER: Counts = [[8, 9_100, 0, 2, 0], [5, 8_600, 3, 0, 5]];

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(before: &str, after: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("t.txt", trace().as_str()), ("before", before), ("after", after)] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn score(&self) -> Result<ScoreReport, CommandError> {
        let (before, after) = (self.path("before"), self.path("after"));
        let counters: [&Path; 2] = [&before, &after];
        score(&self.path("t.txt"), &known(SYNTH4, ""), Per::All, Some(counters))
    }
}

#[test]
fn misses_that_a_trace_does_not_show_are_not_compared() {
    let mut after = AFTER;
    after[1][2] += 10;
    let files = Files::new(&look(Some(5_000), BEFORE), &look(Some(55_000), after));
    let with = files.score().unwrap().counters.unwrap();
    assert!(!with.same(), "{with:#?}");
    let without: String =
        trace().lines().filter(|l| !l.contains("cpu_idle_miss")).map(|l| format!("{l}\n")).collect();
    std::fs::write(files.path("t.txt"), without).unwrap();
    let check = files.score().unwrap().counters.unwrap();
    assert!(check.notes.iter().any(|n| n.id == NoteId::NoMisses), "{check:#?}");
    let state = &check.cpus[0].states[1];
    assert_eq!((state.above.kernel, state.above.trace, state.usage.trace.is_some()), (Some(11), None, true));
}

#[test]
fn equal_counts_are_found_equal() {
    let check =
        Files::new(&look(Some(5_000), BEFORE), &look(Some(55_000), AFTER)).score().unwrap().counters.unwrap();
    assert!(check.same(), "{check:#?}");
    let [cpu] = check.cpus.as_slice() else { panic!("{check:?}") };
    assert_eq!((cpu.cpu, cpu.from_ns, cpu.to_ns, cpu.across), (0, 5_000_000, 55_000_000, 0));
    let of = |state: usize| {
        let s = &cpu.states[state];
        let [usage, above, below, rejected] =
            [s.usage, s.above, s.below, s.rejected].map(|b| b.trace.unwrap());
        [usage, s.stays_ns / 1000, above, below, rejected]
    };
    assert_eq!(of(0), [1, 9_000, 0, 1, 0]);
    assert_eq!(of(1), [2, 3_600, 1, 0, 1]);
    assert_eq!((cpu.states[1].above_by_stay, cpu.states[0].below_by_stay), (1, 1));
}

#[test]
fn each_count_that_differs_is_found() {
    for (state, count) in [(0, 0), (1, 1), (1, 2), (0, 3), (1, 4)] {
        let mut after = AFTER;
        after[state][count] += 2;
        let files = Files::new(&look(Some(5_000), BEFORE), &look(Some(55_000), after));
        let check = files.score().unwrap().counters.unwrap();
        let wrong: Vec<usize> = (0..2).filter(|i| !check.cpus[0].states[*i].same()).collect();
        assert_eq!((check.same(), wrong), (false, vec![state]), "count {count}");
    }
}

#[test]
fn a_stay_across_a_look_is_told() {
    let files = Files::new(&look(Some(11_000), BEFORE), &look(Some(55_000), AFTER));
    let check = files.score().unwrap().counters.unwrap();
    assert_eq!((check.cpus[0].across, check.same()), (1, false));
}

#[test]
fn looks_that_do_not_say_when_are_refused() {
    let files = Files::new(&look(None, BEFORE), &look(Some(55_000), AFTER));
    let why = error_text(files.score());
    assert!(why.contains("cpu0/at_ns"), "{why}");
    let files = Files::new(&look(Some(55_000), AFTER), &look(Some(5_000), BEFORE));
    let why = error_text(files.score());
    assert!(why.contains("goes back"), "{why}");
    let files = Files::new(&look(Some(55_000), BEFORE), &look(Some(5_000), AFTER));
    let why = error_text(files.score());
    assert!(why.contains("cpu0: at_ns goes back from 55000000 to 5000000"), "{why}");
}

/// The side-car of the recording: what the kernel counted from 5 ms to 55 ms, `entries` of them into state 0.
fn sidecar(files: &Files, entries: u64) {
    let machine: toml::Table = std::fs::read_to_string(SYNTH4).unwrap().parse().unwrap();
    let mut of = toml::Table::new();
    of.insert("machine".to_owned(), machine.into());
    let counters = format!(
        "governor = \"menu\"\n[[counters]]\ncpu = 0\nat_ns = [5000000, 55000000]\nusage = [[7, 3], [{}, 5]]\n\
         time_us = [[100, 5000], [9100, 8600]]\nabove = [[0, 2], [0, 3]]\nbelow = [[1, 0], [2, 0]]\n",
        7 + entries
    );
    std::fs::write(files.path("t.toml"), counters + &toml::to_string(&of).unwrap()).unwrap();
}

#[test]
fn a_cpu_that_went_off_and_on_is_a_note_and_no_error() {
    let files = Files::new("", "");
    sidecar(&files, 2);
    let text = std::fs::read_to_string(files.path("t.toml")).unwrap();
    let off_and_on = text.replace("[[7, 3], [9, 5]]", "[[6488, 3], [581, 5]]");
    assert_ne!(text, off_and_on);
    std::fs::write(files.path("t.toml"), off_and_on).unwrap();
    let scored = score(&files.path("t.txt"), &RecordingOptions::default(), Per::All, None).unwrap();
    let check = scored.counters.unwrap();
    let notes: Vec<_> = check.notes.iter().filter(|n| n.id == NoteId::CountersBack).collect();
    let [note] = notes.as_slice() else { panic!("{:?}", check.notes) };
    assert!(note.contains("CPU 0: `usage` of state 0 goes back from 6488 to 581"), "{note}");
    assert!(check.cpus.is_empty(), "{check:#?}");
    let replayed = replayed(&files, &[]).unwrap();
    assert_eq!(replayed.traces.len(), 1);
}

fn replayed(files: &Files, despite_counters: &[u32]) -> Result<ReplayReport, CommandError> {
    let recording =
        RecordingOptions { despite_counters: despite_counters.to_vec(), ..RecordingOptions::default() };
    let governors = vec!["menu".to_owned()];
    let traces = vec![files.path("t.txt")];
    replay(
        &ReplayRequest {
            traces,
            setup: ReplaySetup { recording, ..ReplaySetup::default() },
            governors,
            ..ReplayRequest::default()
        },
        &|_, _| (),
    )
}

#[test]
fn a_cpu_of_which_the_trace_has_not_what_the_kernel_counted_is_replayed_only_when_asked_for() {
    let files = Files::new("", "");
    // As counted, and within two: entries at the edges.
    for entries in [1, 3] {
        sidecar(&files, entries);
        assert!(replayed(&files, &[]).unwrap().traces[0].head.left_out.is_empty(), "{entries}");
        let said = error_text(replayed(&files, &[0]));
        assert!(said.contains("--despite-counters 0: nothing to override: "), "{said}");
        assert!(said.contains("t.txt uses CPU 0 without it; leave it out"), "{said}");
    }
    sidecar(&files, 28);
    let why = error_text(replayed(&files, &[]));
    let told = "CPU 0: the trace has 3 idle entries where the kernel counted 30 (--despite-counters 0";
    assert!(why.contains("no CPU can be replayed") && why.contains(told), "{why}");
    assert!(replayed(&files, &[1]).is_err());
    let all = replayed(&files, &[0]).unwrap();
    let score_of_menu = &all.traces[0].governors[0].score;
    assert_eq!((score_of_menu.wakeups, score_of_menu.rejected), (5, 1), "one was refused there, and is here");
    // A score compares both, and a tape carries on what was found.
    let check = score(&files.path("t.txt"), &RecordingOptions::default(), Per::All, None).unwrap();
    assert!(!check.counters.unwrap().same());
    let opened = Recording::open(&files.path("t.txt"), &RecordingOptions::default()).unwrap();
    assert!(matches!(&opened.tape.cpus[0].usable, TapeCpu::Unusable(why) if why.contains("counted 30")));
}

#[test]
fn two_recordings_are_compared_by_the_kernels_counters_where_both_have_them() {
    let (a, b) = (Files::new("", ""), Files::new("", ""));
    sidecar(&a, 1);
    sidecar(&b, 28);
    let compared = |recorded_on: Option<&str>| {
        let recording =
            RecordingOptions { recorded_on: recorded_on.map(str::to_owned), ..RecordingOptions::default() };
        let (before, after) = (a.path("t.txt"), Some(b.path("t.txt")));
        diff(&DiffRequest { before, after, recording, ..DiffRequest::default() }).unwrap()
    };
    let report = compared(None);
    let of = |r: &DiffReport, i: usize| (r.runs[i].basis, r.runs[i].all.usage, r.runs[i].governor.clone());
    let counters = "recording (with the kernel's counters)";
    assert_eq!(of(&report, 0), (counters, Some(3), Some("menu".to_owned())));
    assert_eq!(of(&report, 1), (counters, Some(30), Some("menu".to_owned())));
    assert_eq!(report.runs[0].seconds, Some(0.05));
    assert_eq!(report.runs[0].all.states[1].name, "c2");
    // One that has none: both by their stays, and it is said.
    std::fs::remove_file(b.path("t.toml")).unwrap();
    let report = compared(Some(SYNTH4));
    let stays = "recording (its own idle periods)";
    assert_eq!((of(&report, 0).0, of(&report, 0).1, of(&report, 1).0), (stays, Some(5), stays));
    assert!(report.notes.iter().any(|n| n.contains("of the kernel are not used")), "{:?}", report.notes);
}

/// At 2^50, the most that one counter may be, 16,384 are 2^64 together.
#[test]
fn counters_whose_sum_has_more_than_64_bits_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = |cpus: u32| {
        let mut text = String::new();
        for cpu in 0..cpus {
            for state in 0..8 {
                let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
                text += &format!("{path}/name:C{state}\n{path}/usage:7\n{path}/time:{}\n", 1_u64 << 50);
            }
        }
        let before = folder.path().join("before.txt");
        std::fs::write(&before, text).unwrap();
        diff(&DiffRequest { before, ..DiffRequest::default() })
    };
    let all = snapshot(2047).unwrap();
    assert_eq!(all.runs[0].all.time_us, Some((2047 * 8) << 50));
    let said = error_text(snapshot(2048));
    let told =
        "before.txt: the counters of 2048 CPUs are more than 2^64 together; no machine has such a count";
    assert!(said.contains(told), "{said}");
}

#[test]
fn counters_of_other_idle_states_are_pointed_out() {
    let named = |name: &str, text: String| format!("cpu0/cpuidle/state1/name:{name}\n{text}");
    let (before, after) = (look(Some(5_000), BEFORE), look(Some(55_000), AFTER));
    let files = |old: &str, new: &str| Files::new(&named(old, before.clone()), &named(new, after.clone()));
    let refused = files("c2", "c6").score().unwrap_err().to_string();
    assert!(
        refused.contains("are not of one machine: cpu0 state1 is c2 (?/? us) in the first and c6"),
        "{refused}"
    );
    let warned = |name: &str| {
        let check = files(name, name).score().unwrap().counters.unwrap();
        check
            .notes
            .iter()
            .any(|n| n.id == NoteId::OtherMachine && n.contains("state1 is c6 (?/? us), and c2 ("))
    };
    assert!(warned("c6") && !warned("c2"));
}

#[test]
fn counters_that_no_machine_has_are_named() {
    let told = |after: Counts, at_us: u64| {
        let files = Files::new(&look(Some(5_000), BEFORE), &look(Some(at_us), after));
        let request = DiffRequest {
            before: files.path("before"),
            after: Some(files.path("after")),
            ..DiffRequest::default()
        };
        let report: DiffReport = diff(&request).unwrap();
        let of = |n: &&idlewise_model::Note| n.id == NoteId::Implausible;
        report.notes.iter().find(of).map(ToString::to_string)
    };
    assert_eq!(told(AFTER, 55_000), None);
    let mut missed = AFTER;
    missed[1][2] += 10;
    assert_eq!(
        told(missed, 55_000).unwrap(),
        "WARNING: cpu0: state1: above and below are 11 together, and usage 2"
    );
    let mut long = AFTER;
    long[0][1] += 103_000_000;
    let why = told(long, 55_000).unwrap();
    assert!(
        why.starts_with("WARNING: cpu0: 103.013 s idle in 0.050 s: an idle period counts whole"),
        "{why}"
    );
}
