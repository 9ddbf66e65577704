// SPDX-License-Identifier: GPL-2.0-only
//! Requests of results that are asked again, whatever the order of their fields.

use std::path::{Path, PathBuf};

use idlewise_experiment::again::{NamesGovernors, offered, request};
use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_study::compare::{self, CompareRequest};
use idlewise_study::replay::{self, Per, ReplayRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The request of a result in `folder` whose request is `recorded`.
fn read<R: DeserializeOwned + NamesGovernors>(folder: &Path, schema: &str, recorded: &Value) -> R {
    let path = folder.join("result.json");
    std::fs::write(&path, json!({ "schema": schema, "request": recorded }).to_string()).unwrap();
    let command = schema.trim_start_matches("idlewise.").trim_end_matches("/1");
    let trust: Vec<PathBuf> = recorded["kernel_trees"].as_array().map_or_else(Vec::new, |trees| {
        trees.iter().map(|tree| PathBuf::from(tree.as_str().unwrap())).collect()
    });
    request(&path, command, schema, &offered(&trust).unwrap()).unwrap().0
}

/// The fields of a request as a result holds them.
fn fields(request: &impl Serialize) -> Value {
    serde_json::to_value(request).unwrap()
}

#[test]
fn a_request_is_read_with_its_setup_among_the_other_fields() {
    let folder = tempfile::tempdir().unwrap();
    let trees = folder.path().join("linux");
    std::fs::create_dir_all(trees.join("drivers/cpuidle/governors")).unwrap();
    std::fs::write(trees.join("drivers/cpuidle/governors/menu.c"), "").unwrap();
    std::fs::write(trees.join("Makefile"), "VERSION = 6\nPATCHLEVEL = 12\n").unwrap();
    let setup = ReplaySetup {
        recording: RecordingOptions {
            recorded_on: Some("kvm-guest".to_owned()),
            kernel_governor: Some("menu".to_owned()),
            despite_counters: vec![2],
            hz: Some(100),
            ..RecordingOptions::default()
        },
        platform: Some("pixel6".to_owned()),
        cluster: Some("BIG".to_owned()),
        kernel_trees: vec![trees.clone()],
        seed: u64::MAX,
    };
    let recording =
        json!({"recorded_on": "kvm-guest", "kernel_governor": "menu", "despite_counters": [2], "hz": 100});
    let recorded = json!({
        "traces": ["a.dat", "b.dat"], "recording": recording, "platform": "pixel6", "cluster": "BIG",
        "governors": ["menu", "oracle"], "kernel_trees": [trees], "baseline": "menu", "per": "cpu",
        "seed": u64::MAX, "sensitivity": true, "power_limit": "pl1=6W:28s"
    });
    let asked: ReplayRequest = read(folder.path(), replay::SCHEMA, &recorded);
    let expected = ReplayRequest {
        traces: ["a.dat", "b.dat"].map(PathBuf::from).to_vec(),
        setup: setup.clone(),
        governors: ["menu", "oracle"].map(str::to_owned).to_vec(),
        baseline: Some("menu".to_owned()),
        per: Per::Cpu,
        sensitivity: true,
        power_limit: Some("pl1=6W:28s".to_owned()),
    };
    assert_eq!(asked, expected);
    assert_eq!(fields(&asked), recorded);

    let recorded = json!({
        "traces": ["a.dat"], "recording": recording, "platform": "pixel6", "cluster": "BIG", "a": "menu", "b": "teo",
        "kernel_trees": [trees], "per": "all", "seed": u64::MAX, "fail_if": ["energy > +1%"]
    });
    let asked: CompareRequest = read(folder.path(), compare::SCHEMA, &recorded);
    let expected = CompareRequest {
        traces: vec![PathBuf::from("a.dat")],
        setup,
        a: "menu".to_owned(),
        b: "teo".to_owned(),
        per: Per::All,
        fail_if: vec!["energy > +1%".to_owned()],
    };
    assert_eq!(asked, expected);
    assert_eq!(fields(&asked), recorded);

    // As most results have it: nothing is said of the machine, and no tree is named.
    let recorded = json!({
        "traces": ["a.dat"], "recording": {"recorded_on": null, "kernel_governor": null}, "platform": null,
        "cluster": null, "governors": ["menu"], "baseline": null, "per": "all", "seed": 3
    });
    let asked: ReplayRequest = read(folder.path(), replay::SCHEMA, &recorded);
    assert_eq!(asked.setup, ReplaySetup { seed: 3, ..ReplaySetup::default() });
    assert_eq!(fields(&asked), recorded);
}
