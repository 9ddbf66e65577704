// SPDX-License-Identifier: GPL-2.0-only
//! What a user may get wrong: places where a result cannot go, names that are odd, options that contradict each other.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Output};

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    path.canonicalize().unwrap_or(path).display().to_string()
}

fn idlewise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).output().unwrap()
}

fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

/// Runs and expects exit status 2, nothing on standard output, and all of `words` in the error.
fn refused(args: &[&str], words: &[&str]) {
    let o = idlewise(args);
    assert_eq!(o.status.code(), Some(2), "{args:?}: {}", err(&o));
    assert!(o.stdout.is_empty(), "{args:?}");
    for word in words {
        assert!(err(&o).contains(word), "{args:?}: no {word:?} in {}", err(&o));
    }
}

#[test]
fn what_must_not_be_overwritten_is_left_alone_even_by_force() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let trace = at("own.dat");
    fs::copy(data("sleeploop.dat"), &trace).unwrap();
    fs::copy(data("sleeploop.toml"), at("own.toml")).unwrap();
    let before = fs::read(&trace).unwrap();
    std::os::unix::fs::symlink("own.dat", at("link.txt")).unwrap();
    for to in ["own.dat", "link.txt"] {
        refused(&["tape", &trace, "-o", &at(to), "--force"], &[to, "the trace itself", "another file"]);
        let convert = ["convert", &trace, "--to", "text", "-o", &at(to), "--force"];
        refused(&convert, &[to, "the trace itself", "another file"]);
    }
    assert_eq!(fs::read(&trace).unwrap(), before);
    let pipe = at("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for to in [&pipe, &dir.path().display().to_string()] {
        refused(&["tape", &trace, "-o", to, "--force"], &[to, "a device or a pipe", "name a file"]);
        refused(&["replay", &trace, "-o", to], &[to, "a device or a pipe", "name a file"]);
    }
    assert!(!fs::metadata(&pipe).unwrap().is_file());
    // A symbolic link stays one, and its file is replaced.
    fs::write(at("kept.tape"), "old").unwrap();
    std::os::unix::fs::symlink("kept.tape", at("link.tape")).unwrap();
    let o = idlewise(&["tape", &trace, "-o", &at("link.tape"), "--force"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    assert!(fs::symlink_metadata(at("link.tape")).unwrap().is_symlink());
    assert!(fs::read(at("kept.tape")).unwrap().starts_with(b"IWTAPE"));
}

#[test]
fn where_a_result_cannot_go_is_said_before_the_work_begins() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("none/x.txt").display().to_string();
    let there = dir.path().join("there").display().to_string();
    fs::write(&there, "precious").unwrap();
    for (to, words) in [(&nowhere, "directory does not exist"), (&there, "exists")] {
        // The trace is not looked at.
        let common = ["no-such.dat", "-o", to];
        let governor = ["--governor", "menu", "--decision", "0"];
        refused(&[&["info"][..], &common].concat(), &[to, words]);
        refused(&[&["replay"][..], &common].concat(), &[to, words]);
        refused(&[&["score"][..], &common].concat(), &[to, words]);
        refused(&[&["tape"][..], &common].concat(), &[to, words]);
        refused(&[&["convert"][..], &common, &["--to", "text"]].concat(), &[to, words]);
        refused(&[&["explain"][..], &common, &governor].concat(), &[to, words]);
        refused(&["compare", "menu", "teo-6.1", "-o", to, "--trace", "no-such.dat"], &[to, words]);
    }
    assert_eq!(fs::read_to_string(&there).unwrap(), "precious");
}

#[test]
fn names_that_are_no_utf8_are_written_as_far_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(std::ffi::OsStr::from_bytes(b"odd\xff\xfe.dat"));
    fs::copy(data("sleeploop.dat"), &path).unwrap();
    let on = ["--recorded-on", "kvm-guest", "--format", "json"];
    for args in [
        &["info"][..],
        &["score"],
        &["replay", "-g", "menu"],
        &["explain", "-g", "menu", "--decision", "1", "--others", "none"],
        &["explain", "--why-differ", "menu,teo-6.1"],
        &["compare", "menu", "teo-6.1", "--trace"],
    ] {
        let o = Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).arg(&path).args(on).output().unwrap();
        assert_eq!(o.status.code(), Some(0), "{args:?}: {}", err(&o));
        let json: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
        assert!(json.to_string().contains("odd\u{fffd}\u{fffd}.dat"), "{args:?}");
    }
}

#[test]
fn a_file_that_has_no_length_is_not_taken_for_an_empty_one() {
    for args in [&["info"][..], &["replay"], &["convert", "-o", "never.txt"]] {
        let words = ["/proc/version", "while it is read", "to a file first"];
        refused(&[args, &["/proc/version"]].concat(), &words);
    }
}

