// SPDX-License-Identifier: GPL-2.0-only
//! Do the pages of `--report` say what the JSON of the same command says, of every command that has one and of unusual
//! sizes? And does a real browser show them so, without an error? What the pages are made of are recordings of
//! `tests/data`, a session of `ab` and counters that are written here.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{idlewise, words};
use crate::house::root;
use crate::schemas::fits;

/// A page: its name, the command without what writes it, and tables that it must have.
type Case = (&'static str, &'static str, &'static [&'static str]);

/// `DATA` is `tests/data`; other files are those of [`inputs`].
const CASES: [Case; 17] = [
    (
        "replay",
        "replay DATA/mixed.dat --platform pixel6 --governor menu,teo,teo-util,oracle",
        &["measures", "front", "misses", "residency", "periods", "latency", "timeline"],
    ),
    (
        "governors-20",
        "replay DATA/mixed.dat --platform pixel6 --governor menu,menu-6.1,teo,teo-6.6,teo-6.1,teo-5.6,teo-util,\
         teo-util-v1,teo-fixed,teo-weighted,ladder,haltpoll,shallow,deepest,oracle,teo-util:util_threshold_shift=3,\
         teo-util:util_threshold_shift=4,teo-util:util_threshold_shift=5,teo-util:util_threshold_shift=7,\
         haltpoll:guest_halt_poll_ns=100000",
        &["measures", "timeline"],
    ),
    (
        "one-cpu",
        "replay one.txt --recorded-on same --platform rk3399 --governor menu,teo,oracle",
        &["measures", "timeline"],
    ),
    (
        "cpus-200",
        "replay many.txt --recorded-on same --platform large.toml --governor menu,teo,oracle",
        &["measures", "residency"],
    ),
    (
        "no-latency",
        "replay ticks.txt --recorded-on same --platform rk3399 --governor menu,teo",
        &["measures"],
    ),
    (
        "compare",
        "compare --governor teo,teo-util DATA/mixed.dat --platform pixel6",
        &["measures", "divergence", "timeline"],
    ),
    (
        "simulate",
        "simulate frames --platform pixel6 --governor menu-6.1,teo --signal pelt,walt --cpufreq schedutil \
         --seconds 1 --repeat 3",
        &["measures", "points", "response"],
    ),
    ("ab", "ab --show session", &["measures", "changes", "points", "medians", "misses", "residency"]),
    ("advise", "advise --trace DATA/sleeploop.dat", &["measures", "front", "misses"]),
    ("advise-ab", "advise --trace DATA/sleeploop.dat --ab-session session", &["measures"]),
    ("diff", "diff a.txt b.txt --as runs", &["measures", "changes", "residency", "misses"]),
    ("diff-snapshots", "diff a.txt b.txt", &["measures", "residency"]),
    ("diff-cpus-200", "diff c.txt d.txt --as runs", &["measures", "changes", "residency"]),
    ("diff-one-cpu", "diff one-a.txt one-b.txt --as runs", &["measures", "changes"]),
    ("corpus-run", "corpus run DATA/../../corpus --machine juno --governor menu,teo,hindsight", &["changes"]),
    ("fitness", "fitness menu --corpus DATA/../../corpus --despite disabled,arithmetic", &["changes"]),
    ("reproduce", "reproduce pelt-times rk3399-timer", &["published", "experiment-pelt-times"]),
];

/// Tables whose numbers are those of the JSON; the others show what is not in it, or show it as text.
const OF_THE_JSON: [&str; 9] =
    ["measures", "front", "misses", "changes", "published", "points", "medians", "percentiles", "agreement"];

struct Made {
    folder: PathBuf,
    _kept: Option<TempDir>,
}

/// Every page, next to the JSON of its command. They are kept where `IDLEWISE_REPORTS` says.
fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let kept = tempfile::tempdir().unwrap();
        inputs(kept.path());
        let asked = std::env::var_os("IDLEWISE_REPORTS").map(PathBuf::from);
        let folder = asked.unwrap_or_else(|| kept.path().join("pages"));
        fs::create_dir_all(&folder).unwrap();
        thread::scope(|scope| {
            for case in CASES {
                let (desk, folder) = (kept.path(), &folder);
                scope.spawn(move || make(case, desk, folder));
            }
        });
        Made { folder, _kept: Some(kept) }
    })
}

