// SPDX-License-Identifier: GPL-2.0-only
//! Do the kernels' own, unmodified governors run here, and do they decide as they did when the golden decisions were recorded?
//!
//! The files are compiled from kernel trees that `tools/kernel-sources.sh` fetches (`IDLEWISE_KERNEL_SOURCES` names the folder they are
//! in; `target/kernel-sources` otherwise). Nothing of them belongs to the project, and no test looks into them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

#[path = "common/kernel_trees.rs"]
mod kernel_trees;

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_governor::{Governor, GovernorSource, Spec, Workshop, expand};
use idlewise_lab::drive::{Drive, drive_governor};
use idlewise_lab::replay::{ReplayRequest, replay};
use serde_json::Value;

use kernel_trees::{root, tree};

/// Golden folders of that name: the repository's selection, and the full set where it is there.
fn golden(name: &str) -> Vec<PathBuf> {
    let shared = std::env::var_os("IDLEWISE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let folders =
        [root().join("tests/data/golden/closed").join(name), shared.join("golden/closed").join(name)];
    let found: Vec<PathBuf> = folders.into_iter().filter(|f| f.is_dir()).collect();
    if found.is_empty() {
        println!("skipped: no recorded decisions {name} (IDLEWISE_SHARED, else ../shared)");
    }
    found
}

fn find(spec: &Spec, cache: &Path) -> Governor {
    Governor::open_in(&GovernorSource::named_by_user(spec.clone()), &Workshop::from_env().with_cache(cache))
        .unwrap_or_else(|e| panic!("{e}"))
}

/// The parameters that a haltpoll file was recorded with.
fn recorded_params(file: &Path) -> Vec<(String, String)> {
    let car = file.to_str().unwrap().replace(".csv.gz", ".json");
    let car: Value = serde_json::from_str(&fs::read_to_string(car).unwrap()).unwrap();
    let params = car.get("haltpoll_params").and_then(Value::as_object).cloned().unwrap_or_default();
    params.into_iter().map(|(name, value)| (name, value.to_string())).collect()
}

/// Drives the governor of that name of a tree through a golden folder: no decision may differ.
fn decides_as_recorded(tree_name: &str, version: &str, governor: &str, folder: &str) {
    let Some(tree) = tree(tree_name) else { return };
    let cache = tempfile::tempdir().unwrap();
    let spec = expand(&Spec::new(&format!("linux/{governor}")), &[tree]).unwrap().remove(0).spec().clone();
    let found = find(&spec, cache.path());
    assert!(found.is_foreign() && found.name().ends_with(&format!("/{governor}")), "{}", found.name());
    if found.kernel().as_deref() != Some(version) {
        println!("skipped: decisions of {governor} of {version}: the tree is {}", found.name());
        return;
    }
    for folder in golden(folder) {
        let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.retain(|f| f.to_str().is_some_and(|n| n.ends_with(".csv.gz")));
        files.sort();
        let mut sum = Drive::default();
        for file in &files {
            let params = recorded_params(file);
            let governor = if params.is_empty() {
                found.clone()
            } else {
                find(&Spec { id: spec.id.clone(), params }, cache.path())
            };
            let done = drive_governor(&governor, file).unwrap();
            sum.steps += done.steps;
            sum.mismatches += done.mismatches;
            sum.sleep_asks_differ += done.sleep_asks_differ;
            sum.first.extend(done.first);
        }
        println!("{} on {}: {} files, {sum}", found.name(), folder.display(), files.len());
        assert!(sum.steps > 0, "{} is empty", folder.display());
        assert_eq!(sum.mismatches, 0, "{}: {:#?}", folder.display(), sum.first.first());
        assert_eq!(sum.sleep_asks_differ, 0, "{}", folder.display());
    }
}

#[test]
fn teo_of_6_1() {
    decides_as_recorded("linux-source-6.1", "6.1.192", "teo", "teo-6.1");
}

#[test]
fn menu_of_6_1() {
    decides_as_recorded("linux-source-6.1", "6.1.192", "menu", "menu-6.1.192");
}

#[test]
fn ladder_of_6_1() {
    decides_as_recorded("linux-source-6.1", "6.1.192", "ladder", "ladder-7.3");
}

#[test]
fn haltpoll_of_6_1() {
    decides_as_recorded("linux-source-6.1", "6.1.192", "haltpoll", "haltpoll-5.10");
}

#[test]
fn teo_of_6_12() {
    decides_as_recorded("linux-source-6.12", "6.12.117", "teo", "teo-6.12.117");
}

#[test]
fn menu_of_6_12() {
    decides_as_recorded("linux-source-6.12", "6.12.117", "menu", "menu-6.12.117");
}

#[test]
fn ladder_of_6_12() {
    decides_as_recorded("linux-source-6.12", "6.12.117", "ladder", "ladder-7.3");
}

#[test]
fn haltpoll_of_6_12() {
    decides_as_recorded("linux-source-6.12", "6.12.117", "haltpoll", "haltpoll-7.3");
}

#[test]
fn the_kernels_teo_and_ours_give_the_same_table_whatever_the_number_of_threads() {
    let Some(tree) = tree("linux-source-6.1") else { return };
    let request = ReplayRequest {
        traces: vec![root().join("tests/data/mixed.dat")],
        platform: Some("pixel6".to_owned()),
        governors: ["linux/teo", "teo-6.1", "linux/menu", "oracle"].map(str::to_owned).to_vec(),
        kernel_trees: vec![tree],
        ..ReplayRequest::default()
    };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| replay(&request, &|_, _| ()).unwrap())
    };
    let one = with(1);
    for threads in [2, 5] {
        assert_eq!(with(threads), one, "{threads} threads");
    }
    let [theirs, ours, ..] = one.traces[0].governors.as_slice() else { panic!("two governors") };
    assert!(
        theirs.governor.starts_with("linux-6.1") && theirs.governor.ends_with("/teo"),
        "{}",
        theirs.governor
    );
    assert_eq!((theirs.failure.as_deref(), theirs.notes.as_slice()), (None, &[][..]));
    assert_eq!((theirs.decisions, &theirs.score), (ours.decisions, &ours.score));
    assert_eq!(one.foreign.len(), 2);
}
