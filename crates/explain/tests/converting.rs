// SPDX-License-Identifier: GPL-2.0-only
//! Is a converted recording the same recording, and do its tracks show what the governors did?

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_explain::convert::{ConvertReport, ConvertRequest, Form, convert};
use idlewise_model::{Note, Tape, TapeInput};
use idlewise_recording::ReplaySetup;
use idlewise_testkit::{error_text, known, open, recording, request, run};

pub(crate) fn mixed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat")
}

pub(crate) fn conversion(trace: &Path, to: Form, governors: &[&str]) -> ConvertRequest {
    ConvertRequest {
        trace: trace.to_owned(),
        to,
        output: PathBuf::from("out"),
        governors: governors.iter().map(|g| (*g).to_owned()).collect(),
        setup: ReplaySetup { recording: known("kvm-guest", "menu"), seed: 1, ..ReplaySetup::default() },
    }
}

/// How the governors' inputs are known, and not who named the machine, nor whether limits were recorded that never came: what is
/// written here has no description with it.
fn inputs(tape: &Tape) -> Vec<&TapeInput> {
    tape.inputs.iter().filter(|i| i.name != "machine" && i.name != "latency limit").collect()
}

/// A Python that has Perfetto's own messages.
pub(crate) fn python() -> Option<PathBuf> {
    let folder = std::env::var_os("IDLEWISE_PYTHON_PERFETTO").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-perfetto"),
        PathBuf::from,
    );
    let python = folder.join("bin/python");
    if !python.is_file() {
        println!("skipped: what Perfetto's own messages say (tools/python-perfetto.sh)");
        return None;
    }
    Some(python)
}

/// What is said of the events; not what a description says, which is not with what is written here.
fn notes(tape: &Tape) -> Vec<&Note> {
    tape.notes.iter().filter(|n| !n.starts_with("recorded in a guest")).collect()
}

pub(crate) fn written(request: &ConvertRequest, to: &Path) -> ConvertReport {
    let mut file = BufWriter::new(std::fs::File::create(to).unwrap());
    let report = convert(request, &mut file, &|_, _| ()).unwrap();
    file.flush().unwrap();
    report
}

#[test]
fn text_gives_the_tape_of_the_recording_to_the_nanosecond() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("it.txt");
    for path in [Some(mixed()), recording("mt8196/trace_6_12_sleep_length.dat")].into_iter().flatten() {
        written(&conversion(&path, Form::Text, &[]), &to);
        let (then, now) = (open(&path, "kvm-guest", "menu").tape, open(&to, "kvm-guest", "menu").tape);
        assert!(now.cpus == then.cpus, "{}", path.display());
        assert_eq!((inputs(&now), notes(&now)), (inputs(&then), notes(&then)));
        assert_eq!((&now.source.clock, now.source.events), (&then.source.clock, then.source.events));
    }
}

#[test]
fn a_perfetto_trace_gives_the_tape_of_the_recording_to_the_nanosecond() {
    let dir = tempfile::tempdir().unwrap();
    let shared = [
        "kvm-guest/cyclictest_cpu0.dat",
        "kvm-guest/ladder_sleeploop.dat",
        "mt8196/trace_6_12_sleep_length.dat",
    ];
    let all = std::iter::once(mixed()).chain(shared.iter().filter_map(|name| recording(name)));
    for (i, path) in all.enumerate() {
        let to = dir.path().join(format!("{i}.perfetto-trace"));
        let report = written(&conversion(&path, Form::Perfetto, &[]), &to);
        let (then, now) = (open(&path, "kvm-guest", "menu").tape, open(&to, "kvm-guest", "menu").tape);
        assert_eq!(now.cpus.len(), then.cpus.len());
        for (ours, theirs) in now.cpus.iter().zip(&then.cpus) {
            assert!(ours == theirs, "{}, CPU {}", path.display(), theirs.cpu);
        }
        assert_eq!((inputs(&now), notes(&now), &now.health), (inputs(&then), notes(&then), &then.health));
        assert_eq!((now.source.first_ns, now.source.last_ns), (then.source.first_ns, then.source.last_ns));
        assert_eq!((now.source.events, report.events), (then.source.events, then.source.events));
        let stays: usize = then.cpus.iter().map(|c| c.pieces.len()).sum();
        assert!(stays > 1000);
        println!("{}: {stays} idle stays the same", path.display());
    }
}

