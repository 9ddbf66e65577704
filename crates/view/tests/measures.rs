// SPDX-License-Identifier: GPL-2.0-only
//! Is the table of measures the only place that names them? Tables, CSV, JSON, its page and `--fail-if` have each measure that
//! the table puts there, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_report::{Format, Report};
use idlewise_score::measure::{Better, DIFFER, ENERGY, MEASURES};
use idlewise_score::{Breaches, Measure, Number, Place, Score, Unit};
use idlewise_study::compare::{CompareReport, CompareRequest, compare};
use idlewise_study::condition::{Condition, help, measures, vocabulary};
use idlewise_study::replay::{Per, ReplayReport, ReplayRequest, replay};
use idlewise_study::score::score;
use idlewise_view as view;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn trace() -> PathBuf {
    root().join("tests/data/mixed.dat")
}

fn replayed() -> ReplayReport {
    let request = ReplayRequest {
        traces: vec![trace()],
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), seed: 1, ..ReplaySetup::default() },
        governors: ["menu", "shallow"].map(str::to_owned).to_vec(),
        per: Per::Cluster,
        ..ReplayRequest::default()
    };
    replay(&request, &|_, _| ()).unwrap()
}

fn compared(fail_if: Vec<String>) -> CompareReport {
    let request = CompareRequest {
        traces: vec![trace()],
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), seed: 1, ..ReplaySetup::default() },
        a: "menu".to_owned(),
        b: "shallow".to_owned(),
        per: Per::Cluster,
        fail_if,
    };
    compare(&request, &|_, _| ()).unwrap()
}

fn names(place: Place) -> Vec<&'static str> {
    Measure::all_in(place).map(|m| m.name).collect()
}

fn label(m: &Measure, s: &Score) -> String {
    if m.unit == Unit::Energy { format!("{} [{}]", m.label, s.energy_unit) } else { m.label.to_owned() }
}

/// The value at `path` below `value`, `*` being each member; those of several are added up.
fn at(value: &Value, path: &str) -> Option<Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    if first == "*" {
        let all = value.as_object()?.values().map(|v| rest.map_or(Some(v.clone()), |rest| at(v, rest)));
        let sum = all.map(|v| v?.as_u64()).sum::<Option<u64>>()?;
        return Some(sum.into());
    }
    let member = value.get(first)?;
    rest.map_or_else(|| Some(member.clone()), |rest| at(member, rest))
}

/// Paths to all numbers and nulls in `value`, without what is counted by state or by cause.
fn numbers(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let by_something = ["states", "causes", "unplaced"].contains(&path);
    match value {
        Value::Object(members) if !by_something => {
            for (name, member) in members {
                let dot = if path.is_empty() { "" } else { "." };
                numbers(member, &format!("{path}{dot}{name}"), found);
            }
        }
        Value::Number(_) | Value::Null => {
            found.insert(path.to_owned());
        }
        _ => {}
    }
}

#[test]
fn names_labels_and_columns_are_each_of_one_measure() {
    let unlike = |all: Vec<&str>| all.iter().collect::<BTreeSet<_>>().len() == all.len();
    assert!(unlike(MEASURES.iter().map(|m| m.name).collect()));
    assert!(unlike(MEASURES.iter().map(|m| m.label).collect()));
    assert!(unlike(MEASURES.iter().map(|m| m.json).collect()));
    assert!(unlike(Measure::by_column().iter().map(|(column, _)| *column).collect()));
}

#[test]
fn every_measure_is_in_the_json_of_a_score_and_no_other_number_is() {
    let report = compared(Vec::new());
    let scores = [&report.traces[0].comparison.a.score, &report.traces[0].comparison.b.score];
    for s in scores {
        let json = serde_json::to_value(s).unwrap();
        for m in MEASURES.iter().filter(|m| *m != DIFFER) {
            let there = at(&json, m.json).unwrap_or_else(|| panic!("no {} in the JSON of a score", m.json));
            assert_eq!(there.as_f64(), (m.of)(s).map(Number::as_f64), "{}", m.name);
        }
        let mut found = BTreeSet::new();
        numbers(&json, "", &mut found);
        // How many wakes the latency's times are of is no measure of a governor.
        assert!(found.remove("latency.wakes"));
        let known = MEASURES.iter().map(|m| m.json).filter(|j| !j.contains('*') && *j != DIFFER.json);
        assert_eq!(found, known.map(str::to_owned).collect());
    }
    let comparison = serde_json::to_value(&report.traces[0].comparison).unwrap();
    assert!(
        at(&comparison, DIFFER.json)
            .is_some_and(|v| v.as_f64() == Some(report.traces[0].comparison.waits.differ_pct))
    );
    let changes: Vec<&str> =
        comparison["changes"].as_array().unwrap().iter().map(|c| c["metric"].as_str().unwrap()).collect();
    assert_eq!(changes, names(Place::Compared));
}

