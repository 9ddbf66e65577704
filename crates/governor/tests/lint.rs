// SPDX-License-Identifier: GPL-2.0-only
//! Would the governors compile in a kernel tree, and are they written as this project writes them?

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_governor::catalog;

fn governors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../governors")
}

/// Name and text of the files in `governors/` with one of the endings.
fn sources(endings: &[&str]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(governors())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| endings.iter().any(|e| x == *e)))
        .map(|p| (p.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&p).unwrap()))
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
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
    for (name, text) in sources(&["c", "h"]) {
        for (number, line) in (1..).zip(text.lines()) {
            let directive = line.trim_start().strip_prefix('#').map(str::trim_start).unwrap_or_default();
            let guard = name.ends_with(".h") && directive.starts_with("ifndef") && directive.ends_with("_H");
            let end = name.ends_with(".h") && directive == "endif";
            let conditional = ["if", "el", "end"].iter().any(|d| directive.starts_with(d));
            assert!(!conditional || guard || end, "{name}:{number}: {line}");
            for word in ["__KERNEL__", "idlewise", "IDLEWISE"] {
                assert!(!line.contains(word), "{name}:{number}: the word {word} belongs to the shim");
            }
        }
    }
}

#[test]
fn every_file_opens_with_its_licence_and_says_what_it_is() {
    for (name, text) in sources(&["c", "h"]) {
        let first = text.lines().next().unwrap_or_default();
        let spdx = if name.ends_with(".c") {
            "// SPDX-License-Identifier: GPL-2.0-only"
        } else {
            "/* SPDX-License-Identifier: GPL-2.0-only */"
        };
        assert_eq!(first, spdx, "{name}");
        assert!(text.lines().nth(1) == Some("/*"), "{name}: no preface");
    }
}

#[test]
fn every_preface_answers_the_same_questions() {
    for info in catalog() {
        assert!((20..100).contains(&info.summary.len()), "{}: summary `{}`", info.id, info.summary);
        for heading in ["The idea:", "When it wins:", "When it loses:", "Parameters:", "Lineage:"] {
            assert!(info.preface.contains(heading), "{}: no `{heading}` in the preface", info.id);
        }
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
    for (name, text) in sources(&["c", "h"]) {
        for (number, line) in (1..).zip(text.lines()) {
            let columns: usize = line.chars().fold(0, |n, c| if c == '\t' { n / 8 * 8 + 8 } else { n + 1 });
            assert!(columns <= 100, "{name}:{number}: {columns} columns");
            assert!(!line.ends_with([' ', '\t']), "{name}:{number}: blanks at the end");
            assert!(!line.starts_with("  "), "{name}:{number}: indented with blanks");
            assert!(!line.contains("//") || number == 1, "{name}:{number}: a // comment");
        }
    }
}

#[test]
fn no_warning_is_left() {
    let shim = governors().join("shim");
    let flags = fs::read_to_string(shim.join("flags")).unwrap();
    let builds: [&[&str]; 2] = [&[], &["-DDEBUG"]];
    for ((file, _), build) in sources(&["c"]).iter().flat_map(|s| builds.map(|b| (s, b))) {
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let done = Command::new(compiler)
            .args(flags.lines().filter(|f| {
                !f.starts_with('#') && !f.starts_with("-Wl,") && *f != "-shared" && *f != "-nostartfiles"
            }))
            .args(build)
            .args(["-Werror", "-fsyntax-only", "-I"])
            .arg(shim.join("include"))
            .arg(governors().join(file))
            .output()
            .unwrap();
        assert!(done.status.success(), "{file} {build:?}:\n{}", String::from_utf8_lossy(&done.stderr));
    }
}
