// SPDX-License-Identifier: GPL-2.0-only
//! Are the numbers of a sweep those of a replay, does it go on where it was interrupted, and does it say what is wrong?

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_checkout::root;
use idlewise_collect::{NamedRecordings, RecordingFile, listed};
use idlewise_experiment::simulate::{SimulateRequest, simulate};
use idlewise_recording::ReplaySetup;
use idlewise_study::replay::{ReplayRequest, replay};
use idlewise_sweep::{
    Keeping, KnownCase, PartFailure, Parts, RecordingHere, SentCode, Shard, SweepEstimate, SweepListener,
    SweepReport, SweepRequest, Swept, Workplace, parts_of, sweep, with_known,
};

pub(crate) fn data(name: &str) -> PathBuf {
    root().join("tests/data").join(name)
}

pub(crate) fn request(governors: &[&str]) -> SweepRequest {
    SweepRequest {
        governors: governors.iter().map(|g| (*g).to_owned()).collect(),
        recordings: vec![data("mixed.dat"), data("sleeploop.dat")],
        platforms: vec!["pixel6".to_owned()],
        ..SweepRequest::default()
    }
}

/// What a sweep did, and how many runs it took.
pub(crate) fn swept(request: &SweepRequest, keeping: &Keeping) -> Result<(Swept, usize), String> {
    let runs = AtomicUsize::new(0);
    let progress = |what: &str, done: usize, _: usize| {
        if what == "replaying" {
            runs.fetch_max(done, Ordering::Relaxed);
        }
    };
    let listener = SweepListener { progress: &progress, estimated: &|_| (), warned: &|_| () };
    let done = sweep(request, keeping, &listener).map_err(|e| e.to_string())?;
    Ok((done, runs.into_inner()))
}

pub(crate) fn report(request: &SweepRequest, keeping: &Keeping) -> (SweepReport, usize) {
    match swept(request, keeping).unwrap() {
        (Swept::All(report), runs) => (*report, runs),
        (other, _) => unreachable!("{other:?}"),
    }
}

pub(crate) fn kept_in(folder: &Path) -> Keeping {
    Keeping { to: Some(folder.to_owned()), ..Keeping::default() }
}

#[test]
fn the_numbers_of_a_sweep_are_those_of_a_replay() {
    let request = request(&["teo-util:util_threshold_shift=3..5", "menu"]);
    let (report, _) = report(&request, &Keeping::default());
    assert_eq!((report.baseline.as_str(), report.settings.len()), ("teo-util", 5));
    let governors: Vec<String> = report.settings.iter().map(|s| s.setting.clone()).collect();
    assert_eq!(governors[1], "teo-util:util_threshold_shift=3");
    let asked = ReplayRequest {
        traces: request.recordings.clone(),
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), ..ReplaySetup::default() },
        governors,
        ..ReplayRequest::default()
    };
    let replayed = replay(&asked, &|_, _| ()).unwrap();
    for (at, setting) in report.settings.iter().enumerate() {
        for (case, trace) in setting.cases.iter().zip(&replayed.traces) {
            let (numbers, of_replay) = (case.numbers.unwrap(), &trace.governors[at]);
            assert_eq!(numbers.energy, Some(of_replay.score.energy), "{}", setting.setting);
            assert_eq!(numbers.latency_mean_ns, Some(of_replay.score.latency.mean_ns));
            assert_eq!(numbers.too_deep_pct, Some(of_replay.score.too_deep_pct));
            assert_eq!(numbers.decisions, of_replay.decisions);
            assert!((case.regret_pct.unwrap() - of_replay.regret_pct).abs() < 1e-9);
        }
    }
    let baseline = &report.settings[0];
    assert!(baseline.changes.iter().all(|c| c.mean == Some(0.0)), "{:?}", baseline.changes);
    assert!(report.settings.iter().any(|s| s.on_front));
}

