// SPDX-License-Identifier: GPL-2.0-only
//! Do `top` and `diff` keep their word: forms of output, files left alone, errors that name the way out?

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::common::powercap;
use crate::schemas::fits;

fn idlewise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn out(o: &Output) -> String {
    String::from_utf8(o.stdout.clone()).unwrap()
}

fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

fn done(args: &[&str]) -> String {
    let o = idlewise(args);
    assert_eq!(o.status.code(), Some(0), "{args:?}: {}", err(&o));
    out(&o)
}

/// With one space where there are several, so that columns may change their width.
fn squeezed(text: &str) -> String {
    text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
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

/// A folder for files of a test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A tree that looks like a machine; its root.
    fn machine(&self, cpus: u32) -> String {
        for cpu in 0..cpus {
            for (state, name) in ["POLL", "haltpoll idle"].iter().enumerate() {
                for (file, value) in [("name", *name), ("usage", "10"), ("time", "5000"), ("above", "1")] {
                    let path = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}");
                    self.write(&path, &format!("{value}\n"));
                }
            }
        }
        self.0.path().display().to_string()
    }
}

/// What `grep -r .` prints of `cpus` with two states, after `n` entries into each.
fn grep(cpus: u32, n: u64) -> String {
    let mut text = String::new();
    for cpu in 0..cpus {
        for (state, name) in ["POLL", "haltpoll idle"].iter().enumerate() {
            let base = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
            for (file, value) in [
                ("above", n / 10),
                ("below", n / 4),
                ("latency", state as u64),
                ("residency", state as u64),
                ("rejected", 0),
                ("time", 100 * n),
                ("usage", n),
            ] {
                text += &format!("{base}/{file}:{value}\n");
            }
            text += &format!("{base}/name:{name}\n");
        }
    }
    text
}

/// What `cat state*/*` prints of the same, by a kernel of today.
fn cat(cpus: u32, n: u64) -> String {
    let state = |(i, name): (usize, &&str)| {
        let (above, below, time) = (n / 10, n / 4, 100 * n);
        format!("{above}\n{below}\nenabled\nidle {name}\n0\n{i}\n{name}\n4294967295\n0\n{i}\n{time}\n{n}\n")
    };
    let cpu: String = ["POLL", "haltpoll idle"].iter().enumerate().map(state).collect();
    cpu.repeat(cpus as usize)
}

#[test]
fn top_prints_one_interval_in_every_form() {
    let folder = Folder::new();
    let root = folder.machine(2);
    let top = ["top", "--once", "--interval", "0.1", "--root", &root];
    let with = |more: &[&str]| done(&[&top[..], more].concat());
    let table = with(&[]);
    assert!(table.contains("wakeups/s") && table.contains("haltpoll idle %"), "{table}");
    assert!(table.contains(" cpu 1 ") && table.contains(" all "), "{table}");
    let json: serde_json::Value = serde_json::from_str(&with(&["--json"])).unwrap();
    fits(&json);
    assert_eq!(json["schema"], "idlewise.top/2");
    assert_eq!(json["cpus"][1]["states"][1]["name"], "haltpoll idle");
    assert_eq!(json["machine"]["too_shallow_pct"], serde_json::Value::Null, "this kernel does not count it");
    assert!(with(&["--group", "machine", "--format", "csv"]).lines().count() == 2);
    let file = folder.at("top.md");
    with(&["--group", "cluster", "-f", "markdown", "-o", &file]);
    assert!(fs::read_to_string(&file).unwrap().contains("| package 0-1 |"));
}

