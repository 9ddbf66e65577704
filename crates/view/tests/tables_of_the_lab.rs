// SPDX-License-Identifier: GPL-2.0-only
//! Do results that need a guest, or a recording of a known workload, come as tables of their own columns, too?

use std::path::Path;

use idlewise_experiment::beside::{
    AgainstMenu, BesideReport, Cell as BesideCell, Pair, Share, TaskMeasures, TraceMeasures,
};
use idlewise_machine::boot::{BootReport, Cell, SelfTest};
use idlewise_recording::ReplaySetup;
use idlewise_recording::placement::Per;
use idlewise_report::{Format, Report};
use idlewise_stats::Summary;
use idlewise_study::replay::{GovernorResult, Per as Parts, ReplayRequest, replay};
use idlewise_view as view;

/// The CSV of a report, by line and cell; Parquet and Arrow files can be written of it, too.
fn cells(report: &Report) -> Vec<Vec<String>> {
    for form in [Format::Parquet, Format::Arrow] {
        assert!(report.encode(form, &(), &[]).unwrap().len() > 100);
    }
    let csv = report.render(Format::Csv, &()).unwrap();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_bytes());
    reader.records().map(|line| line.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn column<'c>(cells: &'c [Vec<String>], name: &str) -> Vec<&'c str> {
    let at = cells[0].iter().position(|c| c == name).unwrap_or_else(|| panic!("no column {name}"));
    cells[1..].iter().map(|line| line[at].as_str()).collect()
}

fn results() -> Vec<GovernorResult> {
    let request = ReplayRequest {
        traces: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat")],
        setup: ReplaySetup { seed: 1, ..ReplaySetup::default() },
        governors: vec!["menu".to_owned(), "teo".to_owned()],
        per: Parts::Cpu,
        ..ReplayRequest::default()
    };
    replay(&request, &|_, _| ()).unwrap().traces.remove(0).governors
}

#[test]
fn booted_runs_have_a_row_for_each_governor_and_part() {
    let mut governors = results();
    let mut failed = governors[1].clone();
    failed.failure = Some("crashed".to_owned());
    governors.push(failed);
    let cell = Cell {
        platform: "pixel6".to_owned(),
        driver: "synth".to_owned(),
        cpus: 2,
        workload: "timer".to_owned(),
        seconds: 5,
        start: None,
        folder: "lab".into(),
        governors,
        checks: Vec::new(),
        complaints: Vec::new(),
    };
    let report = BootReport {
        schema: String::new(),
        version: String::new(),
        kernel: "6.12".to_owned(),
        kernel_id: String::new(),
        qemu: String::new(),
        baseline: "menu".to_owned(),
        cells: vec![cell],
    };
    let cells = cells(&view::boot(&report, Per::All));
    let parts = 1 + report.cells[0].governors[0].groups.len();
    let of_each = |governor| column(&cells, "governor").iter().filter(|g| **g == governor).count();
    assert_eq!((of_each("menu"), of_each("teo")), (parts, 2 * parts));
    assert!(column(&cells, "workload").iter().all(|w| *w == "timer"));
    let decisions = report.cells[0].governors[0].decisions.to_string();
    assert_eq!(column(&cells, "decisions")[0], decisions);
    assert_eq!(column(&cells, "decisions")[2 * parts], "", "a governor that crashed has no number");
    assert_eq!(column(&cells, "wakeups")[2 * parts], "");
    assert_ne!(column(&cells, "state0_entries")[0], "");
}

#[test]
fn a_self_test_has_a_row_for_each_check() {
    let report: SelfTest = SelfTest { schema: String::new(), checks: Vec::new() };
    assert_eq!(cells(&view::self_test(&report)), [["check", "holds", "found"]]);
}