#[test]
fn all_settings_have_intervals_and_of_many_those_of_the_front() {
    let names =
        ["sim-haswell-ep-timer", "sim-ice-lake-sp-periodic", "sim-skylake-sp-periodic", "sim-mt8196-timers"];
    let names = names.into_iter().chain(["sim-sapphire-rapids-web"]);
    let sweep_of = |governor: &str| {
        let recordings = names.clone().map(|name| root().join(format!("corpus/{name}.tape"))).collect();
        report(
            &SweepRequest { recordings, platforms: Vec::new(), ..request(&[governor]) },
            &Keeping::default(),
        )
        .0
    };
    let report = sweep_of("teo:decay_shift=1..4");
    assert!(report.settings.iter().any(|s| !s.on_front) && report.settings.iter().any(|s| s.on_front));
    let changes = || report.settings.iter().flat_map(|s| &s.changes);
    // Of what falls to 0 there is no mean and no interval.
    assert!(changes().filter(|c| c.mean.is_some()).all(|c| c.interval.is_some()), "{:?}", report.settings);
    // Of many settings those of the front alone.
    let many = sweep_of("teo:residency_threshold_ns=0..300");
    assert!(many.settings.len() > 300);
    for s in &many.settings {
        assert_eq!(s.changes.iter().any(|c| c.interval.is_some()), s.on_front, "{}", s.setting);
    }
}

fn of_workloads(workloads: &[&str], seeds: &str) -> SweepRequest {
    SweepRequest {
        governors: vec!["teo-util:util_threshold_shift=4|7".to_owned()],
        workloads: workloads.iter().map(|w| (*w).to_owned()).collect(),
        seeds: Some(seeds.to_owned()),
        duration_ns: Some(500_000_000),
        ..SweepRequest::default()
    }
}

#[test]
fn the_numbers_of_a_workload_are_those_of_a_simulation() {
    let (swept, runs) = report(&of_workloads(&["frames", "reads"], "3..4"), &Keeping::default());
    // Baseline and two settings of two workloads with two seeds; no simulation has a bound.
    assert_eq!((runs, swept.cases.len(), swept.cases[0].oracle_energy), (12, 4, None));
    assert_eq!(swept.cases[1].name, "frames, seed 4");
    let simulated = SimulateRequest {
        workload: "frames".to_owned(),
        platform: "pixel6".to_owned(),
        governors: swept.settings.iter().map(|s| s.setting.clone()).collect(),
        cpufreq: vec!["schedutil".to_owned()],
        signals: vec!["pelt".to_owned()],
        kernel: "6.12".to_owned(),
        duration_ns: Some(500_000_000),
        seed: 4,
        repeat: 1,
        ..SimulateRequest::default()
    };
    let simulated = simulate(&simulated, None, &|_, _| ()).unwrap();
    for (setting, c) in swept.settings.iter().zip(&simulated.combinations) {
        let (numbers, fact) = (setting.cases[1].numbers.unwrap(), |a, n| c.fact(a, n).unwrap().summary.mean);
        assert!((numbers.energy.unwrap() / (fact("energy", "power") * 0.5) - 1.0).abs() < 1e-9);
        assert_eq!(numbers.work_ns, Some(fact("frames ui", "time p99")), "{}", setting.setting);
        assert_eq!(numbers.too_deep_pct, Some(fact("idle", "too deep %")));
        assert_eq!(numbers.latency_mean_ns, Some(fact("idle", "exit latency mean")));
        assert_eq!(numbers.decisions, c.runs[0].decisions);
    }
    assert_eq!(swept.cases[2].facts.work.as_deref(), Some("device nvme0n1 latency p99"));
}

#[test]
fn workloads_are_kept_beside_recordings_and_are_part_of_shards() {
    let folder = tempfile::tempdir().unwrap();
    let request = SweepRequest {
        recordings: vec![data("mixed.dat")],
        front: vec!["energy".to_owned(), "work".to_owned()],
        ..of_workloads(&["frames"], "1|7")
    };
    let mut all = 0;
    for i in 1..=3 {
        let keeping = Keeping { shard: Some(Shard { i, n: 3 }), ..kept_in(folder.path()) };
        let (done, runs) = swept(&request, &keeping).unwrap();
        assert!(matches!(done, Swept::Part { runs: of, ran, .. } if ran == runs as u64 && of == ran));
        all += runs;
    }
    // The recording has a bound.
    assert_eq!(all, 4 + 3 + 3);
    let (kept, runs) = report(&request, &kept_in(folder.path()));
    assert_eq!(runs, 0);
    assert_eq!(kept, report(&request, &Keeping::default()).0);
    assert_eq!(kept.front, ["energy", "work"]);
}

