// SPDX-License-Identifier: GPL-2.0-only
//! Are the tables of docs/guide/reproducing.md what `idlewise reproduce` says? Each stands between two comments.
//!
//! What takes long is not run here. `make reproduce` runs everything and sets `IDLEWISE_REPRODUCED` to the JSON of it; then all
//! tables are compared and, with `IDLEWISE_UPDATE_DOCS`, written anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use idlewise_reproduce::{ReproduceRequest, reproduce, shipped};
use serde_json::Value;

/// A few seconds each in a build for tests; the others take minutes.
const CHEAP: [&str; 6] =
    ["pelt-times", "rk3399-hackbench", "rk3399-timer", "walt-cpufreq-bench", "walt-ramp", "walt-times"];

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/reproducing.md")
}

fn all() -> Option<Value> {
    let path = std::env::var_os("IDLEWISE_REPRODUCED")?;
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// Results of all experiments, or of those that are cheap; and whether it is all.
fn results() -> &'static (Value, bool) {
    static RESULTS: OnceLock<(Value, bool)> = OnceLock::new();
    RESULTS.get_or_init(|| all().map_or_else(|| (some(), false), |all| (all, true)))
}

fn some() -> Value {
    println!("only {} are run here; make reproduce runs all", CHEAP.join(", "));
    let request = ReproduceRequest { experiments: CHEAP.map(str::to_owned).to_vec(), runs: 48 };
    serde_json::to_value(reproduce(&request, &|_, _, _| {}).unwrap()).unwrap()
}

/// The guide's part between the comments of this name.
fn part<'g>(guide: &'g str, name: &str) -> Option<&'g str> {
    let (_, behind) = guide.split_once(&format!("<!-- {name} -->\n"))?;
    behind.split_once("<!-- end -->").map(|(inside, _)| inside)
}

fn text(v: &Value) -> &str {
    v.as_str().unwrap()
}

fn signed(v: &Value) -> String {
    format!("{:+.1}", v.as_f64().unwrap())
}

/// `-6.2 [-7.0, -5.1]`.
fn predicted(v: &Value) -> String {
    format!(
        "{} [{}, {}]",
        signed(&v["median"]),
        signed(&v["interval"]["low"]),
        signed(&v["interval"]["high"])
    )
}

/// An experiment's differences: published, ours, the grade.
fn differences(one: &Value) -> String {
    let mut out = String::new();
    let cells = one["cells"].as_array().unwrap();
    for c in cells.iter().filter(|c| c["class"] == "difference") {
        if out.is_empty() {
            out += "| | | published | ours, 90 % | sign | size | |\n|---|---|---:|---:|---|---|---|\n";
        }
        let unit = if text(&c["unit"]) == "%" { "points" } else { "%" };
        let reason = match c["reason"]["kind"].as_str() {
            Some("cannot-be-known") => "cannot be known",
            Some("misses-baseline") => "the model misses the baseline",
            Some("model-is-wrong") => "the model is wrong",
            Some(_) => "no number",
            None => "",
        };
        let e = &c["effect"];
        let (ours, sign, size) = match e.is_null() {
            true => ("-".to_owned(), "", ""),
            false => (predicted(&e["predicted"]), text(&e["sign"]), text(&e["size"])),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} {unit} | {ours} | {sign} | {size} | {reason} |",
            text(&c["row"]),
            text(&c["column"]),
            signed(&e["published"]),
        );
    }
    out
}

/// What all differences come to, by document.
fn scoreboard(all: &Value) -> String {
    let mut out = String::from(
        "| document | differences | sign right | wrong | size right | by the median: sign | size | \"nothing changes\" | cannot be known | the model is wrong |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in all["scoreboard"]["rows"].as_array().unwrap() {
        let t = &row[1];
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            text(&row[0]),
            t["differences"],
            t["sign"][0],
            t["sign"][2],
            t["size"][0],
            t["by_median"][0],
            t["by_median"][1],
            t["null"],
            t["cannot_be_known"],
            t["model_is_wrong"]
        );
    }
    out
}

/// Name and text of each table that these results give.
fn tables(results: &Value, whole: bool) -> Vec<(String, String)> {
    let by_id = |one: &Value| (text(&one["experiment"]["id"]).to_owned(), differences(one));
    let mut out: Vec<(String, String)> =
        results["experiments"].as_array().unwrap().iter().map(by_id).collect();
    let guide = std::fs::read_to_string(path()).unwrap();
    for (id, _) in out.iter().filter(|(_, table)| table.is_empty()) {
        assert!(
            part(&guide, id).is_none(),
            "{id} has no difference: its part of the guide is of another time"
        );
    }
    out.retain(|(_, table)| !table.is_empty());
    if whole {
        out.push(("scoreboard".to_owned(), scoreboard(results)));
    }
    out
}

#[test]
fn tables_are_what_the_command_says() {
    let guide = std::fs::read_to_string(path()).unwrap();
    let (results, whole) = results();
    let mut now = guide.clone();
    for (name, table) in tables(results, *whole) {
        let old = part(&guide, &name).unwrap_or_else(|| panic!("the guide has no part <!-- {name} -->"));
        let begin = format!("<!-- {name} -->\n");
        now = now.replace(&format!("{begin}{old}"), &format!("{begin}{table}"));
    }
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        std::fs::write(path(), &now).unwrap();
        return;
    }
    for (is, should) in guide.lines().zip(now.lines()) {
        assert_eq!(is, should, "docs/guide/reproducing.md; IDLEWISE_UPDATE_DOCS=1 writes it anew");
    }
    assert_eq!(guide, now);
}

/// Samples that miss the baseline decide nothing but what is wrong anyway.
#[test]
fn only_samples_that_meet_the_baseline_leave_an_answer_open() {
    for one in results().0["experiments"].as_array().unwrap() {
        let met = one["samples"]["distance"].as_f64().is_none_or(|d| d <= 1.0);
        let never = if met { "misses-baseline" } else { "cannot-be-known" };
        let cells = one["cells"].as_array().unwrap();
        let found = cells.iter().find(|c| c["reason"]["kind"] == never);
        assert_eq!(found, None, "{}", one["experiment"]["id"]);
    }
}

#[test]
fn every_experiment_is_told_of() {
    let guide = std::fs::read_to_string(path()).unwrap();
    for (id, _) in shipped() {
        assert!(guide.contains(&format!("`{id}`")), "{id}");
    }
}

#[test]
fn samples_are_of_the_present_model() {
    for one in results().0["experiments"].as_array().unwrap() {
        assert_ne!(one["samples"]["outdated"], true, "{}: make reproduce-fit", one["experiment"]["id"]);
    }
}
