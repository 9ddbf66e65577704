// SPDX-License-Identifier: GPL-2.0-only
//! Would the governors compile in a kernel tree, and are they written as this project writes them?

use std::path::PathBuf;

use idlewise_checkout::{kernel_style, root};
use idlewise_governor::catalog;

fn governors() -> PathBuf {
    root().join("governors")
}

/// Name and text of the files in `governors/` with one of the endings.
fn sources(endings: &[&str]) -> Vec<(String, String)> {
    kernel_style::sources(&governors(), endings)
}

#[test]
fn only_kernel_headers_and_our_own_are_included() {
    for (name, text) in sources(&["c", "h"]) {
        for line in text.lines().filter(|l| l.trim_start().starts_with("#include")) {
            let local =
                line.split('"').nth(1).is_some_and(|h| !h.contains('/') && governors().join(h).is_file());
            assert!(line.starts_with("#include <linux/") || local, "{name}: {line}");
        }
    }
}

#[test]
fn nothing_asks_which_world_it_is_in() {
    kernel_style::nothing_asks_which_world_it_is_in(&governors());
}

#[test]
fn every_file_opens_with_its_licence_and_says_what_it_is() {
    kernel_style::every_file_opens_with_its_licence_and_says_what_it_is(&governors());
}

#[test]
fn every_preface_answers_the_same_questions() {
    for info in catalog() {
        assert!((20..100).contains(&info.summary.len()), "{}: summary `{}`", info.id, info.summary);
        for heading in ["The idea:", "When it wins:", "When it loses:", "Parameters:", "Lineage:"] {
            assert!(info.preface.contains(heading), "{}: no `{heading}` in the preface", info.id);
        }
        // Of a governor with several versions each says how it differs from the others.
        let family = info.id.split('-').next().unwrap();
        let versions = catalog().iter().filter(|g| g.id.split('-').next() == Some(family)).count();
        assert_eq!(versions > 1, info.preface.contains("\nNeighbours: "), "{}: `Neighbours:`", info.id);
    }
    assert!(catalog().is_sorted_by_key(|info| info.id));
}

#[test]
fn a_governor_registers_under_the_name_of_its_file() {
    for (file, text) in sources(&["c"]) {
        let id = file.strip_suffix(".c").unwrap();
        assert!(id.len() < 16, "{file}: the kernel has room for 15 letters");
        assert!(text.contains(&format!(".name\t\t= \"{id}\"")), "{file}: .name is not \"{id}\"");
        assert!(text.contains("postcore_initcall("), "{file}");
    }
}

#[test]
fn kernel_style() {
    kernel_style::kernel_style(&governors());
}

#[test]
fn no_warning_is_left() {
    kernel_style::no_warning_is_left(&governors(), &governors().join("shim"), &[&[], &["-DDEBUG"]]);
}