#[test]
fn a_workload_that_cannot_be_simulated_is_named() {
    let one = || of_workloads(&["frames"], "1");
    let named = |name: &str| Some(name.to_owned());
    for (request, words) in [
        (of_workloads(&["farmes"], "1"), "frames"),
        (of_workloads(&["frames"], "1..99999"), "10000 at most"),
        (of_workloads(&["frames"], "-1"), "a whole number from 0"),
        (SweepRequest { cpufreq: named("turbo"), ..one() }, "turbo"),
        (SweepRequest { signal: named("pilt"), ..one() }, "pelt"),
        (SweepRequest { duration_ns: Some(0), ..one() }, "above 0"),
        (SweepRequest { governors: vec!["oracle".to_owned()], ..one() }, "no governor given"),
        (SweepRequest { front: vec!["misses".to_owned()], ..one() }, "too_deep"),
    ] {
        let why = swept(&request, &Keeping::default()).unwrap_err();
        assert!(why.contains(words), "{words}: {why}");
    }
}

#[test]
fn options_of_workloads_are_refused_where_there_is_none() {
    let recordings = || request(&["teo:decay_shift=2..3"]);
    let word = || Some("schedutil".to_owned());
    for (request, words) in [
        (SweepRequest { seeds: Some("1..2".to_owned()), ..recordings() }, "--seeds (`seeds` in a plan)"),
        (SweepRequest { duration_ns: Some(1 << 30), ..recordings() }, "--seconds (`duration_ns` in a plan)"),
        (SweepRequest { cpufreq: word(), ..recordings() }, "--cpufreq (`cpufreq` in a plan)"),
        (SweepRequest { signal: word(), ..recordings() }, "--signal (`signal` in a plan)"),
    ] {
        let why = swept(&request, &Keeping::default()).unwrap_err();
        assert!(why.starts_with(words) && why.contains("name one with --workload"), "{why}");
    }
}

#[test]
fn a_sweep_goes_on_where_it_was_interrupted_and_a_repeated_one_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (small, large) = (request(&["teo:decay_shift=2..3"]), request(&["teo:decay_shift=1..4"]));
    let fresh = serde_json::to_string(&report(&large, &Keeping::default()).0).unwrap();
    let (_, runs) = report(&small, &kept_in(folder.path()));
    // Baseline, bound and two settings on two recordings.
    assert_eq!(runs, 8);
    // Killed while it wrote.
    let file = folder.path().join("000001.results.jsonl");
    let mut torn = OpenOptions::new().append(true).open(&file).unwrap();
    torn.write_all(b"{\"form\":1,\"case\":\"12").unwrap();
    let (second, runs) = report(&large, &kept_in(folder.path()));
    assert_eq!(runs, 4);
    assert_eq!(serde_json::to_string(&second).unwrap(), fresh);
    let (third, runs) = report(&large, &kept_in(folder.path()));
    assert_eq!((serde_json::to_string(&third).unwrap(), runs), (fresh, 0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "a repeated sweep writes no file");
}