#[test]
fn top_says_whether_the_machine_is_limited_now() {
    let folder = Folder::new();
    let root = folder.machine(1);
    let json = |interval: &str| -> serde_json::Value {
        let text = done(&["top", "--once", "--json", "--interval", interval, "--root", &root]);
        let json = serde_json::from_str(&text).unwrap();
        fits(&json);
        json
    };
    let table = || done(&["top", "--once", "--interval", "0.1", "--root", &root]);
    assert!(table().contains("limits    no powercap counters on this machine"), "{}", table());
    assert!(table().contains("heat: no counters of throttling on this machine"), "{}", table());
    assert_eq!(json("0.1")["limiting"]["limited"], serde_json::Value::Null);

    powercap::add_package(folder.0.path());
    assert!(table().contains("limits    not limited\n"), "{}", table());
    let limited = powercap::while_it_draws(folder.0.path(), || json("0.5"));
    let limiting = &limited["limiting"];
    assert_eq!(limiting["limited"], true, "{limiting}");
    assert_eq!(limiting["power"][0]["limit"], "PL1", "{limiting}");
    assert!(limiting["power"][0]["mean_w"].as_f64().unwrap() > 0.02, "{limiting}");
}

#[test]
fn top_without_a_terminal_says_what_to_use() {
    refused(&["top"], &["needs a terminal", "--once", "--json", "--prometheus"]);
    let folder = Folder::new();
    fs::create_dir_all(folder.0.path().join("sys/devices/system/cpu/cpu0")).unwrap();
    refused(&["top", "--once", "--root", &folder.at("")], &["no CPU has idle states", "nothing to watch"]);
    refused(&["top", "--once", "--root", "/nowhere"], &["/nowhere/sys/devices/system/cpu"]);
    refused(&["top", "--interval", "0.01"], &["0.1 to 3600 seconds"]);
    refused(&["top", "--interval", "soon"], &["expected seconds"]);
}

#[test]
fn a_textfile_is_replaced_only_where_it_is_idlewises_own() {
    let folder = Folder::new();
    let root = folder.machine(2);
    let file = folder.at("idlewise.prom");
    let write = ["top", "--prometheus", &file, "--once", "--root", &root];
    assert_eq!(done(&write), "");
    let first = fs::read_to_string(&file).unwrap();
    assert!(first.contains("idlewise_cpuidle_entries_total{cpu=\"1\""), "{first}");
    folder.write("sys/devices/system/cpu/cpu1/cpuidle/state1/usage", "77\n");
    done(&write);
    assert!(fs::read_to_string(&file).unwrap().contains("name=\"haltpoll idle\"} 77\n"));
    for foreign in ["", "# HELP node_cpu x\n", "\u{0}\u{1}"] {
        fs::write(&file, foreign).unwrap();
        refused(&write, &["idlewise.prom", "not written by idlewise"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), foreign);
    }
    refused(&["top", "--prometheus", &folder.at("none/x.prom"), "--once", "--root", &root], &["directory"]);
    let o = idlewise(&["top", "--prometheus", &folder.at("x.txt"), "--once", "--root", &root]);
    assert!(o.status.success() && err(&o).contains("end in .prom"), "{}", err(&o));
    let left: Vec<_> = fs::read_dir(folder.0.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "sys and two results, nothing half written: {left:?}");
}

#[test]
fn a_dash_is_standard_output_wherever_a_file_is_written() {
    let folder = Folder::new();
    let root = folder.machine(2);
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/sleeploop.dat");
    let trace = data.to_str().unwrap();
    let in_folder = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_idlewise"));
        let o = command.args(args).current_dir(folder.0.path()).stdin(Stdio::null()).output().unwrap();
        assert!(!folder.0.path().join("-").exists(), "{args:?} made a file called -");
        o
    };
    let ok = |args: &[&str]| {
        let o = in_folder(args);
        assert_eq!(o.status.code(), Some(0), "{args:?}: {}", err(&o));
        o
    };
    let prom = ok(&["top", "--once", "--prometheus", "-", "--root", &root]);
    assert!(
        out(&prom).contains("idlewise_cpuidle_entries_total{cpu=\"1\"") && err(&prom).is_empty(),
        "{}",
        err(&prom)
    );
    let table = ok(&["top", "--once", "--interval", "0.1", "--root", &root, "-o", "-"]);
    assert!(out(&table).contains("wakeups/s"));
    let json = ok(&["info", trace, "-f", "json", "-o", "-"]);
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&json.stdout).unwrap()["schema"],
        "idlewise.info/2"
    );
    let text = ok(&["convert", trace, "--to", "text", "-o", "-"]);
    assert!(out(&text).contains("cpu_idle: state=1") && err(&text).contains("-: "), "{}", err(&text));
    let tape = ok(&["tape", trace, "-o", "-"]);
    let file = folder.at("x.tape");
    ok(&["tape", trace, "-o", &file]);
    assert_eq!(tape.stdout, fs::read(&file).unwrap());
    // Two files do not fit into one.
    let o = in_folder(&["record", "-o", "-", "-s", "0.1", "--root", &root]);
    assert_eq!(o.status.code(), Some(2));
    assert!(err(&o).contains("cannot write to standard output"), "{}", err(&o));
}