fn make((name, command, _): Case, desk: &Path, folder: &Path) {
    let data = root().join("tests/data").display().to_string();
    let page = folder.join(format!("{name}.html"));
    let _ = fs::remove_file(&page);
    let output = idlewise()
        .args(command.replace("DATA", &data).split_whitespace())
        .args(["--format", "json", "--report"])
        .arg(&page)
        .current_dir(desk)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{name}: {}", words(&output.stderr));
    fits(&serde_json::from_slice(&output.stdout).unwrap());
    fs::write(folder.join(format!("{name}.json")), output.stdout).unwrap();
}

/// What the commands read, besides `tests/data`.
fn inputs(folder: &Path) {
    let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    write("one.txt", periods(1, 300, false));
    write("many.txt", periods(200, 40, false));
    write("ticks.txt", periods(2, 60, true));
    let platform = fs::read_to_string(root().join("platforms/skylake-sp.toml")).unwrap();
    assert!(platform.contains("\ncount = 32\n"));
    write("large.toml", platform.replace("\ncount = 32\n", "\ncount = 200\n"));
    for (name, cpus, more) in
        [("a", 8, 0), ("b", 8, 3), ("c", 200, 0), ("d", 200, 5), ("one-a", 1, 0), ("one-b", 1, 9)]
    {
        write(&format!("{name}.txt"), counters(cpus, more));
    }
    fs::create_dir(folder.join("session")).unwrap();
    write("session/session.jsonl", session());
}

/// ftrace text of idle periods: of a few lengths in turn, or each until the next tick of 250 Hz.
fn periods(cpus: u32, each: u64, ticks: bool) -> String {
    let mut events: Vec<(u64, u32, String)> = Vec::new();
    for cpu in 0..cpus {
        let mut at_us = 10_000_000 + u64::from(cpu) * 7;
        for i in 0..each {
            let state = (i + u64::from(cpu)) % 2;
            events.push((at_us, cpu, format!("cpu_idle: state={state} cpu_id={cpu}")));
            at_us = if ticks {
                at_us / 4000 * 4000 + 4000
            } else {
                at_us + [60, 310, 1900, 8200][((i * 7 + i / 3) % 4) as usize]
            };
            if ticks {
                let now_ns = at_us * 1000;
                let what = "hrtimer=000000001 function=tick_nohz_handler";
                events.push((at_us, cpu, format!("hrtimer_expire_entry: {what} now={now_ns}")));
            }
            events.push((at_us + 1, cpu, format!("cpu_idle: state=4294967295 cpu_id={cpu}")));
            at_us += 40 + i % 90;
        }
    }
    events.sort();
    let mut text = "# tracer: nop\n#\n".to_owned();
    for (at_us, cpu, event) in events {
        let (s, us) = (at_us / 1_000_000, at_us % 1_000_000);
        writeln!(text, "          <idle>-0     [{cpu:03}] d..1.  {s}.{us:06}: {event}").unwrap();
    }
    text
}

/// `grep -r . /sys/devices/system/cpu/cpu*/cpuidle`, later by `more`.
fn counters(cpus: u32, more: u64) -> String {
    let mut text = String::new();
    for cpu in 0..cpus {
        for (i, (name, latency, target)) in
            [("POLL", 0, 0), ("C1", 2, 2), ("C1E", 10, 20), ("C6", 133, 600)].into_iter().enumerate()
        {
            let usage = 1000 + (u64::from(cpu) * 37) % 211 + more * (100 + 90 * i as u64);
            let time = usage * (10 + target);
            let below = if i < 3 { usage / 7 } else { 0 };
            for (file, value) in [
                ("latency", latency),
                ("residency", target),
                ("usage", usage),
                ("time", time),
                ("above", if i > 0 { usage / 9 } else { 0 }),
                ("below", below),
                ("rejected", 0),
                ("disable", 0),
            ] {
                writeln!(text, "/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{i}/{file}:{value}").unwrap();
            }
            writeln!(text, "/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{i}/name:{name}").unwrap();
        }
    }
    text
}

