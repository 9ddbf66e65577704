// SPDX-License-Identifier: GPL-2.0-only
//! Does `idlewise advise` answer from a recording without root, say what it could not test, and leave the machine as it was?
//! On a machine made of files, and on the real kernel where this test may record and switch it.

#![allow(clippy::disallowed_methods, reason = "a real machine is waited for")]

use crate::common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::schemas::fits;
use common::{Machine, Need, on_every_machine, powercap, words};
use idlewise_live::Host;
use idlewise_live::tracefs::Tracefs;

const IDLE: &str = "sys/devices/system/cpu/cpuidle";
const HALTPOLL: &str = "sys/module/haltpoll/parameters";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn idlewise() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idlewise"));
    command.arg("advise");
    command
}

/// Advice from the recording of sleeps, with more arguments.
fn advice(arguments: &[&str]) -> Output {
    let trace = root().join("tests/data/sleeploop.dat");
    let output = idlewise().arg("--trace").arg(trace).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    output
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Files of a machine with the governors of the recorded one.
fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let files = [
        (format!("{IDLE}/available_governors"), "ladder menu haltpoll \n"),
        (format!("{IDLE}/current_governor"), "menu\n"),
        (format!("{IDLE}/current_driver"), "haltpoll\n"),
        (format!("{HALTPOLL}/guest_halt_poll_ns"), "0\n"),
        ("proc/sys/kernel/osrelease".to_owned(), "6.18.44\n"),
    ];
    for (name, text) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn a_recording_alone_gives_advice_without_root_where_the_files_of_its_machine_are_at_hand() {
    let tree = tree();
    let a = json(&advice(&["--format", "json", "--root", tree.path().to_str().unwrap()]));
    let what = a["answer"]["what"].as_str().unwrap();
    assert!(["try", "keep"].contains(&what), "a replay shows nothing: {}", a["answer"]);
    assert!(
        ["menu", "ladder", "haltpoll"]
            .iter()
            .any(|g| a["answer"]["governor"].as_str().unwrap().starts_with(g))
    );

    let a = json(&advice(&["--format", "json"]));
    assert_eq!(a["schema"], "idlewise.advise/2");
    if fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim() != "6.18.44" {
        assert_eq!(
            (a["answer"]["what"].as_str(), a["setting"].is_null()),
            (Some("nothing"), true),
            "{}",
            a["answer"]
        );
        let because = a["answer"]["because"].as_str().unwrap();
        assert!(
            because.contains("not of this machine and kernel") && because.contains("--root"),
            "{because}"
        );
        assert_eq!(a["trying"].as_array().unwrap().len(), 0);
    }
    assert_eq!(a["rows"][0]["governor"], "menu");
    assert!(a["ab"].is_null() && a["ab_not_known"]["words"].is_string(), "{}", a["ab"]);
    assert!(a["replay"]["fidelity"]["same_state_pct"].as_f64().unwrap() > 90.0);
    let untested = a["untested"].as_array().unwrap();
    for what in ["the running kernel", "CPU 1 in the replay", "the choice between deeper states"] {
        assert!(untested.iter().any(|u| u["what"] == what), "no {what:?} in {untested:?}");
    }
    assert_eq!(a["kept"].as_array().unwrap().len(), 1, "the recording, and no folder: {}", a["kept"]);
}

#[test]
fn every_field_of_the_json_is_documented() {
    let text = fs::read_to_string(root().join("docs/reference/json.md")).unwrap();
    let tree = tree();
    let mut keys = Vec::new();
    collect_keys(&json(&advice(&["--format", "json", "--root", tree.path().to_str().unwrap()])), &mut keys);
    keys.retain(|k| k != "guest_halt_poll_ns");
    for key in keys {
        assert!(text.contains(&format!("`{key}`")) || text.contains(&format!("`{key}[]`")), "no `{key}`");
    }
}

fn collect_keys(value: &serde_json::Value, keys: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            keys.push(key.clone());
            collect_keys(value, keys);
        }),
        serde_json::Value::Array(values) => values.iter().for_each(|v| collect_keys(v, keys)),
        _ => {}
    }
}