/// What a sweep that keeps its results in `folder` warns of.
pub(crate) fn warned(request: &SweepRequest, folder: &Path) -> (SweepReport, usize, Vec<String>) {
    let (warnings, runs) = (std::cell::RefCell::new(Vec::new()), AtomicUsize::new(0));
    let progress = |what: &str, done: usize, _: usize| {
        if what == "replaying" {
            runs.fetch_max(done, Ordering::Relaxed);
        }
    };
    let warned = |why: &str| warnings.borrow_mut().push(why.to_owned());
    let listener = SweepListener { progress: &progress, estimated: &|_| (), warned: &warned };
    match sweep(request, &kept_in(folder), &listener).unwrap() {
        Swept::All(report) => (*report, runs.into_inner(), warnings.into_inner()),
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn damaged_lines_are_named_and_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(&["teo:decay_shift=2..3"]);
    let (fresh, runs, warnings) = warned(&request, folder.path());
    assert_eq!((runs, warnings.len()), (8, 0));
    let file = folder.path().join("000001.results.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let of_run = lines.iter().position(|line| line.contains("\"energy\"")).unwrap();
    // A digit of a number, bytes that are no text, an empty line, the line of an older form.
    let digit = lines[of_run].replacen("\"decisions\":", "\"decisions\":1", 1);
    for (damage, again, word) in [
        (digit.as_bytes(), 1, "its checksum is wrong"),
        (&b"\xff\xfe{}"[..], 1, "it has no checksum"),
        (b"", 1, "it has no checksum"),
        (b"{\"form\":1,\"case\":\"00\"}", 1, ""),
    ] {
        let changed: Vec<&[u8]> = lines
            .iter()
            .enumerate()
            .map(|(n, line)| if n == of_run { damage } else { line.as_bytes() })
            .collect();
        fs::write(&file, [&changed.join(&b'\n')[..], b"\n"].concat()).unwrap();
        let (report, runs, warnings) = warned(&request, folder.path());
        assert_eq!((&report, runs), (&fresh, again), "{word}");
        let named = format!("000001.results.jsonl: line {} is damaged ({word})", of_run + 1);
        assert_eq!(warnings.len(), usize::from(!word.is_empty()), "{warnings:?}");
        assert!(warnings.iter().all(|why| why.contains(&named)), "{warnings:?}");
        let (report, runs, _) = warned(&request, folder.path());
        assert_eq!((&report, runs), (&fresh, 0));
        for other in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if other != file {
                fs::remove_file(other).unwrap();
            }
        }
    }
}

#[test]
fn shards_in_one_folder_come_to_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(&["teo:decay_shift=1..3", "menu:intervals=4|8"]);
    let mut all = 0;
    for i in 1..=3 {
        let keeping = Keeping { shard: Some(Shard { i, n: 3 }), ..kept_in(folder.path()) };
        let (done, runs) = swept(&request, &keeping).unwrap();
        assert!(matches!(done, Swept::Part { ran, .. } if ran == runs as u64), "{done:?}");
        all += runs;
    }
    let (gathered, runs) = report(&request, &kept_in(folder.path()));
    assert_eq!((all, runs), (14, 0));
    assert_eq!(gathered, report(&request, &Keeping::default()).0);
}

/// `text` with another number of decisions in its first result, and the checksum of that.
fn contradicting(text: &str) -> String {
    let changed = |line: &str| {
        let (_, rest) = line.split_once(',').unwrap();
        let rest = rest.replacen("\"decisions\":", "\"decisions\":1", 1);
        format!("{{\"sum\":\"{:016x}\",{rest}\n", xxhash_rust::xxh3::xxh3_64(rest.as_bytes()))
    };
    text.lines().map(changed).collect()
}

#[test]
fn two_files_with_different_numbers_for_one_setting_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(&["teo:decay_shift=2..3"]);
    report(&request, &kept_in(folder.path()));
    let first = folder.path().join("000001.results.jsonl");
    let text = fs::read_to_string(&first).unwrap();
    // The same of another process is no harm.
    let second = folder.path().join("other-000001.results.jsonl");
    fs::write(&second, &text).unwrap();
    assert_eq!(report(&request, &kept_in(folder.path())).1, 0);
    fs::write(&second, contradicting(&text)).unwrap();
    let why = swept(&request, &kept_in(folder.path())).unwrap_err();
    let both = "000001.results.jsonl and other-000001.results.jsonl gave different numbers for one setting";
    assert!(why.contains(both), "{why}");
    fs::remove_file(&second).unwrap();
    assert_eq!(report(&request, &kept_in(folder.path())).1, 0);
}

