// SPDX-License-Identifier: GPL-2.0-only
//! Is a recording one file that knows its machine, and is nothing assumed about a recording in silence?

use std::path::{Path, PathBuf};

use idlewise_explain::convert::{ConvertRequest, Form, convert};
use idlewise_explain::{DecisionAddress, ExplainRequest, explain};
use idlewise_recording::{CommandError, Recording, RecordingOptions, ReplaySetup};
use idlewise_report::Format;
use idlewise_study::compare::{CompareReport, CompareRequest, compare};
use idlewise_study::replay::{ReplayRequest, replay};
use idlewise_study::score::score;
use idlewise_testkit::{error_text, known};
use idlewise_view as view;
use tempfile::TempDir;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data");

/// A folder with recordings in it.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// A copy of a recording of ours, without its side-car.
    fn bare(&self, name: &str, of: &str) -> PathBuf {
        self.put(name, &data(of))
    }
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(DATA).join(name)).unwrap()
}

/// A trace.dat of version 7 with `said` behind the recorder's name, as `idlewise record` writes it.
fn with_description(dat: &[u8], said: &str) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(dat[at..at + 8].try_into().unwrap());
    let end_of_text = |from: usize| from + dat[from..].iter().position(|b| *b == 0).unwrap() + 1;
    assert_eq!(&dat[10..12], b"7\0");
    // Byte order, size of a long, size of a page; then the compression's name and version, then where the options are.
    let pointer = end_of_text(end_of_text(12 + 2 + 4));
    let at = usize::try_from(word(pointer)).unwrap();
    let options = &dat[at + 16..at + 16 + usize::try_from(word(at + 8)).unwrap()];
    let bytes = [b"idlewise test\0# idlewise: the recording\n", said.as_bytes(), &[0]].concat();
    let mut section =
        [&9u16.to_le_bytes()[..], &u32::try_from(bytes.len()).unwrap().to_le_bytes(), &bytes].concat();
    section.extend(options);
    let mut out = dat.to_vec();
    out[pointer..pointer + 8].copy_from_slice(&(dat.len() as u64).to_le_bytes());
    out.extend(&dat[at..at + 8]);
    out.extend((section.len() as u64).to_le_bytes());
    out.extend(section);
    out
}

/// What `idlewise record` would say of the recordings in the folder of data.
fn described() -> String {
    let machine: toml::Table = idlewise_platform::find("kvm-guest").unwrap().to_toml().parse().unwrap();
    let mut all: toml::Table = "governor = \"menu\"".parse().unwrap();
    all.insert("machine".to_owned(), toml::Value::Table(machine));
    toml::to_string(&all).unwrap()
}

fn recorded_on(machine: &str) -> RecordingOptions {
    RecordingOptions { recorded_on: Some(machine.to_owned()), ..RecordingOptions::default() }
}

fn asked(traces: &[&Path], recording: RecordingOptions, platform: Option<&str>) -> CompareRequest {
    CompareRequest {
        traces: traces.iter().map(|p| p.to_path_buf()).collect(),
        setup: ReplaySetup { recording, platform: platform.map(str::to_owned), ..ReplaySetup::default() },
        a: "menu".to_owned(),
        b: "teo-6.1".to_owned(),
        fail_if: vec!["energy > -6%".to_owned()],
        ..CompareRequest::default()
    }
}

fn compared(
    trace: &Path,
    recording: RecordingOptions,
    platform: Option<&str>,
) -> Result<CompareReport, CommandError> {
    compare(&asked(&[trace], recording, platform), &|_, _| ())
}

/// The verdict without what it assumes, and whether the condition holds.
fn answer(r: &CompareReport) -> (&str, bool) {
    (r.verdict.text.split(", if ").next().unwrap(), r.failed())
}

#[test]
fn a_platform_to_replay_on_is_not_the_machine_that_was_recorded() {
    let files = Files::new();
    let bare = files.bare("bare.dat", "mixed.dat");
    let nothing = RecordingOptions::default;
    for platform in [None, Some("pixel6"), Some("kvm-guest")] {
        let replayed = ReplayRequest {
            traces: vec![bare.clone()],
            setup: ReplaySetup { platform: platform.map(str::to_owned), ..ReplaySetup::default() },
            governors: vec!["menu".to_owned()],
            ..ReplayRequest::default()
        };
        let explained = ExplainRequest {
            trace: bare.clone(),
            setup: ReplaySetup {
                recording: nothing(),
                platform: platform.map(str::to_owned),
                ..ReplaySetup::default()
            },
            governor: "menu".to_owned(),
            others: Vec::new(),
            cpu: None,
            which: DecisionAddress::Decision(1),
        };
        let converted = ConvertRequest {
            trace: bare.clone(),
            to: Form::Perfetto,
            output: files.path("x.pftrace"),
            governors: vec!["menu".to_owned()],
            setup: ReplaySetup {
                recording: nothing(),
                platform: platform.map(str::to_owned),
                ..ReplaySetup::default()
            },
        };
        for said in [
            error_text(compared(&bare, nothing(), platform)),
            error_text(replay(&replayed, &|_, _| ())),
            error_text(explain(&explained)),
            error_text(convert(&converted, &mut Vec::new(), &|_, _| ())),
            error_text(score(&bare, &nothing(), idlewise_study::replay::Per::All, None)),
        ] {
            for part in ["bare.dat: which machine was recorded?", "--recorded-on", "bare.toml"] {
                assert!(said.contains(part), "{platform:?}: no {part:?} in {said}");
            }
        }
    }
    let said = error_text(Recording::open(&bare, &recorded_on("same")));
    assert!(said.contains("of --platform, and none is given here"), "{said}");
}

