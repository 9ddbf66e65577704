// SPDX-License-Identifier: GPL-2.0-only
//! Are the rows of `--write-decisions` the replay that the report is about?

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use idlewise_columns::Form;
use idlewise_study::replay::{
    DECISION_COLUMNS, DecisionsFile, ReplayReport, ReplayRequest, Wanted, replay_with,
};
use idlewise_testkit::request;
use parquet::file::reader::{FileReader, SerializedFileReader};

const CANDIDATES: [&str; 5] = ["menu-6.1", "teo", "shallow", "oracle", "menu-6.1:disable=1"];

fn data(name: &str) -> PathBuf {
    idlewise_checkout::root().join("tests/data").join(name)
}

/// Recordings that are always there, on the machine that they are of.
fn on(traces: &[&str], candidates: &[&str]) -> ReplayRequest {
    let traces: Vec<PathBuf> = traces.iter().map(|name| data(name)).collect();
    let traces: Vec<&Path> = traces.iter().map(PathBuf::as_path).collect();
    request(&traces, "kvm-guest", "haltpoll", candidates)
}

fn both(candidates: &[&str]) -> ReplayRequest {
    on(&["mixed.dat", "sleeploop.dat"], candidates)
}

fn small(candidates: &[&str]) -> ReplayRequest {
    on(&["sleeploop.dat"], candidates)
}

fn written(request: &ReplayRequest, form: Form, threads: usize) -> (ReplayReport, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions");
    let to = File::create(&path).unwrap();
    let command = ["idlewise".to_owned(), "replay".to_owned()];
    let file = DecisionsFile { form, to: &to, folder: folder.path(), command: &command };
    let wanted = Wanted { decisions: Some(&file), ..Wanted::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (report, _) = pool.install(|| replay_with(request, &wanted, &|_, _| {})).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing stays but the file");
    (report, fs::read(path).unwrap())
}

/// Rows by their columns' names.
type Row = BTreeMap<String, String>;

fn csv_rows(bytes: &[u8]) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(bytes);
    let names = reader.headers().unwrap().clone();
    let row = |cells: csv::StringRecord| {
        names.iter().zip(&cells).map(|(n, c)| (n.to_owned(), c.to_owned())).collect()
    };
    reader.records().map(|r| row(r.unwrap())).collect()
}

