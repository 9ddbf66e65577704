// SPDX-License-Identifier: GPL-2.0-only
//! Does the same recording give the same tape, to the nanosecond, in every format that the public tools put it into?

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use idlewise_model::{Confidence, CpuTape, Event, EventKind, Piece, PieceFlags, Tape};
use idlewise_testkit::open;
use idlewise_trace::TraceFile;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

/// Runs a public tool with its output in `out`; says so where it is not here.
fn made(command: &[&str], out: &Path) -> bool {
    let (program, args) = command.split_first().unwrap();
    let file = File::create(out).unwrap();
    match Command::new(program).args(args).stdin(Stdio::null()).stdout(file).stderr(Stdio::null()).status() {
        Ok(status) => {
            assert!(status.success(), "{command:?}");
            true
        }
        Err(e) => {
            println!("skipped: {program}: {e}");
            false
        }
    }
}

fn tape(path: &Path) -> Tape {
    open(path, "kvm-guest", "menu").tape
}

/// The CPUs that can be used; what is said of the others is about their events.
fn usable(tape: &Tape) -> Vec<&CpuTape> {
    tape.cpus.iter().filter(|c| !c.pieces.is_empty()).collect()
}

/// What a format tells of wheel timers.
#[derive(Clone, Copy, PartialEq)]
enum Wheel {
    /// All of it.
    Told,
    /// Not which of them are deferrable or pinned: those tools print `D|P|I` for every timer.
    FlagsUnknown,
}

/// Both have the same stays; says how many.
fn same(what: &str, wheel: Wheel, a: &Tape, b: &Tape) -> usize {
    assert_eq!(usable(a).len(), usable(b).len(), "{what}");
    for (a, b) in usable(a).into_iter().zip(usable(b)) {
        assert_eq!(a.pieces.len(), b.pieces.len(), "{what}, CPU {}", a.cpu);
        let pieces = [a, b].map(|cpu| cpu.pieces.to_vec().unwrap().into_iter());
        let [of_a, of_b] = pieces;
        for (n, (a, b)) in of_a.zip(of_b).enumerate() {
            let seen = |p: Piece| match wheel {
                Wheel::Told => p,
                Wheel::FlagsUnknown => {
                    let mut p = Piece { wheel_ns: 0, ..p };
                    p.flags.set_timer_confidence(Confidence::Recorded);
                    p.flags.set(PieceFlags::TIMER_AT_MOST, false);
                    p
                }
            };
            assert_eq!(seen(a), seen(b), "{what}, stay {n}");
        }
        assert_eq!((a.tick, &a.latency), (b.tick, &b.latency), "{what}");
    }
    let stays = usable(a).iter().map(|c| c.pieces.len()).sum();
    println!("{what}: {stays} stays the same");
    stays
}

#[test]
fn what_trace_cmd_makes_of_a_recording_gives_its_tape() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["mixed.dat", "sleeploop.dat"] {
        let recording = data(name);
        let at = recording.to_str().unwrap();
        let original = tape(&recording);
        let text = dir.path().join("report.txt");
        use Wheel::{FlagsUnknown, Told};
        for (options, wheel) in
            [(&["-t", "-R"][..], Told), (&["-t", "-N"], FlagsUnknown), (&["-t"], FlagsUnknown)]
        {
            let command: Vec<&str> =
                ["trace-cmd", "report"].iter().chain(options).copied().chain(["-i", at]).collect();
            if made(&command, &text) {
                let what = format!("{name}, report {}", options.join(" "));
                assert!(same(&what, wheel, &original, &tape(&text)) > 500);
            }
        }
        for version in ["6", "7"] {
            let to = dir.path().join("other.dat");
            let command = [
                "trace-cmd",
                "convert",
                "-i",
                at,
                "-o",
                to.to_str().unwrap(),
                "--file-version",
                version,
                "--compression",
                "none",
            ];
            if made(&command, &dir.path().join("log")) {
                assert!(same(&format!("{name}, version {version}"), Told, &original, &tape(&to)) > 500);
            }
        }
    }
}

#[test]
fn what_perf_script_makes_of_a_recording_gives_its_tape() {
    let dir = tempfile::tempdir().unwrap();
    let recording = data("perf/idle.data");
    let text = dir.path().join("script.txt");
    if made(&["perf", "script", "--ns", "-i", recording.to_str().unwrap()], &text) {
        assert!(same("perf script", Wheel::FlagsUnknown, &tape(&recording), &tape(&text)) > 20);
    }
}

/// The kept recordings were cut from longer ones, which perf's conversion does not take.
#[test]
fn what_perf_converts_to_ctf_gives_the_tape_of_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let recording = dir.path().join("now.data");
    let events = "power:cpu_idle,sched:sched_switch,sched:sched_waking,timer:*,irq:*";
    let at = recording.to_str().unwrap();
    let record = [
        "record",
        "-q",
        "-k",
        "CLOCK_MONOTONIC",
        "-a",
        "-m",
        "4M",
        "-e",
        events,
        "-o",
        at,
        "--",
        "sleep",
        "1",
    ];
    let done = Command::new("perf").args(record).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !done.is_ok_and(|s| s.success()) {
        println!("skipped: no perf, or it may not record here");
        return;
    }
    let ctf = dir.path().join("ctf");
    assert!(made(
        &["perf", "data", "convert", "-i", at, "--to-ctf", ctf.to_str().unwrap()],
        &dir.path().join("log")
    ));
    let (a, b) = (TraceFile::open(&recording).unwrap(), TraceFile::open(&ctf).unwrap());
    let (of_a, of_b) = (a.events().unwrap(), b.events().unwrap());
    let known = |e: &Event| !matches!(e.kind, EventKind::Other { .. });
    let (of_a, of_b): (Vec<Event>, Vec<Event>) = (of_a.filter(known).collect(), of_b.filter(known).collect());
    assert!(of_a.len() > 100, "{} events", of_a.len());
    assert_eq!(of_a.len(), of_b.len());
    let mut same_task = 0;
    for (a, b) in of_a.iter().zip(&of_b) {
        // The current task of one that is ending is -1 to perf; the kernel's own event, which only perf.data has, tells it.
        same_task += usize::from(a.pid == b.pid);
        assert_eq!(*a, Event { pid: a.pid, ..*b });
    }
    assert!(same_task > of_a.len() / 2, "{same_task} of {} with the same task", of_a.len());
    // Whether this machine slept in that second is not in our hands.
    if of_a.iter().any(|e| matches!(e.kind, EventKind::CpuIdle { state: Some(_), .. })) {
        // A task that an ending one wakes counts as waiting for I/O where nothing says who woke it.
        let woken = |e: &Event| matches!(e.kind, EventKind::SchedWaking { .. });
        let same_wakers = of_a.iter().zip(&of_b).all(|(a, b)| a.pid == b.pid || !woken(a));
        let [of_a, of_b] = [&recording, &ctf].map(|path| {
            let mut tape = tape(path);
            for cpu in tape.cpus.iter_mut().filter(|_| !same_wakers) {
                cpu.pieces = cpu.pieces.changed(|p| p.iowait = 0);
            }
            tape
        });
        same("perf data convert --to-ctf", Wheel::Told, &of_a, &of_b);
    }
}
