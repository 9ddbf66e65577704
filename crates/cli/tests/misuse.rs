// SPDX-License-Identifier: GPL-2.0-only
//! Is what a newcomer gets wrong refused, with the file, the reason and the way out: options that would be passed over, names
//! that mean nothing, results and tables that are none?

#![allow(clippy::disallowed_methods, reason = "tests start the command")]

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub(crate) fn repository(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    path.canonicalize().unwrap().display().to_string()
}

pub(crate) fn data(name: &str) -> String {
    repository(&format!("tests/data/{name}"))
}

/// A folder to make mistakes in.
pub(crate) struct Desk(tempfile::TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn copy(&self, from: &str, name: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::copy(from, self.path(name)).unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).current_dir(&self.0).output().unwrap()
    }

    /// Runs and expects exit status 0; what was printed.
    pub(crate) fn done(&self, args: &[&str]) -> String {
        let o = self.run(args);
        assert_eq!(o.status.code(), Some(0), "{args:?}: {}", words(&o.stderr));
        words(&o.stdout)
    }

    /// Runs and expects exit status 2, and all of `expected` in the error; the error.
    pub(crate) fn refused(&self, args: &[&str], expected: &[&str]) -> String {
        let o = self.run(args);
        let said = words(&o.stderr);
        assert_eq!(o.status.code(), Some(2), "{args:?}: {}{said}", words(&o.stdout));
        for word in expected {
            assert!(said.contains(word), "{args:?}: no {word:?} in {said}");
        }
        said
    }
}

