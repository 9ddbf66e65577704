// SPDX-License-Identifier: GPL-2.0-only
//! Does a recording that is broken, cut, or something else give an error in words or a count, and never a panic?

use std::path::{Path, PathBuf};

use idlewise_madeinput::story::{MS, OTHER_FN, RUNNING, Story, TICK, US};
use idlewise_recording::{CommandError, Recording, RecordingOptions};
use idlewise_study::replay::replay;
use idlewise_testkit::{error_text, known, recording, request};

/// A small trace with all that a tape is made of: 10 visits of two stays.
fn small_trace() -> Vec<u8> {
    let mut s = Story::new(2);
    s.prelude(0);
    for k in 1..11 {
        let at = TICK + k * 3 * MS;
        s.arm(0, at - 9 * US, 0x2000 + k, OTHER_FN, at + MS);
        s.wheel(0, at - 8 * US, 0x3000, 1_000 + k, 1_000 + k, 999, 0x10_0000);
        s.latency_limit(0, at - 7 * US, 100 * k as i32);
        s.rest(0, at);
        s.idle(0, at + 2 * US, 0);
        s.exit(0, at + 50 * US);
        s.irq(0, at + 51 * US, 9, "eth0", 5 * US);
        if k % 2 == 0 {
            s.tick_stop(0, at + 58 * US);
        }
        s.idle(0, at + 60 * US, 1);
        s.exit(0, at + MS + 20 * US);
        s.timer_irq(0, at + MS + 21 * US);
        s.fire(0, at + MS + 22 * US, 0x2000 + k, OTHER_FN, at + MS + 21 * US);
        s.wheel_fires(0, at + MS + 23 * US, 0x3000, 1_000 + k);
        s.timer_irq_end(0, at + MS + 24 * US);
        s.miss(0, at + MS + 25 * US, 1, false);
        s.switch(0, at + MS + 30 * US, RUNNING, 42);
    }
    s.write()
}

/// A folder for one file after the other.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn open(&self, bytes: &[u8]) -> Result<Recording, CommandError> {
        Recording::open(&self.file("x.dat", bytes), &known("kvm-guest", "menu"))
    }
}

/// An error in words, or a recording that replays (or says why not) and keeps.
fn survives(bench: &Bench, bytes: &[u8], what: &str) -> bool {
    match bench.open(bytes) {
        Err(e) => {
            let text = e.to_string();
            assert!(text.contains("x.dat") && text.len() > 20, "{what}: {text:?}");
            false
        }
        Ok(recording) => {
            let bytes = recording.tape_bytes().unwrap();
            assert_eq!(idlewise_tape::file::read(&bytes).unwrap(), recording.tape, "{what}");
            true
        }
    }
}

/// Small numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[test]
fn the_small_trace_is_whole_before_it_is_broken() {
    let bench = Bench::new();
    let recording = bench.open(&small_trace()).unwrap();
    assert_eq!(recording.tape.cpus[0].pieces.len(), 20);
    assert!(recording.tape.health.is_empty(), "{:?}", recording.tape.health);
    let path = bench.file("x.dat", &small_trace());
    let report = replay(&request(&[&path], "kvm-guest", "menu", &["menu", "oracle"]), &|_, _| ()).unwrap();
    assert!(report.traces[0].governors[0].decisions >= 20);
}

#[test]
fn files_that_are_no_recording_are_refused_with_their_name() {
    let bench = Bench::new();
    let mut dice = Dice(7);
    let noise: Vec<u8> = (0..10_000).map(|_| dice.below(256) as u8).collect();
    let zeros = vec![0; 10_000];
    let text = b"# tracer: nop\n#\n  <idle>-0 [000] 1.0: cpu_idle: state=1 cpu_id=0\n".to_vec();
    for bytes in [Vec::new(), noise, zeros, text, b"IWTAPE".to_vec(), b"\x17\x08\x44tracing".to_vec()] {
        let text = error_text(bench.open(&bytes));
        assert!(text.contains("x.dat"), "{text}");
    }
}

