// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use idlewise_chart::{Cell, available};
use idlewise_machine::boot::{BootReport, Cell as Booted, RecordingCheck};
use idlewise_model::{NotKnown, NoteId};
use idlewise_page::{Source, boot};
use idlewise_report::Report;
use idlewise_score::{Score, StateScore};
use idlewise_study::replay::results_of_scores;

fn score(wakeups: u64, energy: f64) -> Score {
    let state = |name: &str, entries: u64, residency_pct: f64| StateScore {
        name: name.to_owned(),
        entries,
        residency_ns: entries * 1000,
        residency_pct,
        above: 1,
        below: 2,
        rejected: 0,
    };
    let mut s = Score::of(&[]);
    (s.wakeups, s.energy, s.energy_unit) = (wakeups, energy, "mJ".to_owned());
    (s.too_deep_pct, s.too_shallow_pct) = (1.5, 2.5);
    (s.latency.wakes, s.latency.mean_ns, s.latency.p99_ns) = (wakeups, 1250.5, 90_000);
    s.states = vec![state("WFI", wakeups / 2, 12.5), state("cpu-sleep", wakeups / 2, 87.5)];
    s
}

fn report() -> BootReport {
    let governors = results_of_scores(vec![
        ("linux/menu".to_owned(), score(200, 4.0), Vec::new()),
        ("teo-util".to_owned(), score(100, 3.0), Vec::new()),
    ]);
    let check = |governor: &str| RecordingCheck {
        governor: governor.to_owned(),
        parity: None,
        fidelity: Err(NotKnown::because(NoteId::NotAsked, "not asked")),
        counters: None,
    };
    BootReport {
        schema: String::new(),
        version: String::new(),
        kernel: "6.12.1".to_owned(),
        kernel_id: "abc".to_owned(),
        qemu: "9".to_owned(),
        baseline: "linux/menu".to_owned(),
        cells: vec![Booted {
            platform: "rk3399".to_owned(),
            driver: "synth".to_owned(),
            cpus: 6,
            workload: "timer".to_owned(),
            seconds: 2,
            start: None,
            folder: PathBuf::new(),
            governors,
            checks: vec![check("linux/menu"), check("teo-util")],
            complaints: vec![NoteId::GuestFailed.note("a guest complains")],
        }],
    }
}

/// What is not known of a recording is unknown in the page, not 0.
#[test]
fn a_booted_kernel_has_measures_residencies_and_what_agrees() {
    let r = report();
    let everything = Report::default();
    let json = serde_json::to_value(&r).unwrap();
    let page = boot(&r, Source { everything: &everything, json, command: Vec::new() });
    let charts: Vec<&str> = available(&page).iter().map(|c| c.name).collect();
    assert!(charts.starts_with(&["measures", "front", "front-p99", "misses", "residency"]), "{charts:?}");
    let table = |name: &str| &page.tables.iter().find(|t| t.name == name).unwrap().rows;
    let energy: Vec<_> = table("measures").iter().filter(|row| row[3] == "energy".into()).collect();
    assert_eq!((&energy[0][7], &energy[1][7], &energy[1][9]), (&4.0.into(), &3.0.into(), &(-25.0).into()));
    assert_eq!(table("residency")[1][6], 87.5.into());
    assert_eq!(table("percentiles")[0][3], 1250.5.into());
    assert_eq!(table("agreement")[1][2..], [Cell::Unknown, Cell::Unknown, Cell::Unknown, Cell::Unknown]);
    assert_eq!(page.warnings, ["a guest complains"]);
    assert_eq!(page.verdicts.len(), 1, "{:?}", page.verdicts);
}