/// Text in one line: where lines are broken does not count.
pub(crate) fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn options_that_would_be_passed_over_are_refused() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    let golden = data("golden/closed/teo-6.3/intel_skl__util__hz1000__s7073.csv.gz");
    let sides = data("lab/teo-util-timer.dat");
    desk.copy(&mixed, "bare.dat");
    desk.write("t.txt", "x");
    desk.write("before.txt", "/sys/devices/system/cpu/cpu0/cpuidle/state0/usage:1\n");
    let needs_beside = |option: &'static str| vec!["simulate", "frames", option, "menu"];
    for (args, expected) in [
        (vec!["convert", &mixed, "-o", "x.txt", "--hz", "250"], vec!["--hz", "add --governor"]),
        (vec!["convert", &mixed, "-o", "x.txt", "--despite-counters", "0"], vec!["--despite-counters"]),
        (needs_beside("--recorded-on"), vec!["--recorded-on", "--beside RECORDING"]),
        (needs_beside("--kernel-governor"), vec!["--kernel-governor", "--beside RECORDING"]),
        (vec!["simulate", "--list", "--seconds", "1"], vec!["--list"]),
        (vec!["simulate", "frames", "--platform", "rk3399", "--cpus", "100"], vec!["--cpus: 100", "6 CPUs"]),
        (vec!["reproduce", "--list", "--format", "json"], vec!["--list"]),
        (
            vec!["simulate", "frames", "--beside", &mixed, "--cpufreq", "schedutil,performance"],
            vec!["--cpufreq names 2", "name only that one"],
        ),
        (vec!["drive", "-g", "teo-util", "--golden", &golden, "--cpu", "1"], vec!["--golden", "--cpu"]),
        (vec!["drive", "-g", "teo-util", "--golden", &golden, "--platform", "pixel6"], vec!["--platform"]),
        (
            vec!["drive", "-g", "teo-util", "--decisions", &sides, "--cpu", "1"],
            vec!["teo-util-timer.dat", "a trace names its CPUs", "--cpu 1"],
        ),
        (vec!["explain", "--golden", &golden, "--row", "3", "-g", "teo", "--cpu", "1"], vec!["--cpu"]),
        (
            vec!["explain", "--golden", &golden, "--row", "3", "-g", "teo", "--kernel-governor", "menu"],
            vec!["--kernel-governor"],
        ),
        (vec!["replay", &mixed, "-g", "menu,teo,menu"], vec!["menu is named twice"]),
        (vec!["replay", &mixed, "-g", "oracle,oracle"], vec!["oracle is named twice"]),
        (vec!["simulate", "frames", "-g", "menu,menu"], vec!["menu is named twice"]),
        (vec!["simulate", "frames", "--signal", "pelt,pelt"], vec!["--signal: pelt is named twice"]),
        (vec!["simulate", "frames", "--cpufreq", "schedutil,schedutil"], vec!["--cpufreq: schedutil is"]),
        (
            vec!["explain", &mixed, "-g", "menu", "--decision", "3", "--others", "teo,teo"],
            vec!["teo is named"],
        ),
        (vec!["boot", "run", "-g", "menu,menu", "--folder", "lab"], vec!["menu is named twice"]),
        (vec!["replay", &mixed, "-g", "menu", "--kernel-tree", "nowhere"], vec!["--kernel-tree", "nowhere"]),
        (vec!["ab", "--show", "x", "--repeat", "3"], vec!["--show", "--repeat"]),
        (vec!["ab", "--resume", "x", "--margin", "3"], vec!["--resume", "--margin"]),
        (vec!["replay", &mixed, "-g", "teo6.6"], vec!["no governor `teo6.6` (did you mean `teo-6.6`?)"]),
        (vec!["compare", "menu", "teo6.6", "--trace", &mixed], vec!["did you mean `teo-6.6`?"]),
        (
            vec!["drive", "--signal", "pelt-9.9", "--golden", &golden],
            vec!["signal `pelt-9.9`: no kernel has this number", "7.0 to 7.3"],
        ),
        (vec!["convert", &mixed, "-o", "x.txt", "-g", ""], vec!["--governor names none"]),
        (vec!["diff", &mixed, "--as", "looks"], vec!["mixed.dat: a recording is no snapshot of sysfs"]),
        (vec!["ab", "--governor", "menu,teo", "--load", "timer", "--foreign", "101"], vec!["0..=100"]),
        (vec!["ab", "--governor", "menu,teo", "--load", "timer", "--settle", "4000000"], vec!["0..=3600000"]),
        (vec!["ab", "--governor", "menu,teo", "--load", "timer", "--warm-up", "20000"], vec!["0..=10000"]),
        (
            vec!["ab", "--governor", "menu,teo", "--load", "timer", "--latency-limit", "2000000001"],
            vec!["0..=2000000000"],
        ),
        (vec!["advise", "--foreign", "101"], vec!["0..=100"]),
        (vec!["simulate", "frames", "--kernel", "9.9"], vec!["kernel `9.9`", "7.0 to 7.3"]),
        (
            vec!["compare", "menu", "teo", "--trace", &mixed, "--fail-if", "too_deep > 101%"],
            vec!["character 12: expected a limit that it can cross: it is always 0% to 100%"],
        ),
        (
            vec!["replay", &mixed, "--despite-counters", "1"],
            vec!["--despite-counters 1: nothing to override: ", "mixed.dat", "leave it out"],
        ),
        (vec!["record", "--overhead", "--plain"], vec!["--overhead", "--plain"]),
        (vec!["advise", "--trace", &mixed, "--repeat", "4"], vec!["--repeat", "--load"]),
        (vec!["advise", "--trace", &mixed, "--seconds", "4"], vec!["--seconds", "their own length"]),
        (vec!["advise", "--no-ab", "--foreign", "4"], vec!["--no-ab", "--foreign"]),
        (vec!["advise", "--no-ab", "--kernel-governor", "menu"], vec!["--kernel-governor", "--trace"]),
        (vec!["diff", &mixed, &data("sleeploop.dat"), "--cpus", "0"], vec!["--cpus", "leave --cpus out"]),
        (vec!["reproduce", "rk3399-fio", "--trust", "t.txt"], vec!["--trust t.txt", "rk3399-fio"]),
        (vec!["reproduce", "rk3399-fio", "--region", "nvme0n1"], vec!["--region", "ROW/COLUMN"]),
        (vec!["reproduce", "rk3399-fio", "--region", "nvme0n1/toe"], vec!["--region", "nvme0n1/toe"]),
    ] {
        desk.refused(&args, &expected);
    }
    assert!(!desk.path("x.txt").exists() && !desk.path("lab/linux").exists());
    // A governor may be compared with itself: nothing differs.
    assert!(desk.done(&["compare", "menu", "menu", "--trace", &mixed]).contains("same decisions at all"));
}

