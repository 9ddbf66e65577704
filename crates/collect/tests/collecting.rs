// SPDX-License-Identifier: GPL-2.0-only
//! Does a corpus take what can be trusted and refuse the rest, are its tapes scrubbed without changing a decision, and is what it says
//! of governors the same for any number of threads?

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_checkout::root;
use idlewise_collect::{
    AddRequest, Added, CollectError, Per, Poor, RunRequest, add, prove, run, scrub_to, verify,
};
use idlewise_corpus::{Basis, Corpus, Selection, Split};
use idlewise_model::Tape;
use idlewise_recording::{Recording, RecordingOptions, ReplaySetup};
use idlewise_tape::file as tape_file;

fn recording(name: &str) -> PathBuf {
    root().join("tests/data").join(name)
}

fn request(folder: &Path, trace: PathBuf) -> AddRequest {
    AddRequest {
        folder: folder.to_owned(),
        trace,
        options: RecordingOptions::default(),
        id: None,
        workload: "mixed".to_owned(),
        basis: Basis::Measured,
        licence: "GPL-2.0-only".to_owned(),
        origin: "made for idlewise".to_owned(),
        command: String::new(),
        kernel: None,
        counters: None,
        split: Some(Split::Train),
        in_place: false,
    }
}

fn tape(path: &Path) -> Tape {
    tape_file::read(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_recording_becomes_a_scrubbed_tape_that_decides_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let trace = recording("mixed.dat");
    let Added { entry, proof } = add(&request(folder.path(), trace.clone())).unwrap();
    assert_eq!((entry.id.as_str(), entry.machine.as_str(), entry.hz), ("mixed", "kvm-guest", Some(250)));
    assert_eq!((entry.governor.as_deref(), entry.trust.as_str()), (Some("menu"), "fair"));
    assert!(proof.is_some_and(|p| p.governors >= 14 && p.idle_periods > 100_000), "{proof:?}");
    let before = Recording::open(&trace, &RecordingOptions::default()).unwrap().tape;
    let path = folder.path().join("mixed.tape");
    let after = tape(&path);
    assert_eq!(after.source.first_ns, 1_000_000_000);
    assert_eq!(before.source.last_ns - before.source.first_ns, after.source.last_ns - after.source.first_ns);
    assert!(after.health.iter().all(|(_, counted)| counted.first.is_empty()));
    assert_eq!(after.cpus[0].pieces.len(), before.cpus[0].pieces.len());
    // Nothing of the recording's times, names and folders is left anywhere in it.
    let words = format!("{:?} {:?} {:?}", after.source, after.inputs, after.notes);
    for secret in ["mixed.dat", "4816.", "/tests/", before.source.hash.as_str()] {
        assert!(!words.contains(secret), "{secret}: {words}");
    }
    let again = Recording::open(&path, &RecordingOptions::default()).unwrap();
    let twice = scrub_to(&again, "mixed.tape", folder.path()).unwrap();
    let mut twice = tape(twice.file.path());
    // Its format is that of the file that it was read from.
    twice.source.hash.clone_from(&after.source.hash);
    assert_eq!(twice, after, "what is scrubbed stays as it is");
}

#[test]
fn another_decision_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let trace = recording("sleeploop.dat");
    let options = RecordingOptions::default();
    let opened = Recording::open(&trace, &options).unwrap();
    let scrubbed = scrub_to(&opened, "x", folder.path()).unwrap();
    prove(&trace, &options, scrubbed.file.path(), scrubbed.shift_ns).unwrap();
    let mut tape = tape(scrubbed.file.path());
    // Ticks at other times.
    for cpu in &mut tape.cpus {
        cpu.tick.phase_ns = (cpu.tick.phase_ns + cpu.tick.period_ns / 2) % cpu.tick.period_ns;
    }
    let path = folder.path().join("other.tape");
    fs::write(&path, tape_file::write(&tape).unwrap()).unwrap();
    let diverged = prove(&trace, &options, &path, scrubbed.shift_ns);
    assert!(matches!(diverged, Err(CollectError::Diverged { .. })), "{diverged:?}");
}

#[test]
fn what_contradicts_itself_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let options = RecordingOptions { recorded_on: Some("pixel6".to_owned()), ..RecordingOptions::default() };
    let wrong = AddRequest { options, ..request(folder.path(), recording("mixed.dat")) };
    let why = add(&wrong).unwrap_err().to_string();
    assert!(why.contains("not added") && why.contains("says that it was made on kvm-guest"), "{why}");
    let why = add(&request(folder.path(), folder.path().join("none"))).unwrap_err().to_string();
    assert!(why.contains("none"), "{why}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    add(&request(folder.path(), recording("sleeploop.dat"))).unwrap();
    let twice = add(&request(folder.path(), recording("sleeploop.dat"))).unwrap_err().to_string();
    assert!(twice.contains("is there twice"), "{twice}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the index and one tape");
}

