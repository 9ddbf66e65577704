// SPDX-License-Identifier: GPL-2.0-only
//! Does any damage to a file that a command takes beside a trace make it panic, crash or hang?
//!
//! Traces and workloads have tests of their own. `IDLEWISE_FUZZ_INPUTS=100000 make fuzz` runs that many inputs of each kind.

use std::cell::Cell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use idlewise_conform::decision_table;
use idlewise_conform::golden::drive;
use idlewise_conform::pelt::{drive_pelt, find_pelt};
use idlewise_experiment::again::RecordedRequest;
use idlewise_experiment::simulate::{SimulateRequest, simulate};
use idlewise_explain::{LineRequest, RowRequest, explain_line, explain_row};
use idlewise_governor::{Offered, Spec};
use idlewise_machine::ab::AbAnswer;
use idlewise_machine::diff::{DiffRequest, diff};
use idlewise_model::{
    Change, CpuTape, HealthKind, LATEST_NS, NO_LATENCY_LIMIT_NS, Piece, PieceFlags, Tape, TickGrid,
};
use idlewise_platform::{Platform, SysfsDump};
use idlewise_recording::{Recording, RecordingOptions};
use idlewise_report::Format;
use idlewise_reproduce::Experiment;
use idlewise_study::info::info;
use idlewise_study::replay::{Per, ReplayRequest, replay};
use idlewise_study::score::score;
use idlewise_view as view;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// Those that index by what they were given.
const GOVERNORS: [&str; 6] = ["teo", "menu", "ladder", "teo-weighted", "teo-util", "haltpoll"];
/// Numbers and words to be put where they do not belong.
const WORDS: [&str; 30] = [
    "-1",
    "0",
    "2",
    "255",
    "65536",
    "100000000",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e309",
    "nan",
    "inf",
    "",
    "x",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    "\n",
    "./evil.c",
    "é",
    "\0",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cases(few: u32) -> u32 {
    std::env::var("IDLEWISE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// Puts words in the place of the `n`th number or other word of the text, where two characters of a kind meet.
fn edited(text: &str, edits: &[(Index, Index)]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut before = None;
    for c in text.chars() {
        let kind =
            if c.is_ascii_digit() || c == '-' { 0 } else { 1 + u8::from(c.is_alphabetic() || c == '_') };
        if before != Some(kind) || kind == 1 {
            parts.push(String::new());
        }
        before = Some(kind);
        parts.last_mut().unwrap().push(c);
    }
    for (at, word) in edits {
        if !parts.is_empty() {
            *at.get_mut(&mut parts) = WORDS[word.index(WORDS.len())].to_owned();
        }
    }
    parts.concat()
}

/// The same inputs in every run, so that what is asserted of them does not depend on luck; others where many are asked for.
fn runner(config: Config) -> TestRunner {
    if std::env::var_os("IDLEWISE_FUZZ_INPUTS").is_some() {
        return TestRunner::new(config);
    }
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn edits() -> impl Strategy<Value = Vec<(Index, Index)>> {
    prop::collection::vec(any::<(Index, Index)>(), 1..5)
}

/// Runs `read` on `text` and damaged forms of it; it tells whether it could read one. Some must be read, and some refused.
fn damaged(few: u32, text: &str, read: impl Fn(&str) -> bool) {
    let config = Config { cases: cases(few), failure_persistence: None, ..Config::default() };
    let mut first = [0, 0];
    // Of a long text that every edit damages it is the one that can be read.
    first[usize::from(read(text))] += 1;
    let count = Cell::new(first);
    runner(config)
        .run(&edits(), |edits| {
            let mut counts = count.get();
            counts[usize::from(read(&edited(text, &edits)))] += 1;
            count.set(counts);
            Ok(())
        })
        .unwrap();
    let [refused, done] = count.get();
    assert!(refused > 0 && done > 0, "{refused} refused, {done} read: the damage tests nothing");
}

/// A recording of one CPU, half a second, with the governor's true inputs; its side-car and its machine beside it.
fn recording() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["teo-util-timer.dat", "teo-util-timer.toml", "synth4.toml"] {
        fs::copy(root().join("tests/data/lab").join(name), folder.path().join(name)).unwrap();
    }
    let path = folder.path().join("teo-util-timer.dat");
    (folder, path)
}

fn replayed(path: &Path) -> bool {
    let request = ReplayRequest {
        traces: vec![path.to_owned()],
        governors: [&GOVERNORS[..], &["oracle"]].concat().iter().map(|g| (*g).to_owned()).collect(),
        ..ReplayRequest::default()
    };
    // It knows nothing of tapes.
    let _ = info(path, &RecordingOptions::default(), &[]);
    if let Ok(report) = score(path, &RecordingOptions::default(), Per::Cpu, None) {
        assert!(!view::score(&report, Per::Cpu).render(Format::Table, &report).unwrap().is_empty());
    }
    match replay(&request, &|_, _| ()) {
        Ok(report) => !view::replay(&report).render(Format::Table, &report).unwrap().is_empty(),
        Err(_) => false,
    }
}

#[test]
fn side_cars() {
    let (folder, path) = recording();
    let file = folder.path().join("teo-util-timer.toml");
    let counters = "[[counters]]\ncpu = 0\nat_ns = [100, 200]\nusage = [[1, 2, 3, 4], [5, 6, 7, 8]]\n\
                    time_us = [[1, 2, 3, 4], [5, 6, 7, 8]]\nabove = [[0, 0, 0, 0], [1, 1, 1, 1]]\n";
    let text = fs::read_to_string(&file).unwrap() + "\n" + counters;
    damaged(60, &text, |text| {
        fs::write(&file, text).unwrap();
        replayed(&path)
    });
}

#[test]
fn platforms() {
    let text = fs::read_to_string(root().join("tests/data/lab/synth4.toml")).unwrap();
    let (folder, path) = recording();
    let file = folder.path().join("synth4.toml");
    damaged(60, &text, |text| {
        fs::write(&file, text).unwrap();
        replayed(&path)
    });
    let shipped = idlewise_platform::shipped();
    for (id, text) in shipped.iter().take(12) {
        damaged(200, text, |text| {
            Platform::from_toml(text, id).is_ok_and(|p| !p.check().is_empty() || !p.to_toml().is_empty())
        });
    }
}

/// Limits, temperature and turbo of a platform, simulated for a moment where they can be read.
#[test]
fn limits_and_heat_of_platforms() {
    let text = fs::read_to_string(root().join("platforms/jasper-lake.toml")).unwrap();
    let (start, end) = (text.find("[limits]").unwrap(), text.find("[[cluster]]").unwrap());
    let turbo = text.lines().find(|l| l.starts_with("turbo = ")).unwrap();
    let leakage = "leakage = { power = 300000, at_mc = 60000, doubles_mk = 20000 }\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("limited.toml");
    let request = SimulateRequest {
        workload: "frames".to_owned(),
        platform: file.display().to_string(),
        governors: vec!["menu".to_owned()],
        cpufreq: vec!["hwp-window".to_owned()],
        signals: vec!["pelt".to_owned()],
        kernel: "6.12".to_owned(),
        duration_ns: Some(20_000_000),
        repeat: 1,
        ..SimulateRequest::default()
    };
    let simulated = Cell::new(0);
    let read = |head: &str, turbo_now: &str| {
        let whole = format!("{}{head}\n{}", &text[..start], text[end..].replace(turbo, turbo_now));
        fs::write(&file, &whole).unwrap();
        let Ok(machine) = Platform::from_toml(&whole, "limited") else { return false };
        assert_eq!(Platform::from_toml(&machine.to_toml(), "limited").unwrap().limits, machine.limits);
        for power_limit in [None, Some("pl1=4W:1ms:clamp@9W".to_owned()), Some("none".to_owned())] {
            let asked = SimulateRequest { power_limit, ..request.clone() };
            if let Ok(report) = simulate(&asked, None, &|_, _| {}) {
                let shown = view::simulate(&report, false).render(Format::Table, &report).unwrap();
                assert!(!shown.is_empty());
                simulated.set(simulated.get() + 1);
            }
        }
        true
    };
    let blocks = format!("{}\n{leakage}", text[start..end].trim_end());
    damaged(200, &blocks, |blocks| read(blocks, turbo));
    damaged(200, turbo, |turbo| read(&blocks, turbo));
    assert!(simulated.get() > 50, "only {} were simulated", simulated.get());
}

/// Counters that no machine reaches, of a platform with a state that is always refused, and of its own.
#[test]
fn counters_beyond_any_machine_s() {
    let (folder, path) = recording();
    let file = folder.path().join("teo-util-timer.toml");
    let text = fs::read_to_string(&file).unwrap();
    let most = [1_u64 << 50; 4];
    for (usage, rejected) in [([0; 4], [0, 0, 0, most[3]]), (most, [0; 4])] {
        let counters = |cpu: u32, usage: &[u64; 4], rejected: &[u64; 4]| {
            format!(
                "\n[[counters]]\ncpu = {cpu}\nat_ns = [0, {LATEST_NS}]\nusage = [[0, 0, 0, 0], {usage:?}]\n\
                 time_us = [[0, 0, 0, 0], {most:?}]\nrejected = [[0, 0, 0, 0], {rejected:?}]\n"
            )
        };
        let all: String = (0..4).map(|cpu| counters(cpu, &usage, &rejected)).collect();
        fs::write(&file, format!("{text}{all}")).unwrap();
        let shown = info(&path, &RecordingOptions::default(), &[]).unwrap();
        assert!(!view::info(&shown).render(Format::Table, &shown).unwrap().is_empty());
        assert!(replayed(&path));
        fs::write(
            &file,
            format!(
                "{text}{}",
                counters(1, &usage, &rejected).replace("1125899906842624", "9223372036854775807")
            ),
        )
        .unwrap();
        let said = info(&path, &RecordingOptions::default(), &[]).unwrap_err().to_string();
        assert!(
            said.contains("CPU 1 has 9223372036854775807 in") && said.contains("1125899906842624 at most"),
            "{said}"
        );
    }
}

/// The tape's content with a byte or two changed, packed again as if it were whole.
#[test]
fn tapes() {
    let (folder, path) = recording();
    let recording = Recording::open(&path, &RecordingOptions::default()).unwrap();
    let tape = recording.tape_bytes().unwrap();
    let (head, packed) = tape.split_at(16);
    let plain = zstd::decode_all(packed).unwrap();
    let file = folder.path().join("t.tape");
    let config = Config { cases: cases(150), failure_persistence: None, ..Config::default() };
    let longer = prop_oneof![3 => Just(0), 1 => 1..6_usize];
    let changes = prop::collection::vec((any::<Index>(), any::<u8>(), longer), 1..4);
    let read = Cell::new(0);
    runner(config)
        .run(&changes, |changes| {
            let mut content = plain.clone();
            for (at, byte, times) in changes {
                let at = at.index(content.len());
                // Long numbers are rows of bytes with the highest bit set.
                content.splice(at..=at, std::iter::repeat_n(byte | 0x80, times).chain([byte]));
            }
            let packed = zstd::encode_all(content.as_slice(), 1).unwrap();
            let mut bytes = head[..8].to_vec();
            bytes.extend_from_slice(&xxh3_64(&packed).to_le_bytes());
            bytes.extend_from_slice(&packed);
            fs::write(&file, bytes).unwrap();
            read.set(read.get() + u32::from(replayed(&file)));
            Ok(())
        })
        .unwrap();
    assert!(read.get() > 0, "no damaged tape could be read");
}

/// Numbers at the ends of what a tape may hold: whatever is accepted can be replayed, scored, explained and shown.
#[test]
fn tapes_at_the_ends_of_what_is_allowed() {
    let (folder, path) = recording();
    let recording = Recording::open(&path, &RecordingOptions::default()).unwrap();
    let tape = idlewise_tape::file::read(&recording.tape_bytes().unwrap()).unwrap();
    let file = folder.path().join("t.tape");
    let config = Config { cases: cases(60), failure_persistence: None, ..Config::default() };
    let periods = prop::collection::vec((any::<Index>(), 0..12_u8), 1..60);
    let of_cpu = prop::collection::vec((any::<Index>(), 0..9_u8), 0..4);
    let read = Cell::new(0);
    runner(config)
        .run(&(any::<bool>(), periods, of_cpu), |(late, periods, of_cpu)| {
            let mut tape = tape.clone();
            if late {
                move_to_the_end(&mut tape);
            }
            for (at, what) in of_cpu {
                change_cpu(at.get_mut(&mut tape.cpus), what);
            }
            for (at, what) in periods {
                let cpu = at.get_mut(&mut tape.cpus);
                let mut all = cpu.pieces.to_vec().unwrap();
                if all.is_empty() {
                    continue;
                }
                let n = at.index(all.len());
                let room_ns = all.get(n + 1).map_or(0, |next| next.start_ns - all[n].start_ns);
                change_period(&mut all[n], what, room_ns);
                cpu.pieces = all.into();
            }
            let all: u64 = tape.cpus.iter().map(|c| c.pieces.len() as u64).sum();
            tape.inputs.iter_mut().for_each(|i| i.counts = [all, 0, 0, 0]);
            tape.source.events = LATEST_NS - 1;
            tape.health.add(HealthKind::LostEvents, u64::MAX, String::new);
            tape.health.add(HealthKind::LostEvents, u64::MAX, String::new);
            fs::write(&file, idlewise_tape::file::write(&tape).unwrap()).unwrap();
            Recording::open(&file, &RecordingOptions::default()).unwrap();
            read.set(read.get() + u32::from(replayed(&file)));
            Ok(())
        })
        .unwrap();
    assert!(read.get() > cases(60) / 4, "{} were replayed", read.get());
}

/// As late as can be, with room for all that may happen after the last idle period.
fn move_to_the_end(tape: &mut Tape) {
    for cpu in &mut tape.cpus {
        let mut all = cpu.pieces.to_vec().unwrap();
        let last_ns = all.last().map_or(0, |p| p.exit_at_ns());
        all.iter_mut().for_each(|p| p.start_ns += LATEST_NS - 1 - last_ns);
        cpu.pieces = all.into();
    }
    tape.source.last_ns = LATEST_NS - 1;
}

fn change_cpu(cpu: &mut CpuTape, what: u8) {
    match what {
        0 => cpu.tick = TickGrid { period_ns: 10_000, phase_ns: 9_999 },
        1 => cpu.tick = TickGrid { period_ns: 1_000_000_000, phase_ns: 999_999_999 },
        2 => cpu.tick_handler_ns = u32::MAX,
        3 => cpu.tick_handler_ns = 0,
        4 => cpu.latency = vec![Change { at_ns: 0, value: 0 }, Change { at_ns: LATEST_NS - 1, value: 0 }],
        5 => cpu.latency = vec![Change { at_ns: 0, value: NO_LATENCY_LIMIT_NS }],
        6 => cpu.disabled = vec![Change { at_ns: 0, value: u16::MAX }],
        7 => cpu.disabled = vec![Change { at_ns: 0, value: 1 }, Change { at_ns: 0, value: !1 }],
        _ => cpu.pieces = Vec::new().into(),
    }
}

/// The next one begins `room_ns` after it.
fn change_period(p: &mut Piece, what: u8, room_ns: u64) {
    match what {
        0 => p.hrtimer_ns = LATEST_NS.cast_signed(),
        1 => p.hrtimer_ns = -LATEST_NS.cast_signed(),
        2 => p.wheel_ns = LATEST_NS.cast_signed(),
        3 => p.wheel_ns = -LATEST_NS.cast_signed(),
        4 => p.wake_ns = 0,
        5 if room_ns > 0 => (p.wake_ns, p.exit_lag_ns) = (room_ns, 0),
        6 => (p.response_ns, p.handler_ns, p.entry_lag_ns) = (u32::MAX, u32::MAX, u32::MAX),
        7 => (p.util, p.iowait) = (1024, u16::MAX),
        8 => p.state = 9,
        9 => p.state = Piece::NO_STATE,
        10 => p.flags = PieceFlags(u16::MAX),
        _ => p.flags = PieceFlags(0),
    }
}

const DECISIONS: &str =
    "cpu,ts_entry_ns,state,latency_req0,dis0,dis1,tick_stopped_before,idle_calls_delta,n_switch_out,got_tick_prev,\
     prev_residency_ns,poll_time_limit_prev,idle_entry_rel,hrt_expires_next_rel,menu_sleep_length_ns,menu_tick_wakeup,\
     exit_rel_ns,residency_ns,given_up,latency_limit_ns,disabled,entered,rejected_inc,delta_tick_ns,prev_state,poll_limit_ns
0,1000000,1,0,0,0,0,1,1,0,5000,0,0,4000000,4000000,0,100000,90000,0,2000000000000,0,1,0,4000000,0,8000
0,2000000,0,0,0,0,1,0,0,1,90000,0,-200,3000000,,0,50000,40000,0,,0,0,0,,1,8000
0,3000000,0,0,0,0,0,1,1,0,40000,1,-100,2000000,2000000,1,60000,50000,1,0,1,,0,,0,200000
0,4000000,1,0,0,1,0,1,1,0,50000,0,-100,2000000,2000000,1,60000,50000,0,0,1,0,1,1000,-1,0
0,5000000,1,1,0,0,0,2,0,0,0,0,0,2000000,,,,,0,0,2,,,,,
";

#[test]
fn tables_of_decisions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.csv");
    let machine = idlewise_platform::find("kvm-guest").unwrap();
    damaged(300, DECISIONS, |text| {
        fs::write(&file, text).unwrap();
        let driven = |g: &&str| decision_table::drive(&Spec::new(g), &file, &machine, 0).is_ok();
        let all = GOVERNORS.iter().filter(|g| driven(g)).count();
        for governor in GOVERNORS {
            let request = LineRequest {
                decisions: file.clone(),
                line: 4,
                platform: "kvm-guest".to_owned(),
                cpu: 0,
                governor: governor.to_owned(),
                others: vec!["menu".to_owned()],
                kernel_trees: Vec::new(),
            };
            let _ = explain_line(&request);
        }
        all > 0
    });
}

/// A golden file's first rows, and its side-car.
fn golden(folder: &str, rows: usize) -> (String, String) {
    let folder = root().join("tests/data/golden").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let csv = files.iter().find(|f| f.extension().is_some_and(|e| e == "gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(fs::File::open(csv).unwrap()).read_to_string(&mut text).unwrap();
    let rows: Vec<&str> = text.lines().take(rows).collect();
    let json = fs::read_to_string(csv.display().to_string().replace(".csv.gz", ".json")).unwrap();
    (rows.join("\n") + "\n", json)
}

fn packed(text: &str) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap()
}

#[test]
fn golden_files_and_their_side_cars() {
    let folder = tempfile::tempdir().unwrap();
    let (file, car) = (folder.path().join("g.csv.gz"), folder.path().join("g.json"));
    let (csv, json) = golden("closed/teo-7.3", 30);
    let mut of_all: serde_json::Value = serde_json::from_str(&json).unwrap();
    of_all["steps"] = 29.into();
    let json = of_all.to_string();
    let driven = || {
        let all = GOVERNORS.iter().filter(|g| drive(&Spec::new(g), &file).is_ok()).count();
        let request = RowRequest {
            golden: file.clone(),
            row: 20,
            governor: "ladder".to_owned(),
            others: vec!["menu".to_owned()],
            kernel_trees: Vec::new(),
        };
        let _ = explain_row(&request);
        all > 0
    };
    fs::write(&car, &json).unwrap();
    damaged(200, &csv, |text| {
        fs::write(&file, packed(text)).unwrap();
        driven()
    });
    fs::write(&file, packed(&csv)).unwrap();
    damaged(200, &json, |text| {
        fs::write(&car, text).unwrap();
        driven()
    });
}

#[test]
fn golden_files_of_signals() {
    let folder = tempfile::tempdir().unwrap();
    let (file, car) = (folder.path().join("g.csv.gz"), folder.path().join("g.json"));
    let (csv, json) = golden("pelt", 40);
    let mut of_all: serde_json::Value = serde_json::from_str(&json).unwrap();
    of_all["rows"] = 39.into();
    fs::write(&car, of_all.to_string()).unwrap();
    let pelts = ["pelt", "pelt-4.4", "pelt-6.1"].map(|name| find_pelt(name).unwrap());
    damaged(300, &csv, |text| {
        fs::write(&file, packed(text)).unwrap();
        pelts.iter().filter(|pelt| drive_pelt(pelt, &file).is_ok()).count() == pelts.len()
    });
}

#[test]
fn experiments() {
    for (id, text) in idlewise_reproduce::shipped() {
        damaged(40, text, |text| Experiment::from_toml(text, id).is_ok());
    }
}

#[test]
fn results_that_are_asked_again() {
    let (_folder, path) = recording();
    let request =
        ReplayRequest { traces: vec![path], governors: vec!["menu".to_owned()], ..ReplayRequest::default() };
    let report = serde_json::to_string(&replay(&request, &|_, _| ()).unwrap()).unwrap();
    let start = report.find("\"traces\":[{").unwrap_or(report.len());
    let text = format!(
        "{}\"foreign\":[{{\"governor\":\"x\",\"file\":\"x.c\",\"kernel\":null,\"hash\":\"0\",\"sources\":[]}}]}}",
        &report[..start]
    );
    damaged(1000, &text, |text| {
        let recorded: Result<RecordedRequest<ReplayRequest>, _> = serde_json::from_str(text);
        recorded.is_ok_and(|r| r.allow(&Offered::nothing()).is_ok())
    });
}

/// The description inside a recording, where a trace.dat names its recorder.
#[test]
fn descriptions_inside_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("described.dat");
    let dat = fs::read(root().join("tests/data/sleeploop.dat")).unwrap();
    let machine = idlewise_platform::find("kvm-guest").unwrap().to_toml();
    let said = format!("governor = \"menu\"\n[machine]\n{}", machine.replace("\n[", "\n[machine."));
    let said = said.replace("[machine.[", "[[machine.");
    damaged(40, &said, |said| {
        fs::write(&file, with_description(&dat, said)).unwrap();
        let _ = info(&file, &RecordingOptions::default(), &[]);
        Recording::open(&file, &RecordingOptions::default())
            .is_ok_and(|r| !r.tape_bytes().unwrap().is_empty())
    });
}

/// A trace.dat of version 7 with `said` in one more option, at its end.
fn with_description(dat: &[u8], said: &str) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(dat[at..at + 8].try_into().unwrap());
    let end_of_text = |from: usize| from + dat[from..].iter().position(|b| *b == 0).unwrap() + 1;
    // Byte order, size of a long, size of a page; then the compression's name and version, then where the options are.
    let pointer = end_of_text(end_of_text(12 + 2 + 4));
    let at = usize::try_from(word(pointer)).unwrap();
    let options = &dat[at + 16..at + 16 + usize::try_from(word(at + 8)).unwrap()];
    let bytes = [b"idlewise test\0# idlewise: the recording\n", said.as_bytes(), &[0]].concat();
    let head = [&9u16.to_le_bytes()[..], &u32::try_from(bytes.len()).unwrap().to_le_bytes()].concat();
    let section = [&head, bytes.as_slice(), options].concat();
    let mut out = dat.to_vec();
    out[pointer..pointer + 8].copy_from_slice(&(dat.len() as u64).to_le_bytes());
    out.extend(&dat[at..at + 8]);
    out.extend((section.len() as u64).to_le_bytes());
    out.extend(section);
    out
}

#[test]
fn sessions_of_comparisons() {
    let folder = tempfile::tempdir().unwrap();
    let head = r#"{"schema":"idlewise.ab-session/1","request":{"arms":["menu","teo"],"benchmarks":[{"name":"b","command":["true"],
        "load":null}],"metrics":["n=([0-9]+)"],"disable":[1],"latency_limit_us":5,"set":["a=b"],"repeat":8,"warm_up":1,
        "settle_ms":1,"seed":1,"foreign_pct":10,"retries":1,"margin_permille":20,"aa":true,"wakeups":true},"kernel":"6.1",
        "driver":"x","cpus":2,"governor":"menu"}"#;
    let run = |n: u32| {
        let (arm, round) = (n % 2, n / 2);
        let waits = r#"{"count":100,"p50_us":1.0,"p99_us":2.0,"max_us":9.0,"histogram":[50,50]}"#;
        format!(
            r#"{{"number":{},"round":{round},"benchmark":"b","arm":{arm},"left_out":null,"seconds":1.{n},"values":{{"time":1.{n}}},
            "wakeups_per_s":100.5,"too_deep_pct":1.5,"too_shallow_pct":null,"states":[{{"name":"C1","time_pct":50.0,
            "entries_per_s":10.0}}],"watts":{{"package":1.5}},"foreign_pct":0.1,"foreign_by":["x"],"steal_pct":0.0,
            "limit_us":5,"limited_by":["y"],"throttled":0,"slowed_by":["z"],
            "limiting":{{"seconds":1.0,"limited":true,"zones":1,"power":[{{"zone":"p","limit":"PL1","limit_w":6.0,"window_s":28.0,
            "mean_w":5.5,"average_low_w":5.9,"average_high_w":6.0,"acting_pct":50.0,"unknown_pct":5.0,"acting_from_s":0.1,
            "acting_until_s":0.9}}],"throttling":{{"count":1,"core_pct":2.0,"package_pct":null}},"reasons":["PL1"]}},"wakeups":{{"all":{waits},"idle":{waits},
            "hidden_cpus":[0],"hidden":7,"events":300,"lost":0,"until_s":null}}}}"#,
            n + 1
        )
    };
    let lines: Vec<String> = std::iter::once(head.to_owned()).chain((0..14).map(run)).collect();
    let text = lines.iter().map(|l| l.replace('\n', "") + "\n").collect::<String>();
    damaged(600, &text, |text| {
        fs::write(folder.path().join("session.jsonl"), text).unwrap();
        let Ok(report) = idlewise_ab::report(folder.path()) else { return false };
        let answer = AbAnswer::new(report, &[]).unwrap();
        let page = view::ab(&answer, true);
        assert!(!page.render(Format::Table, &answer).unwrap().is_empty());
        for form in [Format::Csv, Format::Parquet, Format::Arrow] {
            assert!(!page.encode(form, &answer, &[]).unwrap().is_empty());
        }
        serde_json::to_string(&answer).is_ok()
    });
}