/// The first cells of the rows of `table`, without what is there for each idle state.
fn rows(out: &Report, table: usize, s: &Score) -> Vec<String> {
    let first = out.tables[table].rows.iter().map(|row| row[0].clone());
    first.filter(|name| !s.states.iter().any(|state| *name == format!("{} % of idle", state.name))).collect()
}

/// What the rows of a table that compares governors with `scores` are.
fn expected_rows(scores: &[&Score]) -> Vec<String> {
    let any = |m: &Measure| scores.iter().any(|s| m.value(s) > 0.0);
    let some = |m: &&Measure| {
        m.is_in(Place::Compared) || ((m.is_in(Place::WhereAny) || m.is_in(Place::Fault)) && any(m))
    };
    MEASURES.iter().filter(some).map(|m| label(m, scores[0])).collect()
}

#[test]
fn tables_have_the_measures_of_their_place_and_nothing_else() {
    let mut report = replayed();
    // Something of all that is left out where there is none.
    let s = &mut report.traces[0].governors[1].score;
    (s.overtaken, s.breaches.disabled, s.breaches.over_limit, s.breaches.no_state) = (1, 2, 3, 4);
    for some in [true, false] {
        if !some {
            let s = &mut report.traces[0].governors[1].score;
            (s.overtaken, s.breaches) = (0, Breaches::default());
        }
        let out = view::replay(&report);
        let scores: Vec<&Score> = report.traces[0].governors.iter().map(|g| &g.score).collect();
        let mut found = rows(&out, 0, scores[0]);
        found.retain(|name| name != "regret");
        assert_eq!(found, expected_rows(&scores));
        let parts = Measure::all_in(Place::Parts).map(|m| m.label);
        assert_eq!(out.tables[1].head, ["CPUs", "governor"].into_iter().chain(parts).collect::<Vec<_>>());
    }
    let change = &report.traces[0].governors[1].change;
    let json = serde_json::to_value(change).unwrap();
    assert_eq!(json.as_object().unwrap().len(), names(Place::Baseline).len());
    for m in Measure::all_in(Place::Baseline) {
        let suffix = if m.unit == Unit::Share { "pp" } else { "pct" };
        assert_eq!(json[format!("{}_{suffix}", m.name)], change.of(m), "{}", m.name);
    }

    let report = compared(Vec::new());
    let out = view::compare(&report);
    let c = &report.traces[0].comparison;
    assert_eq!(rows(&out, 0, &c.a.score), expected_rows(&[&c.a.score, &c.b.score]));
    let parts = Measure::all_in(Place::Parts).map(|m| label(m, &c.a.score).trim_end_matches(" %").to_owned());
    let by_part = &out.tables.last().unwrap().head;
    assert_eq!(by_part[..3], ["CPUs", "events", DIFFER.label]);
    assert_eq!(by_part[3..], parts.collect::<Vec<_>>());

    let path = root().join("tests/data/kvm-guest/idle_quiet.dat");
    let report = score(&path, &RecordingOptions::default(), Per::All, None).unwrap();
    let out = view::score(&report, Per::All);
    let recorded = Measure::all_in(Place::Recorded).map(|m| m.label);
    assert_eq!(out.tables[0].head, std::iter::once("CPUs").chain(recorded).collect::<Vec<_>>());
}