#[test]
fn an_idle_machine_is_worth_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "# tracer: nop\n".to_owned();
    let mut idle = |at_us: u64, us: u64| {
        let line = |at: u64, state: u32| {
            let (s, us) = (at / 1_000_000, at % 1_000_000);
            format!("          <idle>-0     [000] d..1 {s:5}.{us:06}: cpu_idle: state={state} cpu_id=0\n")
        };
        text += &(line(at_us, 1) + &line(at_us + us, u32::MAX));
    };
    (0..150).for_each(|k| idle(1_000_000_000 + k * 1_000, 300));
    idle(1_001_000_000, 9_000_000);
    let trace = folder.path().join("quiet.txt");
    fs::write(&trace, text).unwrap();
    let options =
        RecordingOptions { recorded_on: Some("skylake-sp".to_owned()), ..RecordingOptions::default() };
    let corpus = folder.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    let Added { entry, .. } = add(&AddRequest { options, ..request(&corpus, trace) }).unwrap();
    assert_eq!((entry.idle_periods, entry.trust.as_str()), (151, "poor"));
}

#[test]
fn a_file_elsewhere_is_named_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    let lies = folder.path().join("theirs.dat");
    fs::copy(recording("sleeploop.dat"), &lies).unwrap();
    fs::copy(recording("sleeploop.toml"), lies.with_extension("toml")).unwrap();
    let added = add(&AddRequest { in_place: true, ..request(&corpus, lies.clone()) }).unwrap();
    assert_eq!((added.entry.file.as_path(), added.proof), (Path::new("../theirs.dat"), None));
    fs::remove_file(&lies).unwrap();
    let opened = Corpus::open(&corpus).unwrap();
    let all = opened.select(&Selection::default()).unwrap();
    let verified = verify(&opened, &all);
    assert!(verified.recordings[0].missing && !verified.has_findings(), "{verified:?}");
}

#[test]
fn the_kernels_own_counters_are_kept_or_speak_against_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let trace = recording("sleeploop.dat");
    let entry = add(&request(folder.path(), trace.clone())).unwrap().entry;
    let tape = tape(&folder.path().join("sleeploop.tape"));
    let (from_ns, to_ns) = {
        let opened = Recording::open(&trace, &RecordingOptions::default()).unwrap();
        (opened.tape.source.first_ns, opened.tape.source.last_ns)
    };
    // HLT is the second state; polling never happens here.
    let dump = |name: &str, at_ns: u64, usage: usize| {
        let path = folder.path().join(name);
        let state = |n: usize, name: &str, latency: u32, usage: usize| {
            let at = format!("cpu0/cpuidle/state{n}");
            format!(
                "{at}/name:{name}\n{at}/latency:{latency}\n{at}/residency:{latency}\n{at}/usage:{usage}\n{at}/time:0\n"
            )
        };
        let states = state(0, "POLL", 0, 0) + &state(1, "haltpoll idle", 1, usage);
        fs::write(&path, format!("cpu0/at_ns:{at_ns}\n{states}")).unwrap();
        path
    };
    let entries = tape.cpus.iter().map(|c| c.pieces.len()).sum::<usize>();
    let with = |usage: usize, id: &str| {
        let counters = Some([dump("before", from_ns, 7), dump("after", to_ns, 7 + usage)]);
        let corpus = folder.path().join(id);
        fs::create_dir(&corpus).unwrap();
        add(&AddRequest { counters, ..request(&corpus, trace.clone()) })
    };
    let kept = with(entries, "right").unwrap().entry.counters;
    let usages: Vec<(&str, u64)> = kept.iter().map(|s| (s.state.as_str(), s.usage)).collect();
    assert_eq!(usages, [("POLL", 0), ("haltpoll idle", entries as u64)], "{entry:?}");
    let why = with(3 * entries, "wrong").unwrap_err().to_string();
    assert!(why.contains("not added: CPU 0: the trace has") && why.contains("the kernel counted"), "{why}");
}

/// The corpus that ships with idlewise.
fn shipped() -> Corpus {
    Corpus::open(&root().join("corpus")).unwrap()
}

