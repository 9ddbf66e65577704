// SPDX-License-Identifier: GPL-2.0-only
//! Does `explain` tell what replay does, and find where governors part?

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};

use idlewise_governor::catalog;
use idlewise_lab::RecordingOptions;
use idlewise_lab::explain::{
    ExplainReport, ExplainRequest, Which, WhyDiffer, WhyDifferRequest, explain, view, why_differ,
};
use idlewise_lab::replay::{ReplayRequest, replay};
use idlewise_report::Format;

fn mixed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat")
}

fn request(governor: &str, which: Which) -> ExplainRequest {
    ExplainRequest {
        trace: mixed(),
        recording: RecordingOptions::default(),
        platform: Some("pixel6".to_owned()),
        cluster: None,
        governor: governor.to_owned(),
        others: Vec::new(),
        kernel_trees: Vec::new(),
        cpu: None,
        which,
        seed: 0,
    }
}

fn explained(governor: &str, which: Which) -> ExplainReport {
    explain(&request(governor, which)).unwrap()
}

fn differ(a: &str, b: &str) -> WhyDiffer {
    why_differ(&WhyDifferRequest {
        trace: mixed(),
        recording: RecordingOptions::default(),
        platform: Some("pixel6".to_owned()),
        cluster: None,
        governors: [a.to_owned(), b.to_owned()],
        kernel_trees: Vec::new(),
        cpu: None,
        seed: 0,
    })
    .unwrap()
}

#[test]
fn a_governor_that_explains_itself_decides_as_ever() {
    for info in catalog() {
        let replayed = replay(
            &ReplayRequest {
                traces: vec![mixed()],
                platform: Some("pixel6".to_owned()),
                governors: vec![info.id.to_owned()],
                ..ReplayRequest::default()
            },
            &|_, _| {},
        )
        .unwrap();
        let report = explained(info.id, Which::Decision(500));
        let e = &report.explanation;
        assert_eq!(e.decisions, replayed.traces[0].governors[0].decisions, "{}", info.id);
        // What a plain copy did at that time.
        let mut beside = request("deepest", Which::At(e.at_ns));
        beside.others = vec![info.id.to_owned()];
        let other = explain(&beside).unwrap().explanation.others.remove(0);
        let plain = request(info.id, Which::At(e.at_ns));
        let again = explain(&plain).unwrap().explanation;
        assert_eq!((again.decision, other.state), (500, e.chosen.state), "{}", info.id);
        assert!(!e.reasons.is_empty(), "{} says nothing", info.id);
    }
}

#[test]
fn a_decision_is_found_by_its_time() {
    let by_number = explained("menu", Which::Decision(1000)).explanation;
    assert_eq!(explained("menu", Which::At(by_number.at_ns)).explanation, by_number);
    assert_eq!(explained("menu", Which::At(by_number.at_ns + 1)).explanation, by_number);
    assert_eq!(explained("menu", Which::At(by_number.at_ns - 1)).explanation.decision, 999);
    let said = explain(&request("menu", Which::At(5))).unwrap_err().to_string();
    assert!(said.contains("was not idle yet at 0.000000005 s") && said.contains("4816.2"), "{said}");
}

#[test]
fn what_cannot_be_explained_is_refused_with_the_reason() {
    let said = explain(&request("menu", Which::Decision(1_000_000))).unwrap_err().to_string();
    assert!(said.contains("there is no number 1000000"), "{said}");
    let said = explain(&request("oracle", Which::Decision(0))).unwrap_err().to_string();
    assert!(said.contains("--others"), "{said}");
    let wrong = ExplainRequest { cpu: Some(7), ..request("menu", Which::Decision(0)) };
    let said = explain(&wrong).unwrap_err().to_string();
    assert!(said.contains("CPU 7") && said.ends_with(": 0"), "{said}");
}

#[test]
fn a_governor_does_not_part_from_itself() {
    let same = differ("teo-6.1", "teo-util:util_steps=0");
    assert_eq!((same.other_state, same.other_tick, same.moments.len()), (0, 0, 0));
    assert!(same.waits > 7000);
}

#[test]
fn partings_are_found_on_both_sides_of_the_same_wait() {
    let found = differ("teo-6.1", "teo-util");
    assert!(found.other_state > 100 && found.other_tick > 1000);
    assert!((1..=3).contains(&found.moments.len()));
    for m in &found.moments {
        let choice = |e: &idlewise_lab::explain::Explanation| {
            (e.chosen.state, e.came.as_ref().unwrap().tick == "kept")
        };
        assert_ne!(choice(&m.a), choice(&m.b), "{}", m.why);
        assert!(m.a.at_ns.abs_diff(m.b.at_ns) < 4_000_000, "{}: not the same wait", m.why);
    }
    assert!(found.moments[0].why.starts_with("the first"));
    let turned = differ("teo-util", "teo-6.1");
    assert_eq!(turned.moments[0].latency_ns, -found.moments[0].latency_ns);
    assert_eq!(turned.moments[0].a, found.moments[0].b);
}

#[test]
fn every_form_has_the_reasons() {
    let report = explained("teo-util", Which::Decision(3000));
    for format in [Format::Table, Format::Markdown, Format::Csv, Format::Json] {
        let text = view::explain(&report).render(format, &report).unwrap();
        let word = report.explanation.reasons[0].split(' ').next().unwrap();
        assert!(text.contains(word), "{format:?}:\n{text}");
    }
}