#[test]
fn what_was_assumed_by_hand_stands_wherever_the_answer_does() {
    let files = Files::new();
    let bare = files.bare("bare.dat", "mixed.dat");
    let right =
        compared(&Path::new(DATA).join("mixed.dat"), RecordingOptions::default(), Some("pixel6")).unwrap();
    assert!(right.verdict.text.ends_with(": better in both"), "{}", right.verdict.text);
    assert_eq!((right.failed(), right.checks[0].assumes.as_deref()), (true, None));

    let same = compared(&bare, recorded_on("same"), Some("pixel6")).unwrap();
    assert!(answer(&same).0.ends_with(": better in both") && !same.failed(), "{}", same.verdict.text);
    let by_name = compared(&bare, recorded_on("kvm-guest"), Some("pixel6")).unwrap();
    assert_eq!(answer(&by_name), answer(&right));

    for (report, machine) in [(&same, "pixel6"), (&by_name, "kvm-guest")] {
        let assumption = format!("bare.dat was recorded on {machine}, which it does not say (--recorded-on)");
        assert!(report.verdict.text.ends_with(&format!(", if {assumption}")), "{}", report.verdict.text);
        let page = view::compare(report);
        let checks = view::checks(&report.checks);
        assert!(checks.contains(&assumption), "{checks}");
        let csv = page.render(Format::Csv, report).unwrap();
        assert!(csv.lines().skip(1).all(|row| row.contains(&assumption)), "{csv}");
        let json: serde_json::Value =
            serde_json::from_str(&page.render(Format::Json, report).unwrap()).unwrap();
        assert_eq!(json["traces"][0]["head"]["machine_assumed"], true);
        assert_eq!(json["checks"][0]["assumes"], assumption);
        let text = page.render(Format::Table, report).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("assumed {assumption}")), "{text}");
    }
    let judged = score(&bare, &recorded_on("kvm-guest"), idlewise_study::replay::Per::All, None).unwrap();
    let text = view::score(&judged, idlewise_study::replay::Per::All).render(Format::Csv, &judged).unwrap();
    assert!(text.lines().nth(1).unwrap().contains("which it does not say"), "{text}");
}

#[test]
fn the_option_that_named_the_machine_is_the_one_that_was_given() {
    let files = Files::new();
    let bare = files.bare("bare.dat", "mixed.dat");
    let by_sysfs = RecordingOptions { by_sysfs: true, ..recorded_on("kvm-guest") };
    for (options, option, other) in
        [(recorded_on("kvm-guest"), "--recorded-on", "--sysfs"), (by_sysfs, "--sysfs", "--recorded-on")]
    {
        let judged = score(&bare, &options, idlewise_study::replay::Per::All, None).unwrap();
        let report = view::score(&judged, idlewise_study::replay::Per::All);
        let text = report.render(Format::Table, &judged).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("which it does not say ({option})")), "{text}");
        let input = format!("machine: assumed (kvm-guest by {option}; the recording does not say)");
        assert!(words.contains(&input), "{text}");
        assert!(!text.contains(other), "{text}");
    }
}

#[test]
fn ticks_that_were_asked_for_stand_wherever_the_answer_does() {
    let mixed = Path::new(DATA).join("mixed.dat");
    let asked = RecordingOptions { hz: Some(100), ..RecordingOptions::default() };
    let report = compared(&mixed, asked, Some("pixel6")).unwrap();
    let condition = "the kernel of mixed.dat had ticked 100 times a second (--hz)";
    assert!(report.verdict.text.ends_with(&format!(", if {condition}")), "{}", report.verdict.text);
    assert!(view::checks(&report.checks).contains(condition));
    let csv = view::compare(&report).render(Format::Csv, &report).unwrap();
    assert!(csv.lines().skip(1).all(|row| row.contains(condition)), "{csv}");
}

