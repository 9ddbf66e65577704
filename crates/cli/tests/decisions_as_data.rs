// SPDX-License-Identifier: GPL-2.0-only
//! Does `--write-decisions` write a file that is whole, new, and about the decisions that `explain` explains?

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::common::{idlewise, words};

fn mixed() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    root.join("tests/data/mixed.dat").display().to_string()
}

fn run(folder: &Path, args: &[&str]) -> Output {
    idlewise().args(args).current_dir(folder).output().unwrap()
}

fn names(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|e| PathBuf::from(e.unwrap().file_name())).collect()
}

type Row = BTreeMap<String, String>;

/// No cell of these files needs quotes.
fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let head: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| head.iter().cloned().zip(cells).collect()).collect()
}

#[test]
fn replay_and_compare_write_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let of = |args: &[&str], file: &str| {
        let trace = mixed();
        let o = run(folder.path(), &[args, &["--write-decisions", file, &trace]].concat());
        assert!(o.status.success(), "{}", words(&o.stderr));
        fs::read_to_string(folder.path().join(file)).unwrap()
    };
    let replayed = of(&["replay", "-g", "menu,teo"], "replay.csv");
    assert_eq!(replayed, of(&["compare", "-g", "menu,teo"], "compare.csv"));
    let alone = of(&["compare", "-g", "teo,teo"], "alone.csv");
    assert!(rows(&alone).iter().all(|r| r["governor"] == "teo"));
    assert_eq!(rows(&alone).len(), rows(&replayed).iter().filter(|r| r["governor"] == "teo").count());
    let trace = mixed();
    let o = run(folder.path(), &["replay", "-g", "menu,teo", "--write-decisions", "r.Parquet", &trace]);
    assert!(o.status.success(), "{}", words(&o.stderr));
    let bytes = fs::read(folder.path().join("r.Parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert_eq!(names(folder.path()).len(), 4);
}

#[test]
fn a_row_is_the_decision_that_explain_explains() {
    let folder = tempfile::tempdir().unwrap();
    let trace = mixed();
    let o = run(folder.path(), &["replay", "-g", "menu", "--write-decisions", "d.csv", &trace]);
    assert!(o.status.success(), "{}", words(&o.stderr));
    let rows = rows(&fs::read_to_string(folder.path().join("d.csv")).unwrap());
    for number in [0, 99, 4321] {
        let row = &rows[number];
        let explain = ["explain", &trace, "-g", "menu", "--cpu", &row["cpu"], "--decision", &row["decision"]];
        let o = run(folder.path(), &[&explain[..], &["--format", "json"]].concat());
        let report: Value = serde_json::from_slice(&o.stdout).unwrap();
        let it = &report["explanation"];
        let input = |name: &str| {
            let all = it["inputs"].as_array().unwrap();
            all.iter().find(|i| i["name"] == name).unwrap().clone()
        };
        let expect = |column: &str, value: &Value| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(row[column], value, "{column} of decision {number}");
        };
        expect("time_ns", &it["at_ns"]);
        expect("sleep_length_ns", &input("sleep length")["value"]);
        expect("sleep_length_grade", &input("sleep length")["confidence"]);
        expect("delta_tick_ns", &input("next event with the tick")["value"]);
        expect("util", &input("utilisation")["value"]);
        expect("util_grade", &input("utilisation")["confidence"]);
        expect("iowait", &input("tasks waiting for I/O")["value"]);
        expect("iowait_grade", &input("tasks waiting for I/O")["confidence"]);
        expect("latency_limit_grade", &input("latency limit")["confidence"]);
        assert_eq!(row["tick_stopped"] == "true", input("tick stopped")["value"] == 1);
        expect("state", &it["chosen"]["state"]);
        expect("stop_tick", &it["chosen"]["stop_tick"]);
        expect("asked_sleep_length", &it["chosen"]["asked_sleep_length"]);
        for column in ["entered", "tick", "cause", "wake_ns", "residency_ns", "latency_ns", "verdict"] {
            expect(column, &it["came"][column]);
        }
    }
}

#[test]
fn only_a_new_file_is_written_and_only_when_all_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], why: &str| {
        let o = run(folder.path(), &[&["replay", "-g", "teo"], args].concat());
        assert_eq!(o.status.code(), Some(2), "{args:?}");
        assert!(words(&o.stderr).contains(why), "{args:?}: {}", words(&o.stderr));
    };
    let trace = mixed();
    refused(
        &[&trace, "--write-decisions", "d.txt"],
        "--write-decisions d.txt: the name's ending says the form",
    );
    refused(&[&trace, "--write-decisions", "parquet"], "expected .parquet, .arrow or .csv");
    refused(&[&trace, "--write-decisions", "-"], "expected .parquet, .arrow or .csv");
    refused(&[&trace, "--write-decisions", "no/d.csv"], "no/d.csv: its directory does not exist");
    refused(&[&trace, "--write-decisions", "d.csv", "-o", "./d.csv"], "are the same file; name two");
    refused(&[&trace, "--report", "d.csv"], "--report d.csv: is written for a browser");
    refused(&[&trace, "--report", "d.html", "-o", "./d.html"], "are the same file; name two");
    refused(&[&trace, "--plot", "front=d.svg", "--plot", "misses=./d.svg"], "are the same file; name two");
    refused(
        &[&trace, "--plot", "front=d d.png"],
        "`rsvg-convert -z 2 -o 'd d.png' 'd d.svg'` makes PNG of one",
    );
    refused(&[&trace, "--plot", "front=d.pdf"], "d.pdf: charts are SVG: end the name with .svg");
    fs::write(folder.path().join("broken.dat"), "no trace").unwrap();
    refused(&["broken.dat", "--write-decisions", "d.parquet"], "broken.dat");
    assert_eq!(names(folder.path()), [PathBuf::from("broken.dat")]);
    fs::write(folder.path().join("mine.csv"), "precious").unwrap();
    refused(&[&trace, "--write-decisions", "mine.csv"], "mine.csv: exists; name another file or remove it");
    assert_eq!(fs::read_to_string(folder.path().join("mine.csv")).unwrap(), "precious");
    assert_eq!(names(folder.path()).len(), 2);
}
