// SPDX-License-Identifier: GPL-2.0-only
//! What is true of each of our governors? Those that stand for a kernel's version have its properties, wanted or not. Their
//! stories list what they violate, for their pages.

use std::fs;

use idlewise_check::{Property, Verdict};
use idlewise_checkout::{root, some_of};
use idlewise_governor::{Governor, Spec, catalog};

use crate::bench::{all, some, with};

/// What the governor's story says that it violates.
fn listed(id: &str) -> Vec<Property> {
    let story = fs::read_to_string(root().join(format!("tests/stories/{id}.md"))).unwrap();
    let lines = story.lines().filter_map(|l| l.strip_prefix("Violates ")?.split_once(": "));
    lines.map(|(name, _)| name.parse().unwrap()).collect()
}

#[test]
fn nothing_but_what_is_listed() {
    for info in some_of(catalog().iter().collect(), 4) {
        let report = all(&Governor::find(&Spec::new(info.id)).unwrap());
        let checked = |p: &Property| {
            report.properties.iter().any(|c| c.property == *p && c.verdict != Verdict::NotChecked)
        };
        let mut listed = listed(info.id);
        listed.retain(checked);
        assert_eq!(with(&report, Verdict::Violated), listed, "{}: {:?}", info.id, report.findings);
        assert!(report.findings.iter().all(|f| f.story.iter().map(|r| r.times).sum::<u32>() <= 12));
    }
}

#[test]
fn a_parameter_mends_what_the_kernel_does_not() {
    let teo = |text: &str| {
        let governor = Governor::find(&text.parse().unwrap()).unwrap();
        with(&some(&governor, &[Property::Disabled]), Verdict::Violated)
    };
    assert_eq!(teo("teo"), [Property::Disabled]);
    assert_eq!(teo("teo:enabled_first=1"), []);
}