#[test]
fn a_folder_and_a_missing_file_are_refused_with_their_name() {
    let bench = Bench::new();
    let folder = bench.dir.path().join("folder.dat");
    std::fs::create_dir(&folder).unwrap();
    for (path, name) in [(folder, "folder.dat"), (bench.dir.path().join("nowhere.dat"), "nowhere.dat")] {
        let text = error_text(Recording::open(&path, &known("kvm-guest", "")));
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn a_trace_that_was_cut_anywhere_is_an_error_or_shorter() {
    let bench = Bench::new();
    let bytes = small_trace();
    let mut readable = 0;
    for cut in (0..50).map(|k| k * bytes.len() / 50) {
        readable += u32::from(survives(&bench, &bytes[..cut], &format!("cut at {cut}")));
    }
    assert!(readable > 0 && readable < 50, "{readable}");
}

#[test]
fn a_real_trace_that_was_cut_anywhere_is_an_error_or_shorter() {
    let Some(path) = recording("kvm-guest/idle_quiet.dat") else { return };
    let bench = Bench::new();
    let bytes = std::fs::read(path).unwrap();
    for cut in (0..50).map(|k| k * bytes.len() / 50) {
        survives(&bench, &bytes[..cut], &format!("cut at {cut}"));
    }
}

#[test]
fn flipped_bits_in_a_real_trace_never_panic() {
    let Some(path) = recording("kvm-guest/idle_quiet.dat") else { return };
    let bench = Bench::new();
    let bytes = std::fs::read(path).unwrap();
    let mut dice = Dice(2);
    for _ in 0..60 {
        let mut damaged = bytes.clone();
        let (at, bit) = (dice.below(bytes.len()), dice.below(8));
        damaged[at] ^= 1 << bit;
        survives(&bench, &damaged, &format!("bit {bit} of byte {at}"));
    }
}

#[test]
fn dirt_in_a_trace_is_counted_and_shown() {
    let bench = Bench::new();
    let bytes = small_trace();
    let cut = bench.open(&bytes[..bytes.len() - 4096 - 1000]);
    let recording = cut.unwrap();
    assert!(!recording.tape.health.is_empty());
    let path = bench.file("x.dat", &bytes[..bytes.len() - 4096 - 1000]);
    let report = replay(&request(&[&path], "kvm-guest", "menu", &["menu"]), &|_, _| ()).unwrap();
    assert!(
        report.traces[0].head.health.iter().any(|h| h.kind == "truncated"),
        "{:?}",
        report.traces[0].head.health
    );
}

// ---- The side-car.

#[test]
fn a_side_car_names_machine_and_governor_and_the_command_line_goes_first() {
    let bench = Bench::new();
    let path = bench.file("x.dat", &small_trace());
    bench.file("x.toml", b"platform = \"kvm-guest\"\ngovernor = \"menu\"\nmade = \"by hand\"\n");
    let recording = Recording::open(&path, &RecordingOptions::default()).unwrap();
    assert_eq!(
        (recording.machine.id.as_str(), recording.tape.source.governor.as_str()),
        ("kvm-guest", "menu")
    );
    let recording = Recording::open(&path, &known("mt8196", "teo")).unwrap();
    assert_eq!((recording.machine.id.as_str(), recording.tape.source.governor.as_str()), ("mt8196", "teo"));
    let elsewhere = RecordingOptions { replayed_on: Some("mt8196".into()), ..RecordingOptions::default() };
    assert_eq!(Recording::open(&path, &elsewhere).unwrap().machine.id, "kvm-guest");
}

#[test]
fn a_side_cars_platform_may_be_a_file_beside_it() {
    let bench = Bench::new();
    let path = bench.file("x.dat", &small_trace());
    let text = idlewise_platform::find("kvm-guest")
        .unwrap()
        .to_toml()
        .replace("id = \"kvm-guest\"", "id = \"mine\"");
    bench.file("mine.toml", text.as_bytes());
    bench.file("x.toml", b"platform = \"mine.toml\"\n");
    assert_eq!(Recording::open(&path, &RecordingOptions::default()).unwrap().machine.id, "mine");
}

#[test]
fn mistakes_in_a_side_car_are_named() {
    let bench = Bench::new();
    let path = bench.file("x.dat", &small_trace());
    for (text, parts) in [
        (&b"platfrom = \"kvm-guest\"\n"[..], &["x.toml", "platfrom", "platform"][..]),
        (b"platform = 7\n", &["x.toml", "platform"]),
        (b"platform = \"kvm-gest\"\n", &["kvm-gest", "kvm-guest"]),
        (b"not toml at all", &["x.toml"]),
        (b"\xff\xfe", &["x.toml"]),
        (b"governor = \"menu\"\n", &["x.dat", "--recorded-on"]),
    ] {
        bench.file("x.toml", text);
        let error = error_text(Recording::open(&path, &RecordingOptions::default()));
        for part in parts {
            assert!(error.contains(part), "no {part:?} in {error}");
        }
    }
}

#[test]
fn a_trace_without_idle_events_says_how_to_record_them() {
    let bench = Bench::new();
    let mut s = Story::new(1);
    // The idle task is never switched in.
    s.switch(0, TICK, RUNNING, 41);
    s.switch(0, TICK + MS, RUNNING, 42);
    let text = error_text(bench.open(&s.write()));
    assert!(text.contains("cpu_idle") && text.contains("trace-cmd record"), "{text}");
}

#[test]
fn no_shared_recording_that_lacks_idle_events_is_taken_for_an_idle_one() {
    let Some(folder) = recording("trace-dat") else { return };
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap().flatten() {
        let path: &Path = &file.path();
        if path.extension().is_some_and(|e| e == "dat") {
            seen += 1;
            match Recording::open(path, &known("kvm-guest", "")) {
                Ok(r) => assert!(r.tape.cpus.iter().any(|c| !c.pieces.is_empty()), "{}", path.display()),
                Err(e) => {
                    let text = e.to_string();
                    let name = path.file_name().unwrap().to_string_lossy();
                    assert!(text.contains(&*name), "{text}");
                }
            }
        }
    }
    assert!(seen > 0);
}

#[test]
fn flipped_bits_in_a_small_trace_never_panic() {
    let bench = Bench::new();
    let bytes = small_trace();
    let mut dice = Dice(1);
    let mut readable = 0;
    for round in 0..400 {
        let mut damaged = bytes.clone();
        // In the events more often than in the headers, which refuse most.
        let from = if round % 4 == 0 { 0 } else { bytes.len() - 2 * 4096 };
        let mut places = Vec::new();
        for _ in 0..=round % 3 {
            let (at, bit) = (from + dice.below(bytes.len() - from), dice.below(8));
            damaged[at] ^= 1 << bit;
            places.push((at, bit));
        }
        readable += u32::from(survives(&bench, &damaged, &format!("flips {places:?}")));
    }
    assert!(readable > 100, "{readable}");
}
