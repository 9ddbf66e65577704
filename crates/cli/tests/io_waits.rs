// SPDX-License-Identifier: GPL-2.0-only
//! Of recordings that do not say who waits for I/O: does the kernel's own governor tell, and is the doubt named?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One read after the other, 0.9 ms each, from a device that counts as a disk or not.
const READS: &str = r#"{ "idlewise": { "devices": { "d": { "latency": { "lognormal": { "median": 900, "sigma": 0.9 } }, "iowait": COUNTS } } },
  "tasks": { "fio": { "run": 12, "idlewise-read": { "device": "d", "bytes": 4096 } } },
  "global": { "duration": 1, "calibration": "CPU0", "default_policy": "SCHED_OTHER" } }"#;

fn idlewise(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_idlewise")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    // Lines of a table's head are wrapped.
    String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A simulated recording in which all sleep is uninterruptible, and nothing says why.
fn recording(folder: &Path, counts: &str) -> PathBuf {
    let (load, full) = (folder.join("load.json"), folder.join(format!("{counts}-full.txt")));
    fs::write(&load, READS.replace("COUNTS", counts)).unwrap();
    let [load, to] = [&load, &full].map(|path| path.to_str().unwrap());
    idlewise(&[
        "simulate",
        load,
        "--platform",
        "skylake-sp",
        "--governor",
        "menu-6.1",
        "--seed",
        "3",
        "--write-trace",
        to,
    ]);
    let text = fs::read_to_string(&full).unwrap();
    let bare: String = text
        .lines()
        .filter(|l| !l.contains("sched_blocked_reason"))
        .fold(String::new(), |all, line| all + &line.replace("prev_state=S", "prev_state=D") + "\n");
    let path = folder.join(format!("{counts}.txt"));
    fs::write(&path, bare).unwrap();
    fs::copy(full.with_extension("toml"), path.with_extension("toml")).unwrap();
    path
}

#[test]
fn of_both_ends_the_one_is_taken_that_repeats_the_kernels_choices() {
    let folder = tempfile::tempdir().unwrap();
    for (counts, taken) in [("true", false), ("false", true)] {
        let path = recording(folder.path(), counts);
        let path = path.to_str().unwrap();
        let said = idlewise(&["replay", path, "--governor", "menu-6.1,teo", "--sensitivity", "-v"]);
        assert!(said.contains("repeats the kernel's choices: state 100.00 %"), "{counts}: {said}");
        let note = "which may wait for I/O, are taken not to: so menu-6.1 repeats 100.0 % of the kernel's choices, else";
        assert_eq!(said.contains(note), taken, "{counts}: {said}");
        let tried = "whether tasks in uninterruptible sleep wait for I/O is not certain at";
        assert!(said.contains(tried) && said.contains("holds for all that the trace leaves open"), "{said}");

        // Every command that replays it says so.
        for command in [
            &["info", path][..],
            &["compare", path, "--governor", "menu-6.1,teo", "-v"],
            &["explain", path, "--why-differ", "menu-6.1,teo"],
        ] {
            let said = idlewise(command);
            assert_eq!(said.contains(note), taken, "{command:?}: {said}");
        }
    }
}
