// SPDX-License-Identifier: GPL-2.0-only
//! A series of ours on kernels' own files, of Debian's sources.

use idlewise_testkit::kernel_trees::tree;

use crate::tree::{Tree, checked, governor, reviewed, row};

/// What a series changes in TEO of a kernel: a word of its own, and the number in it.
fn judged(kernel: &str, old: &str, new: &str) {
    let Some(sources) = tree(&format!("linux-source-{kernel}")) else { return };
    let tree = Tree::of_kernel(&sources);
    tree.change("teo", old, new, "cpuidle: teo: Change");
    tree.change("teo", new, &format!("/* More. */\n{new}"), "cpuidle: teo: Explain");
    let report = reviewed(&checked(&tree, &["base..master"]));
    assert!(report.base.starts_with(&format!("linux-{kernel}.")), "{}", report.base);
    assert_eq!(governor(&report, "teo").rows.len(), 3, "{kernel}");
    let first = row(&report, "teo", "+1");
    assert!(first.against_base.as_ref().unwrap().differing > 0, "{kernel}: no decision differs");
    assert_eq!(first.problem, None, "{kernel}");
    let check = first.check.as_ref().unwrap();
    assert!(check.new.is_empty() && !check.old.is_empty(), "{kernel}: {check:?}");
    assert_eq!(row(&report, "teo", "+2").against_above.as_ref().unwrap().differing, 0, "{kernel}");
}

#[test]
fn of_6_1() {
    judged("6.1", "#define DECAY_SHIFT\t3", "#define DECAY_SHIFT\t1");
}

#[test]
fn of_6_12() {
    judged("6.12", "#define DECAY_SHIFT\t3", "#define DECAY_SHIFT\t1");
}

#[test]
fn of_7_3() {
    judged("7.3", "#define DECAY_SHIFT\t3", "#define DECAY_SHIFT\t1");
}
