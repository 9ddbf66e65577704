// SPDX-License-Identifier: GPL-2.0-only
//! Are the tests that docs/reference/kernel-versions.md names still there?

use std::fs;
use std::path::Path;

#[test]
fn every_test_that_the_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    for folder in ["tape/src", "tape/tests", "trace/tests", "recording/src", "study/tests", "view/tests"] {
        for entry in fs::read_dir(root.join("crates").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "rs") {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                sources.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let is_there = |name: &str| {
        let file = name.strip_suffix(".rs").unwrap_or(name);
        sources
            .iter()
            .any(|(f, text)| f.strip_suffix(".rs") == Some(file) || text.contains(&format!("fn {name}(")))
    };
    let page = fs::read_to_string(root.join("docs/reference/kernel-versions.md")).unwrap();
    let rows = page.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| what |"));
    let mut named = 0;
    for row in rows {
        let test = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<&str> = test.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty() || ["-", "the same"].contains(&test), "a row without its test: {row}");
        for name in names {
            assert!(is_there(name), "there is no {name}");
            named += 1;
        }
    }
    assert!(named >= 20, "{named}");
}