#[test]
fn with_the_machines_files_it_knows_what_the_kernel_offers() {
    let tree = tree();
    let page = words(&advice(&["-v", "--root", tree.path().to_str().unwrap()]).stdout);
    for wanted in [
        "offers ladder, menu, haltpoll",
        "haltpoll:guest_halt_poll_ns=200000  yes",
        "not in this kernel: replayed only",
        "only files of the machine are at hand",
        "no power meter here",
    ] {
        assert!(page.contains(wanted), "no {wanted:?} in\n{page}");
    }
    assert!(page.lines().count() < 60, "more than a page:\n{page}");
    for form in ["markdown", "csv"] {
        let text = words(&advice(&["--format", form, "--root", tree.path().to_str().unwrap()]).stdout);
        assert!(text.contains("haltpoll:guest_halt_poll_ns=200000"), "{text}");
    }
}

#[test]
fn bad_requests_name_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x"), "").unwrap();
    let full = folder.path().to_str().unwrap();
    let trace = root().join("tests/data/sleeploop.dat").display().to_string();
    for (arguments, wanted) in [
        (&["--trace", "nowhere.dat"][..], "nowhere.dat"),
        (&["--load", "nothing"], "ping-pong"),
        (&["--load", "timer", "--to", full], "not empty"),
        (&["--trace", &trace, "--ab-session", full], "session.jsonl"),
        (&["--metric", "a=(b)"], "after --"),
    ] {
        let output = idlewise().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(words(&output.stderr).contains(wanted), "{arguments:?}: {}", words(&output.stderr));
    }
}

#[test]
fn without_root_it_says_what_it_needs_and_what_goes_without() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = idlewise();
    command.current_dir(folder.path()).args(["--seconds", "1"]);
    if Tracefs::of(&Host::below(Path::new("/"))).is_ok() {
        command.uid(65534).args(["--to", "/tmp/idlewise-advise-of-nobody"]);
    }
    let Ok(output) = command.output() else {
        eprintln!("skipped: advise without root: nobody else may run the program here");
        return;
    };
    let said = words(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("idlewise advise RECORDING"), "{said}");
    assert!(!Path::new("/tmp/idlewise-advise-of-nobody").exists());
}

/// Runs until nobody else has the machine; `run` gives the command's process and its output.
fn until_it_is_ours(machine: &Machine, run: impl Fn() -> (u32, Output)) -> Output {
    for _ in 0..20 {
        machine.wait_for_others();
        let (pid, output) = run();
        let said = words(&output.stderr) + &words(&output.stdout);
        if !said.contains("another session") {
            assert!(!machine.instances().contains(&format!("idlewise-{pid}")));
            return output;
        }
    }
    unreachable!("somebody else has changed the machine for minutes")
}

const ALL: [Need; 2] = [Need::Governors, Need::Tracing];

#[test]
fn a_machine_is_recorded_replayed_compared_and_left_as_it_was() {
    on_every_machine(&ALL, all_of_it);
}