/// A session of three arms and two benchmarks, one run left out.
fn session() -> String {
    let head = json!({
        "schema": "idlewise.ab-session/1", "kernel": "6.18.0", "driver": "intel_idle", "cpus": 8, "governor": "menu",
        "request": {
            "arms": ["menu", "teo", "haltpoll"],
            "benchmarks": [
                {"name": "pipe", "command": ["pipe"], "load": null},
                {"name": "frames", "command": ["frames"], "load": null},
            ],
            "metrics": ["ops:higher=([0-9]+)"], "disable": [], "latency_limit_us": null, "set": [], "repeat": 10,
            "warm_up": 0, "settle_ms": 0, "seed": 0, "foreign_pct": 8, "retries": 0, "margin_permille": 10, "aa": false,
        },
    });
    let mut text = format!("{head}\n");
    let mut number = 0;
    for (b, benchmark) in ["pipe", "frames"].into_iter().enumerate() {
        for round in 0..10 {
            for arm in 0..3 {
                number += 1;
                let noise = 1.0 + 0.002 * f64::from((number * 7) % 11);
                let value = [2.0, 0.4][b] * [1.0, 0.94, 1.003][arm as usize] * noise;
                let states = ["POLL", "C1", "C6"].into_iter().enumerate().map(|(i, name)| {
                    let time_pct = [1.0, 20.0, 55.0][i] + f64::from(arm);
                    json!({"name": name, "time_pct": time_pct, "entries_per_s": 200.0})
                });
                let run = json!({
                    "number": number, "round": round, "benchmark": benchmark, "arm": arm,
                    "left_out": if number == 9 { Some("foreign load 12 %") } else { None }, "seconds": value,
                    "values": {"time": value, "ops": 100.0 / value}, "wakeups_per_s": 640.0,
                    "too_deep_pct": 4.0 + f64::from(arm), "too_shallow_pct": 9.0 - f64::from(arm),
                    "states": states.collect::<Vec<_>>(), "watts": {}, "foreign_pct": 0.0, "foreign_by": [],
                    "steal_pct": 0.0, "limit_us": null, "limited_by": [], "throttled": 0,
                });
                writeln!(text, "{run}").unwrap();
            }
        }
    }
    text
}

/// The data that a page holds.
fn data(name: &str) -> Value {
    let html = fs::read_to_string(made().folder.join(format!("{name}.html"))).unwrap();
    assert!(html.len() <= idlewise_chart::LIMIT, "{name}: {} bytes", html.len());
    let json = html.split("<script type=\"application/json\" id=\"data\">").nth(1).unwrap();
    serde_json::from_str(json.split("</script>").next().unwrap()).unwrap()
}

fn result(name: &str) -> Value {
    serde_json::from_slice(&fs::read(made().folder.join(format!("{name}.json"))).unwrap()).unwrap()
}

/// Every number of a JSON document, to nine digits; also a hundred times, since JSON has changes as factors.
fn numbers(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Number(n) => {
            let n = n.as_f64().unwrap();
            into.extend([n, 100.0 * n, n / 1e6].map(|n| format!("{n:.8e}")));
        }
        Value::Array(all) => all.iter().for_each(|v| numbers(v, into)),
        Value::Object(all) => all.values().for_each(|v| numbers(v, into)),
        _ => {}
    }
}

