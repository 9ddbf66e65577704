// SPDX-License-Identifier: GPL-2.0-only
//! Do the kernels' own, unmodified governors run here, and do they decide as they did when the golden decisions were recorded?
//!
//! The files are compiled from kernel trees that `tools/kernel-sources.sh` fetches (`IDLEWISE_KERNEL_SOURCES` names the folder they are
//! in; `target/kernel-sources` otherwise). Nothing of them belongs to the project, and no test looks into them.

use idlewise_testkit::kernel_trees;

use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use idlewise_checkout::shared;
use idlewise_conform::Agreement;
use idlewise_conform::golden::{answers, drive_governor};
use idlewise_conform::golden_file::GoldenFile;
use idlewise_conform::recorded_governors::of_trace;
use idlewise_governor::{Governor, GovernorSource, Spec, Workshop, expand};
use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_study::replay::{ReplayRequest, replay};
use serde_json::Value;

use kernel_trees::{root, tree};

/// Golden folders of that name: the repository's selection, and the full set where it is there.
fn golden(name: &str) -> Vec<PathBuf> {
    let folders =
        [root().join("tests/data/golden/closed").join(name), shared().join("golden/closed").join(name)];
    let found: Vec<PathBuf> = folders.into_iter().filter(|f| f.is_dir()).collect();
    if found.is_empty() {
        println!("skipped: no recorded decisions {name} (IDLEWISE_SHARED, else ../shared)");
    }
    found
}

fn find(spec: &Spec) -> Governor {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("governors");
    Governor::open_in(&GovernorSource::named_by_user(spec.clone()), &Workshop::from_env().with_cache(&cache))
        .unwrap_or_else(|e| panic!("{e}"))
}

/// The parameters that a haltpoll file was recorded with.
fn recorded_params(file: &Path) -> Vec<(String, String)> {
    let car = file.to_str().unwrap().replace(".csv.gz", ".json");
    let car: Value = serde_json::from_str(&fs::read_to_string(car).unwrap()).unwrap();
    let params = car.get("haltpoll_params").and_then(Value::as_object).cloned().unwrap_or_default();
    params.into_iter().map(|(name, value)| (name, value.to_string())).collect()
}

/// Whether `kernel`, such as 7.3.4, is `version`, or one of it where that has two numbers.
fn is_of(kernel: &str, version: &str) -> bool {
    kernel == version || version.matches('.').count() == 1 && kernel.starts_with(&format!("{version}."))
}

/// Drives the governor of that name of a tree through a golden folder: no decision may differ.
fn decides_as_recorded(tree_name: &str, version: &str, governor: &str, folder: &str) {
    let Some(tree) = tree(tree_name) else { return };
    let spec = expand(&Spec::new(&format!("linux/{governor}")), &[tree]).unwrap().remove(0).spec().clone();
    let found = find(&spec);
    assert!(found.is_foreign() && found.name().ends_with(&format!("/{governor}")), "{}", found.name());
    if found.kernel().as_deref().is_none_or(|kernel| !is_of(kernel, version)) {
        println!("skipped: decisions of {governor} of {version}: the tree is {}", found.name());
        return;
    }
    for folder in golden(folder) {
        let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.retain(|f| f.to_str().is_some_and(|n| n.ends_with(".csv.gz")));
        files.sort();
        let mut sum = Agreement::default();
        for file in &files {
            let params = recorded_params(file);
            let governor =
                if params.is_empty() { found.clone() } else { find(&Spec { id: spec.id.clone(), params }) };
            sum.merge(drive_governor(&governor, file).unwrap());
        }
        println!("{} on {}: {} files, {} rows", found.name(), folder.display(), files.len(), sum.decisions);
        assert!(sum.decisions > 0, "{} is empty", folder.display());
        assert_eq!(sum.diverging(), 0, "{}: {:#?}", folder.display(), sum.first.first());
        assert_eq!(sum.other_question, 0, "{}", folder.display());
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
fn teo_of_7_3() {
    decides_as_recorded("linux-source-7.3", "7.3", "teo", "teo-7.3");
}

#[test]
fn menu_of_7_3() {
    decides_as_recorded("linux-source-7.3", "7.3", "menu", "menu-7.3");
}

#[test]
fn ladder_of_7_3() {
    decides_as_recorded("linux-source-7.3", "7.3", "ladder", "ladder-7.3");
}

#[test]
fn haltpoll_of_7_3() {
    decides_as_recorded("linux-source-7.3", "7.3", "haltpoll", "haltpoll-7.3");
}

/// Those of the newest kernel that has been seen.
const NEWEST: [&str; 4] = ["teo", "menu", "ladder", "haltpoll"];

/// All golden files: the repository's, and the full set where it is there.
fn all_golden() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for top in [root().join("tests/data/golden/closed"), shared().join("golden/closed")] {
        let folders = fs::read_dir(top).into_iter().flatten().map(|e| e.unwrap().path());
        for folder in folders.filter(|f| f.is_dir()) {
            all.extend(fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()));
        }
    }
    all.retain(|f| f.to_str().is_some_and(|n| n.ends_with(".csv.gz")));
    // Where there is one state, the idle loop of 7.3 asks no governor (governor-behaviour.md, 4.5).
    all.retain(|f| {
        let car = fs::read_to_string(f.to_str().unwrap().replace(".csv.gz", ".json")).unwrap();
        let car: Value = serde_json::from_str(&car).unwrap();
        car["states"].as_array().unwrap().len() > 1
    });
    all.sort();
    all
}

