// SPDX-License-Identifier: GPL-2.0-only
//! Does the exit status tell that a kernel chose otherwise than the same governor here?

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn idlewise(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idlewise")).args(arguments).output().unwrap()
}

fn replay(trace: &Path, machine: &Path) -> (Option<i32>, String) {
    let (trace, machine) = (trace.to_str().unwrap(), machine.to_str().unwrap());
    let output = idlewise(&["replay", trace, "--governor", "shallow", "--recorded-on", machine]);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn replay_of_recorded_inputs_that_another_governor_would_have_answered_fails() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("s.dat");
    fs::copy(here.join("../../tests/data/sleeploop.dat"), &trace).unwrap();
    let replay = |governor: &str, more: &[&str]| {
        let text =
            format!("platform = \"kvm-guest\"\ngovernor = \"{governor}\"\ninputs.file = \"s.inputs.csv\"\n");
        fs::write(folder.path().join("s.toml"), text).unwrap();
        let output =
            idlewise(&[&["replay", trace.to_str().unwrap(), "--governor", "deepest"], more].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said, String::from_utf8(output.stdout).unwrap())
    };
    let inputs = folder.path().join("s.inputs.csv");
    fs::write(&inputs, idlewise_testkit::decisions_of_sleeploop()).unwrap();
    for (governor, status) in [("menu", 0), ("shallow", 1)] {
        let (code, said, answer) = replay(governor, &[]);
        assert_eq!(code, Some(status), "{said}");
        assert_eq!(said.contains("not the kernel's choices: shallow"), status == 1, "{said}");
        assert_eq!(answer.contains("WARNING") && answer.contains("trust: poor"), status == 1, "{answer}");
    }
    // A table of another recording says nothing about this one.
    fs::copy(here.join("../view/tests/inputs/menu.csv"), &inputs).unwrap();
    let (code, said, answer) = replay("shallow", &["-v"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(answer.replace("\n          ", " ").contains("seems to be of another recording"), "{answer}");
}

#[test]
fn replay_of_a_recording_whose_choice_was_altered_fails() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lab");
    let (recording, machine) = (lab.join("teo-util-timer.dat"), lab.join("synth4.toml"));
    let (status, said) = replay(&recording, &machine);
    assert_eq!(status, Some(0), "{said}");

    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("t.txt");
    let convert =
        ["convert", recording.to_str().unwrap(), "--to", "text", "--output", text.to_str().unwrap()];
    assert!(idlewise(&convert).status.success());
    assert_eq!(replay(&text, &machine).0, Some(0));

    let whole = fs::read_to_string(&text).unwrap();
    let chosen = "idle_chosen: ";
    let at = whole.rfind(chosen).unwrap();
    let (before, last) = whole.split_at(at);
    let choice = last.find("state=").map(|i| i + "state=".len()).unwrap();
    let other = if last[choice..].starts_with('0') { "1" } else { "0" };
    fs::write(&text, format!("{before}{}{other}{}", &last[..choice], &last[choice + 1..])).unwrap();
    let (status, said) = replay(&text, &machine);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("not the kernel's choices: teo-util") && said.contains("340 of 341"), "{said}");
}
