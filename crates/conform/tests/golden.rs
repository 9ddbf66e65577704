// SPDX-License-Identifier: GPL-2.0-only
//! Do our governors decide as the kernel's compiled code did, on every recorded decision? Does PELT add up as it did?

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use idlewise_checkout::{root, shared};
use idlewise_conform::golden::drive;
use idlewise_conform::pelt::{drive_pelt, find_pelt};
use idlewise_governor::{Spec, shipped_version, shipped_versions};

/// The folders with golden vectors of decisions: the repository's selection, and all of them where they are there.
fn golden() -> Vec<PathBuf> {
    folders("closed")
}

fn folders(kind: &str) -> Vec<PathBuf> {
    let mut folders = vec![root().join("tests/data/golden").join(kind)];
    let all = shared().join("golden").join(kind);
    if all.is_dir() {
        folders.push(all);
    } else {
        eprintln!("skipped: the full set of golden vectors, {} (set IDLEWISE_SHARED)", all.display());
    }
    folders
}

fn assert_equal(spec: &str, folder: &str) {
    for closed in golden() {
        assert_equal_in(spec, &closed.join(folder));
    }
}

/// For variants of which the repository keeps no file.
fn assert_equal_where_there(spec: &str, folder: &str) {
    for folder in golden().iter().map(|closed| closed.join(folder)).filter(|f| f.is_dir()) {
        assert_equal_in(spec, &folder);
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.to_str().is_some_and(|n| n.ends_with(".csv.gz")));
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

fn assert_equal_in(spec: &str, folder: &Path) {
    let spec: Spec = spec.parse().unwrap();
    let files = files(folder);
    let (mut steps, mut mismatches, mut asks, mut wrong) = (0, 0, 0, String::new());
    for file in &files {
        let done = drive(&spec, file).unwrap();
        assert!(done.decisions > 0, "{}: no steps", file.display());
        steps += done.decisions;
        mismatches += done.diverging();
        asks += done.other_question;
        for m in &done.first {
            wrong += &format!("{}: {m}\n", file.file_name().unwrap().display());
        }
    }
    eprintln!(
        "{spec} on {}: {} files, {steps} steps, {mismatches} mismatches, {asks} asks differ",
        folder.display(),
        files.len()
    );
    assert_eq!(mismatches, 0, "{spec} on {}:\n{wrong}", folder.display());
    assert_eq!(asks, 0, "{spec} on {}: the sleep length is asked for at other times", folder.display());
}

#[test]
fn menu_6_1() {
    assert_equal("menu-6.1", "menu-6.1");
}

#[test]
fn menu_of_late_6_1() {
    assert_equal_where_there("menu-6.1:rejected_endless=1", "menu-6.1.192");
}

#[test]
fn menu_6_12() {
    assert_equal("menu-6.12", "menu-6.12.117");
}

#[test]
fn menu() {
    assert_equal("menu", "menu-7.3");
}

#[test]
fn teo_6_1() {
    assert_equal("teo-6.1", "teo-6.1");
}

#[test]
fn teo_util() {
    assert_equal("teo-util", "teo-6.3");
}

#[test]
fn teo_util_without_steps_is_teo_6_1() {
    assert_equal("teo-util:util_steps=0", "teo-6.1");
}

#[test]
fn ladder() {
    assert_equal("ladder", "ladder-7.3");
}

#[test]
fn haltpoll() {
    assert_equal("haltpoll", "haltpoll-7.3");
}

#[test]
fn teo_5_6() {
    assert_equal("teo-5.6", "teo-5.10");
}

#[test]
fn teo_weighted() {
    assert_equal("teo-weighted", "teo-rfc-weighted-feb2020");
}

#[test]
fn teo_weighted_as_posted_again() {
    assert_equal_where_there(
        "teo-weighted:draw=1,learning_rate=10,own_weight=6000,other_weight=4000",
        "teo-rfc-weighted-may2020",
    );
}

#[test]
fn a_parameter_that_the_user_gives_beats_the_recorded_one() {
    let folder = golden()[0].join("haltpoll-7.3");
    let with_params = |f: &PathBuf| f.to_str().is_some_and(|n| n.contains("__hp") && n.ends_with(".csv.gz"));
    let file = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).find(with_params).unwrap();
    let mismatches = |spec: &str| drive(&spec.parse().unwrap(), &file).unwrap().diverging();
    assert_eq!(mismatches("haltpoll"), 0);
    assert!(mismatches("haltpoll:guest_halt_poll_grow=7") > 0);
}

