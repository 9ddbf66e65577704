// SPDX-License-Identifier: GPL-2.0-only
//! Is everything as it was after SIGKILL at any moment? On a machine made of files, and on the real kernel where this test may
//! switch its governors.
//!
//! `IDLEWISE_KILLS` says how often to kill `ab` (and `advise` a quarter of that); without it as often as fits into some seconds.

#![allow(clippy::disallowed_methods, reason = "a real machine is waited for")]

use crate::common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Machine, Need, idlewise, on_every_machine};
use idlewise_live::Journal;

const KILLS: u32 = 24;
const KILLS_OF_ADVICE: u32 = 5;

fn session(machine: &Machine, to: &Path) -> Child {
    let arms = "menu,haltpoll:guest_halt_poll_ns=200000,menu:disable=1";
    machine
        .idlewise("ab")
        .args(["--governor", arms, "--latency-limit", "500", "--repeat", "1000", "--warm-up", "0"])
        .args(machine.can_trace().then_some("--wakeups"))
        .args(["--settle", "2", "--foreign", "100", "--to"])
        .arg(to)
        .args(["--", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(crate) fn kill(pid: u32) {
    let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status();
}

/// The guard of a session: its child that is an idlewise.
pub(crate) fn guard_of(session: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{session}/task/{session}/children")).ok()?;
    children.split_whitespace().filter_map(|p| p.parse().ok()).find(|p: &u32| {
        fs::read(format!("/proc/{p}/cmdline"))
            .is_ok_and(|c| String::from_utf8_lossy(&c).contains("guard-session"))
    })
}

/// The lock is free: the guard has done its work.
fn wait_for_the_guard(machine: &Machine) {
    drop(Journal::open_guarded_by(&machine.host(), None).unwrap());
}

/// Kills what `start` starts in a new folder, at a random time within `most_ms`, and looks at the machine. In every fourth the
/// guard is killed, too. How often it was, and how often that left something to the next session.
fn killed(machine: &Machine, kills: u32, most_ms: u64, start: fn(&Machine, &Path) -> Child) -> (u32, u32) {
    let before = machine.state();
    let (mut changed, mut both) = (0, 0);
    let mut chance = 1_u64;
    for n in 0..kills {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let folder = tempfile::tempdir().unwrap();
        let mut session = start(machine, &folder.path().join("runs"));
        sleep(Duration::from_millis(20 + (chance >> 33) % most_ms));
        // The next session has to do it then.
        let guard = guard_of(session.id()).filter(|_| n % 4 == 3);
        if let Some(guard) = guard {
            kill(guard);
            both += 1;
        }
        kill(session.id());
        session.wait().unwrap();
        changed += u32::from(guard.is_some() && machine.state() != before);
        if guard.is_none() {
            // The guard has the lock until it is done; a look before that would do its work.
            // A session that had no time to take it has no guard.
            if let Ok(lock) = fs::File::open(machine.host().run.join("lock")) {
                let mut waited = Command::new("flock");
                waited.args(["-w", "10", "0"]).stdin(lock);
                assert!(waited.status().unwrap().success(), "after {n} kills: the guard does not end");
            }
        } else {
            wait_for_the_guard(machine);
        }
        assert_eq!(machine.state(), before, "after {n} kills");
    }
    eprintln!(
        "{kills} kills, {both} of them with the guard, {changed} of which left something to the next session"
    );
    (both, changed)
}

/// How often to kill; `usual` times unless the environment says otherwise.
fn kills(usual: u32) -> u32 {
    std::env::var("IDLEWISE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_session_that_is_killed_at_any_moment_leaves_the_machine_as_it_was() {
    on_every_machine(&[Need::Governors], |machine| {
        let kills = kills(KILLS);
        let (both, changed) = killed(machine, kills, 400, session);
        assert!(kills < 20 || (both > 0 && changed > 0), "{both} {changed}");
    });
}

#[test]
fn advice_that_is_killed_while_it_records_replays_or_compares_leaves_the_machine_as_it_was() {
    let advise = |machine: &Machine, to: &Path| {
        machine
            .idlewise("advise")
            .args(["--load", "timer", "--seconds", "1", "--repeat", "1000", "--foreign", "100", "--to"])
            .arg(to)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    on_every_machine(&[Need::Governors, Need::Tracing], |machine| {
        // Each takes seconds: fewer of them.
        killed(machine, kills(4 * KILLS_OF_ADVICE) / 4, 6000, advise);
    });
}

#[test]
fn the_benchmark_of_a_killed_session_ends_with_it() {
    on_every_machine(&[Need::Governors], |machine| {
        let before = machine.state();
        let folder = tempfile::tempdir().unwrap();
        let number = folder.path().join("pid");
        // The shell has a child.
        let command = format!("echo $$ > {}; sleep 1000; exit", number.display());
        let mut session = machine
            .idlewise("ab")
            .args(["--governor", "menu,haltpoll", "--repeat", "2", "--warm-up", "0", "--settle", "2", "--to"])
            .arg(folder.path().join("runs"))
            .args(["--", "sh", "-c", &command])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while fs::metadata(&number).map_or(0, |file| file.len()) == 0 {
            assert!(session.try_wait().unwrap().is_none(), "it ended before its benchmark began");
            sleep(Duration::from_millis(10));
        }
        kill(session.id());
        session.wait().unwrap();
        let shell = fs::read_to_string(&number).unwrap();
        let mut left = Vec::new();
        for _ in 0..1000 {
            left = of_group(shell.trim());
            if left.is_empty() && machine.state() == before {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("left: {left:?}, {:?}", machine.state());
    });
}

/// A file that a compiler reads may never come.
#[test]
fn the_compiler_of_a_killed_command_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("never.h");
    assert!(Command::new("mkfifo").arg(&header).status().unwrap().success());
    let mine = folder.path().join("mine.c");
    fs::write(&mine, "#include \"never.h\"\n").unwrap();
    let mut command = idlewise();
    command
        .env("XDG_CACHE_HOME", folder.path())
        .arg("replay")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/mixed.dat"))
        .arg("-g")
        .arg(&mine);
    let mut replay = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The compiler itself, which the one that was called has called.
    let compilers = || {
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
        let words = processes.filter_map(|path| fs::read(path).ok());
        words.filter(|w| {
            String::from_utf8_lossy(w).contains(mine.to_str().unwrap()) && !w.starts_with(b"idlewise")
        })
    };
    let until = |most: usize, least: usize| {
        (0..3000).any(|_| {
            let n = compilers().filter(|words| !String::from_utf8_lossy(words).contains("replay")).count();
            (least..=most).contains(&n) || {
                sleep(Duration::from_millis(10));
                false
            }
        })
    };
    assert!(until(9, 2), "no compiler runs");
    kill(replay.id());
    replay.wait().unwrap();
    assert!(until(0, 0), "it runs on");
}

/// The processes of a process group that have not ended.
fn of_group(group: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("stat"));
    let stats = processes.filter_map(|path| fs::read_to_string(path).ok());
    // Behind the name: state, parent, group.
    let its_own = |stat: String| {
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let ended = fields.next() == Some("Z");
        (!ended && fields.nth(1) == Some(group)).then(|| stat.split(' ').next()?.parse().ok()).flatten()
    };
    stats.filter_map(its_own).collect()
}

#[test]
fn ctrl_c_puts_everything_back_and_the_session_goes_on_later() {
    on_every_machine(&[Need::Governors], |machine| {
        let before = machine.state();
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("runs");
        let mut session = session(machine, &to);
        sleep(Duration::from_millis(1500));
        let _ = Command::new("kill").args(["-INT", &session.id().to_string()]).status();
        assert_eq!(session.wait().unwrap().code(), Some(2));
        assert_eq!(machine.state(), before);
        let shown = common::idlewise().args(["ab", "--show"]).arg(&to).output().unwrap();
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(text.contains("the session is not finished"), "{text}");
    });
}
