// SPDX-License-Identifier: GPL-2.0-only
//! Would the signals compile in a kernel tree, and is all kernel C here written as governors are?

use std::path::PathBuf;

use idlewise_checkout::{kernel_style, root};

fn signals() -> PathBuf {
    root().join("signals")
}

#[test]
fn only_kernel_headers_and_our_own_are_included() {
    for (name, text) in kernel_style::sources(&signals(), &["c", "h"]) {
        for line in text.lines().filter(|l| l.trim_start().starts_with("#include")) {
            let local =
                line.split('"').nth(1).is_some_and(|h| !h.contains('/') && signals().join(h).is_file());
            assert!(line.starts_with("#include <linux/") || local, "{name}: {line}");
        }
    }
}

#[test]
fn signals_are_written_as_governors_are() {
    kernel_style::nothing_asks_which_world_it_is_in(&signals());
    kernel_style::every_file_opens_with_its_licence_and_says_what_it_is(&signals());
    kernel_style::kernel_style(&signals());
    kernel_style::no_warning_is_left(&signals(), &root().join("governors/shim"), &[&[], &["-DDEBUG"]]);
}

/// A signal is what its caller makes of it: no memory of its own but tables that never change.
#[test]
fn nothing_is_global() {
    for (name, text) in kernel_style::sources(&signals(), &["c"]) {
        for (number, line) in (1..).zip(text.lines()) {
            let begins = line.starts_with(|c: char| c.is_ascii_lowercase());
            let constant = line.starts_with("static const ");
            let variable =
                begins && !constant && (line.ends_with(';') || line.contains(" = ")) && !line.contains('(');
            assert!(!variable, "{name}:{number}: {line}");
            assert!(!line.starts_with("\tstatic "), "{name}:{number}: {line}");
        }
    }
}

#[test]
fn a_signals_own_file_answers_what_a_governors_does() {
    for signal in ["pelt.c", "walt.c"] {
        let (_, text) =
            kernel_style::sources(&signals(), &["c"]).into_iter().find(|(n, _)| n == signal).unwrap();
        let preface = text.split("*/").next().unwrap();
        for heading in ["The idea:", "When it wins:", "When it loses:", "Parameters:", "Lineage:"] {
            assert!(preface.contains(heading), "{signal}: no `{heading}`");
        }
    }
}
