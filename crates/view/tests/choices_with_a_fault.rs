// SPDX-License-Identifier: GPL-2.0-only
//! Does every result say that a governor chose what was switched off, or too slow for the latency limit?

use std::path::{Path, PathBuf};

use idlewise_recording::ReplaySetup;
use idlewise_report::Format;
use idlewise_study::compare::{CompareRequest, compare};
use idlewise_study::replay::{ReplayReport, ReplayRequest, replay};
use idlewise_view as view;

fn mixed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat")
}

fn replayed(governors: &[&str]) -> ReplayReport {
    let request = ReplayRequest {
        traces: vec![mixed()],
        setup: ReplaySetup { platform: Some("skylake-sp".to_owned()), seed: 1, ..ReplaySetup::default() },
        governors: governors.iter().map(|g| (*g).to_owned()).collect(),
        ..ReplayRequest::default()
    };
    replay(&request, &|_, _| ()).unwrap()
}

#[test]
fn a_state_that_is_off_is_chosen_for_a_limit_of_0_and_everybody_hears_of_it() {
    for governor in ["teo", "menu"] {
        let limited = format!("{governor}:disable=0,latency_limit_us=0");
        let report = replayed(&[governor, &limited]);
        let [free, wrong] = report.traces[0].governors.as_slice() else { panic!("two results") };
        let free = free.score.breaches;
        assert_eq!((free.disabled, free.over_limit, free.no_state), (0, 0, 0));
        let breaches = wrong.score.breaches;
        assert!(wrong.decisions > 1000);
        assert_eq!(breaches.disabled, wrong.decisions, "{governor}: {breaches:?}");
        assert_eq!((breaches.over_limit, breaches.no_state), (0, 0), "state 0 takes no time to leave");

        let shown = view::replay(&report);
        let text = shown.render(Format::Table, &report).unwrap();
        let warned = text.find("WARNING   ").unwrap();
        assert!(warned < text.find("\n metric").unwrap(), "above the table: {text}");
        let said = text.get(warned..).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        let n = wrong.decisions;
        let expected = format!(
            "WARNING {limited} chose a state that was switched off, although another was on: {n} of {n} choices (100.00 %)"
        );
        assert!(said.starts_with(&expected), "{said}");
        let csv = shown.render(Format::Csv, &report).unwrap();
        let column = csv.lines().next().unwrap().split(',').position(|c| c == "chose_disabled").unwrap();
        let mut rows = csv::Reader::from_reader(csv.as_bytes());
        let cells: Vec<String> = rows.records().map(|r| r.unwrap()[column].to_owned()).collect();
        assert_eq!(cells, ["0".to_owned(), n.to_string()]);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["traces"][0]["governors"][1]["score"]["breaches"]["disabled"], n);

        let request = CompareRequest {
            traces: vec![mixed()],
            setup: ReplaySetup { platform: Some("skylake-sp".to_owned()), ..ReplaySetup::default() },
            a: governor.to_owned(),
            b: limited.clone(),
            ..CompareRequest::default()
        };
        let report = compare(&request, &|_, _| ()).unwrap();
        let text = view::compare(&report).render(Format::Table, &report).unwrap();
        assert!(text.contains(&format!("WARNING   {limited} chose a state that was switched off")), "{text}");
    }
}

#[test]
fn mended_as_upstream_teo_and_menu_take_the_first_state_that_is_on() {
    for governor in ["teo", "menu"] {
        let mended = format!("{governor}:enabled_first=1,disable=0,latency_limit_us=0");
        let report = replayed(&[&mended]);
        let score = &report.traces[0].governors[0].score;
        assert_eq!(score.breaches, idlewise_score::Breaches::default(), "{governor}");
        assert_eq!(score.states[1].residency_pct, 100.0, "{governor}: state 1 is the first that is on");
    }
}

#[test]
fn where_no_state_is_off_the_mended_governors_choose_as_before() {
    for governor in ["teo", "menu"] {
        for limits in ["", ",latency_limit_us=0", ",latency_limit_us=5", ",disable=1"] {
            let [as_is, mended] = [0, 1].map(|on| {
                let report = replayed(&[&format!("{governor}:enabled_first={on}{limits}")]);
                report.traces[0].governors[0].score.clone()
            });
            assert_eq!(as_is, mended, "{governor}{limits}");
        }
    }
}