#[test]
fn csv_has_a_column_or_a_quantity_for_each_and_nothing_else() {
    let report = replayed();
    let s = &report.traces[0].governors[0].score;
    let csv = view::replay(&report).render(Format::Csv, &report).unwrap();
    let mut lines = csv.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let (head, first) = (lines.next().unwrap(), lines.next().unwrap());
    for m in MEASURES.iter().filter(|m| *m != DIFFER) {
        let column = head.iter().position(|c| Some(*c) == m.column);
        let cell = first[column.unwrap_or_else(|| panic!("no column of {}", m.name))];
        assert_eq!(cell.parse::<f64>().ok(), (m.of)(s).map(Number::as_f64), "{}", m.name);
    }
    let others =
        ["trace", "governor", "part", "decisions", "regret_pct", "energy_unit", "assumed", "warnings"];
    let measured: Vec<&str> =
        head.iter().copied().filter(|c| !others.contains(c) && !c.starts_with("state")).collect();
    let known: Vec<&str> = Measure::by_column().iter().map(|(column, _)| *column).collect();
    assert_eq!(measured, known);

    let report = compared(Vec::new());
    let csv = view::compare(&report).render(Format::Csv, &report).unwrap();
    let rows = csv.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let found: BTreeSet<String> = rows.filter(|r| r[4] == "metric").map(|r| r[8].to_owned()).collect();
    let unit = &report.traces[0].comparison.a.score.energy_unit;
    let compared = Measure::all_in(Place::Compared).map(|m| format!("{}{}", m.name, m.unit.suffix(unit)));
    let faults = names(Place::Fault).into_iter().map(str::to_owned);
    assert_eq!(found, compared.chain(faults).collect());
}

#[test]
fn fail_if_understands_what_is_compared_and_nothing_else() {
    let understood = |m: &Measure| {
        ["5%", "5us", "5", "+5%"]
            .iter()
            .any(|v| Condition::read(&format!("{} > {v}", m.name), &vocabulary()).is_ok())
    };
    let all = help();
    for m in &MEASURES {
        let is_compared = m.is_in(Place::Compared) || m.is_in(Place::Common);
        assert_eq!(understood(m), is_compared, "{}", m.name);
        let words = |text: &str| text.split([' ', ',', ':', '\n']).any(|word| word == m.name);
        assert_eq!(words(&all), is_compared, "{} in the help", m.name);
    }
    let asked =
        measures().map(|m| format!("{} >= {}", m.name, if m.unit == Unit::Energy { "+0%" } else { "0" }));
    let with_units = asked.zip(measures()).map(|(text, m)| match m.unit {
        Unit::Share => text + "%",
        Unit::Time | Unit::Span => text + "ns",
        Unit::Count | Unit::Energy => text,
    });
    let report = compared(with_units.collect());
    for (check, m) in report.checks.iter().zip(measures()) {
        let c = report.traces[0].comparison.change(m);
        let expected = if m == ENERGY { c.change_pct } else { Some(c.b) };
        assert_eq!(check.measured[0].value, expected, "{}", check.expression);
    }
}

#[test]
fn a_ranking_is_by_what_is_better_less_or_more() {
    for m in Measure::all_in(Place::Ranking) {
        assert_ne!(m.better, Better::Neither, "{}: nothing to rank by", m.name);
    }
}

fn unit(m: &Measure) -> &'static str {
    match m.unit {
        Unit::Count => "",
        Unit::Share => "%",
        Unit::Time | Unit::Span => "ns",
        Unit::Energy => "`energy_unit`",
    }
}

/// The table of `docs/reference/json.md`.
fn page() -> String {
    let mut out = "| measure | what | unit | better | in `score` | CSV column | `--fail-if` |\n|---|---|---|---|---|---|---|\n".to_owned();
    let code = |text: &str| format!("`{text}`");
    for m in &MEASURES {
        let better = match m.better {
            Better::Less => "less",
            Better::More => "more",
            Better::Neither => "",
        };
        let json = if m == DIFFER { format!("in a comparison: `{}`", m.json) } else { code(m.json) };
        let asked = if measures().any(|asked| asked == m) { code(m.name) } else { String::new() };
        let column = m.column.map_or_else(String::new, code);
        out += &format!(
            "| {} | {} | {} | {better} | {json} | {column} | {asked} |\n",
            m.label,
            m.meaning,
            unit(m)
        );
    }
    out
}

/// `IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test view measures::` writes the table anew; read it then.
#[test]
fn the_page_about_json_has_every_measure() {
    let path = root().join("docs/reference/json.md");
    let text = fs::read_to_string(&path).unwrap();
    let written = page();
    let head = written.lines().next().unwrap();
    let from =
        text.find(head).unwrap_or_else(|| panic!("docs/reference/json.md: no table begins with {head}"));
    let to = from + text[from..].find("\n\n").unwrap() + 1;
    let new = format!("{}{written}{}", &text[..from], &text[to..]);
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&path, new).unwrap();
    } else {
        assert_eq!(
            text, new,
            "docs/reference/json.md is out of date: IDLEWISE_UPDATE_DOCS=1 writes its table"
        );
    }
}