#[test]
fn the_kernels_governor_is_a_known_one_or_said_to_be_another() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    for command in ["replay", "score", "info"] {
        desk.refused(
            &[command, &mixed, "--kernel-governor", "mneu"],
            &["--kernel-governor", "mneu", "did you mean `menu`", "other:mneu"],
        );
    }
    let said = desk.done(&["replay", "-v", &mixed, "-g", "menu", "--kernel-governor", "other:qcom-lpm"]);
    assert!(said.contains("not known: the kernel ran qcom-lpm, which is not among the governors"), "{said}");
    // A result that names it can be asked again.
    let args = ["replay", &mixed, "-g", "menu", "--kernel-governor", "other:qcom-lpm", "-f", "json"];
    desk.done(&[&args[..], &["-o", "r.json"]].concat());
    desk.done(&["replay", "--again", "r.json"]);
    // Where there is no --platform, `same` is not offered.
    desk.copy(&mixed, "bare.dat");
    let said = desk.refused(&["replay", "bare.dat", "-g", "menu"], &["--recorded-on", "bare.toml"]);
    assert!(!said.contains("same"), "{said}");
    desk.refused(&["replay", "bare.dat", "-g", "menu", "--platform", "pixel6"], &["`--recorded-on same`"]);
    desk.refused(
        &["score", "bare.dat", "--recorded-on", "same"],
        &["machine of --platform", "none is given"],
    );
    // Files of a machine that do not say which governor it ran.
    fs::create_dir(desk.path("root")).unwrap();
    let advise =
        ["advise", "-v", "--root", "root", "--trace", "bare.dat", "--recorded-on", "kvm-guest", "--no-ab"];
    desk.refused(&advise, &["Give it with --kernel-governor"]);
    let said = desk.done(&[&advise[..], &["--kernel-governor", "menu"]].concat());
    assert!(said.contains("machine kernel not known, governor menu") && !said.contains("(offers"), "{said}");
    desk.write("root/sys/devices/system/cpu/cpuidle/current_governor", "haltpoll\n");
    let said = desk.done(&[&advise[..], &["--kernel-governor", "menu"]].concat());
    assert!(said.contains("governor menu") && !said.contains("(offers"), "{said}");
}

#[test]
fn a_result_is_asked_again_only_as_it_was_and_the_error_names_the_file() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    desk.copy(&repository("docs/guide/example/patient.c"), "mine.c");
    desk.copy(&repository("docs/guide/example/patient.c"), "yours.c");
    desk.copy(&data("sleeploop.dat"), "t.dat");
    desk.copy(&data("sleeploop.toml"), "t.toml");
    desk.done(&["replay", "t.dat", "-g", "menu,./mine.c", "-f", "json", "-o", "c.json"]);
    desk.done(&["replay", "t.dat", "-g", "menu", "-f", "json", "-o", "r.json"]);
    desk.done(&["replay", "--again", "c.json", "--trust", "mine.c"]);
    for (args, expected) in [
        (
            vec!["replay", "t.dat", "-g", "menu", "--trust", "mine.c"],
            vec!["--trust mine.c", "--again RESULT.json"],
        ),
        (vec!["replay", "--again", "c.json", "--trust", "gone.c"], vec!["--trust gone.c", "No such file"]),
        (
            vec!["replay", "--again", "c.json", "--trust", "mine.c", "--trust", "yours.c"],
            vec!["c.json", "--trust yours.c", "--trust ./mine.c"],
        ),
        (
            vec!["replay", "--again", "r.json", "--trust", "mine.c"],
            vec!["r.json", "--trust mine.c", "no C file", "leave --trust out"],
        ),
        (
            vec!["compare", "--again", "r.json"],
            vec!["r.json", "idlewise.replay/2", "idlewise replay --again"],
        ),
        (vec!["replay", "--again", &mixed], vec!["mixed.dat: is a binary file", "--format json"]),
        (vec!["replay", "--again", "mine.c"], vec!["mine.c: is not JSON", "--format json"]),
        (vec!["replay", "--again", "gone.json"], vec!["gone.json: No such file"]),
    ] {
        desk.refused(&args, &expected);
    }
    desk.copy(&mixed, "t.dat");
    desk.refused(
        &["replay", "--again", "r.json"],
        &["r.json: the recording t.dat has changed since", "then", "now"],
    );
    fs::remove_file(desk.path("t.dat")).unwrap();
    desk.refused(&["replay", "--again", "r.json"], &["r.json requests this: t.dat: No such file"]);
}

