// SPDX-License-Identifier: GPL-2.0-only
//! Is what was wrong in kernels found in their own files, unchanged, and is nothing said about files that are mended?
//!
//! The files are those of Debian's kernel sources (`tools/kernel-sources.sh`). Where Debian offers only later ones that are
//! mended, copies with the old lines show it.

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_check::{CheckReport, Property, Verdict};
use idlewise_checkout::some_of;
use idlewise_governor::{Governor, GovernorSource, Spec};
use idlewise_testkit::kernel_trees::tree;

use crate::bench::{Bench, on, with};

const GOVERNORS: &str = "drivers/cpuidle/governors";

/// A governor's file in a kernel's tree.
fn file(kernel: &str, governor: &str) -> Option<PathBuf> {
    Some(tree(&format!("linux-source-{kernel}"))?.join(GOVERNORS).join(format!("{governor}.c")))
}

/// The file as it is, and a copy in a tree of the same version with `old` in place of `new` or `new` in place of `old`: the faulty
/// one first, then the mended one.
fn faulty_and_mended(bench: &Bench, path: &Path, faulty: &str, mended: &str) -> [PathBuf; 2] {
    let text = fs::read_to_string(path).unwrap();
    let is_faulty = text.contains(faulty);
    assert!(is_faulty || text.contains(mended), "{}: neither `{faulty}` nor `{mended}`", path.display());
    let (from, to) = if is_faulty { (faulty, mended) } else { (mended, faulty) };
    let root = path.ancestors().nth(4).unwrap();
    fs::copy(root.join("Makefile"), bench.folder.path().join("Makefile")).unwrap();
    for header in ["gov.h", "Makefile"] {
        let included = path.with_file_name(header);
        if included.exists() {
            bench.file(&format!("{GOVERNORS}/{header}"), &fs::read_to_string(included).unwrap());
        }
    }
    let name = path.file_name().unwrap().to_str().unwrap();
    let copy = bench.file(&format!("{GOVERNORS}/{name}"), &text.replacen(from, to, 1));
    if is_faulty { [path.to_owned(), copy] } else { [copy, path.to_owned()] }
}

fn check_only(bench: &Bench, path: &Path, property: Property) -> CheckReport {
    on(&bench.open(path), &[property], 2)
}

/// `property` is violated in the faulty file in a sequence of one idle period, and held in the mended one.
fn found_and_mended(kernel: &str, governor: &str, property: Property, faulty: &str, mended: &str) {
    let Some(path) = file(kernel, governor) else { return };
    let bench = Bench::new();
    let [faulty, mended] = faulty_and_mended(&bench, &path, faulty, mended);
    let report = check_only(&bench, &faulty, property);
    assert_eq!(with(&report, Verdict::Violated), [property], "{}", faulty.display());
    let story = &report.findings[0].story;
    assert_eq!((story.len(), story[0].times), (1, 1), "{story:?}");
    let report = check_only(&bench, &mended, property);
    assert_eq!(with(&report, Verdict::Held), [property], "{}: {:?}", mended.display(), report.findings);
}

#[test]
fn teo_of_6_12_chooses_a_disabled_state() {
    // No enabled state keeps the limit: state 0 is taken, even if it is disabled.
    found_and_mended(
        "6.12",
        "teo",
        Property::Disabled,
        "if (idx > constraint_idx)",
        "if (idx > constraint_idx && !dev->states_usage[constraint_idx].disable)",
    );
}

#[test]
fn menu_of_6_12_chooses_a_disabled_state() {
    // A limit of 0: state 0 is taken, even if it is disabled.
    found_and_mended(
        "6.12",
        "menu",
        Property::Disabled,
        "latency_req == 0) ||",
        "latency_req == 0 && !dev->states_usage[0].disable) ||",
    );
}

#[test]
fn ladder_of_6_1_chooses_a_state_that_does_not_exist() {
    // With one state, which polls, it begins in state 1.
    let Some(path) = file("6.1", "ladder") else { return };
    let bench = Bench::new();
    let begins = "drv->states[0].flags & CPUIDLE_FLAG_POLLING ? 1 : 0;";
    let text = fs::read_to_string(&path).unwrap();
    let mended = text.replace(begins, "drv->states[0].flags & CPUIDLE_FLAG_POLLING && drv->state_count > 1;");
    assert_ne!(text, mended);
    let report = check_only(&bench, &path, Property::Index);
    assert_eq!(with(&report, Verdict::Violated), [Property::Index]);
    let finding = &report.findings[0];
    assert_eq!(finding.machine.name, "one polling state");
    assert!(finding.what.contains("chose state 1; there are states 0 to 0"), "{finding:?}");
    let mended = bench.file("ladder.c", &mended);
    let report = check_only(&bench, &mended, Property::Index);
    assert_eq!(with(&report, Verdict::Held), [Property::Index], "{:?}", report.findings);
}

#[test]
fn kernels_since_7_0_ask_about_no_single_state() {
    let Some(path) = file("7.3", "ladder") else { return };
    let report = check_only(&Bench::new(), &path, Property::Index);
    assert_eq!(with(&report, Verdict::Held), [Property::Index]);
}

#[test]
fn what_is_known_of_each_kernels_files() {
    use Property::{Arithmetic, Disabled, Index, Latency, Polling, Shallow};
    let known: [(&str, &str, &[Property]); 12] = [
        ("6.1", "menu", &[Disabled, Latency]),
        ("6.1", "teo", &[Disabled, Shallow]),
        ("6.1", "ladder", &[Index, Disabled, Latency, Polling, Shallow]),
        ("6.1", "haltpoll", &[Index, Disabled, Latency, Shallow]),
        ("6.12", "menu", &[Disabled]),
        ("6.12", "teo", &[Disabled]),
        ("6.12", "ladder", &[Index, Disabled, Latency, Polling, Shallow]),
        ("6.12", "haltpoll", &[Index, Disabled, Latency, Shallow]),
        ("7.3", "menu", &[Disabled]),
        // The time of a poll that ran out is KTIME_MAX, and is taken from a sleep length below -1.
        ("7.3", "teo", &[Disabled, Arithmetic]),
        ("7.3", "ladder", &[Disabled, Latency, Polling, Shallow]),
        ("7.3", "haltpoll", &[Disabled, Latency, Shallow]),
    ];
    for (kernel, governor, violated) in some_of(known.to_vec(), 4) {
        let Some(path) = file(kernel, governor) else { continue };
        let source = GovernorSource::named_by_user(Spec::new(path.to_str().unwrap()));
        let report = on(&Governor::open(&source).unwrap(), &Property::ALL, 2);
        let violated: Vec<Property> = violated
            .iter()
            .copied()
            .filter(|p| {
                report.properties.iter().any(|c| c.property == *p && c.verdict != Verdict::NotChecked)
            })
            .collect();
        assert_eq!(with(&report, Verdict::Violated), violated, "{kernel} {governor}: {:?}", report.findings);
        let longest = report.findings.iter().map(|f| f.story.iter().map(|row| row.times).sum::<u32>()).max();
        assert!(longest.is_some_and(|n| n <= 12), "{kernel} {governor}: {longest:?} steps");
    }
}
