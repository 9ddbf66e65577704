// SPDX-License-Identifier: GPL-2.0-only
//! How kernel C is written in this project, wherever it lies.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Name and text of the files in `folder` with one of the endings.
pub fn sources(folder: &Path, endings: &[&str]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| endings.iter().any(|e| x == *e)))
        .map(|p| (p.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&p).unwrap()))
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// No `#if` but the guards of headers, and no word of the shim's.
pub fn nothing_asks_which_world_it_is_in(folder: &Path) {
    for (name, text) in sources(folder, &["c", "h"]) {
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

/// Licence first, then what the file is.
pub fn every_file_opens_with_its_licence_and_says_what_it_is(folder: &Path) {
    for (name, text) in sources(folder, &["c", "h"]) {
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

/// Tabs, 100 columns, no blanks at the end, no `//`.
pub fn kernel_style(folder: &Path) {
    for (name, text) in sources(folder, &["c", "h"]) {
        for (number, line) in (1..).zip(text.lines()) {
            let columns: usize = line.chars().fold(0, |n, c| if c == '\t' { n / 8 * 8 + 8 } else { n + 1 });
            // A format string stays in one piece, so that it can be searched for.
            assert!(columns <= 100 || line.contains("TP_printk("), "{name}:{number}: {columns} columns");
            assert!(!line.ends_with([' ', '\t']), "{name}:{number}: blanks at the end");
            assert!(!line.starts_with("  "), "{name}:{number}: indented with blanks");
            assert!(!line.contains("//") || number == 1, "{name}:{number}: a // comment");
        }
    }
}

/// Compiles every source of `folder` against `shim` as each of `builds` would.
pub fn no_warning_is_left(folder: &Path, shim: &Path, builds: &[&[&str]]) {
    let flags = fs::read_to_string(shim.join("flags")).unwrap();
    for ((file, _), build) in sources(folder, &["c"]).iter().flat_map(|s| builds.iter().map(move |b| (s, b)))
    {
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let done = Command::new(compiler)
            .args(flags.lines().filter(|f| {
                !f.starts_with('#') && !f.starts_with("-Wl,") && *f != "-shared" && *f != "-nostartfiles"
            }))
            .args(*build)
            .args(["-Werror", "-fsyntax-only", "-I"])
            .arg(shim.join("include"))
            .arg(folder.join(file))
            .output()
            .unwrap();
        assert!(done.status.success(), "{file} {build:?}:\n{}", String::from_utf8_lossy(&done.stderr));
    }
}
