// SPDX-License-Identifier: GPL-2.0-only
//! `idlewise sweep`: does the table fit, does the exit status say what happened, and is the word at fault named?

use std::fs;

use idlewise_checkout::root;

use crate::common::{idlewise, words};

/// Exit status, standard output and standard error, in the project's folder.
fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let o = idlewise().arg("sweep").args(args).current_dir(root()).output().unwrap();
    (o.status.code(), words(&o.stdout), words(&o.stderr))
}

#[test]
fn a_table_of_many_parameters_fits_and_shards_make_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let values =
        "teo:decay_shift=2|3,residency_threshold_ns=0|9000,latency_threshold_ns=0|9000,enabled_first=0|1";
    let sweep = ["tests/data/mixed.dat", "--platform", "pixel6", "--governor", values];
    let (status, whole, why) = run(&sweep);
    assert_eq!((status, why.as_str()), (Some(0), ""));
    assert!(
        whole.lines().all(|l| l.chars().count() <= 80) && whole.contains("p4        enabled_first"),
        "{whole}"
    );
    let (status, said, _) = run(&[&sweep[..], &["--to", to, "--shard", "2/2"]].concat());
    assert_eq!(
        (status, said.as_str()),
        (Some(0), "9 runs, 9 of them now; the same command without --shard shows all\n")
    );
    let (_, said, _) = run(&[&sweep[..], &["--to", to, "--dry-run"]].concat());
    assert!(said.contains("18 runs, 9 of them kept; about "), "{said}");
    assert_eq!(run(&[&sweep[..], &["--to", to]].concat()).1, whole);
}

#[test]
fn what_is_wrong_is_named_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone.dat");
    for (args, word) in [
        (["tests/data/mixed.dat", "-g", "teo:decay_shift=2..nan"], "`nan` is not a whole number"),
        (["tests/data/mixed.dat", "-g", "teo:decay_shift=9..12"], "from 0 to 10"),
        (["tests/data/mixed.dat", "-g", "teo:decay=1..2"], "no parameter `decay`"),
        ([gone.to_str().unwrap(), "-g", "teo:decay_shift=1..2"], "gone.dat: No such file"),
    ] {
        let (status, said, why) = run(&args);
        assert!(status == Some(2) && said.is_empty() && why.contains(word), "{args:?}: {why}");
    }
    let (status, _, why) =
        run(&["tests/data/mixed.dat", "-g", "teo:decay_shift=1..2", "--to", "x", "--shard", "3/2"]);
    assert!(status == Some(2) && why.contains("expected I/N"), "{why}");
    // Of a part there is no result to write.
    for of in [&["--dry-run"][..], &["--to", "x", "--shard", "1/2"]] {
        for file in [["--report", "x.html"], ["--plot", "front=x.svg"], ["-o", "x.csv"]] {
            let (status, _, why) =
                run(&[&["tests/data/mixed.dat", "-g", "teo:decay_shift=1..2"], of, &file[..]].concat());
            assert!(status == Some(2) && why.contains("cannot be used with"), "{why}");
        }
    }
}

/// A recording that cannot be read takes no other's result away, but it is not done.
#[test]
fn a_recording_that_cannot_be_read_is_left_out_and_the_command_fails() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.dat");
    fs::write(&broken, "no trace").unwrap();
    let broken = broken.to_str().unwrap();
    let (status, said, why) =
        run(&["tests/data/mixed.dat", broken, "--platform", "pixel6", "-g", "teo:decay_shift=2..3"]);
    assert!(status == Some(2) && why.contains("broken.dat"), "{why}");
    assert!(said.contains("left out  broken.dat") && said.contains("on 1 recording"), "{said}");
}

/// Five recordings of several machines, under four settings.
fn of_five(more: &[&str]) -> (Option<i32>, String, String) {
    let names =
        ["sim-haswell-ep-timer", "sim-ice-lake-sp-periodic", "sim-skylake-sp-periodic", "sim-mt8196-timers"];
    let files: Vec<String> =
        names.iter().chain(&["sim-sapphire-rapids-web"]).map(|name| format!("corpus/{name}.tape")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    run(&[&files[..], &["-g", "teo:decay_shift=1..4"], more].concat())
}

#[test]
fn rows_off_the_front_are_marked_as_those_on_it() {
    let (status, said, why) = of_five(&["-v"]);
    assert_eq!(status, Some(0), "{why}");
    let rows: Vec<&str> = said.lines().filter(|line| line.contains("+0.0%")).collect();
    assert!(rows.iter().any(|row| !row.trim_end().ends_with("front")), "{said}");
    for row in rows.iter().filter(|row| !row.contains("(teo)")) {
        assert!(row.contains("+0.0%~") && !row.contains("+0.0% "), "{row}");
    }
    assert!(said.contains("the 95 % interval") && !said.contains("? it was not computed"), "{said}");
}

#[test]
fn a_page_counts_settings_in_one_way_and_labels_its_notes() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("sweep.html");
    let (status, said, why) = of_five(&["--report", page.to_str().unwrap()]);
    assert_eq!(status, Some(0), "{why}");
    assert!(said.starts_with("teo, 4 settings; on 5 recordings"), "{said}");
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"title\":\"teo, 4 settings\""), "no title");
    for label in ["sweep", "front", "changes", "intervals"] {
        assert!(html.contains(&format!("\"label\":\"{label}\",\"text\"")), "{label}");
    }
    assert!(!html.contains("\"label\":\"\",\"text\""), "a note without a label");
}
