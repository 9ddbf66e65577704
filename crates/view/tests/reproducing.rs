// SPDX-License-Identifier: GPL-2.0-only
//! Published tables beside ours: what files may say, what is fitted, how cells are graded.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use idlewise_experiment::reproduce::{
    Experiment, Grade, ReproduceReport, ReproduceRequest, find, reproduce, shipped,
};
use idlewise_report::Format;

const SMALL: &str = r#"
format = 1
id = "small"
title = "a small one"
[document]
number = "9"
title = "none"
tables = "9.1"
[setup]
platform = "sandy-bridge"
kernel = "4.8"
hz = 250
cpus = 1
governor = "menu-6.1"
seconds = 1
json = '{ "tasks" : { "t" : { "run" : $work_us, "timer" : { "ref" : "unique", "period" : 10000 } } }, "global" : { "calibration" : "CPU0" } }'
[parameters]
work_us = 500
[[column]]
name = "base"
baseline = true
setup = { cpufreq = "performance" }
[[column]]
name = "other"
setup = { cpufreq = "powersave" }
[[row]]
name = "running"
unit = "%"
fact = "task t / running %"
tolerance_pct = 3
published = { base = 20, other = [40, 60] }
[[row]]
name = "wakeups"
unit = "1/s"
fact = "task t / wakeups/s"
compare = "change"
noise_pct = 3
published = { base = 7, other = 7.1 }
[[row]]
name = "nothing"
unit = "ms"
fact = "task t / no such thing"
published = { other = 1 }
[fit]
column = "base"
rows = ["running"]
residual_pct = 0
parameter = [{ name = "work_us", range = [100, 5000], step = 10 }]
"#;

fn run(text: &str, fit: bool) -> ReproduceReport {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("small.toml");
    std::fs::write(&path, text).unwrap();
    let request = ReproduceRequest { experiments: vec![path.display().to_string()], fit };
    reproduce(&request, &|_, _, _| {}).unwrap()
}

fn grade(r: &ReproduceReport, row: &str, column: &str) -> Grade {
    r.experiments[0].cells.iter().find(|c| c.row == row && c.column == column).unwrap().grade
}

#[test]
fn every_shipped_experiment_is_read_and_fits_its_baseline_only() {
    for (id, text) in shipped() {
        let e = Experiment::from_toml(text, id).unwrap();
        assert_eq!(e.id, *id, "an experiment is called as its file");
        let Some(fit) = &e.fit else { continue };
        assert_eq!(fit.column, e.baseline().unwrap().name, "{id}");
        let others = |r: &idlewise_experiment::reproduce::Row| {
            let other = |(c, p): (&String, &idlewise_experiment::reproduce::Published)| {
                (*c != fit.column).then(|| p.middle())
            };
            r.published.iter().filter_map(other).collect::<Vec<_>>()
        };
        // No published number of another column is a parameter.
        let published: Vec<f64> = e.row.iter().flat_map(others).collect();
        let own =
            |p: &&f64| !e.row.iter().any(|r| r.published.get(&fit.column).is_some_and(|b| b.middle() == **p));
        assert!(e.parameters.values().filter(own).all(|p| !published.contains(p)), "{id}");
        // Every parameter that is fitted holds for all columns; only rows may have others.
        assert!(e.column.iter().all(|c| c.setup.json.is_none() && c.setup.workload.is_none()), "{id}");
    }
}

#[test]
fn a_fit_to_anything_but_the_baseline_is_refused() {
    let to_other = SMALL.replace("[fit]\ncolumn = \"base\"", "[fit]\ncolumn = \"other\"");
    let why = Experiment::from_toml(&to_other, "f").unwrap_err().to_string();
    assert!(why.contains("column other is not the baseline"), "{why}");
    let no_number = SMALL.replace("rows = [\"running\"]", "rows = [\"nothing\"]");
    let why = Experiment::from_toml(&no_number, "f").unwrap_err().to_string();
    assert!(why.contains("no published number in row nothing of base"), "{why}");
    let own_work = SMALL.replace("cpufreq = \"powersave\"", "workload = \"web\"");
    let why = Experiment::from_toml(&own_work, "f").unwrap_err().to_string();
    assert!(why.contains("the same for all columns"), "{why}");
}

#[test]
fn files_that_name_what_is_not_there_are_refused_with_the_place() {
    for (from, to, words) in [
        ("format = 1", "format = 9", "reads format 1"),
        ("published = { other = 1 }", "published = { third = 1 }", "row nothing: there is no column third"),
        ("fact = \"task t / running %\"", "fact = \"running\"", "ABOUT / NAME"),
        ("[40, 60]", "[60, 40]", "the smaller one first"),
        ("tolerance_pct = 3", "factor = \"$joule\"", "parameter joule is not in"),
        ("name = \"other\"", "name = \"base\"", "column base is there twice"),
        ("noise_pct = 3", "noise = 3", "noise"),
        ("noise_pct = 3", "noise_pct = -1", "noise_pct = -1; expected 0 to 100"),
        ("tolerance_pct = 3", "tolerance_pct = 1e300", "expected 0 to 100"),
        ("tolerance_pct = 3", "tolerance = -1", "tolerance = -1; expected 0 to 1000000000"),
        ("tolerance_pct = 3", "tolerance = nan", "tolerance = NaN; expected 0 to"),
    ] {
        let why = Experiment::from_toml(&SMALL.replacen(from, to, 1), "f").unwrap_err().to_string();
        assert!(why.contains(words), "{to}: {why}");
    }
    let why = find("no-such-experiment").unwrap_err().to_string();
    assert!(why.contains("idlewise reproduce --list"), "{why}");
}