#[test]
fn a_recording_that_vanishes_is_named_and_the_others_keep_their_results() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone.dat");
    fs::copy(data("sleeploop.dat"), &gone).unwrap();
    fs::copy(data("sleeploop.toml"), gone.with_extension("toml")).ok();
    let request = SweepRequest {
        recordings: vec![data("mixed.dat"), gone.clone()],
        ..request(&["teo:decay_shift=2..3"])
    };
    let vanish = |what: &str, _: usize, _: usize| {
        if what == "replaying" {
            fs::remove_file(&gone).ok();
        }
    };
    let listener = SweepListener { progress: &vanish, estimated: &|_| (), warned: &|_| () };
    let done = sweep(&request, &Keeping::default(), &listener).unwrap();
    let Swept::All(report) = done else { unreachable!("{done:?}") };
    assert_eq!(report.cases.len(), 1);
    let [left] = report.left_out.as_slice() else { unreachable!("{:?}", report.left_out) };
    assert!(left.named && left.lost && left.why.contains("gone.dat"), "{left:?}");
}

#[test]
fn of_a_folder_what_vanishes_is_lost_and_what_never_was_a_recording_is_not() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mixed", "sleeploop"] {
        for ending in ["dat", "toml"] {
            let file = format!("{name}.{ending}");
            fs::copy(data(&file), folder.path().join(file)).unwrap();
        }
    }
    fs::write(folder.path().join("notes.txt"), "no trace").unwrap();
    let request =
        SweepRequest { recordings: vec![folder.path().to_owned()], ..request(&["teo:decay_shift=2..3"]) };
    let vanish = |what: &str, _: usize, _: usize| {
        if what == "replaying" {
            fs::remove_file(folder.path().join("sleeploop.dat")).ok();
        }
    };
    let listener = SweepListener { progress: &vanish, estimated: &|_| (), warned: &|_| () };
    let done = sweep(&request, &Keeping::default(), &listener).unwrap();
    let Swept::All(report) = done else { unreachable!("{done:?}") };
    let mut missed: Vec<(&str, bool)> =
        report.left_out.iter().map(|l| (l.name.as_str(), l.is_missed())).collect();
    missed.sort_unstable();
    assert_eq!(missed, [("notes.txt", false), ("sleeploop.dat", true)], "{:?}", report.left_out);
}