/// Two looks at the counters of two CPUs.
fn dumps() -> [String; 2] {
    [0, 1].map(|look| {
        let mut text = String::new();
        for (cpu, state) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
            let usage = 100 + look * 10;
            for (file, value) in
                [("name", "C1"), ("desc", "a: b"), ("latency", "1"), ("residency", "1"), ("disable", "0")]
            {
                text += &format!("{path}/{file}:{value}\n");
            }
            text += &format!(
                "{path}/usage:{usage}\n{path}/time:{}\n{path}/above:0\n{path}/below:{look}\n",
                usage * 7
            );
        }
        text
    })
}

#[test]
fn dumps_of_sysfs() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["a.txt", "b.txt"].map(|name| folder.path().join(name));
    let looks = dumps();
    let compared = || {
        let request =
            DiffRequest { before: before.clone(), after: Some(after.clone()), ..DiffRequest::default() };
        diff(&request).is_ok_and(|r| !view::diff(&r, Per::Cpu).render(Format::Table, &r).unwrap().is_empty())
    };
    fs::write(&before, &looks[0]).unwrap();
    damaged(400, &looks[1], |text| {
        fs::write(&after, text).unwrap();
        let _ = Platform::from_sysfs_dump(text, "b.txt");
        compared()
    });
    fs::write(&after, &looks[1]).unwrap();
    damaged(400, &looks[0], |text| {
        fs::write(&before, text).unwrap();
        compared()
    });
}