#[test]
fn the_shipped_corpus_is_whole_and_as_wide_as_it_says() {
    let corpus = shipped();
    let inside: Vec<_> = corpus.index().recordings.iter().filter(|e| e.is_inside()).collect();
    let distinct = |of: fn(&idlewise_corpus::Entry) -> &str| {
        inside.iter().map(|e| of(e)).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert!(inside.len() >= 60, "{} recordings", inside.len());
    assert!(distinct(|e| &e.machine) >= 12 && distinct(|e| &e.workload) >= 15);
    assert!(inside.iter().map(|e| e.bytes).sum::<u64>() < 15_000_000);
    for entry in &inside {
        assert!(!entry.command.is_empty() && entry.trust != "poor", "{}", entry.id);
        assert!(!entry.grades.is_empty() && entry.idle_periods > 0, "{}", entry.id);
    }
    for kind in ["compile", "network"] {
        let of_kind = || inside.iter().filter(|e| e.workload == kind);
        let machines: std::collections::BTreeSet<_> = of_kind().map(|e| &e.machine).collect();
        assert!(machines.len() >= 3 && of_kind().count() >= 6, "{kind}: {machines:?}");
    }
    for split in Split::ALL {
        assert!(inside.iter().any(|e| e.split == split), "{split}");
    }
    for basis in Basis::ALL {
        assert!(inside.iter().any(|e| e.basis == basis), "{basis}");
    }
    let verified = verify(&corpus, &inside);
    let wrong: Vec<_> = verified.recordings.iter().filter(|r| !r.whole).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_run_is_the_same_for_any_number_of_threads_and_machines_are_resampled() {
    let corpus = shipped();
    let chosen = Selection { workloads: vec!["frames".to_owned(), "web".to_owned()], ..Selection::default() };
    let entries = corpus.select(&chosen).unwrap();
    let request = RunRequest {
        governors: vec!["menu".to_owned(), "teo".to_owned()],
        baseline: None,
        setup: ReplaySetup::default(),
        poor: Poor::LeaveOutWithout("--include-poor"),
        per: Some(Per::Workload),
    };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&corpus, &entries, &request, &|_, _| ()).unwrap())
    };
    let one = with(1);
    // Scores of the oracle may lack numbers, which equal nothing.
    assert_eq!(format!("{one:?}"), format!("{:?}", with(3)));
    assert!(one.machines.all >= 5 && one.skipped.is_empty());
    assert_eq!(one.regret.len(), 2);
    for spread in &one.regret {
        assert!(spread.mean > 0.0, "no governor beats the oracle: {spread:?}");
        let interval = spread.interval.unwrap();
        assert!(interval.low <= spread.mean && spread.mean <= interval.high, "{spread:?}");
    }
    assert_eq!(one.parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["frames", "web"]);
}

#[test]
fn a_changed_recording_ends_a_run_and_poor_ones_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    add(&request(folder.path(), recording("sleeploop.dat"))).unwrap();
    let request = RunRequest {
        governors: vec!["menu".to_owned()],
        baseline: None,
        setup: ReplaySetup::default(),
        poor: Poor::LeaveOutWithout("--include-poor"),
        per: None,
    };
    let ran = |corpus: &Corpus| {
        let entries = corpus.select(&Selection::default()).unwrap();
        run(corpus, &entries, &request, &|_, _| ())
    };
    let corpus = Corpus::open(folder.path()).unwrap();
    assert!(ran(&corpus).unwrap().regret.is_empty(), "one recording has no spread");
    let index = folder.path().join("index.toml");
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, text.replace("trust = \"fair\"", "trust = \"poor\"")).unwrap();
    let why = ran(&Corpus::open(folder.path()).unwrap()).unwrap_err().to_string();
    assert!(why.contains("no recording is left") && why.contains("--include-poor"), "{why}");
    fs::write(folder.path().join("sleeploop.tape"), "IWTAPE").unwrap();
    let why = ran(&corpus).unwrap_err().to_string();
    assert!(why.contains("changed or replaced"), "{why}");
}

#[test]
fn notes_of_the_tapes_that_ship_are_whole_sentences() {
    let corpus = Corpus::open(&root().join("corpus")).unwrap();
    let mut notes = 0;
    for entry in corpus.index().recordings.iter().filter(|e| e.file.extension().is_some_and(|e| e == "tape"))
    {
        for note in tape(&corpus.path(entry)).notes {
            let damaged = ["a the", "? s together"].iter().find(|part| note.words.contains(**part));
            assert_eq!(damaged, None, "{}: {}", entry.id, note.words);
            notes += 1;
        }
    }
    assert!(notes >= 60, "{notes}");
}
