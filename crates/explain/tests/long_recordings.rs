// SPDX-License-Identifier: GPL-2.0-only
//! Does an answer stay the same when the idle periods of a recording are in a temporary file?

use idlewise_testkit::kernel_trees;

use std::path::{Path, PathBuf};

use idlewise_explain::{DecisionAddress, ExplainRequest, WhyDifferRequest, explain, why_differ};
use idlewise_recording::{Limits, Recording, RecordingOptions, ReplaySetup};
use idlewise_study::compare::{CompareRequest, compare};
use idlewise_study::info;
use idlewise_study::replay::ReplayRequest;
use idlewise_study::score::score;

const FILED: Limits = Limits { periods: 20, block: 7 };

fn mixed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat")
}

fn both() -> [RecordingOptions; 2] {
    let memory = idlewise_testkit::known("kvm-guest", "menu");
    let filed = RecordingOptions { limits: FILED, ..memory.clone() };
    let recording = Recording::open(&mixed(), &filed).unwrap();
    assert!(recording.tape.cpus.iter().any(|c| !c.pieces.in_memory()), "the limit is reached");
    [memory, filed]
}

fn json(report: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(report).unwrap()
}

#[test]
fn a_replay_says_the_same() {
    let governors = ["menu", "teo", "haltpoll", "shallow", "oracle"];
    let [memory, filed] = both().map(|recording| {
        let request = idlewise_testkit::request(&[&mixed()], "kvm-guest", "menu", &governors);
        json(&idlewise_testkit::run(&ReplayRequest {
            setup: ReplaySetup { recording, ..request.setup },
            sensitivity: true,
            ..request
        }))
    });
    assert_eq!(memory, filed);
}

#[test]
fn a_foreign_governor_says_the_same() {
    let Some(tree) = kernel_trees::tree("linux-source-6.12") else { return };
    let [memory, filed] = both().map(|recording| {
        let request = idlewise_testkit::request(&[&mixed()], "kvm-guest", "menu", &["linux/menu"]);
        json(&idlewise_testkit::run(&ReplayRequest {
            setup: ReplaySetup { recording, kernel_trees: vec![tree.clone()], ..request.setup },
            ..request
        }))
    });
    assert_eq!(memory, filed);
}

#[test]
fn a_score_a_comparison_and_an_explanation_say_the_same() {
    let [memory, filed] = both().map(|recording| {
        let scored = json(&score(&mixed(), &recording, Default::default(), None).unwrap());
        let request = CompareRequest {
            traces: vec![mixed()],
            setup: ReplaySetup { recording: recording.clone(), ..ReplaySetup::default() },
            a: "menu".to_owned(),
            b: "teo".to_owned(),
            ..CompareRequest::default()
        };
        let compared = json(&compare(&request, &|_, _| ()).unwrap());
        let request = ExplainRequest {
            trace: mixed(),
            setup: ReplaySetup { recording: recording.clone(), ..ReplaySetup::default() },
            governor: "teo".to_owned(),
            others: vec!["menu".to_owned()],
            cpu: Some(0),
            which: DecisionAddress::Decision(40),
        };
        let explained = json(&explain(&request).unwrap());
        let request = WhyDifferRequest {
            trace: mixed(),
            setup: ReplaySetup { recording: recording.clone(), ..ReplaySetup::default() },
            governors: ["menu", "teo"].map(str::to_owned),
            cpu: None,
        };
        let differ = json(&why_differ(&request).unwrap());
        let looked = json(&info::info(&mixed(), &recording, &[]).unwrap());
        let bytes = Recording::open(&mixed(), &recording).unwrap().tape_bytes().unwrap();
        (scored, compared, explained, differ, looked, bytes)
    });
    assert!(memory == filed, "{memory:?}\n{filed:?}");
}