#[test]
fn logs_of_tools() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    let idle_info = "CPUidle driver: x\nanalyzing CPU 0:\n\nPOLL:\nFlags/Description: POLL\nLatency: 0\nUsage: 1\nDuration: 2\n\
        C1 (DISABLED) :\nLatency: 7\nResidency: 9\nUsage: 3\nDuration: 4\n";
    let turbostat = "CPU\tBusy%\tC1\tC1-\tC1+\tC1%\tPkgWatt\n-\t3.00\t8\t1\t2\t9.5\t4.25\n0\t3.00\t8\t1\t2\t9.5\n5.0 sec\n";
    let monitor =
        "    | Mperf || Idle_Stats\n CPU| C0 || POLL | C1\n 0| 1.0|| 0.00| 50.00\n 4| 1.0|| 0.00| 70.00\n";
    let powertop =
        " *  *  *   Processor Idle State Report   *  *  *\n;CPU 0;CPU 1\nC1;1.0%;2.0%\nC6;3.0%;4.0%\n";
    for log in [idle_info, turbostat, monitor, powertop] {
        damaged(400, log, |text| {
            fs::write(&file, text).unwrap();
            let request = DiffRequest { before: file.clone(), ..DiffRequest::default() };
            if let Ok(dump) = SysfsDump::of_any(text, "a.txt") {
                view::states("a.txt", &dump, "why").render(Format::Table, &()).unwrap();
            }
            diff(&request)
                .is_ok_and(|r| !view::diff(&r, Per::Cpu).render(Format::Table, &r).unwrap().is_empty())
        });
    }
}

#[test]
fn device_trees() {
    let tree = "/dts-v1/;\n/ { cpus { idle-states { ret: cpu-retention { entry-latency-us = <55>; exit-latency-us = <140>;\n\
        min-residency-us = <780>; local-timer-stop; }; };\n cpu@0 { device_type = \"cpu\"; cpu-idle-states = <&ret>; }; }; };\n\
        &ret { wakeup-latency-us = <90>; };\n";
    damaged(2000, tree, |text| {
        Platform::from_device_tree(text, "a.dts").is_ok_and(|p| !p.to_toml().is_empty())
    });
}