#[test]
fn those_of_7_3_and_ours_answer_alike_on_every_golden_file() {
    let Some(tree) = tree("linux-source-7.3") else { return };
    let files = all_golden();
    assert!(files.len() >= 30, "{} files", files.len());
    let pair = |name: &str| {
        let theirs = expand(&Spec::new(&format!("linux/{name}")), slice::from_ref(&tree))
            .unwrap()
            .remove(0)
            .spec()
            .clone();
        [find(&theirs), find(&Spec::new(name))]
    };
    let pairs = NEWEST.map(pair);
    let mut steps = 0;
    for file in &files {
        let golden = GoldenFile::read(file).unwrap();
        for [theirs, ours] in &pairs {
            let [there, here] = [theirs, ours].map(|governor| answers(governor, &golden).unwrap());
            let at = there.iter().zip(&here).position(|(a, b)| a != b);
            assert_eq!(
                at,
                None,
                "{} on {}: {:?}",
                theirs.name(),
                file.display(),
                at.map(|at| (there[at], here[at]))
            );
            assert_eq!(there.len(), here.len());
            steps += here.len();
        }
    }
    println!("{}: {} files, {steps} answers alike", tree.display(), files.len());
}

#[test]
fn those_of_7_3_and_ours_give_the_same_numbers_on_every_recording() {
    let Some(tree) = tree("linux-source-7.3") else { return };
    let mut recordings: Vec<PathBuf> = ["mixed.dat", "sleeploop.dat", "kvm-guest/idle_quiet.dat"]
        .map(|f| root().join("tests/data").join(f))
        .to_vec();
    for entry in fs::read_dir(shared().join("traces/kvm-guest")).into_iter().flatten() {
        recordings.push(entry.unwrap().path());
    }
    recordings.retain(|f| f.extension().is_some_and(|e| e == "dat"));
    recordings.sort();
    let names = NEWEST.iter().flat_map(|name| [format!("linux/{name}"), (*name).to_owned()]);
    let names: Vec<String> = names.collect();
    let mut decisions = 0;
    for recording in &recordings {
        for platform in [None, Some("pixel6"), Some("skylake-sp")] {
            let request = ReplayRequest {
                traces: vec![recording.clone()],
                setup: ReplaySetup {
                    recording: RecordingOptions {
                        recorded_on: Some("kvm-guest".to_owned()),
                        kernel_governor: Some("menu".to_owned()),
                        ..RecordingOptions::default()
                    },
                    platform: platform.map(str::to_owned),
                    kernel_trees: vec![tree.clone()],
                    ..ReplaySetup::default()
                },
                governors: names.clone(),
                ..ReplayRequest::default()
            };
            let report = replay(&request, &|_, _| ()).unwrap();
            for pair in report.traces[0].governors.chunks(2) {
                let [theirs, ours] = pair else { panic!("a governor without its own") };
                let of = format!("{} on {}, {platform:?}", theirs.governor, recording.display());
                assert_eq!(
                    (theirs.failure.as_deref(), theirs.notes.as_slice()),
                    (None, ours.notes.as_slice()),
                    "{of}"
                );
                assert_eq!((theirs.decisions, &theirs.score), (ours.decisions, &ours.score), "{of}");
                decisions += ours.decisions;
            }
        }
    }
    println!("{}: {} recordings, {decisions} decisions alike", tree.display(), recordings.len());
    assert!(decisions > 100_000, "{decisions}");
}

#[test]
fn menu_of_7_3_chooses_here_what_it_chose_in_a_booted_kernel() {
    let Some(tree) = tree("linux-source-7.3") else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = idlewise_testkit::kernels_own_menu(folder.path());
    let spec = expand(&Spec::new("linux/menu"), &[tree]).unwrap().remove(0).spec().clone();
    let menu = find(&spec);
    let all =
        of_trace(&trace, &RecordingOptions::default(), &idlewise_testkit::guest_of_it(), Some(&menu), &[])
            .unwrap();
    let own = all.iter().find(|p| p.kernel_governor == "menu").unwrap();
    let counts = own.result.as_ref().unwrap();
    assert!(counts.decisions > 300 && counts.unknown_state == 0, "{counts:?}");
    assert_eq!(counts.same, counts.decisions, "{:#?}", counts.first);
}

#[test]
fn the_kernels_teo_and_ours_give_the_same_table_whatever_the_number_of_threads() {
    let Some(tree) = tree("linux-source-6.1") else { return };
    let request = ReplayRequest {
        traces: vec![root().join("tests/data/mixed.dat")],
        setup: ReplaySetup {
            platform: Some("pixel6".to_owned()),
            kernel_trees: vec![tree],
            ..ReplaySetup::default()
        },
        governors: ["linux/teo", "teo-6.1", "linux/menu", "oracle"].map(str::to_owned).to_vec(),
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