fn parquet_rows(bytes: &[u8]) -> Vec<Row> {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let about = |name: &str| about.iter().find(|kv| kv.key == name).unwrap().value.clone().unwrap();
    assert_eq!(about("idlewise.schema"), "idlewise.decisions/1");
    assert_eq!(about("idlewise.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(about("idlewise.command"), r#"["idlewise","replay"]"#);
    assert!(about("idlewise.governors").starts_with(r#"["menu-6.1""#));
    assert!(about("idlewise.platform").contains(r#""id":"kvm-guest""#));
    assert!(about("idlewise.recordings").contains(r#""name":"sleeploop.dat""#));
    let cell = |field: &parquet::record::Field| match field {
        parquet::record::Field::Null => String::new(),
        parquet::record::Field::Str(text) => text.clone(),
        field => field.to_string(),
    };
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_column_iter().map(|(n, f)| (n.clone(), cell(f))).collect()).collect()
}

fn number(row: &Row, name: &str) -> u128 {
    row[name].parse().unwrap_or_else(|e| panic!("{name} {:?}: {e}", row[name]))
}

#[test]
fn rows_add_up_to_the_scores_of_the_report() {
    let (report, bytes) = written(&both(&CANDIDATES), Form::Csv, 2);
    let rows = csv_rows(&bytes);
    let mut seen = 0;
    for trace in &report.traces {
        for g in &trace.governors {
            let of = |r: &&Row| r["recording"] == trace.head.name && r["governor"] == g.governor;
            let rows: Vec<&Row> = rows.iter().filter(of).collect();
            seen += rows.len();
            let score = &g.score;
            assert_eq!(rows.len() as u64, g.decisions, "{}", g.governor);
            let is = |name: &str, value: &str| rows.iter().filter(|r| r[name] == value).count() as u64;
            assert_eq!(score.wakeups, g.decisions - is("verdict", "rejected"));
            assert_eq!(score.rejected, is("verdict", "rejected"));
            let share = |n: u64| n as f64 * 100.0 / score.wakeups as f64;
            assert_eq!(score.too_deep_pct, share(is("verdict", "too deep")));
            assert_eq!(score.too_shallow_pct, share(is("verdict", "too shallow")));
            assert_eq!(score.ticks.unwrap(), is("cause", "tick"));
            assert_eq!(score.ticks_stopped.unwrap(), is("tick", "stopped"));
            let fj: u128 = rows.iter().map(|r| number(r, "energy_fj")).sum();
            assert_eq!(score.energy, fj as f64 / 1e12, "{}", g.governor);
            assert!(rows.iter().all(|r| r["energy_unit"] == score.energy_unit));
            let idle: u128 = rows.iter().map(|r| number(r, "residency_ns")).sum();
            assert_eq!(u128::from(score.idle_ns), idle);
            let counted = |r: &&&Row| !["tick", "poll-limit"].contains(&r["cause"].as_str());
            let latencies: Vec<u128> = rows.iter().filter(counted).map(|r| number(r, "latency_ns")).collect();
            assert_eq!(score.latency.wakes, latencies.len() as u64 + score.overtaken);
            if score.overtaken == 0 {
                assert_eq!(u128::from(score.latency.max_ns), latencies.iter().copied().max().unwrap());
            }
        }
    }
    assert_eq!(seen, rows.len());
    assert!(seen > 10_000, "{seen} rows");
}

#[test]
fn rows_come_by_recording_governor_cpu_and_time() {
    let rows = csv_rows(&written(&both(&CANDIDATES), Form::Csv, 3).1);
    let place = |r: &Row| {
        let recording = usize::from(r["recording"] == "sleeploop.dat");
        let governor = CANDIDATES.iter().position(|g| *g == r["governor"]).unwrap();
        (recording, governor, number(r, "cpu"), number(r, "time_ns"), number(r, "decision"))
    };
    assert!(rows.windows(2).all(|w| place(&w[0]) < place(&w[1])));
    for w in
        rows.windows(2).filter(|w| place(&w[0]).2 == place(&w[1]).2 && w[0]["governor"] == w[1]["governor"])
    {
        if w[0]["recording"] == w[1]["recording"] {
            assert_eq!(number(&w[0], "decision") + 1, number(&w[1], "decision"));
            assert!(number(&w[0], "wait") <= number(&w[1], "wait"));
        }
    }
    // The same wait is the same event under each governor.
    let end = |governor: &str, wait: &str| {
        let of = |r: &&Row| r["governor"] == governor && r["wait"] == wait && r["recording"] == "mixed.dat";
        let last = rows.iter().rfind(of).unwrap();
        number(last, "time_ns") + number(last, "wake_ns")
    };
    for wait in ["0", "17", "400"] {
        assert_eq!(end("menu-6.1", wait), end("oracle", wait), "wait {wait}");
    }
}

#[test]
fn the_oracle_chooses_what_its_column_says() {
    let rows = csv_rows(&written(&small(&CANDIDATES), Form::Csv, 1).1);
    let oracles = || rows.iter().filter(|r| r["governor"] == "oracle");
    assert!(oracles().count() > 200);
    assert!(oracles().all(|r| r["state"] == r["oracle_state"] && r["stop_tick"] == r["oracle_stop_tick"]));
    let others = rows.iter().filter(|r| r["governor"] == "shallow");
    assert!(others.filter(|r| r["state"] != r["oracle_state"]).count() > 200);
    let disabled = rows.iter().filter(|r| r["governor"] == "menu-6.1:disable=1");
    assert!(disabled.clone().all(|r| r["disabled"] == "2" && r["oracle_state"] == "0"), "state 1 is off");
    assert!(disabled.count() > 200);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_and_both_forms_the_same_cells() {
    let request = both(&CANDIDATES);
    let (_, one) = written(&request, Form::Parquet, 1);
    assert!(one == written(&request, Form::Parquet, 2).1);
    assert!(one == written(&request, Form::Parquet, 5).1);
    let (_, text) = written(&request, Form::Csv, 1);
    assert!(text == written(&request, Form::Csv, 4).1);
    let request = small(&CANDIDATES);
    let (a, b) =
        (parquet_rows(&written(&request, Form::Parquet, 2).1), csv_rows(&written(&request, Form::Csv, 2).1));
    assert_eq!(a.len(), b.len());
    assert_eq!(a[0].len(), DECISION_COLUMNS.len());
    assert!(a == b);
}

/// A file of its own is run in a process of its own, and so are its rows made.
#[test]
fn a_foreign_governor_has_the_rows_of_the_same_one_of_ours() {
    let path = idlewise_checkout::root().join("governors/menu-6.1.c");
    let of = |governor: &str| csv_rows(&written(&small(&[governor]), Form::Csv, 2).1);
    let foreign = of(&path.display().to_string());
    let without_name = |rows: Vec<Row>| -> Vec<Row> {
        rows.into_iter()
            .map(|mut r| {
                r.remove("governor");
                r
            })
            .collect()
    };
    assert!(without_name(foreign) == without_name(of("menu-6.1")));
}

#[test]
fn what_crashes_leaves_no_rows_and_takes_none_away() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.c");
    fs::write(&file, crashing()).unwrap();
    let bad = file.display().to_string();
    let (report, bytes) = written(&both(&["teo", &bad, "shallow"]), Form::Csv, 2);
    let failed = report.traces.iter().all(|t| t.governors[1].failure.is_some());
    assert!(failed, "it crashes after a thousand decisions");
    let rows = csv_rows(&bytes);
    let mut governors: Vec<&str> = rows.iter().map(|r| r["governor"].as_str()).collect();
    governors.dedup();
    assert_eq!(governors, ["teo", "shallow", "teo", "shallow"]);
}

fn crashing() -> &'static str {
    "// SPDX-License-Identifier: GPL-2.0-only\n#include <linux/cpuidle.h>\n#include <linux/module.h>\n\
     static int asked;\n\
     static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)\n{\n\
     \tif (asked++ > 1000)\n\t\t*(volatile int *)8 = 1;\n\treturn 0;\n}\n\
     static struct cpuidle_governor it = { .name = \"it\", .rating = 42, .select = pick };\n\
     static int start(void)\n{\n\treturn cpuidle_register_governor(&it);\n}\nmodule_init(start);\n"
}

#[test]
fn a_folder_that_takes_no_files_is_an_error() {
    let to = tempfile::tempfile().unwrap();
    let folder = Path::new("/proc/no-such-folder");
    let file = DecisionsFile { form: Form::Csv, to: &to, folder, command: &[] };
    let wanted = Wanted { decisions: Some(&file), ..Wanted::default() };
    let failed = replay_with(&both(&["teo"]), &wanted, &|_, _| {}).unwrap_err().to_string();
    assert!(failed.contains("/proc/no-such-folder: cannot write decisions:"), "{failed}");
}
