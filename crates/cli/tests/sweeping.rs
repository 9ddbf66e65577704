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