#[test]
fn two_files_of_one_name_are_told_apart_and_one_file_is_not_two() {
    let desk = Desk::new();
    for (folder, name) in [("a", "mixed"), ("b", "sleeploop")] {
        for ending in ["dat", "toml"] {
            desk.copy(&data(&format!("{name}.{ending}")), &format!("{folder}/run.{ending}"));
        }
    }
    let said = desk.done(&["diff", "a/run.dat", "b/run.dat"]);
    for word in ["A a/run.dat", "B b/run.dat", "note a/run.dat: CPU 1", "note b/run.dat: CPU 1"] {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
    for again in ["a/run.dat", "a/../a/run.dat"] {
        desk.refused(&["diff", "a/run.dat", again], &["are the same file", "name two files"]);
    }
    for command in ["info", "score"] {
        desk.refused(&[command, "-"], &["-: standard input is not read", "write it to a file"]);
    }
    desk.refused(&["replay", "-", "-g", "menu"], &["standard input is not read"]);
    desk.refused(&["diff", "a/run.dat", "-"], &["standard input is not read"]);
}

#[test]
fn whoever_stops_reading_a_converted_trace_hears_nothing_of_it() {
    for (form, governor) in [("text", None), ("perfetto", Some("menu"))] {
        let mixed = data("mixed.dat");
        let mut command = Command::new(env!("CARGO_BIN_EXE_idlewise"));
        command.args(["convert", &mixed, "-o", "-", "--to", form]);
        command.args(governor.into_iter().flat_map(|g| ["--governor", g]));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let o = child.wait_with_output().unwrap();
        assert_eq!((o.status.code(), words(&o.stderr).as_str()), (Some(0), ""), "{form}");
    }
}

#[test]
fn a_governor_that_does_not_compile_says_what_to_mend() {
    let desk = Desk::new();
    let good = fs::read_to_string(repository("docs/guide/example/patient.c")).unwrap();
    desk.write("quoted.c", &good.replacen("#include", "#include \"mine.h\"\n#include", 1));
    let said =
        desk.refused(&["governors", "show", "quoted.c"], &["quoted.c:", "\"mine.h\"", "copy it there"]);
    assert!(!said.contains("<mine.h>"), "{said}");
    let typo = good.replace("struct cpuidle_device ", "struct cpuidle_devcie ");
    assert!(typo != good, "the example uses struct cpuidle_device");
    desk.write("typo.c", &typo);
    let line = 1 + typo.lines().position(|l| l.contains("cpuidle_devcie")).unwrap();
    let said = desk.refused(
        &["governors", "show", "typo.c"],
        &[&format!("typo.c:{line}: "), "`struct cpuidle_devcie` (did you mean `struct cpuidle_device`?)"],
    );
    assert_eq!(said.matches("cpuidle_devcie").count(), 1, "{said}");
    desk.refused(&["governors", "show", "./fix.patch"], &["fix.patch", "there is no such file", "a patch"]);
    let said = desk.refused(&["simulate", "frames", "--hz", "100000"], &["--hz", "100000", "24 to 1200"]);
    assert!(!said.contains("how often"), "{said}");
}

#[test]
fn a_damaged_golden_file_is_described_by_file_line_and_what_was_expected() {
    let desk = Desk::new();
    let from = data("golden/closed/teo-6.3/intel_skl__util__hz1000__s7073.csv.gz");
    let packed = fs::read(&from).unwrap();
    let from = from.strip_suffix(".csv.gz").unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let head: Vec<&str> = text.lines().take(3).collect();
    let cells = head[0].split(',').count();
    let file = |name: &str, bytes: &[u8]| {
        desk.copy(&format!("{from}.json"), &format!("{name}.json"));
        fs::write(desk.path(&format!("{name}.csv.gz")), bytes).unwrap();
    };
    let gz = |text: &str| {
        let mut out = Vec::new();
        flate2::bufread::GzEncoder::new(text.as_bytes(), flate2::Compression::fast())
            .read_to_end(&mut out)
            .unwrap();
        out
    };
    file("plain", text.as_bytes());
    file("cut", &packed[..2000]);
    file("short", &gz(&format!("{}\n{}\n1,2,3\n", head[0], head[1])));
    file("empty", &gz(""));
    file("bare", &gz(&format!("{}\n", head[0])));
    file("few", &gz(&(head.join("\n") + "\n")));
    file("gap", &gz(&text.replacen("\n1,", "\n2,", 1)));
    file("slow", &packed);
    let car = fs::read_to_string(format!("{from}.json")).unwrap();
    assert!(car.contains("\"hz\":1000"), "{car}");
    fs::write(desk.path("slow.json"), car.replace("\"hz\":1000", "\"hz\":0")).unwrap();
    file("lonely", &packed);
    fs::remove_file(desk.path("lonely.json")).unwrap();
    for (name, expected) in [
        ("plain.csv.gz", vec!["plain.csv.gz: expected a table packed with gzip"]),
        ("cut.csv.gz", vec!["cut.csv.gz: expected a table packed with gzip, whole"]),
        ("short.csv.gz", vec!["short.csv.gz: line 3: expected", &*format!("{cells} cells"), "found 3"]),
        ("empty.csv.gz", vec!["empty.csv.gz: line 1: expected a column", "an empty file"]),
        ("bare.csv.gz", vec!["bare.csv.gz: no step in it; expected rows"]),
        ("few.csv.gz", vec!["few.json: expected `steps` to be 2, as many as the rows of", "cut short?"]),
        ("gap.csv.gz", vec!["gap.csv.gz: line 3, column `step`: expected the step after", "found `2`"]),
        ("slow.csv.gz", vec!["slow.json: expected `hz` to be 24 to 1200, found 0"]),
        ("lonely.csv.gz", vec!["lonely.json: expected the side-car of", "lonely.csv.gz", "no such file"]),
        ("gone.csv.gz", vec!["gone.csv.gz", "No such file"]),
    ] {
        desk.refused(&["drive", "-g", "teo-util", "--golden", name], &expected);
    }
}

#[test]
fn info_names_the_cpus_and_the_recorder() {
    let desk = Desk::new();
    let said = desk.done(&["info", &data("kvm-guest/idle_quiet.dat")]);
    assert!(said.contains("score yes, on CPU 0, not on CPU 1: no idle periods recorded there"), "{said}");
    let said = desk.done(&["info", &data("lab/teo-util-timer.dat")]);
    assert!(said.contains("score yes, on CPUs 0-3 replay yes, on CPUs 0-3 "), "{said}");
    let said = desk.done(&["info", &data("perf/idle.data")]);
    assert!(said.contains("x86_64 recorder perf 6.1.187 ") && !said.contains("written by"), "{said}");
}

/// Metaphors and passives that the field has a word for, in what every `--help` prints.
#[test]
fn help_texts_use_the_words_of_the_field() {
    const NOT: [&str; 12] = [
        "hang on",
        "hangs on",
        "held against",
        "comes along",
        "come along",
        "so manieth",
        "is told",
        "are told",
        "was told",
        "side by side",
        "dearest",
        "put back",
    ];
    let desk = Desk::new();
    let help = desk.done(&["--help"]);
    let commands = [
        "record",
        "info",
        "replay",
        "compare",
        "explain",
        "score",
        "tape",
        "convert",
        "simulate",
        "reproduce",
        "top",
        "diff",
        "ab",
        "advise",
        "drive",
        "governors",
        "platform",
    ];
    let mut texts = vec![("idlewise".to_owned(), help)];
    for command in commands {
        texts.push((command.to_owned(), desk.done(&[command, "--help"])));
    }
    for command in ["build", "run", "matrix", "self-test", "shell", "overlay", "workloads"] {
        texts.push((format!("boot {command}"), desk.done(&["boot", command, "--help"])));
    }
    let mut found = Vec::new();
    for (command, text) in &texts {
        let lower = text.to_lowercase();
        found.extend(NOT.iter().filter(|w| lower.contains(**w)).map(|w| format!("{command}: {w}")));
        // The option of that name stays.
        let beside = lower.replace("--beside", "");
        found.extend(beside.contains("beside").then(|| format!("{command}: beside")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_session_goes_on_as_it_began() {
    let desk = Desk::new();
    fs::create_dir(desk.path("runs")).unwrap();
    let head = r#"{"schema":"idlewise.ab-session/1","request":{"arms":["menu","teo"],"benchmarks":[{"name":"timer","command":
        ["idlewise","load","timer","--seconds","3","--seed","1"],"load":"timer"}],"metrics":[],"disable":[],
        "latency_limit_us":null,"set":[],"repeat":8,"warm_up":1,"settle_ms":1,"seed":1,"foreign_pct":10,"retries":1,
        "margin_permille":20,"aa":false,"wakeups":false},"kernel":"6.1","driver":"x","cpus":2,"governor":"menu"}"#;
    desk.write("runs/session.jsonl", &(head.replace('\n', "") + "\n"));
    let resume = ["ab", "--root", "nowhere", "--resume", "runs", "--load", "timer"];
    for (option, value, said) in [
        ("--repeat", "5", "its session has --repeat 8, not 5"),
        ("--seed", "2", "its session has --seed 1, not 2"),
        ("--seconds", "9", "its session has --seconds 3, not 9"),
        ("--set", "a=b", "its session has --set of nothing, not \"a=b\""),
    ] {
        let args = [&resume[..], &[option, value]].concat();
        desk.refused(&args, &["runs: ", said, "leave it out, or begin a new session"]);
    }
    // As it began: refused only because there is no such machine.
    let same = [&resume[..], &["--repeat", "8", "--seed", "1", "--seconds", "3"]].concat();
    assert!(!desk.refused(&same, &["nowhere"]).contains("its session has"));
}

#[test]
fn the_name_of_the_output_says_its_form_where_no_option_does() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    let begins = |args: &[&str], name: &str, begin: &str| {
        desk.done(&[args, &["-o", name]].concat());
        let text = fs::read_to_string(desk.path(name)).unwrap();
        assert!(text.starts_with(begin), "{name}: {text:.60}");
    };
    let replay = ["replay", &mixed, "-g", "menu"];
    begins(&replay, "r.json", "{");
    begins(&replay, "r.JSON", "{");
    begins(&replay, "r.csv", "trace,");
    begins(&["info", &mixed], "i.json", "{");
    begins(&["score", &mixed], "s.json", "{");
    desk.done(&["replay", "--again", "r.json"]);
    let form = |name: &str, option: &[&str]| {
        desk.done(&[&replay[..], &["-o", name], option].concat());
        words(&fs::read(desk.path(name)).unwrap())
    };
    assert_eq!(form("r.md", &[]), desk.done(&[&replay[..], &["-f", "markdown"]].concat()));
    assert_eq!(form("r.txt", &[]), desk.done(&replay));
    assert_eq!(form("t.json", &["-f", "table"]), desk.done(&replay));
}

