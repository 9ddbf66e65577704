// SPDX-License-Identifier: GPL-2.0-only
//! Does the guard put things back when the session dies, and keep quiet when it ends?

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use idlewise_live::journal::GUARD;
use idlewise_live::{Host, Journal};

const GOVERNOR: &str = "sys/devices/system/cpu/cpuidle/current_governor";

fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(GOVERNOR);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "haltpoll\n").unwrap();
    root
}

fn open(root: &Path) -> Journal {
    let mut guard = Command::new(env!("CARGO_BIN_EXE_idlewise"));
    guard.arg(GUARD).stderr(Stdio::null());
    Journal::open_guarded_by(&Host::below(root), Some(guard)).unwrap()
}

fn governor(root: &Path) -> String {
    fs::read_to_string(root.join(GOVERNOR)).unwrap()
}

/// The journal of a dead session, and a guard that hears it die.
fn guarded(root: &Path, last_word: &str) {
    let journal = root.join("run/idlewise/journal");
    fs::create_dir_all(journal.parent().unwrap()).unwrap();
    let path = root.join(GOVERNOR);
    let line = format!("{{\"set\":{{\"path\":{path:?},\"old\":\"haltpoll\\n\",\"new\":\"menu\"}}}}\n");
    fs::write(&journal, line).unwrap();
    fs::write(&path, "menu\n").unwrap();
    let mut guard = Command::new(env!("CARGO_BIN_EXE_idlewise"))
        .arg(GUARD)
        .arg(&journal)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut guard.stdin.take().unwrap(), last_word.as_bytes()).unwrap();
    assert!(guard.wait().unwrap().success());
}

#[test]
fn the_guard_of_a_session_that_ends_well_leaves_at_once() {
    let root = tree();
    let mut journal = open(root.path());
    journal.set(&root.path().join(GOVERNOR), "menu").unwrap();
    assert_eq!(governor(root.path()), "menu");
    drop(journal);
    assert_eq!(governor(root.path()), "haltpoll\n");
    // The lock is free again: the guard, which holds it, too, has gone.
    drop(open(root.path()));
}

#[test]
fn the_end_of_the_pipe_without_a_farewell_is_a_death() {
    for half in ["", "do", "done"] {
        let root = tree();
        guarded(root.path(), half);
        assert_eq!(governor(root.path()), "haltpoll\n", "after {half:?}");
        assert!(!root.path().join("run/idlewise/journal").exists());
    }
}

#[test]
fn what_was_about_to_start_is_killed_with_what_it_started() {
    let shell = |mark: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & echo $!; wait"]).env("IDLEWISE_RUN", mark).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut child = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut child).unwrap();
        (shell, child.trim().to_owned())
    };
    let ours = format!("{}-1", std::process::id());
    let ((mut shell_of_it, its_child), (mut other, child_of_other)) =
        (shell(&ours), shell(&format!("{ours}1")));
    guarded(tree().path(), &format!("starts {ours}\n"));
    assert_eq!(shell_of_it.wait().unwrap().signal(), Some(9));
    let runs = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(!runs(&its_child));
    assert!(other.try_wait().unwrap().is_none() && runs(&child_of_other));
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(Command::new("kill").arg(child_of_other).status().unwrap().success());
}

#[test]
fn what_did_not_start_in_the_end_is_not_waited_for_long() {
    let root = tree();
    guarded(root.path(), &format!("starts {}-0\n", std::process::id()));
    assert_eq!(governor(root.path()), "haltpoll\n");
}

#[test]
fn after_a_farewell_the_guard_touches_nothing() {
    let root = tree();
    guarded(root.path(), "done\n");
    assert_eq!(governor(root.path()), "menu\n");
}