#[test]
fn tracks_show_every_stay_and_every_miss_of_a_replay() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("it.perfetto-trace");
    let governors = ["menu-6.1", "teo-util:util_threshold_shift=5", "oracle"];
    let report = written(&conversion(&mixed(), Form::Perfetto, &governors), &to);
    let replayed = run(&request(&[&mixed()], "kvm-guest", "menu", &governors));
    let results = &replayed.traces[0].governors;
    for (tracks, result) in report.tracks.iter().zip(results) {
        assert_eq!((&tracks.governor, tracks.stays), (&result.governor, result.decisions));
        assert_eq!((&tracks.cpus, &tracks.failure), (&replayed.traces[0].head.cpus, &None));
    }
    assert_eq!(report.tracks.len(), 3);
    let Some(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/perfetto/opinion.py");
    let opinion = |what: &str| {
        let o = Command::new(&python).arg(&script).arg(what).arg(&to).output().unwrap();
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stdout));
        String::from_utf8(o.stdout).unwrap()
    };
    assert_eq!(opinion("check").trim(), "");
    let drawn = opinion("tracks");
    for result in results {
        let track = format!("{0}/{0} / CPU {1}", result.governor, replayed.traces[0].head.cpus[0]);
        let of = |kind: &str, word: &str| {
            drawn
                .lines()
                .filter(|l| {
                    let mut parts = l.split('\t');
                    parts.next() == Some(&track) && parts.next() == Some(kind) && l.contains(word)
                })
                .count() as u64
        };
        let score = &result.score;
        assert_eq!((of("begin", ""), of("end", "")), (result.decisions, result.decisions), "{track}");
        assert_eq!(of("begin", "verdict=too deep"), of("instant", "too deep"));
        assert_eq!(of("begin", "verdict=too shallow"), of("instant", "too shallow"));
        let share = |n: u64| n as f64 * 100.0 / score.wakeups as f64;
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(share(of("instant", "too deep")), score.too_deep_pct), "{track}");
        assert!(near(share(of("instant", "too shallow")), score.too_shallow_pct), "{track}");
    }
    // Slices of a track begin in order and do not overlap.
    let mut last = std::collections::BTreeMap::new();
    for line in drawn.lines() {
        let mut parts = line.split('\t');
        let (track, kind, at) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let at: u64 = at.parse().unwrap();
        let before = last.insert(track.to_owned(), at).unwrap_or(0);
        assert!(at >= before, "{kind} at {at} after {before}");
    }
}

#[test]
fn what_cannot_be_converted_is_refused_with_a_reason() {
    let refused = |request: &ConvertRequest| error_text(convert(request, &mut std::io::sink(), &|_, _| ()));
    let why = refused(&conversion(&mixed(), Form::Text, &["menu"]));
    assert!(why.contains("text has no tracks"), "{why}");
    let why = refused(&conversion(&mixed(), Form::Perfetto, &["no-such-governor"]));
    assert!(why.contains("no-such-governor"), "{why}");
    let dir = tempfile::tempdir().unwrap();
    let tape = dir.path().join("it.tape");
    std::fs::write(&tape, open(&mixed(), "kvm-guest", "menu").tape_bytes().unwrap()).unwrap();
    let why = refused(&conversion(&tape, Form::Perfetto, &[]));
    assert!(why.contains("a tape holds no events"), "{why}");
    let why = refused(&conversion(dir.path(), Form::Perfetto, &[]));
    assert!(why.contains("a directory"), "{why}");
}

#[test]
fn a_full_disk_is_said() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no space left"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for form in [Form::Text, Form::Perfetto] {
        let why = error_text(convert(&conversion(&mixed(), form, &[]), &mut Full, &|_, _| ()));
        assert_eq!(why, "out: no space left");
    }
}
