// SPDX-License-Identifier: GPL-2.0-only
//! May the command be handed on, and do its packages hold the notices of the libraries in it?

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::house::root;

/// Runs Python in the project's folder.
fn python(arguments: &[&str]) -> Output {
    Command::new("python3").args(arguments).current_dir(root()).output().unwrap()
}

/// What `tools/third-party.py` says of a build for `target`: who holds the copyright, and the notices.
fn third_party(target: &str, to: &Path) -> (String, String) {
    let (copyright, notices) = (to.join("copyright"), to.join("notices"));
    let out =
        python(&["tools/third-party.py", target, copyright.to_str().unwrap(), notices.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    (fs::read_to_string(copyright).unwrap(), fs::read_to_string(notices).unwrap())
}

#[test]
fn every_library_in_the_command_agrees_with_the_gpl_and_its_notice_is_kept() {
    for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
        let to = tempfile::tempdir().unwrap();
        let (copyright, notices) = third_party(target, to.path());
        let files: Vec<&str> = copyright.lines().filter_map(|l| l.strip_prefix("Files: ")).collect();
        assert!(files.len() > 120, "{target}: {files:?}");
        let licences = ["GPL-2.0-only", "Expat", "BSD-3-clause", "ISC", "Zlib", "BSL-1.0"];
        for licence in licences {
            let paragraph = format!("\n\nLicense: {licence}\n");
            assert!(copyright.contains(&paragraph), "{target}: no text of {licence}");
        }
        for library in files.iter().filter(|f| **f != "*") {
            let (folder, library) = library.trim_end_matches("/*").split_once('/').unwrap();
            let digit = |at: &usize| library[at + 1..].starts_with(|c: char| c.is_ascii_digit());
            let at = library.match_indices('-').map(|(at, _)| at).find(digit).unwrap();
            let named = format!("{} {}", &library[..at], &library[at + 1..]);
            assert!(notices.contains(&named), "{target}: no notice of {folder}'s {named}");
        }
        for words in ["Fabrice Bellard", "Meta Platforms", "University of Washington"] {
            assert!(notices.contains(words), "{target}: {words}");
        }
    }
}

#[test]
fn a_library_that_does_not_agree_with_the_gpl_is_refused() {
    let chosen = |licence: &str| {
        let code = "import runpy, sys; its = runpy.run_path('tools/third-party.py'); print(*its['chosen']('it', sys.argv[1]))";
        let out = python(&["-c", code, licence]);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if out.status.success() { Ok(text(&out.stdout)) } else { Err(text(&out.stderr)) }
    };
    assert_eq!(chosen("MIT OR Apache-2.0").as_deref(), Ok("MIT"));
    assert_eq!(chosen("Apache-2.0/MIT").as_deref(), Ok("MIT"));
    assert_eq!(chosen("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT").as_deref(), Ok("MIT"));
    assert_eq!(chosen("(MIT OR Apache-2.0) AND Unicode-3.0").as_deref(), Ok("MIT Unicode-3.0"));
    for licence in
        ["Apache-2.0", "Apache-2.0 WITH LLVM-exception", "MIT AND Apache-2.0", "GPL-3.0-or-later", ""]
    {
        let refused = chosen(licence).unwrap_err();
        assert!(
            refused.contains("it is under") && refused.contains("does not agree with the GPL"),
            "{refused}"
        );
    }
}