#[test]
fn two_looks_give_what_happened_between_them() {
    let folder = Folder::new();
    let (a, b) = (folder.write("a.txt", &grep(2, 100)), folder.write("b.txt", &grep(2, 300)));
    let text = done(&["diff", &a, &b]);
    for word in ["what happened from a.txt to b.txt", "all 2 CPUs", "1 haltpoll idle", "by CPU"] {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
    assert!(squeezed(&text).contains("all 800 0.080 100.00 10.00 25.00"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 78), "{text}");
    let json: serde_json::Value = serde_json::from_str(&done(&["diff", &a, &b, "-f", "json"])).unwrap();
    assert_eq!((&json["schema"], &json["meaning"]), (&"idlewise.diff/3".into(), &"looks".into()));
    assert_eq!(json["runs"][0]["all"]["usage"], 800);
    assert_eq!(json["runs"][0]["cpus"][1]["states"][1]["above"], 20);
    let csv = done(&["diff", &a, &b, "-f", "csv"]);
    assert!(csv.contains("between,cpu 1,1,haltpoll idle,200,20000,50,20,10,50,25,0\n"), "{csv}");
    assert!(done(&["diff", &a, &b, "-f", "markdown"]).contains("| 1 haltpoll idle |"));
    assert!(done(&["diff", &a, &b, "--per", "cpu"]).contains("\ncpu 1\n"));
    refused(&["diff", &b, &a], &["goes back", "swapped", "--as runs"]);
    // Quoted in a mail, and in one file.
    let quoted: String = (grep(2, 100) + &grep(2, 300)).lines().map(|l| format!("> {l}\r\n")).collect();
    let both = folder.write("both.txt", &quoted);
    assert!(squeezed(&done(&["diff", &both])).contains("all 800 "));
}

#[test]
fn bare_values_are_given_to_cpus_and_states() {
    let folder = Folder::new();
    let (a, b) = (folder.write("a.txt", &cat(2, 100)), folder.write("b.txt", &cat(2, 300)));
    let text = done(&["diff", &a, &b]);
    assert!(squeezed(&text).contains("all 800 0.080 100.00 10.00 25.00"), "{text}");
    assert!(text.contains("no CPU is named"), "{text}");
    assert!(done(&["diff", &a, &b, "--cpus", "4,6", "--per", "cpu"]).contains("\ncpu 6\n"));
    refused(&["diff", &a, &b, "--cpus", "4"], &["2 CPUs", "--cpus names 1"]);
    let both = folder.write("both.txt", &(cat(1, 100) + "after:\n" + &cat(1, 300)));
    assert!(squeezed(&done(&["diff", &both])).contains("all 400 "));
    // Three are no two halves.
    let odd = squeezed(&done(&["diff", &folder.write("odd.txt", &cat(3, 1))]));
    assert!(odd.contains("3 CPUs") && odd.contains("all 6 "), "{odd}");
}

#[test]
fn files_that_hold_both_looks_are_runs_to_compare() {
    let folder = Folder::new();
    let a = folder.write("menu.txt", &(grep(2, 100) + &grep(2, 300)));
    let b = folder.write("teo.txt", &(grep(2, 100) + &grep(2, 200)));
    let text = done(&["diff", &a, &b]);
    assert!(text.contains("two runs, B against A"), "{text}");
    assert!(squeezed(&text).contains("usage 800 400 -50.00%"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 78), "{text}");
    refused(&["diff", &a, &folder.write("one.txt", &grep(2, 1))], &["one.txt is one snapshot", "--as"]);
    // Counters that run back and forth are of two boots.
    let older = folder.write("older.txt", &(grep(1, 100) + &grep(2, 300).replace("/cpu0/", "/cpu3/")));
    let newer = folder.write("newer.txt", &(grep(1, 300) + &grep(2, 100).replace("/cpu0/", "/cpu3/")));
    let text = done(&["diff", &older, &newer]);
    assert!(squeezed(&text).contains("counters since boot, because the"), "{text}");
    let (x, y) = (folder.write("x.txt", &grep(2, 1)), folder.write("y.txt", &grep(2, 2)));
    assert!(done(&["diff", &x, &y, "--as", "runs"]).contains("two runs, B against A (as asked for)"));
    let looks = done(&["diff", &x, &y, "--as", "looks"]);
    assert!(looks.contains("what happened from x.txt to y.txt (as asked for)"), "{looks}");
}

#[test]
fn two_recordings_are_compared_by_their_own_stays() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let at = |name: &str| data.join(name).display().to_string();
    let text = done(&["diff", &at("mixed.dat"), &at("sleeploop.dat")]);
    assert!(text.contains("A         mixed.dat, recording"), "{text}");
    assert!(text.contains("wakeups/s") && text.contains("1 haltpoll idle % of idle"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 78), "{text}");
    refused(&["diff", &at("mixed.dat"), &at("sleeploop.dat"), "--as", "looks"], &["no snapshot of sysfs"]);
}