#[test]
fn real_and_simulated_runs_have_a_row_for_each_quantity() {
    let measures = |wakeups_per_s, tasks: &[&str]| TraceMeasures {
        window_ns: 1_000,
        wakeups_per_s,
        too_deep_pct: f64::NAN,
        too_shallow_pct: 2.5,
        ticks_per_s: 0.0,
        states: vec![("C1".to_owned(), 100.0)],
        stays_pct: [25.0; 4],
        tasks: tasks
            .iter()
            .map(|name| TaskMeasures {
                name: (*name).to_owned(),
                wakeups_per_s: 10.0,
                latency_mean_ns: 1.5,
                latency_p50_ns: 1,
                latency_p99_ns: 9,
            })
            .collect(),
    };
    let pair = Pair {
        recording: "a.dat".to_owned(),
        platform: "kvm-guest".to_owned(),
        kernel: "6.12".to_owned(),
        governor: "menu".to_owned(),
        cpus: vec![0],
        real: measures(200.5, &["a", "b"]),
        simulated: measures(100.0, &["a"]),
    };
    let report = BesideReport {
        schema: String::new(),
        version: String::new(),
        workload: "timer".to_owned(),
        seed: 1,
        notes: Vec::new(),
        pairs: vec![pair],
        cells: Vec::new(),
    };
    let cells = cells(&view::beside(&report));
    let find = |name: &str, quantity: &str| {
        let names = column(&cells, "name").into_iter().zip(column(&cells, "quantity"));
        let at = names.into_iter().position(|found| found == (name, quantity)).unwrap();
        [column(&cells, "real")[at], column(&cells, "simulated")[at]]
    };
    assert_eq!(find("", "wakeups_per_s"), ["200.5", "100"]);
    assert_eq!(find("", "too_deep_pct"), ["", ""], "what is not known is empty");
    assert_eq!(find("C1", "idle_pct"), ["100", "100"]);
    assert_eq!(find("b", "latency_p99_ns"), ["9", ""], "a task that the simulation lacks");
}

#[test]
fn several_starts_have_means_with_intervals_and_differences_to_menu() {
    let share = |real: [f64; 2], simulated: [f64; 2]| Share {
        real: Summary::of(&real),
        simulated: Summary::of(&simulated),
        gap: Summary::of(&[simulated[0] - real[0], simulated[1] - real[1]]),
    };
    let none = || share([0.0, 0.0], [0.0, 0.0]);
    let cell = |governor: &str, too_deep: Share, against_menu| BesideCell {
        platform: "pixel6".to_owned(),
        governor: governor.to_owned(),
        recordings: 2,
        too_deep,
        too_shallow: none(),
        lengths_apart_pct: Some(2.5),
        recordings_apart_pct: None,
        against_menu,
    };
    let against = AgainstMenu { menu: "menu".to_owned(), real: [-5.0, 0.0], simulated: [-8.5, 0.0] };
    let measures = TraceMeasures {
        window_ns: 1,
        wakeups_per_s: 1.0,
        too_deep_pct: 1.0,
        too_shallow_pct: 0.0,
        ticks_per_s: 1.0,
        states: Vec::new(),
        stays_pct: [0.0; 4],
        tasks: Vec::new(),
    };
    let pair = Pair {
        recording: "a".to_owned(),
        platform: "pixel6".to_owned(),
        kernel: "6.12".to_owned(),
        governor: "menu".to_owned(),
        cpus: vec![0],
        real: measures.clone(),
        simulated: measures,
    };
    let report = BesideReport {
        schema: String::new(),
        version: String::new(),
        workload: "handing".to_owned(),
        seed: 1,
        notes: Vec::new(),
        pairs: vec![pair; 4],
        cells: vec![
            cell("menu", share([10.0, 12.0], [11.0, 12.0]), None),
            cell("teo", share([5.0, 7.0], [2.0, 4.0]), Some(against)),
        ],
    };
    let text = view::beside(&report).render(Format::Table, &()).unwrap();
    let has = |words: &[&str]| text.lines().any(|l| words.iter().all(|w| l.contains(w)));
    assert!(has(&["menu on pixel6", "+0.50pp +-6.4", "2.50 %"]), "{text}");
    assert!(has(&["teo on pixel6", "-5.00pp", "-8.50pp", "-3.50pp"]), "{text}");
    // What is 0 in both is no share that agrees.
    assert!(has(&["gap", "1 of 2 shares"]) && has(&["menu", "0 of 1 differences"]), "{text}");
    assert!(!text.contains("wakeups/s"), "no table for each recording: {text}");
}