/// Sweeps a copy of a recording as if on a machine of a file, does `then` once all was found, and gives what the sweep came to.
fn changed_meanwhile(folder: &Path, then: impl Fn(&Path, &Path) + Sync) -> Result<SweepReport, String> {
    let (copy, machine) = (folder.join("copy.dat"), folder.join("machine.toml"));
    fs::copy(data("sleeploop.dat"), &copy).unwrap();
    fs::copy(data("sleeploop.toml"), copy.with_extension("toml")).unwrap();
    fs::write(&machine, idlewise_platform::find("rk3399").unwrap().to_toml()).unwrap();
    let request = SweepRequest {
        recordings: vec![data("mixed.dat"), copy.clone()],
        platforms: vec![machine.display().to_string()],
        ..request(&["teo:decay_shift=2..3"])
    };
    let changed = AtomicUsize::new(0);
    let change = |what: &str, _: usize, _: usize| {
        if what == "replaying" && changed.fetch_add(1, Ordering::Relaxed) == 0 {
            then(&copy, &machine);
        }
    };
    let listener = SweepListener { progress: &change, estimated: &|_| (), warned: &|_| () };
    match sweep(&request, &kept_in(&folder.join("kept")), &listener).map_err(|e| e.to_string())? {
        Swept::All(report) => Ok(*report),
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn what_changes_while_a_sweep_runs_is_named_and_nothing_of_it_is_kept() {
    let changed = "changed while the sweep ran";
    // The recording by another one; its side-car, by another remark.
    let changes: [fn(&Path, &Path); 2] = [
        |copy, _| fs::write(copy, fs::read(data("mixed.dat")).unwrap()).unwrap(),
        |copy, _| {
            let mut sidecar = OpenOptions::new().append(true).open(copy.with_extension("toml")).unwrap();
            sidecar.write_all(b"# later\n").unwrap();
        },
    ];
    for change in changes {
        let folder = tempfile::tempdir().unwrap();
        let report = changed_meanwhile(folder.path(), change).unwrap();
        let [left] = report.left_out.as_slice() else { unreachable!("{:?}", report.left_out) };
        assert!(left.name == "copy.dat" && left.lost && left.why.contains(changed), "{left:?}");
        assert_eq!(report.cases.len(), 1);
        // What is kept afterwards is what is computed without it.
        let to = folder.path().join("kept");
        let copy = folder.path().join("copy.dat");
        fs::copy(data("sleeploop.dat"), &copy).unwrap();
        fs::copy(data("sleeploop.toml"), copy.with_extension("toml")).unwrap();
        let request = SweepRequest {
            recordings: vec![copy],
            platforms: vec![folder.path().join("machine.toml").display().to_string()],
            ..request(&["teo:decay_shift=2..3"])
        };
        let (kept, runs) = self::report(&request, &kept_in(&to));
        assert_eq!(runs, 4, "nothing of it was kept");
        assert_eq!(kept, self::report(&request, &Keeping::default()).0);
    }
    // The machine is that of all: nothing is left.
    let folder = tempfile::tempdir().unwrap();
    let other = |_: &Path, machine: &Path| {
        fs::write(machine, idlewise_platform::find("pixel6").unwrap().to_toml()).unwrap();
    };
    let why = changed_meanwhile(folder.path(), other).unwrap_err();
    assert!(why.contains("no recording is left to replay") && why.contains(changed), "{why}");
}

#[test]
fn a_folder_that_takes_no_more_is_at_fault_and_not_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let (to, away) = (folder.path().join("kept"), folder.path().join("away"));
    let request = request(&["teo:decay_shift=2..3"]);
    let moved = |what: &str, done: usize, _: usize| {
        if what == "replaying" && done == 0 {
            fs::rename(&to, &away).ok();
        }
    };
    let listener = SweepListener { progress: &moved, estimated: &|_| (), warned: &|_| () };
    let why = sweep(&request, &kept_in(&to), &listener).unwrap_err().to_string();
    assert!(why.starts_with(&format!("{}: results cannot be kept here: ", to.display())), "{why}");
    assert!(!why.contains("no recording is left") && !why.contains(".dat"), "{why}");
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let request = request(&["teo-util:util_threshold_shift=4|6", "menu:intervals=8"]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| serde_json::to_string(&report(&request, &Keeping::default()).0).unwrap())
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn a_large_sweep_is_estimated_before_it_runs() {
    let request = request(&["teo:residency_threshold_ns=0..99999"]);
    let (done, runs) = swept(&request, &Keeping { dry_run: true, ..Keeping::default() }).unwrap();
    let Swept::Nothing(estimate) = done else { unreachable!("{done:?}") };
    assert_eq!((estimate.settings, estimate.cases, estimate.left), (100_002, 2, 200_004));
    assert!(runs == 0 && estimate.seconds > 1.0 && estimate.decisions > 1e8, "{estimate:?}");
    // More than memory holds is refused before it is counted out.
    let request = self::request(&["teo:residency_threshold_ns=0..999999,decay_shift=0..9"]);
    let why = swept(&request, &Keeping { dry_run: true, ..Keeping::default() }).unwrap_err();
    assert!(why.contains("--sample"), "{why}");
}

#[test]
fn an_estimate_runs_the_first_part_of_a_long_workload() {
    let estimate = |seconds: u64| {
        let request = SweepRequest {
            recordings: Vec::new(),
            workloads: vec!["frames".to_owned()],
            seeds: Some("1".to_owned()),
            duration_ns: Some(seconds * 1_000_000_000),
            ..request(&["teo:decay_shift=1..4"])
        };
        match swept(&request, &Keeping { dry_run: true, ..Keeping::default() }).unwrap() {
            (Swept::Nothing(estimate), _) => estimate,
            (other, _) => unreachable!("{other:?}"),
        }
    };
    let (short, long) = (estimate(3600), estimate(24 * 3600));
    assert!(short.part_pct.unwrap() < 50.0 && long.part_pct.unwrap() < 3.0, "{short:?} {long:?}");
    let times = long.decisions / short.decisions;
    assert!((20.0..29.0).contains(&times) && long.seconds > short.seconds, "{short:?} {long:?}");
    // What is short is run as a whole.
    let request = request(&["teo:decay_shift=1..4"]);
    let (whole, _) = swept(&request, &Keeping { dry_run: true, ..Keeping::default() }).unwrap();
    assert!(matches!(whole, Swept::Nothing(SweepEstimate { part_pct: None, .. })), "{whole:?}");
}

#[test]
fn a_plan_asks_as_options_do_and_compiles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    let read = |text: &str| {
        fs::write(&file, text).unwrap();
        SweepRequest::read(&file).map_err(|e| e.to_string())
    };
    let plan = "governors = [\"teo:decay_shift=2..5\"]\nrecordings = [\"a.dat\"]\nplatforms = [\"pixel6\"]\nsample = 3\n";
    let request = read(plan).unwrap();
    assert_eq!(request.recordings, [folder.path().join("a.dat")]);
    assert_eq!((request.sample, request.platforms.len(), request.seed), (Some(3), 1, 0));
    for (text, words) in [
        ("governors = [\"./mine.c:x=1..2\"]", "a plan compiles nothing"),
        ("governors = [\"linux:6.12/teo\"]", "a plan compiles nothing"),
        ("governors = [\"teo\"]\nkernel_trees = [\"linux\"]", "kernel_trees"),
        ("governors = [\"teo\"]\nseconds = 3", "unknown field `seconds`"),
        ("sample = 0", "sample: expected 1 to"),
        ("seed = nan", "plan.toml: not a plan of a sweep"),
    ] {
        let why = read(text).unwrap_err();
        assert!(why.contains(words), "{text}: {why}");
    }
}

#[test]
fn drawn_settings_are_the_same_twice_and_as_many_as_asked_for() {
    let drawn = |seed| {
        let request = SweepRequest {
            recordings: vec![data("sleeploop.dat")],
            sample: Some(5),
            seed,
            ..request(&["teo:decay_shift=0..9,residency_threshold_ns=0..1000000"])
        };
        let settings = report(&request, &Keeping::default()).0.settings;
        settings.into_iter().map(|s| s.setting).collect::<Vec<_>>()
    };
    assert_eq!(drawn(1).len(), 6);
    assert!(drawn(1) == drawn(1) && drawn(1) != drawn(2));
}

/// A C file in `folder`.
pub(crate) fn own_governor(folder: &Path) -> PathBuf {
    for (name, here) in [("teo.c", "mine.c"), ("governor.h", "governor.h")] {
        fs::copy(root().join("governors").join(name), folder.join(here)).unwrap();
    }
    folder.join("mine.c")
}

/// The parts of a sweep, and what its order needs.
fn parts(request: &SweepRequest, to: &Path) -> Parts {
    let (done, parts) = parts_of(|| swept(request, &kept_in(to)));
    let (Swept::Part { runs: 0, .. }, 0) = done.unwrap() else { unreachable!("it ran something") };
    parts.unwrap()
}

/// Runs what is left of each recording in `folder`, as the copies that are there.
fn computed_elsewhere(parts: &mut Parts, request: &SweepRequest, folder: &Path) -> Vec<KnownCase> {
    let place = Workplace::of(&parts.order().unwrap(), &parts.code().unwrap(), folder).unwrap();
    let named: Vec<NamedRecordings> = request.recordings.iter().cloned().map(NamedRecordings::Here).collect();
    let mut known = Vec::new();
    for file in listed(&named).unwrap() {
        let here = folder.join(&file.name);
        fs::copy(&file.path, &here).unwrap();
        let _ = fs::copy(file.path.with_extension("toml"), here.with_extension("toml"));
        let recording = RecordingHere { file: &file, here: &here };
        let cases = place.read(&recording).cases;
        for (platform, case) in serde_json::to_value(&cases).unwrap().as_array().unwrap().iter().enumerate() {
            let Some(key) = case["content"]["key"].as_str() else { continue };
            let todo = parts.todo(key).unwrap();
            for (n, settings) in todo.settings.into_iter().enumerate() {
                let lines = place.run(&recording, platform, key, settings, todo.facts && n == 0).unwrap();
                parts.keep(key, &lines, "tcp://[::1]:80").unwrap();
            }
            assert!(parts.todo(key).unwrap().settings.is_empty());
        }
        known.extend(cases);
    }
    known
}

#[test]
fn what_is_computed_elsewhere_is_what_is_computed_here() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    let mine = own_governor(folder.path());
    let machine = folder.path().join("machine.toml");
    fs::write(&machine, idlewise_platform::find("rk3399").unwrap().to_toml()).unwrap();
    let mut request = request(&[&format!("{}:decay_shift=2..3", mine.display()), "menu:disable=1|2"]);
    request.platforms.push(machine.display().to_string());
    request.baseline = Some("menu:intervals=5".to_owned());
    let (here, _) = report(&request, &Keeping::default());
    let to = folder.path().join("kept");
    let mut parts = parts(&request, &to);
    let known = computed_elsewhere(&mut parts, &request, &own);
    let there = with_known(known.clone(), || report(&request, &kept_in(&to)).0);
    assert_eq!(serde_json::to_string(&there).unwrap(), serde_json::to_string(&here).unwrap());
    // And here there is nothing left to do.
    assert_eq!(report(&request, &kept_in(&to)).1, 0);
    // Without the results there is no report.
    let why = with_known(known, || swept(&request, &kept_in(&folder.path().join("others")))).unwrap_err();
    assert!(why.contains("no longer in the folder"), "{why}");
}