#[test]
fn a_page_holds_the_json_of_its_command_and_its_charts_the_numbers_of_it() {
    for (name, command, tables) in CASES {
        let (page, result) = (data(name), result(name));
        assert_eq!(page["report"], result, "{name}: the JSON in the page");
        let words: Vec<&str> =
            page["command"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
        assert_eq!((words[0], words[1]), ("idlewise", command.split(' ').next().unwrap()), "{name}");
        let mut known = BTreeSet::new();
        numbers(&result, &mut known);
        let has: Vec<&str> =
            page["tables"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
        for table in tables {
            assert!(has.contains(table), "{name} has no table {table}: {has:?}");
        }
        let mut compared = 0;
        for table in page["tables"].as_array().unwrap() {
            let title = table["name"].as_str().unwrap();
            if !OF_THE_JSON.contains(&title) && !title.starts_with("experiment-") {
                continue;
            }
            let columns = table["columns"].as_array().unwrap();
            for (row, n) in table["rows"].as_array().unwrap().iter().zip(0..) {
                for (column, cell) in columns.iter().zip(row.as_array().unwrap()) {
                    let column = column["name"].as_str().unwrap();
                    // Computed of two values that are there: a difference, or the place of a run.
                    let derived =
                        matches!((title, column), ("measures" | "changes", "change") | ("points", "x"));
                    let given = ["ab", "corpus", "fitness"].iter().any(|command| name.starts_with(command));
                    if derived && !given {
                        continue;
                    }
                    let Some(value) = cell.as_f64() else { continue };
                    compared += 1;
                    assert!(
                        value == 0.0 || known.contains(&format!("{value:.8e}")),
                        "{name}: {value} of {title}[{n}].{column} is not in the JSON"
                    );
                }
            }
        }
        assert!(compared > 5, "{name}: {compared} numbers");
    }
}

#[test]
fn a_page_without_latencies_says_that_it_knows_none() {
    let page = data("no-latency");
    let tables = page["tables"].as_array().unwrap();
    let measures = tables.iter().find(|t| t["name"] == "measures").unwrap();
    let unknown = measures["rows"].as_array().unwrap().iter().filter(|row| row[7].is_null()).count();
    assert!(unknown > 0, "{measures}");
}

/// A decision of the timeline is explained by what `idlewise explain` says about it.
#[test]
fn a_decision_of_the_timeline_has_the_reasons_that_explain_gives() {
    let page = data("replay");
    let tables = page["tables"].as_array().unwrap();
    let timeline = tables.iter().find(|t| t["name"] == "timeline").unwrap()["rows"].as_array().unwrap();
    for (governor, decision) in [("teo-util", 3), ("menu", 0), ("teo", 40)] {
        let lane: Vec<&Value> = timeline.iter().filter(|row| row[3] == governor).collect();
        let cpu = lane[0][1].to_string();
        let output = idlewise()
            .arg("explain")
            .arg(root().join("tests/data/mixed.dat"))
            .args(["--platform", "pixel6", "--governor", governor, "--cpu", &cpu, "--format", "json"])
            .args(["--decision", &decision.to_string()])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
        let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
        let reasons = explained["explanation"]["reasons"].as_array().unwrap();
        let reasons: Vec<&str> = reasons.iter().map(|r| r.as_str().unwrap()).collect();
        assert!(reasons.len() > 2, "{governor}: {reasons:?}");
        let row = lane[decision];
        assert_eq!(row[4], explained["explanation"]["at_ns"], "{governor}");
        let why = row[10].as_str().unwrap();
        assert!(
            why.contains("\nInputs: sleep length ") && why.ends_with(&reasons.join("\n")),
            "{governor}: {why}"
        );
    }
}

#[test]
fn charts_are_drawn_of_every_command_that_has_pages() {
    let desk = tempfile::tempdir().unwrap();
    inputs(desk.path());
    for (command, chart) in [
        ("ab --show session", "changes"),
        ("ab --show session", "points"),
        ("diff a.txt b.txt --as runs", "changes"),
        ("reproduce walt-ramp", "published"),
    ] {
        let file = desk.path().join(format!("{chart}-{}.svg", command.split(' ').next().unwrap()));
        let plot = format!("{chart}={}", file.display());
        let output = idlewise()
            .args(command.split(' '))
            .args(["--plot", &plot])
            .current_dir(desk.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {}", words(&output.stderr));
        assert!(fs::read_to_string(&file).unwrap().starts_with("<svg"), "{command}");
    }
}

#[test]
fn a_page_of_a_very_large_machine_says_what_it_leaves_out() {
    let desk = tempfile::tempdir().unwrap();
    for (name, more) in [("a.txt", 0), ("b.txt", 7)] {
        fs::write(desk.path().join(name), counters(4096, more)).unwrap();
    }
    let page = desk.path().join("page.html");
    let output = idlewise()
        .args(["diff", "a.txt", "b.txt", "--as", "runs", "--report", "page.html"])
        .current_dir(desk.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.len() <= idlewise_chart::LIMIT, "{} bytes", html.len());
    assert!(html.contains("The residencies of single CPUs, which --format json has."));
    assert!(html.contains("The JSON result is not in this page; --format json prints it."));
}

/// `make browser` has all views of all pages; this has every page once, each number, and each on a phone.
#[test]
fn a_browser_shows_every_page_without_an_error() {
    let web = root().join("web");
    let there =
        |program: &str| Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    let chromium = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| there(name));
    let lacks = if std::env::var_os("IDLEWISE_CHROMIUM").is_none() && chromium.is_none() {
        "no Chromium"
    } else if !there("node") {
        "no Node"
    } else if !web.join("node_modules/playwright-core").exists() {
        "npm ci has not been run in web/"
    } else {
        ""
    };
    if !lacks.is_empty() {
        eprintln!("skipped: pages of reports in a browser: {lacks}");
        return;
    }
    let shots = tempfile::tempdir().unwrap();
    let output = Command::new("node")
        .args(["tests/browser.mjs".as_ref(), made().folder.as_os_str(), shots.path().as_os_str()])
        .arg("quick")
        .current_dir(&web)
        .output()
        .unwrap();
    let said = words(&output.stdout);
    assert!(output.status.success(), "{said}{}", words(&output.stderr));
    assert!(said.contains(" checks passed, 0 failed"), "{said}");
}