#[test]
fn teo_util_v1() {
    assert_equal("teo-util-v1", "teo-rfc-util-v1");
}

#[test]
fn teo_6_6() {
    assert_equal("teo-6.6", "teo-6.6");
}

#[test]
fn teo_fixed() {
    assert_equal("teo-fixed", "teo-rfc-loehle-v1");
}

#[test]
fn teo_fixed_without_its_fixes_is_teo_6_6() {
    assert_equal(
        "teo-fixed:higher_util_threshold=0,keep_tick_utilised=0,stop_tick_one_state=0,tick_margin=0,\
         no_recent_intercepts=0,no_fake_intercepts=0",
        "teo-6.6",
    );
}

#[test]
fn teo_6_12() {
    assert_equal("teo-6.12", "teo-6.12.117");
}

#[test]
fn teo_6_12_with_its_guard_is_that_of_6_11() {
    assert_equal_where_there("teo-6.12:residency_guard=1", "teo-6.11");
}

#[test]
fn teo() {
    assert_equal("teo", "teo-7.3");
}

/// Of the version that a release selects: it decides the same, or no other version that ships decides the same more often.
#[test]
fn a_release_selects_the_version_that_repeats_the_most() {
    let mut compared = 0;
    for folder in golden().iter().flat_map(|closed| fs::read_dir(closed).unwrap()) {
        let folder = folder.unwrap().path();
        let variant = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let Some((name, release)) = variant.split_once('-') else { continue };
        let Some(version) = shipped_version(name, release) else { continue };
        let differ = |spec: &str| -> u64 {
            let spec = spec.parse().unwrap();
            files(&folder).iter().map(|file| drive(&spec, file).unwrap().diverging()).sum()
        };
        let own = differ(version.spec);
        assert_eq!(own == 0, version.same, "{variant}: {own} of {} differ", version.spec);
        if !version.same {
            for other in shipped_versions(name) {
                assert!(own <= differ(other), "{variant}: {other} is more alike than {}", version.spec);
            }
        }
        compared += 1;
    }
    assert!(compared >= 8, "{compared}");
}

/// The arithmetic is the same from 5.10 on, and the runnable average as in these files since 5.7.
#[test]
fn pelt() {
    for folder in folders("pelt") {
        for (file, id) in
            files(&folder).iter().flat_map(|f| ["pelt", "pelt-5.7", "pelt-7.3"].map(|id| (f, id)))
        {
            let done = drive_pelt(&find_pelt(id).unwrap(), file).unwrap();
            assert!(done.steps >= 150, "{}: {} steps", file.display(), done.steps);
            assert_eq!(done.mismatches, 0, "{id} on {}: {:#?}", file.display(), done.first);
        }
    }
}

/// Each recorded state is taken after a mismatch, so that the rows after it are judged by themselves.
#[test]
fn an_older_pelt_differs_where_it_was_different() {
    let folder = &folders("pelt")[0];
    let mismatches = |id: &str, file: &str| {
        let done = drive_pelt(&find_pelt(id).unwrap(), &folder.join(file)).unwrap();
        (done.mismatches, done.steps)
    };
    // 5.6 had no runnable average; a sleeping task has none to lose, and the sum of a decay is the same everywhere.
    let (differ, steps) = mismatches("pelt-5.6", "ramp.csv.gz");
    assert!(differ > 0 && differ < steps, "{differ} of {steps}");
    let (differ, steps) = mismatches("pelt-4.12", "ramp.csv.gz");
    assert!(differ > steps * 9 / 10, "it loses the remainder of an update: {differ} of {steps}");
    assert_eq!(mismatches("pelt-4.12", "decay.csv.gz").0, 0);
}