#[test]
fn a_recording_counts_once_in_whatever_format() {
    let files = Files::new();
    let mixed = Path::new(DATA).join("mixed.dat");
    let text = files.path("mixed.txt");
    let request = ConvertRequest {
        trace: mixed.clone(),
        to: Form::Text,
        output: text.clone(),
        governors: Vec::new(),
        setup: ReplaySetup::default(),
    };
    convert(&request, &mut std::fs::File::create(&text).unwrap(), &|_, _| ()).unwrap();
    files.put("mixed.toml", b"platform = \"kvm-guest\"\n");
    let twice = ReplayRequest {
        traces: vec![mixed, text],
        governors: vec!["menu".to_owned()],
        ..ReplayRequest::default()
    };
    let why = error_text(replay(&twice, &|_, _| ()));
    assert!(why.contains("are the same recording"), "{why}");
}

#[test]
fn a_platform_that_a_side_car_misspells_is_said_to_be_the_side_cars() {
    let files = Files::new();
    let bare = files.bare("bare.dat", "mixed.dat");
    files.put("bare.toml", b"platform = \"kvm-gest\"\n");
    let why = error_text(Recording::open(&bare, &RecordingOptions::default()));
    assert!(why.contains("bare.toml: platform: no platform `kvm-gest`"), "{why}");
}

#[test]
fn a_tape_keeps_what_was_assumed_when_it_was_made() {
    let files = Files::new();
    let bare = files.bare("bare.dat", "mixed.dat");
    let of = |options: &RecordingOptions, name: &str| {
        let bytes = Recording::open(&bare, options).unwrap().tape_bytes().unwrap();
        files.put(name, &bytes)
    };
    let assumed = of(&recorded_on("kvm-guest"), "assumed.tape");
    let report = compared(&assumed, RecordingOptions::default(), Some("pixel6")).unwrap();
    assert!(
        report.verdict.text.contains(", if bare.dat was recorded on kvm-guest"),
        "{}",
        report.verdict.text
    );
    files.put("bare.toml", b"platform = \"kvm-guest\"\n");
    let known = of(&RecordingOptions::default(), "known.tape");
    let report = compared(&known, RecordingOptions::default(), Some("pixel6")).unwrap();
    assert!(!report.verdict.text.contains("if bare.dat"), "{}", report.verdict.text);
}

#[test]
fn an_option_that_says_what_the_recording_says_assumes_nothing_and_one_that_differs_is_told() {
    let mixed = Path::new(DATA).join("mixed.dat");
    assert!(!Recording::open(&mixed, &known("kvm-guest", "")).unwrap().machine_assumed);
    let report = compared(&mixed, recorded_on("pixel6"), None).unwrap();
    let told = "if mixed.dat was recorded on pixel6, though it says kvm-guest (--recorded-on)";
    assert!(report.verdict.text.ends_with(told), "{}", report.verdict.text);
}

#[test]
fn a_recording_that_describes_itself_needs_nothing_beside_it() {
    let files = Files::new();
    let alone = files.put("alone.dat", &with_description(&data("mixed.dat"), &described()));
    let right =
        compared(&Path::new(DATA).join("mixed.dat"), RecordingOptions::default(), Some("pixel6")).unwrap();
    let report = compared(&alone, RecordingOptions::default(), Some("pixel6")).unwrap();
    assert_eq!(
        (report.verdict.text.as_str(), report.failed()),
        (right.verdict.text.as_str(), right.failed())
    );
    assert_eq!(report.traces[0].fidelity, right.traces[0].fidelity);
    assert!(report.traces[0].fidelity.is_ok());

    // A side-car goes first, in what it says.
    files.put("alone.toml", b"governor = \"teo\"\n");
    let recording = Recording::open(&alone, &RecordingOptions::default()).unwrap();
    let own = idlewise_platform::find("kvm-guest").unwrap();
    assert_eq!(
        (recording.tape.source.governor.as_str(), &recording.machine.clusters),
        ("teo", &own.clusters)
    );
    files.put("alone.toml", b"platform = \"pixel6\"\n");
    let recording = Recording::open(&alone, &RecordingOptions::default()).unwrap();
    assert_eq!((recording.tape.source.governor.as_str(), recording.machine.id.as_str()), ("menu", "pixel6"));
    assert!(!recording.machine_assumed);

    // What is made of it in another format knows the same: what a side-car says, and what it says itself.
    let request = ConvertRequest {
        trace: alone.clone(),
        to: Form::Text,
        output: files.path("copy.txt"),
        governors: Vec::new(),
        setup: ReplaySetup::default(),
    };
    let copied = || {
        let mut text = Vec::new();
        let converted = convert(&request, &mut text, &|_, _| ()).unwrap();
        let copy = files.put("copy.txt", &text);
        files.put("copy.toml", converted.description.unwrap().text.as_bytes());
        Recording::open(&copy, &RecordingOptions::default()).unwrap()
    };
    let copy = copied();
    assert_eq!((copy.tape.source.governor.as_str(), copy.machine.id.as_str()), ("menu", "pixel6"));
    std::fs::remove_file(alone.with_extension("toml")).unwrap();
    let copy = copied();
    assert!(copy.tape.source.governor == "menu" && copy.machine.clusters == own.clusters);
}

