// SPDX-License-Identifier: GPL-2.0-only
//! Does the command keep its word: exit statuses, forms of output, errors that name the way out, files left alone?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::schemas::fits;

pub(crate) fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    path.canonicalize().unwrap_or(path).display().to_string()
}

pub(crate) fn idlewise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).output().unwrap()
}

pub(crate) fn out(o: &Output) -> String {
    String::from_utf8(o.stdout.clone()).unwrap()
}

pub(crate) fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

/// Runs and expects exit status 2, nothing on standard output, and all of `words` in the error.
pub(crate) fn refused(args: &[&str], words: &[&str]) {
    let o = idlewise(args);
    assert_eq!(o.status.code(), Some(2), "{args:?}: {}", out(&o));
    for word in words {
        assert!(err(&o).contains(word), "{args:?}: no {word:?} in {}", err(&o));
    }
}

#[test]
fn a_replay_compares_all_governors_asked_for() {
    let o = idlewise(&[
        "replay",
        &data("mixed.dat"),
        "--governor",
        "menu-6.1,teo-util:util_threshold_shift=5,oracle",
        "-v",
    ]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let text = out(&o);
    for word in [
        "menu-6.1",
        "teo-util:util_threshold_shift=5",
        "oracle",
        "too deep %",
        "fidelity",
        "open loop",
        "regret",
    ] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
    assert!(text.lines().all(|l| l.chars().count() < 200));
}

#[test]
fn another_machine_is_said_to_be_another_machine() {
    let o = idlewise(&["replay", &data("mixed.dat"), "-g", "menu,oracle", "--platform", "pixel6", "-v"]);
    assert!(out(&o).contains("a what-if, with wake events"), "{}{}", out(&o), err(&o));
    assert!(out(&o).contains("[mJ]"));
    let o = idlewise(&["replay", &data("mixed.dat"), "-g", "menu,oracle", "--platform", "skylake-sp"]);
    assert!(out(&o).contains("[rel]"), "no power is published for it");
    assert!(!out(&o).contains("mW"));
}

#[test]
fn forms_hold_the_same_numbers() {
    let args = ["replay", &data("mixed.dat"), "-g", "menu,oracle", "--per", "state", "--format"];
    let with = |form: &str| out(&idlewise(&[&args[..], &[form]].concat()));
    let json: serde_json::Value = serde_json::from_str(&with("json")).unwrap();
    assert_eq!(json["schema"], "idlewise.replay/2");
    let wakeups = json["traces"][0]["governors"][0]["score"]["wakeups"].as_u64().unwrap();
    assert!(wakeups > 100);
    for form in ["table", "markdown", "csv"] {
        assert!(with(form).contains(&wakeups.to_string()), "{form}:\n{}", with(form));
    }
    let csv = with("csv");
    let (head, menu) = (csv.lines().next().unwrap(), csv.lines().nth(1).unwrap());
    assert!(head.starts_with("trace,governor,part,decisions,regret_pct,wakeups,too_deep_pct"), "{head}");
    assert!(menu.starts_with("mixed.dat,menu,all,"), "{menu}");
    assert_eq!(head.split(',').count(), menu.split(',').count());
    assert_eq!(csv.lines().count(), 3);
}

#[test]
fn a_json_result_can_be_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("first.json").display().to_string();
    let o = idlewise(&[
        "replay",
        &data("mixed.dat"),
        "-g",
        "menu,teo-6.1",
        "--platform",
        "rk3399",
        "--seed",
        "7",
        "-f",
        "json",
        "-o",
        &first,
    ]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let again = idlewise(&["replay", "--again", &first, "-f", "json"]);
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    assert_eq!(out(&again), fs::read_to_string(&first).unwrap());
    assert!(!out(&again).contains("\"Ok\"") && !out(&again).contains("\"Err\""), "{}", out(&again));
    refused(&["replay", &data("mixed.dat"), "-f", "json", "-o", &first], &["exists"]);
    // As version 0.1.0 wrote it, and as nobody has yet.
    let mut old: serde_json::Value = serde_json::from_str(&out(&again)).unwrap();
    old["schema"] = "idlewise.replay/1".into();
    old["traces"][0]["fidelity"] = serde_json::json!({"Err": "why not"});
    let older = dir.path().join("older.json").display().to_string();
    fs::write(&older, old.to_string()).unwrap();
    assert_eq!(out(&idlewise(&["replay", "--again", &older, "-f", "json"])), out(&again));
    old["schema"] = "idlewise.replay/3".into();
    fs::write(&older, old.to_string()).unwrap();
    refused(&["replay", "--again", &older], &["idlewise.replay/3", "idlewise.replay/2"]);
    let changed = fs::read_to_string(&first).unwrap().replace("\"hash\": \"", "\"hash\": \"0");
    fs::write(&first, changed).unwrap();
    refused(&["replay", "--again", &first], &["changed since"]);
    fs::write(&first, "{}").unwrap();
    refused(&["replay", "--again", &first], &["schema", "idlewise.replay/2"]);
}

#[test]
fn a_comparison_says_where_governors_part_and_fails_on_request() {
    let trace = data("mixed.dat");
    let args = ["compare", "-v", "teo-6.1", "teo-util", "--trace", &trace, "--platform", "pixel6"];
    let with = |more: &[&str]| idlewise(&[&args[..], more].concat());
    let o = with(&[]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    for word in ["c2 -> WFI", "by wake event", "hrtimer", "verdict", "fidelity", "open loop"] {
        assert!(out(&o).contains(word), "no {word} in\n{}", out(&o));
    }
    let o = with(&["--fail-if", "too_deep > +1pp", "--fail-if", "latency_p99 > 200us"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    assert!(out(&o).contains("ok        too_deep > +1pp: -1.64pp"), "{}", out(&o));
    let o = with(&["--fail-if", "too_deep > +1pp", "--fail-if", "energy > +2%"]);
    assert_eq!(o.status.code(), Some(1), "{}", err(&o));
    assert!(out(&o).contains("FAILED    energy > +2%: +35.37%"), "{}", out(&o));
    // Where no tables are shown, the checks are reported together with the result.
    let o = with(&["--fail-if", "energy > +2%", "--format", "csv"]);
    assert_eq!(o.status.code(), Some(1));
    assert!(err(&o).starts_with("FAILED energy > +2%: +35.37%"), "{}", err(&o));
    assert!(out(&o).starts_with(
        "trace,governor_a,governor_b,part,by,kind,a_state,b_state,quantity,a,b,assumed,warnings\n"
    ));
    let o = with(&["--fail-if", "differ > 90%", "--per", "cpu", "--format", "markdown"]);
    assert_eq!((o.status.code(), err(&o).as_str()), (Some(0), ""));
    refused(&[&args[..], &["--fail-if", "too_deep >> 1"]].concat(), &["character 10", "> >= < <=", "+1pp"]);
    refused(&["compare", "menu", "--trace", &trace], &["expected two governors, got 1"]);
    refused(&["compare", "menu", "menu"], &["no trace is named"]);
}

#[test]
fn a_result_without_a_question_has_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let simulation = ["simulate", "timer", "--platform", "pixel6", "-g", "menu", "--seconds", "0.01"];
    let replay = ["replay", &data("sleeploop.dat"), "-g", "menu"];
    for (question, lists) in [
        (&simulation[..], &["governors", "cpufreq", "signals"][..]),
        (&replay[..], &["governors", "traces"][..]),
    ] {
        let first = at(question[0]);
        let o = idlewise(&[question, &["-f", "json", "-o", &first]].concat());
        assert_eq!(o.status.code(), Some(0), "{}", err(&o));
        let result: serde_json::Value = serde_json::from_str(&fs::read_to_string(&first).unwrap()).unwrap();
        for list in lists {
            let mut emptied = result.clone();
            emptied["request"][list] = serde_json::json!([]);
            fs::write(at("emptied.json"), emptied.to_string()).unwrap();
            refused(&[question[0], "--again", &at("emptied.json")], &["no ", " given"]);
        }
    }
}

#[test]
fn an_experiment_without_a_number_is_not_done() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("it.toml").display().to_string();
    let experiment = |fact: &str| {
        format!(
            "format = 2\nid = \"it\"\ntitle = \"t\"\n[document]\nnumber = \"1\"\ntitle = \"t\"\nlines = \"1\"\n[setup]\nplatform = \"pixel6\"\nworkload = \"timer\"\n\
             seconds = 0.01\n[[column]]\nname = \"a\"\nbaseline = true\n[[row]]\nname = \"r\"\nunit = \"\"\n\
             fact = \"{fact}\"\npublished = {{ a = 1 }}\n"
        )
    };
    fs::write(&path, experiment("run / nothing of that name")).unwrap();
    let o = idlewise(&["reproduce", &path]);
    assert_eq!(o.status.code(), Some(2), "{}", out(&o));
    let said = err(&o);
    assert!(said.contains("1 of its 1 cells have no number: the run has no number `run / nothing"), "{said}");
    fs::write(&path, experiment("idle / wakeups/s")).unwrap();
    let o = idlewise(&["reproduce", &path]);
    assert_eq!(o.status.code(), Some(0), "{}{}", out(&o), err(&o));
    let mistyped = "[[column]]\nname = \"b\"\nsetup = { governor = \"menu:no_patern=1\" }\n[[row]]";
    let both = experiment("idle / wakeups/s").replace("[[row]]", mistyped).replace("a = 1", "a = 1, b = 2");
    fs::write(&path, both).unwrap();
    let o = idlewise(&["reproduce", &path]);
    assert_eq!(o.status.code(), Some(2), "{}", out(&o));
    assert!(out(&o).contains("failed"), "{}", out(&o));
    assert!(
        err(&o).contains("1 of its 2 cells have no number") && err(&o).contains("no_patern"),
        "{}",
        err(&o)
    );
}

#[test]
fn a_comparison_can_be_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("first.json").display().to_string();
    let trace = data("mixed.dat");
    let o = idlewise(&[
        "compare",
        "menu",
        "teo-6.1",
        "-t",
        &trace,
        "-p",
        "rk3399",
        "--fail-if",
        "ticks > +1",
        "-f",
        "json",
        "-o",
        &first,
    ]);
    let again = idlewise(&["compare", "--again", &first, "-f", "json"]);
    assert_eq!(again.status.code(), o.status.code(), "{}", err(&again));
    assert_eq!(out(&again), fs::read_to_string(&first).unwrap());
    assert_eq!(err(&again), err(&o));
    refused(&["replay", "--again", &first], &["idlewise.compare/2", "idlewise.replay/2"]);
}

#[test]
fn a_tape_gives_the_same_table_as_its_trace() {
    let dir = tempfile::tempdir().unwrap();
    let tape = dir.path().join("mixed.tape").display().to_string();
    let o = idlewise(&["tape", &data("mixed.dat"), "-o", &tape]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    for platform in ["kvm-guest", "pixel6"] {
        let args = ["-g", "menu,menu-6.1,teo-util,shallow,oracle", "--platform", platform, "--per", "cpu"];
        let from_trace = idlewise(&[&["replay", &data("mixed.dat")], &args[..]].concat());
        let from_tape = idlewise(&[&["replay", &tape], &args[..]].concat());
        assert_eq!(from_tape.status.code(), Some(0), "{}", err(&from_tape));
        assert_eq!(out(&from_tape), out(&from_trace));
    }
    // The machine of a tape is that of its trace's side-car.
    let o = idlewise(&["replay", &tape, &data("sleeploop.dat"), "-g", "menu"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    refused(&["tape", &data("mixed.dat"), "-o", &tape], &["exists"]);
    let cut = fs::read(&tape).unwrap();
    fs::write(&tape, &cut[..cut.len() / 2]).unwrap();
    refused(&["replay", &tape], &["damaged", "checksum"]);
}

#[test]
fn the_kernels_own_choices_are_judged() {
    let o = idlewise(&["score", "-v", &data("mixed.dat"), "--per", "cpu"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    for word in ["cpu 0", "woken by", "hrtimer", "without replay"] {
        assert!(out(&o).contains(word), "no {word} in\n{}", out(&o));
    }
}

#[test]
fn driving_tells_matches_from_mismatches_by_exit_status() {
    let golden: Vec<String> = fs::read_dir(data("golden/closed/teo-6.1"))
        .unwrap()
        .map(|e| e.unwrap().path().display().to_string())
        .filter(|p| p.ends_with(".csv.gz"))
        .collect();
    assert!(!golden.is_empty());
    let files: Vec<&str> = golden.iter().map(String::as_str).collect();
    let o = idlewise(&[&["drive", "--governor", "teo-6.1", "--golden"], &files[..]].concat());
    assert_eq!(o.status.code(), Some(0), "{}{}", out(&o), err(&o));
    let lines = out(&o);
    assert!(lines.lines().next().unwrap().contains("steps=") && lines.contains("mismatches=0"), "{lines}");
    assert!(
        lines.lines().last().unwrap().starts_with(&format!("total files={} steps=", files.len())),
        "{lines}"
    );
    let o = idlewise(&[&["drive", "--governor", "menu-6.1", "--golden"], &files[..]].concat());
    assert_eq!(o.status.code(), Some(1), "another governor differs");
    refused(&["drive", "--governor", "teo-6.1", "--golden", "nowhere.csv.gz"], &["nowhere.csv.gz"]);
    // A file without a step shows nothing.
    let dir = tempfile::tempdir().unwrap();
    let (whole, empty) = (Path::new(files[0]), dir.path().join("empty.csv.gz"));
    fs::copy(whole.to_str().unwrap().replace(".csv.gz", ".json"), dir.path().join("empty.json")).unwrap();
    let script = "gzip -dc \"$0\" | head -n 1 | gzip > \"$1\"";
    assert!(Command::new("sh").args(["-c", script]).args([whole, &empty]).status().unwrap().success());
    refused(&["drive", "--governor", "teo-6.1", "--golden", empty.to_str().unwrap()], &["no step in it"]);
}

#[test]
fn driving_a_signal_has_the_same_forms() {
    let file = data("golden/pelt/cfs_rq.csv.gz");
    let o = idlewise(&["drive", "--signal", "pelt", "--golden", &file]);
    assert_eq!(o.status.code(), Some(0), "{}{}", out(&o), err(&o));
    assert_eq!(out(&o), format!("{file} steps=230 mismatches=0\ntotal files=1 steps=230 mismatches=0\n"));

    // 5.6 kept no average of running and waiting.
    let o = idlewise(&["drive", "--signal", "pelt-5.6", "--golden", &file, "--show", "1"]);
    assert_eq!(o.status.code(), Some(1), "{}{}", out(&o), err(&o));
    let shown = "  step 8 (line 11): expected runnable_sum 13700096, runnable_avg 293; got runnable_sum 0, runnable_avg 0; \
                 cfs_rq at 5038555604 ns";
    assert!(out(&o).lines().nth(1).unwrap().starts_with(shown), "{}", out(&o));
    assert_eq!(out(&o).lines().count(), 3);

    let o =
        idlewise(&["drive", "--signal", "pelt-5.6", "--golden", &file, "--show", "1", "--format", "json"]);
    assert_eq!(o.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_str(&out(&o)).unwrap();
    fits(&json);
    let first = &json["files"][0]["first"];
    assert_eq!(first.as_array().unwrap().len(), 1);
    assert_eq!(first[0]["differ"][0]["column"], "runnable_sum");
    assert_eq!((&json["steps"], &json["schema"]), (&230.into(), &"idlewise.drive/1".into()));

    refused(&["drive", "--signal", "walt", "--golden", &file], &["walt", "pelt-6.1"]);
    refused(&["drive", "--signal", "pelt", "--governor", "teo", "--golden", &file], &["--governor"]);
    refused(&["drive", "--governor", "teo", "--golden", &file], &["--signal pelt"]);
}

#[test]
fn a_trace_tells_what_it_holds_and_what_can_be_done_with_it() {
    let o = idlewise(&["info", &data("mixed.dat")]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let text = out(&o);
    for word in [
        "trace.dat version 7",
        "clock mono",
        "yes, on CPU 0, not on CPU 1: no idle periods recorded there",
        "fidelity",
        "power:cpu_idle",
    ] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
    let json = out(&idlewise(&["info", &data("mixed.dat"), "--format", "json"]));
    let info: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(info["schema"], "idlewise.info/2");
    assert_eq!(
        (info["cpus"][0]["idle_entries"].as_u64(), info["cpus"][1]["switches_to_idle"].as_u64()),
        (Some(8239), Some(8582))
    );
    let sum: u64 = info["counts"].as_array().unwrap().iter().map(|c| c["count"].as_u64().unwrap()).sum();
    assert_eq!(info["events"].as_u64(), Some(sum));
}

#[test]
fn a_trace_of_an_unknown_machine_tells_what_it_lacks_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let alone = dir.path().join("alone.dat");
    fs::copy(data("mixed.dat"), &alone).unwrap();
    let text = out(&idlewise(&["info", &alone.display().to_string()]));
    for word in ["--recorded-on", "sleep length: hrtimer_start", "no pm_qos_update_target"] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
}

#[test]
fn mistakes_are_answered_with_the_way_out() {
    let trace = data("mixed.dat");
    refused(&["replay", "nowhere.dat"], &["nowhere.dat"]);
    refused(&["replay", &data("README.md"), "--recorded-on", "pixel6"], &["README.md"]);
    refused(&["replay", &trace, "-g", "tea"], &["tea", "did you mean `teo`"]);
    refused(&["replay", &trace, "-g", "teo-util:util_shift=3"], &["util_shift", "util_threshold_shift"]);
    refused(&["replay", &trace, "-g", "teo-util:util_threshold_shift=x"], &["util_threshold_shift"]);
    refused(&["replay", &trace, "-g", "menu", "--baseline", "teo-6.1"], &["baseline", "menu"]);
    refused(&["replay", &trace, "--platform", "pixel9"], &["pixel9", "pixel6"]);
    refused(&["replay", &trace, "--platform", "pixel6", "--cluster", "HUGE"], &["HUGE", "LITTLE"]);
    refused(&["replay", &trace, "--format", "xml"], &["xml", "markdown"]);
    refused(&["platform", "show", "pixel9"], &["pixel6"]);
    refused(&["governors", "show", "tea"], &["tea"]);
}

#[test]
fn a_trace_without_its_machine_asks_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let lonely = dir.path().join("lonely.dat");
    fs::copy(data("mixed.dat"), &lonely).unwrap();
    let lonely = lonely.display().to_string();
    refused(&["replay", &lonely], &["--recorded-on", "lonely.toml"]);
    // The machine to replay on is not the one that was recorded, unless somebody says so; and that stands in the answer.
    let asked = [
        "compare",
        "menu",
        "teo-6.1",
        "--trace",
        &lonely,
        "--platform",
        "pixel6",
        "--fail-if",
        "latency_p99 > -10%",
    ];
    refused(&asked, &["which machine was recorded?", "--recorded-on same"]);
    for (machine, verdict, check, status) in
        [("same", "better in both", "FAILED", 1), ("kvm-guest", "better in both", "ok", 0)]
    {
        let o = idlewise(&[&asked[..], &["--recorded-on", machine, "-v"]].concat());
        assert_eq!(o.status.code(), Some(status), "{}", err(&o));
        let page = out(&o).split_whitespace().collect::<Vec<_>>().join(" ");
        let machine = if machine == "same" { "pixel6" } else { machine };
        let assumption =
            format!("if lonely.dat was recorded on {machine}, which it does not say (--recorded-on)");
        assert!(page.contains(&format!("{verdict}, {assumption}")), "{page}");
        let checked =
            page.split(&format!(" {check} latency_p99 > -10%: ")).nth(1).unwrap_or_else(|| panic!("{page}"));
        assert!(checked.contains(&assumption), "{page}");
        let warning = "WARNING: the recording is of x86, and pixel6 has idle states of Arm";
        assert_eq!(checked.contains(warning), machine == "pixel6", "{page}");
        let tape = dir.path().join("lonely.tape").display().to_string();
        let o = idlewise(&["tape", &lonely, "--recorded-on", machine, "-o", &tape, "--force"]);
        assert_eq!(out(&o).contains(warning), machine == "pixel6", "{}", out(&o));
    }
    let o = idlewise(&["replay", "-v", &lonely, "--recorded-on", "kvm-guest", "-g", "menu"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    assert!(out(&o).contains("does not name the kernel's idle governor"));
}

#[test]
fn platforms_and_governors_explain_themselves() {
    let o = idlewise(&["platform", "list"]);
    for id in
        ["pixel6", "rk3399", "power9", "sandy-bridge", "skylake-sp", "sapphire-rapids", "mt8196", "kvm-guest"]
    {
        assert!(out(&o).contains(id), "no {id}");
        let shown = idlewise(&["platform", "show", id]);
        assert!(out(&shown).contains("source"), "{id}: {}", out(&shown));
    }
    let shown = out(&idlewise(&["platform", "show", "pixel6"]));
    for text in
        ["clock of LITTLE", "269.91 mW", "8696", "supplies are not published", "a change takes 5.00 ms"]
    {
        assert!(shown.contains(text), "no {text} in\n{shown}");
    }
    let shown = out(&idlewise(&["platform", "show", "sandy-bridge"]));
    for text in ["really 3800 MHz", "one for each CPU", "estimated"] {
        assert!(shown.contains(text), "no {text} in\n{shown}");
    }
    assert!(out(&idlewise(&["platform", "show", "skylake-sp"])).contains("runs it at one speed"));
    let o = idlewise(&["governors"]);
    for id in ["menu-6.1", "menu", "teo-6.1", "teo-util", "shallow", "deepest", "oracle"] {
        assert!(out(&o).contains(id), "no {id}");
    }
    let o = idlewise(&["governors", "show", "teo-util"]);
    assert!(out(&o).contains("util_threshold_shift=6"), "{}", out(&o));
    let toml = idlewise(&["platform", "show", "rk3399", "--toml"]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    fs::write(&path, out(&toml)).unwrap();
    let o = idlewise(&["platform", "check", &path.display().to_string()]);
    assert!(matches!(o.status.code(), Some(0 | 1)), "{}", err(&o));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_idlewise"))
        .args(["platform", "list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let o = child.wait_with_output().unwrap();
    assert_eq!((o.status.code(), err(&o).as_str()), (Some(0), ""));
}

#[test]
fn a_format_or_tape_without_instances_refuses_to_choose_one() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("trace.txt");
    fs::write(
        &text,
        "# tracer: nop\n          <idle>-0     [000] d..1.     1.000001: cpu_idle: state=1 cpu_id=0\n",
    )
    .unwrap();
    refused(&["info", &text.display().to_string(), "--instance", "other"], &["other"]);
    refused(&["info", &data("mixed.dat"), "--instance", "other"], &["other"]);
    let converted = dir.path().join("other.txt").display().to_string();
    refused(&["convert", &data("mixed.dat"), "-o", &converted, "--instance", "other"], &["other"]);
    let tape = dir.path().join("mixed.tape").display().to_string();
    assert!(idlewise(&["tape", &data("mixed.dat"), "-o", &tape]).status.success());
    refused(&["replay", &tape, "--instance", "other"], &["--instance"]);
    refused(&["info", &tape], &["a tape", "replay"]);
}

#[test]
fn a_trace_is_converted_and_reads_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (perfetto, text) = (path("it.perfetto-trace"), path("it.txt"));
    let o = idlewise(&["convert", &data("sleeploop.dat"), "-o", &perfetto, "-g", "menu,oracle"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    for words in ["11903 events", "without their fields: ", "tracks of menu: ", "tracks of oracle: "] {
        assert!(out(&o).contains(words), "{}", out(&o));
    }
    let judged = |trace: &str| {
        let o = idlewise(&["score", trace, "--recorded-on", "kvm-guest", "-f", "csv"]);
        assert_eq!(o.status.code(), Some(0), "{}", err(&o));
        out(&o).replace("it.perfetto-trace", "it").replace("sleeploop.dat", "it")
    };
    assert_eq!(judged(&perfetto), judged(&data("sleeploop.dat")));
    let o = idlewise(&["convert", &perfetto, "-o", &text]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let written = fs::read_to_string(&text).unwrap();
    assert!(written.starts_with("# tracer: nop\n") && written.lines().count() > 11_903);
    refused(&["convert", &perfetto, "-o", &text], &["exists"]);
    assert_eq!(idlewise(&["convert", &perfetto, "-o", &text, "--force"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&text).unwrap(), written);
    refused(&["convert", &perfetto, "-o", &path("it.odd")], &["--to perfetto", "it.odd"]);
    refused(&["convert", &perfetto, "-o", &path("new.txt"), "-g", "menu"], &["text has no tracks"]);
    assert!(!dir.path().join("new.txt").exists(), "nothing is left of what could not be done");
    assert_eq!(
        idlewise(&["convert", &perfetto, "-o", &path("it.odd"), "--to", "text"]).status.code(),
        Some(0)
    );
}

#[test]
fn what_is_known_of_a_recording_goes_with_its_conversion_or_is_said_to_stay() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let side = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let convert = |from: &str, to: &str| {
        let o = idlewise(&["convert", from, "-o", to, "--to", "text"]);
        assert_eq!(o.status.code(), Some(0), "{}", err(&o));
        out(&o) + &err(&o)
    };
    let said = convert(&data("mixed.dat"), &at("it.txt"));
    assert!(said.contains("it.toml: what is known of the recording (machine, governor,"), "{said}");
    // The copy needs no options, and gives the same numbers.
    let judged = |trace: &str| out(&idlewise(&["score", trace, "-f", "csv"])).replace("mixed.dat", "it.txt");
    assert_eq!(judged(&at("it.txt")).lines().count(), 2);
    assert_eq!(judged(&at("it.txt")), judged(&data("mixed.dat")));
    assert!(side("it.toml").contains("governor = \"menu\""));
    // Another format with the same name has it already.
    let said = convert(&at("it.txt"), &at("it.ftrace"));
    assert!(said.contains("it.toml: describes the new file, too"), "{said}");
    // Nobody's side-car is overwritten.
    fs::write(at("own.toml"), "governor = \"teo\"\n").unwrap();
    let said = convert(&data("mixed.dat"), &at("own.txt"));
    assert!(said.contains("not carried over") && said.contains("own.toml exists"), "{said}");
    assert_eq!(side("own.toml"), "governor = \"teo\"\n");
    let said = convert(&data("mixed.dat"), "-");
    assert!(said.contains("not carried over") && said.contains("machine, governor"), "no end");
    // A machine of the side-car's own folder is written into the new one.
    let machine = out(&idlewise(&["platform", "show", "kvm-guest", "--toml"]));
    fs::create_dir(dir.path().join("a")).unwrap();
    fs::write(at("a/mine.toml"), machine).unwrap();
    fs::copy(data("mixed.dat"), at("a/x.dat")).unwrap();
    fs::write(at("a/x.toml"), "platform = \"mine.toml\"\n").unwrap();
    let said = convert(&at("a/x.dat"), &at("y.txt"));
    assert!(said.contains("y.toml: what is known of the recording (machine)"), "{said}");
    assert!(side("y.toml").contains("[machine]"));
    assert_eq!(idlewise(&["score", &at("y.txt")]).status.code(), Some(0));
}

#[test]
fn a_clock_that_perfetto_does_not_have_is_said_to_be_replaced_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let line = "          <idle>-0       [000] d..1.   100.000001: cpu_idle: state=1 cpu_id=0\n";
    for (head, words, clock) in [
        ("", "does not name its trace clock", "clock not named"),
        ("# clock : uptime\n", "no trace clock uptime", "clock uptime"),
    ] {
        fs::write(at("bare.txt"), format!("# tracer: nop\n#\n{head}{line}")).unwrap();
        let o = idlewise(&["convert", &at("bare.txt"), "-o", &at("it.perfetto-trace"), "--force"]);
        assert!(out(&o).contains(words), "{}{}", out(&o), err(&o));
        let o = idlewise(&["info", &at("it.perfetto-trace")]);
        assert!(out(&o).contains(clock), "{}", out(&o));
    }
}

#[test]
fn the_oracle_and_lists_are_refused_with_what_they_are() {
    let mixed = data("mixed.dat");
    refused(
        &["replay", &mixed, "-g", "menu,oracle:disable=1"],
        &["oracle:disable=1", "a bound", "no parameters"],
    );
    let golden = data("golden");
    refused(&["drive", "-g", "oracle", "--golden", &golden], &["oracle: ", "a bound", "no governor in C"]);
    let list = ["explain", &mixed, "-g", "menu,teo", "--decision", "0"];
    refused(&list, &["menu,teo: explain takes one governor", "--governor menu --others"]);
}

#[test]
fn info_says_what_a_file_is_that_is_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    refused(&["info", &data("mixed.toml")], &["a side-car", "with the recording next to it"]);
    let dump = "/sys/devices/system/cpu/cpu0/cpuidle/state0/name:POLL\n\
                /sys/devices/system/cpu/cpu0/cpuidle/state0/latency:0\n\
                /sys/devices/system/cpu/cpu0/cpuidle/state0/residency:0\n\
                /sys/devices/system/cpu/cpu0/cpuidle/state0/usage:5\n\
                /sys/devices/system/cpu/cpu0/cpuidle/state0/time:7\n";
    fs::write(at("before.txt"), dump).unwrap();
    refused(
        &["info", &at("before.txt")],
        &["a dump of the kernel's cpuidle counters", "diff BEFORE AFTER", "--counters"],
    );
    fs::write(at("machine.toml"), out(&idlewise(&["platform", "show", "kvm-guest", "--toml"]))).unwrap();
    refused(&["info", &at("machine.toml")], &["a platform file", "platform show"]);
    assert!(idlewise(&["tape", &data("mixed.dat"), "-o", &at("m.tape")]).status.success());
    refused(&["info", &at("m.tape")], &["a tape of idlewise", "replay, compare and explain"]);
    for name in ["-", "/dev/stdin", "/dev/fd/0"] {
        refused(&["info", name], &["standard input is not read; write it to a file"]);
    }
}

#[test]
fn compare_and_explain_count_the_same_wake_events() {
    let mixed = data("mixed.dat");
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&out(&idlewise(&[args, &["-f", "json"]].concat()))).unwrap()
    };
    let compared = json(&["compare", "menu", "teo", "--trace", &mixed]);
    let explained = json(&["explain", &mixed, "--why-differ", "menu,teo"]);
    assert!(explained["waits"]["all"].as_u64().unwrap() > 1000);
    assert_eq!(explained["waits"], compared["traces"][0]["comparison"]["waits"]);
}

#[test]
fn a_table_with_an_unknown_value_says_below_it_why() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("bare.txt");
    // Nothing but idle periods: what woke the CPU and what became of the tick is not in it.
    let period = |n: u32| {
        let line = |us: u32, state: u32| {
            format!("          <idle>-0     [000] d..2    10.{us:06}: cpu_idle: state={state} cpu_id=0\n")
        };
        line(n * 10_000, n % 2) + &line(n * 10_000 + 9_000, u32::MAX)
    };
    let events: String = (0..40).map(period).collect();
    fs::write(&trace, format!("# tracer: nop\n#\n{events}")).unwrap();
    let trace = trace.display().to_string();
    let shown = |args: &[&str]| {
        let o = idlewise(&[args, &["--recorded-on", "kvm-guest"]].concat());
        assert_eq!(o.status.code(), Some(0), "{}", err(&o));
        out(&o).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let tick = "tick kept, tick stopped: the recording does not show for any entry whether the tick was kept or stopped";
    let cause = "tick wakes: the recording does not show whether the tick or an event caused the wakeups";
    let score = shown(&["score", "-v", &trace]);
    assert!(
        score.contains(&format!("? all: {cause}")) && score.contains(&format!("? all: {tick}")),
        "{score}"
    );
    let replay = shown(&["replay", "-v", &trace, "-g", "menu,oracle"]);
    assert!(replay.contains(&format!("? menu, oracle: {cause}")), "{replay}");
    let compare = shown(&["compare", "-v", "deepest", "oracle", "--trace", &trace]);
    assert!(compare.contains(&format!("deepest, oracle: {cause}")), "{compare}");
    assert!(!out(&idlewise(&["score", "-v", &data("mixed.dat")])).contains("does not show whether"));
}

#[test]
fn a_replay_of_the_kernels_own_governor_names_where_the_recorded_numbers_are() {
    let words = "recorded  the kernel's own choices in the same measures: idlewise score, with this";
    let mixed = data("mixed.dat");
    let replay = |args: &[&str]| out(&idlewise(&[&["replay", "-v", mixed.as_str()][..], args].concat()));
    assert!(replay(&["-g", "teo,menu"]).contains(words));
    assert!(!replay(&["-g", "teo"]).contains(words));
    assert!(!replay(&["-g", "menu", "--platform", "pixel6"]).contains(words));
}

#[test]
fn published_tables_are_listed_and_laid_beside_ours() {
    let list = out(&idlewise(&["reproduce", "--list"]));
    assert!(list.lines().any(|l| l.starts_with("walt-ramp") && l.contains(" 1.2: Ramp of a task")), "{list}");
    let table = out(&idlewise(&["reproduce", "pelt-times"]));
    for words in ["document 1, table 1.1", "rise to 80 % [ms]", "74.30", "level"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let csv = out(&idlewise(&["reproduce", "pelt-times", "--format", "csv"]));
    assert_eq!(csv.lines().count(), 1 + 4 * 7, "{csv}");
    let json: serde_json::Value =
        serde_json::from_str(&out(&idlewise(&["reproduce", "pelt-times", "-f", "json"]))).unwrap();
    assert_eq!(json["schema"], "idlewise.reproduce/5");
    assert_eq!(json["experiments"][0]["cells"].as_array().unwrap().len(), 4 * 7);
    refused(&["reproduce", "walt-rmap"], &["there is no experiment walt-rmap", "walt-ramp"]);
    refused(&["reproduce", "6.3"], &["there is no experiment 6.3", "idlewise reproduce --list"]);
}

#[test]
fn the_exit_status_tells_the_result_to_one_who_reads_no_output() {
    let trace = data("mixed.dat");
    let mut command = Command::new(env!("CARGO_BIN_EXE_idlewise"));
    command.args(["compare", "menu", "teo", "--fail-if", "wakeups >= 0", "--trace"]).arg(trace);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command.stdout(writer).stderr(std::process::Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

/// A CPU that polls until its limit without any timer gives menu idle periods of over half an hour, all the same.
#[test]
fn a_cpu_without_a_timer_does_not_make_menu_divide_by_nothing() {
    let args = [
        "simulate",
        "requests",
        "--platform",
        "skylake-sp",
        "--governor",
        "menu",
        "--seconds",
        "1",
        "--repeat",
        "1",
    ];
    let o = idlewise(&args);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
}

#[test]
fn score_per_state_has_the_states_where_the_answer_is_short() {
    let mixed = data("mixed.dat");
    assert!(out(&idlewise(&["score", &mixed, "--per", "state"])).contains("by state"));
    assert!(!out(&idlewise(&["score", &mixed])).contains("by state"));
}