#[test]
fn a_file_of_the_other_kind_is_refused_with_the_way_out() {
    let pelt = find_pelt("pelt").unwrap();
    let decisions = &files(&golden()[0].join("teo-6.1"))[0];
    let said = drive_pelt(&pelt, decisions).unwrap_err().to_string();
    assert!(said.contains("`pelt`") && said.contains("`closed`") && said.contains("--governor"), "{said}");
    let updates = &files(&folders("pelt")[0])[0];
    let said = drive(&"teo".parse().unwrap(), updates).unwrap_err().to_string();
    assert!(said.contains("--signal pelt"), "{said}");
    for id in ["walt", "pelt-", "pelt6.1", "pelt-4.2", "pelt-6", "pelt-x.y"] {
        assert!(find_pelt(id).is_err(), "{id}");
    }
}

#[test]
fn a_file_of_pelt_with_other_rows_than_its_side_car_says_is_refused() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/golden/pelt");
    let folder = tempfile::tempdir().unwrap();
    let [file, car] = ["ramp.csv.gz", "ramp.json"].map(|name| folder.path().join(name));
    let mut text = String::new();
    GzDecoder::new(fs::File::open(from.join("ramp.csv.gz")).unwrap()).read_to_string(&mut text).unwrap();
    fs::copy(from.join("ramp.json"), &car).unwrap();
    let driven = |text: &str| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        fs::write(&file, packed.finish().unwrap()).unwrap();
        drive_pelt(&find_pelt("pelt").unwrap(), &file).map_err(|why| why.to_string())
    };
    assert!(driven(&text).is_ok());
    let cut = text.trim_end().rsplit_once('\n').unwrap().0;
    let said = driven(cut).unwrap_err();
    assert!(said.contains("ramp.json: expected `rows` to be 150, as many as the rows of "), "{said}");
    assert!(said.contains("ramp.csv.gz, found 151: is one of the two cut short?"), "{said}");
    let json = fs::read_to_string(&car).unwrap();
    fs::write(&car, json.replace("\"rows\":151", "\"rows\":\"all\"")).unwrap();
    let said = driven(&text).unwrap_err();
    assert!(said.contains("a whole number `rows`, found \"all\""), "{said}");
}

#[test]
fn a_file_of_more_rows_than_are_kept_is_refused_with_the_limit() {
    let own = golden().into_iter().flat_map(|closed| files(&closed.join("menu-7.3"))).next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.csv.gz");
    let car = own.with_extension("").with_extension("json");
    fs::copy(car, folder.path().join("long.json")).unwrap();
    let mut text = String::new();
    GzDecoder::new(fs::File::open(own).unwrap()).read_to_string(&mut text).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let row = rows.lines().next().unwrap();
    let at = head.split(',').position(|name| name == "step").unwrap();
    let mut packed = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
    writeln!(packed, "{head}").unwrap();
    for step in 0..=500_000 {
        let cells: Vec<_> = row.split(',').enumerate().collect();
        let cell = |(i, cell): (usize, &str)| if i == at { step.to_string() } else { cell.to_owned() };
        writeln!(packed, "{}", cells.into_iter().map(cell).collect::<Vec<_>>().join(",")).unwrap();
    }
    packed.finish().unwrap();
    let said = drive(&"menu".parse().unwrap(), &path).unwrap_err().to_string();
    assert!(said.contains("long.csv.gz: more than 500000 rows; expected at most so many"), "{said}");
}