#[test]
fn mistakes_in_a_description_are_named_with_file_and_place_and_lead_nowhere() {
    let files = Files::new();
    let machine = described();
    let counters =
        "[[counters]]\ncpu = 0\nat_ns = [1, 2]\nusage = [[1, 2], [1]]\ntime_us = [[1, 2], [1, 2]]\n";
    for (said, parts) in [
        ("governor = menu".to_owned(), &["line 1", "governor"][..]),
        (format!("{machine}\nplatfrom = 1"), &["platfrom"]),
        ("platform = \"/etc/passwd\"".to_owned(), &["/etc/passwd", "[machine]"]),
        (format!("inputs = {{ file = \"../x.csv\" }}\n{machine}"), &["../x.csv", "folder"]),
        (format!("inputs = {{ file = \"/etc/passwd\" }}\n{machine}"), &["/etc/passwd", "folder"]),
        (format!("{machine}\n{counters}"), &["counters", "CPU 0", "2 idle states"]),
        ("[machine]\nid = 7".to_owned(), &["[machine]"]),
        ("a = ".to_owned() + &"[".repeat(100_000), &["line 1"]),
    ] {
        let path = files.put("x.dat", &with_description(&data("sleeploop.dat"), &said));
        let error = error_text(Recording::open(&path, &RecordingOptions::default()));
        assert!(error.contains("x.dat") && error.contains("inside it"), "{error}");
        for part in parts {
            assert!(error.contains(part), "no {part:?} in {error}");
        }
    }
    // A table that was left behind is no mistake.
    let said = format!("inputs = {{ file = \"gone.csv\" }}\n{machine}");
    let path = files.put("y.dat", &with_description(&data("sleeploop.dat"), &said));
    assert!(Recording::open(&path, &RecordingOptions::default()).is_ok());
}

#[test]
fn one_recording_under_two_names_is_not_two() {
    let files = Files::new();
    let (a, b) = (files.bare("a.dat", "mixed.dat"), files.bare("folder/b.dat", "mixed.dat"));
    std::os::unix::fs::symlink(&a, files.path("link.dat")).unwrap();
    for other in [&a, &b, &files.path("link.dat")] {
        let asked = asked(&[&a, other], recorded_on("kvm-guest"), None);
        let said = error_text(compare(&asked, &|_, _| ()));
        assert!(
            said.contains("are the same recording") && said.contains(&other.display().to_string()),
            "{said}"
        );
    }
}

#[test]
fn recordings_of_one_name_are_told_apart_by_their_folders() {
    let files = Files::new();
    let all = [
        files.bare("one/runs/x.dat", "mixed.dat"),
        files.bare("two/runs/x.dat", "sleeploop.dat"),
        files.bare("y.dat", "kvm-guest/idle_quiet.dat"),
    ];
    let traces: Vec<&Path> = all.iter().map(PathBuf::as_path).collect();
    let report = compare(&asked(&traces, recorded_on("kvm-guest"), None), &|_, _| ()).unwrap();
    let names: Vec<&str> = report.traces.iter().map(|t| t.head.name.as_str()).collect();
    assert_eq!(names, ["one/runs/x.dat", "two/runs/x.dat", "y.dat"]);
    let csv = view::compare(&report).render(Format::Csv, &report).unwrap();
    assert!(csv.contains("\none/runs/x.dat,") && csv.contains("\ntwo/runs/x.dat,"), "{csv}");
    assert!(report.checks[0].measured.iter().any(|m| m.place == "two/runs/x.dat"));
}

#[test]
fn a_cpu_that_is_not_there_is_not_taken_despite_its_counters() {
    let taken = |cpu| RecordingOptions { despite_counters: vec![cpu], ..RecordingOptions::default() };
    let mixed = Path::new(DATA).join("mixed.dat");
    let said = error_text(Recording::open(&mixed, &taken(1)));
    assert!(
        said.contains("--despite-counters 1: nothing to override: ") && said.contains("mixed.dat"),
        "{said}"
    );
    for said in [error_text(Recording::open(&mixed, &taken(5))), error_text(compared(&mixed, taken(5), None))]
    {
        assert!(said.contains("there is no CPU 5") && said.contains("mixed.dat has CPUs 0-1"), "{said}");
    }
}