fn all_of_it(machine: &Machine) {
    let before = machine.state();
    let governor = fs::read_to_string(machine.path(&format!("{IDLE}/current_governor"))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("advice");
    let output = until_it_is_ours(machine, || {
        let _ = fs::remove_dir_all(&to);
        let arguments = ["--load", "timer", "--seconds", "1", "--repeat", "2", "--foreign", "100"];
        let mut command = machine.idlewise("advise");
        command.args(arguments).args(["--format", "json", "--to"]).arg(&to);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        (child.id(), child.wait_with_output().unwrap())
    });
    let said = words(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(machine.state(), before);
    let a = json(&output);
    fits(&a);
    assert_eq!(a["answer"]["what"], "keep", "two runs show nothing: {}", a["answer"]);
    assert_eq!(a["ab"]["runs"], 2);
    assert!(a["rows"][1]["compared"][0]["verdict"] == "too_few", "{}", a["rows"][1]);
    for file in ["recording.dat", "ab/session.jsonl", "advice.json"] {
        assert!(to.join(file).exists(), "no {file}");
    }
    assert_eq!(a["situation"]["governor"].as_str().unwrap(), governor.trim());
    // What was measured serves again, without root.
    let again = idlewise()
        .arg("--trace")
        .arg(to.join("recording.dat"))
        .arg("--ab-session")
        .arg(to.join("ab"))
        .arg("--root")
        .arg(machine.path(""))
        .args(["--format", "json"])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", words(&again.stderr));
    assert_eq!(json(&again)["answer"], a["answer"], "{}", words(&again.stderr));
}

#[test]
fn a_machine_at_its_power_limit_is_advised_with_a_warning_and_one_without_counters_says_so() {
    let machine = Machine::stand_in(2);
    let folder = tempfile::tempdir().unwrap();
    let record = |name: &str| {
        let to = folder.path().join(name);
        let mut command = machine.idlewise("advise");
        command.args(["--repeat", "1", "--foreign", "100", "--format", "json", "--to"]).arg(to);
        command.args(["--", "sleep", "0.5"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
        let a = json(&output);
        fits(&a);
        a
    };
    let a = record("without");
    assert_eq!(a["situation"]["limiting"]["limited"], serde_json::Value::Null);
    assert_eq!(a["situation"]["limiting"]["power"], serde_json::json!([]));

    let root = machine.path("");
    powercap::add_package(&root);
    let a = powercap::while_it_draws(&root, || record("with"));
    let limiting = &a["situation"]["limiting"];
    assert_eq!(limiting["limited"], true, "{limiting}");
    let warned = a["warnings"].as_array().unwrap().iter().any(|w| w["id"] == "power-limited");
    assert!(warned, "{}", a["warnings"]);
}

#[test]
fn ctrl_c_puts_everything_back() {
    on_every_machine(&ALL, |machine| {
        let before = machine.state();
        let folder = tempfile::tempdir().unwrap();
        for wait_for in ["recording.dat.parts", "ab/run-0003.txt"] {
            let to = folder.path().join(wait_for.replace('/', "-"));
            let output = until_it_is_ours(machine, || {
                let _ = fs::remove_dir_all(&to);
                let arguments = ["--load", "timer", "--seconds", "1", "--repeat", "1000", "--foreign", "100"];
                let mut command = machine.idlewise("advise");
                command.args(arguments).arg("--to").arg(&to).stdout(Stdio::null()).stderr(Stdio::piped());
                let mut child = command.spawn().unwrap();
                for _ in 0..1200 {
                    if to.join(wait_for).exists() || child.try_wait().unwrap().is_some() {
                        break;
                    }
                    sleep(Duration::from_millis(50));
                }
                let _ = Command::new("kill")
                    .args(["-INT", &child.id().to_string()])
                    .stderr(Stdio::null())
                    .status();
                (child.id(), child.wait_with_output().unwrap())
            });
            let said = words(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{wait_for}: {said}");
            assert!(said.contains("idlewise advise"), "{wait_for}: {said}");
            assert_eq!(machine.state(), before, "{wait_for}");
        }
    });
}

#[test]
fn without_an_answer_in_sight_nothing_is_recorded_and_nothing_is_left() {
    let machine = Machine::stand_in(2);
    let files = machine.files().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (to, mark) = (folder.path().join("advice"), folder.path().join("mark"));
    let asked = |arguments: &[&str]| {
        let output = machine
            .idlewise("advise")
            .arg("--to")
            .arg(&to)
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(!mark.exists() && !to.exists(), "{}", words(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{}", words(&output.stderr));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        words(&output.stderr)
    };
    let touch = ["--", "touch", mark.to_str().unwrap()];
    // A governor that cannot be replayed, and nothing that could be run again.
    files.write(&format!("{IDLE}/current_governor"), "qcom-cpu-lpm\n");
    let said = asked(&["--seconds", "1"]);
    assert!(said.contains("qcom-cpu-lpm cannot be replayed"), "{said}");
    assert!(said.contains("idlewise advise RECORDING"), "{said}");
    let said = asked(&[&["--no-ab"], &touch[..]].concat());
    assert!(said.contains("--no-ab"), "{said}");
    // The only governor that the kernel has.
    files.write(&format!("{IDLE}/available_governors"), "qcom-cpu-lpm\n");
    let said = asked(&touch);
    assert!(said.contains("this kernel has no other governor"), "{said}");
    // No idle states: nothing to replay and nothing to compare.
    for cpu in 0..2 {
        fs::remove_dir_all(machine.path(&format!("sys/devices/system/cpu/cpu{cpu}/cpuidle"))).unwrap();
    }
    files.write(&format!("{IDLE}/current_governor"), "menu\n");
    files.write(&format!("{IDLE}/available_governors"), "menu ladder\n");
    let said = asked(&touch);
    assert!(said.contains("no CPU has idle states"), "{said}");
}