#[test]
fn where_parts_are_computed_nothing_else_passes() {
    let folder = tempfile::tempdir().unwrap();
    let mine = own_governor(folder.path());
    let request = request(&[&format!("{}:decay_shift=2..3", mine.display())]);
    let mut parts = parts(&request, &folder.path().join("kept"));
    let (order, code) = (parts.order().unwrap(), parts.code().unwrap());
    // The file gives it its name, and nothing more.
    assert!(order.contains("\"id\":null,\"object\""), "{order}");
    let refused =
        |order: &str, code: &SentCode| Workplace::of(order, code, folder.path()).map(drop).unwrap_err();
    assert!(refused(&order, &SentCode::new()).contains("its code was not sent"));
    let (name, other) =
        (code.keys().next().unwrap(), idlewise_governor::Governor::find(&"teo".parse().unwrap()));
    let changed = order.replace(&format!("{:032x}", other.unwrap().object_hash().unwrap()), &"0".repeat(32));
    assert!(changed == order || refused(&changed, &code).contains("another build"));
    let mut damaged = code.clone();
    damaged.get_mut(name).unwrap().pop();
    assert!(refused(&order, &damaged).contains("was sent"));
    assert!(refused(&order.replace(std::env::consts::ARCH, "m68k"), &code).contains("compiled for m68k"));
    // A recording that is another one now, and what is no result.
    let place = Workplace::of(&order, &code, folder.path()).unwrap();
    let here = folder.path().join("sleeploop.dat");
    fs::copy(data("sleeploop.dat"), &here).unwrap();
    fs::copy(data("sleeploop.toml"), here.with_extension("toml")).unwrap();
    let named: RecordingFile =
        listed(&[NamedRecordings::Here(data("sleeploop.dat"))]).unwrap().pop().unwrap();
    let recording = RecordingHere { file: &named, here: &here };
    let case = serde_json::to_value(place.read(&recording)).unwrap()["cases"][0]["content"]["key"].clone();
    let key = case.as_str().unwrap();
    let lines = place.run(&recording, 0, key, 0..1, false).unwrap();
    let wrong = parts.keep(&"1".repeat(32), &lines, "w").unwrap_err().to_string();
    assert!(wrong.contains("w sent no result (it is of another recording)"), "{wrong}");
    assert!(parts.keep(key, "nonsense", "w").is_err());
    fs::copy(data("mixed.dat"), &here).unwrap();
    let Err(PartFailure::Recording(why)) = place.run(&recording, 0, key, 0..1, false) else { unreachable!() };
    assert!(why.starts_with(&named.path.display().to_string()) && why.contains("was changed since"), "{why}");
    fs::remove_file(&here).unwrap();
    let Err(PartFailure::Recording(why)) = place.run(&recording, 0, key, 0..1, false) else { unreachable!() };
    assert_eq!(why, format!("{}: No such file or directory (os error 2)", named.path.display()));
}