#[test]
fn options_that_would_be_passed_over_are_refused() {
    let trace = data("sleeploop.dat");
    for (option, value) in [
        ("--governor", "menu"),
        ("--seed", "7"),
        ("--per", "cpu"),
        ("--platform", "pixel6"),
        ("--recorded-on", "pixel6"),
        ("--instance", "x"),
        ("--kernel-governor", "teo"),
        ("--kernel-tree", "x"),
    ] {
        refused(&["replay", "--again", "x.json", option, value], &["--again", option, "cannot be used with"]);
        if option != "--governor" {
            refused(
                &["compare", "--again", "x.json", option, value],
                &["--again", option, "cannot be used with"],
            );
        }
    }
    let out = std::env::temp_dir().join("idlewise-passed-over.txt").display().to_string();
    for (option, value) in [
        ("--platform", "pixel6"),
        ("--cluster", "big"),
        ("--seed", "7"),
        ("--recorded-on", "pixel6"),
        ("--kernel-governor", "teo"),
        ("--kernel-tree", "x"),
    ] {
        refused(&["convert", &trace, "-o", &out, option, value], &[option, "add --governor"]);
    }
    for number in ["--row", "--line"] {
        refused(&["explain", &trace, "-g", "menu", number, "3"], &[number, "cannot be used with"]);
    }
}

#[test]
fn a_time_behind_the_recording_has_no_decision() {
    let trace = data("sleeploop.dat");
    let explain =
        ["explain", &trace, "--recorded-on", "kvm-guest", "-g", "menu-6.1", "--cpu", "0", "--others", "none"];
    refused(
        &[&explain[..], &["--at", "99999"]].concat(),
        &["no decision at 99999", "the recording lasts from 4848."],
    );
    refused(
        &[&explain[..], &["--after", "3600"]].concat(),
        &["no decision at", "the recording lasts from 4848."],
    );
    let o = idlewise(&[&explain[..], &["--after", "1"]].concat());
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
}

#[test]
fn a_signal_leaves_no_unfinished_file_behind() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let o = idlewise(&["convert", &data("sleeploop.dat"), "-o", &at("once.txt")]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let once = fs::read(at("once.txt")).unwrap();
    fs::write(at("often.txt"), once.repeat(30)).unwrap();
    for signal in ["-INT", "-TERM"] {
        let args = ["convert", &at("often.txt"), "-o", &at("result.txt")];
        let mut child = Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).spawn().unwrap();
        let hidden = || {
            let names = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name());
            names.filter(|n| n.as_bytes().starts_with(b".tmp")).count()
        };
        while hidden() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it wrote anything");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // The file is there a moment before the handler is.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(hidden(), 0, "{signal}");
        assert!(!dir.path().join("result.txt").exists());
    }
}

#[test]
fn a_standard_error_that_nobody_reads_changes_no_exit_status() {
    let mut full = Command::new(env!("CARGO_BIN_EXE_idlewise"));
    full.args(["replay", &data("mixed.dat"), "--governor", "nope"]);
    let status =
        full.stderr(std::fs::File::options().write(true).open("/dev/full").unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    let (unread, closed) = std::io::pipe().unwrap();
    drop(unread);
    let mut piped = Command::new(env!("CARGO_BIN_EXE_idlewise"));
    let status =
        piped.args(["replay", &data("mixed.dat"), "--governor", "nope"]).stderr(closed).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn help_that_cannot_be_written_is_no_success() {
    for arguments in [vec!["--help"], vec!["help"], vec!["replay", "--help"], vec!["help", "replay"]] {
        let mut full = Command::new(env!("CARGO_BIN_EXE_idlewise"));
        full.args(&arguments).stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let o = full.output().unwrap();
        assert_eq!(o.status.code(), Some(2), "{arguments:?}: {}", err(&o));
        assert!(err(&o).contains("standard output: No space left"), "{arguments:?}: {}", err(&o));
    }
    assert_eq!(idlewise(&["--help"]).status.code(), Some(0));
}

#[test]
fn a_closed_standard_output_takes_no_result() {
    let trace = data("mixed.dat");
    for arguments in
        [vec!["governors"], vec!["replay", &trace], vec!["convert", &trace, "-o", "-", "--to", "text"]]
    {
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"exec "$@" >&-"#, "sh", env!("CARGO_BIN_EXE_idlewise")]).args(&arguments);
        let o = shell.output().unwrap();
        assert_eq!(o.status.code(), Some(2), "{arguments:?}: {}", err(&o));
        assert!(err(&o).contains("standard output: Bad file descriptor"), "{arguments:?}: {}", err(&o));
    }
}

#[test]
fn advice_that_is_said_to_be_kept_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("advice");
    let o = idlewise(&["advise", "--trace", &data("mixed.dat"), "--no-ab", "--to", to.to_str().unwrap()]);
    let said = String::from_utf8(o.stdout.clone()).unwrap();
    assert!(said.contains("advice.json"), "{said}{}", err(&o));
    assert!(to.join("advice.json").is_file());
}