#[test]
fn the_fit_finds_the_work_that_gives_the_baseline_and_predicts_the_rest() {
    let before = run(SMALL, false);
    assert!(before.experiments[0].residual_pct.unwrap() > 50.0);
    let after = run(SMALL, true);
    let one = &after.experiments[0];
    let work = one.refitted.as_ref().unwrap()["work_us"];
    // 20 % of 10 ms, less what the kernel takes.
    assert!((1900.0..=2000.0).contains(&work), "{work}");
    assert!(one.residual_pct.unwrap() < 1.0, "{:?}", one.residual_pct);
    assert_eq!(grade(&after, "running", "base"), Grade::Fit);
    // 1.6 of 3.8 GHz make 47 of 20 %.
    assert_eq!(grade(&after, "running", "other"), Grade::Matches);
    // The same bytes each time.
    let text = |r: &ReproduceReport| serde_json::to_string(&r.experiments).unwrap();
    assert_eq!(text(&after), text(&run(SMALL, true)));
}

#[test]
fn cells_are_graded_by_tolerance_then_by_the_sign_of_the_change() {
    let r = run(SMALL, true);
    assert_eq!(grade(&r, "wakeups", "base"), Grade::Baseline);
    assert_eq!(grade(&r, "wakeups", "other"), Grade::Matches, "both changes are within the noise");
    assert_eq!(grade(&r, "nothing", "other"), Grade::Missing);
    let far = run(&SMALL.replace("[40, 60]", "30"), true);
    assert_eq!(grade(&far, "running", "other"), Grade::SameSign);
    // Slower by 27 points of a hundred, give or take what the kernel takes.
    let less = SMALL.replace("[40, 60]", "[26, 29]").replace("tolerance_pct = 3\n", "less = \"base\"\n");
    let less =
        less.replace("[fit]\ncolumn = \"base\"\nrows = [\"running\"]", "[fit]\ncolumn = \"base\"\nrows = []");
    let at_2000 = run(&less.replace("work_us = 500", "work_us = 2000"), false);
    assert_eq!(grade(&at_2000, "running", "other"), Grade::Matches, "{at_2000:?}");
    let wrong = run(&SMALL.replace("[40, 60]", "10"), true);
    assert_eq!(grade(&wrong, "running", "other"), Grade::Differs);
}

#[test]
fn a_cell_without_a_published_number_is_shown_and_not_graded() {
    let r = run(&SMALL.replace("{ base = 20, other = [40, 60] }", "{ base = 20 }"), true);
    let one = &r.experiments[0];
    let cell = |row: &str, column: &str| one.cells.iter().find(|c| c.row == row && c.column == column);
    let other = cell("running", "other").unwrap();
    assert_eq!((other.grade, other.published), (Grade::Unpublished, None));
    assert!((45.0..50.0).contains(&other.ours) && other.difference.is_nan(), "{other:?}");
    // 20 to 47 of a hundred.
    assert!((130.0..140.0).contains(&other.our_change_pct.unwrap()), "{other:?}");
    assert_eq!(other.published_change_pct.or(other.same_sign.map(f64::from)), None);
    assert_eq!((one.count(Grade::Unpublished), one.count(Grade::Matches)), (1, 1));
    assert!(cell("nothing", "base").is_none(), "neither a published number nor one of ours");
    assert_eq!(cell("nothing", "other").unwrap().grade, Grade::Missing);
    let text = idlewise_view::reproduce(&r, false).render(Format::Table, &r).unwrap();
    let line = text.lines().find(|l| l.contains("no published number") && l.contains("other"));
    assert!(line.is_some_and(|l| l.contains(" - ") && l.contains("47.")), "{text}");
    // A column against itself says nothing.
    let less = SMALL.replace("{ base = 20, other = [40, 60] }", "{ other = 27 }");
    let less = less.replace("tolerance_pct = 3\n", "less = \"base\"\n");
    let r = run(&less.replace("rows = [\"running\"]", "rows = []"), false);
    assert!(r.experiments[0].cells.iter().all(|c| c.row != "running" || c.column == "other"));
}

/// signal-behaviour.md A16: the published times are periods of the formula, called milliseconds.
#[test]
fn the_times_of_pelt_are_those_worked_out_by_hand() {
    let request = ReproduceRequest { experiments: vec!["pelt-times".to_owned()], fit: false };
    let r = reproduce(&request, &|_, _, _| {}).unwrap();
    let ours = |row: &str, column: &str| {
        let cell = r.experiments[0].cells.iter().find(|c| c.row == row && c.column == column);
        cell.unwrap().ours
    };
    for (row, formula, every_ms) in [
        ("rise to 80 %", 74.30, 78.0),
        ("rise to 95 %", 138.30, 145.0),
        ("decay to zero", 212.60, 220.0),
        ("decay to 10 %", 106.30, 112.0),
    ] {
        assert!((ours(row, "formula, periods as ms") - formula).abs() < 0.01, "{row}");
        assert!((ours(row, "4.13 on, updates every ms") - every_ms).abs() < 1e-9, "{row}");
    }
}