#[test]
fn advice_refuses_a_governor_that_nobody_has_and_a_machine_that_is_no_folder() {
    let (desk, trace) = (Desk::new(), data("mixed.dat"));
    desk.refused(&["advise", "--trace", &trace, "--also", "menuu"], &["did you mean `menu`?"]);
    desk.refused(
        &["advise", "--trace", &trace, "--root", "/dev/null"],
        &["--root /dev/null", "not a folder"],
    );
}

#[test]
fn a_temporary_directory_that_takes_nothing_is_not_the_recordings_fault() {
    let desk = Desk::new();
    let packed = fs::File::create(desk.path("mixed.dat.gz")).unwrap();
    let mut packer = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    std::io::copy(&mut fs::File::open(data("mixed.dat")).unwrap(), &mut packer).unwrap();
    packer.finish().unwrap();
    let o = Command::new(env!("CARGO_BIN_EXE_idlewise"))
        .arg("info")
        .arg(desk.path("mixed.dat.gz"))
        .env("TMPDIR", desk.path("nowhere"))
        .output()
        .unwrap();
    assert_eq!(o.status.code(), Some(2));
    let said = words(&o.stderr);
    assert!(said.contains("no room to unpack") && said.contains("TMPDIR"), "{said}");
}

#[test]
fn who_is_asked_for_a_machine_does_not_hear_then_that_none_helps() {
    let desk = Desk::new();
    let wakes = |n: u32| {
        format!("bash-7 [000] d..2 {n}.000000: sched_waking: comm=cat pid=9 prio=120 target_cpu=000\n")
    };
    desk.write("wakes.txt", &format!("# tracer: nop\n#\n{}", (1..20).map(wakes).collect::<String>()));
    for machine in [&[][..], &["--recorded-on", "pixel6"]] {
        let replay = [&["replay", "wakes.txt"], machine].concat();
        desk.refused(&replay, &["no cpu_idle events and no switches to the idle task"]);
    }
}