#[test]
fn what_is_no_dump_says_what_one_is() {
    let folder = Folder::new();
    let good = folder.write("good.txt", &grep(1, 1));
    let empty = folder.write("empty.txt", "");
    let prose = folder.write("prose.txt", "Dear list,\n\nI measured a lot.\n");
    let damaged = folder.write("damaged.txt", &grep(1, 5).replace("usage:5", "usage:five"));
    refused(&["diff", &good, &empty], &["empty.txt", "record it with"]);
    refused(&["diff", &good, &prose], &["prose.txt", "cat state*/*", "record it with"]);
    let text = done(&["diff", &good, &damaged]);
    let note = squeezed(&text);
    assert!(
        note.contains("damaged.txt:") && note.contains("\"five\"") && note.contains("left out"),
        "{text}"
    );
    assert!(note.contains("all ? 0.001"), "{text}");
    refused(&["diff", &good, &folder.at("none.txt")], &["none.txt"]);
    refused(&["diff", &good, &folder.at("")], &[]);
}

#[test]
fn real_dumps_from_a_mailing_list_are_read() {
    let shared = idlewise_checkout::shared();
    if !shared.is_dir() {
        eprintln!("skipped: no folder of recordings (IDLEWISE_SHARED, else ../shared)");
        return;
    }
    let at = |name: &str| shared.join("traces").join(name).display().to_string();
    let (before, after) =
        ("mt8196/sysfs_6_12_sleep_length_before.txt", "mt8196/sysfs_6_12_sleep_length_after.txt");
    let text = done(&["diff", &at(before), &at(after)]);
    assert!(text.contains("all 8 CPUs") && text.contains("cpu0-3 (4 CPUs)"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 78), "{text}");
    let text = done(&["diff", &at("sysfs/cpuidle_6_6.txt"), &at("sysfs/cpuidle_6_12.txt")]);
    assert!(text.contains("two runs") && text.contains("since boot"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 78), "{text}");
}
