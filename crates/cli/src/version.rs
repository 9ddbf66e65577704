// SPDX-License-Identifier: GPL-2.0-only
//! `idlewise --version`, and with `--verbose` what the binary was built from and what it contains. It has no date and no
//! folder in it, so that two builds of one commit print the same.

use std::env::consts::{ARCH, OS};

/// The version of the package.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The day of the release, as CHANGELOG.md has it.
pub(crate) const RELEASED: &str = "2026-11-23";

/// `idlewise VERSION`, and with `verbose` a line for each fact of the build.
pub(crate) fn text(verbose: bool) -> String {
    let head = format!("idlewise {VERSION}\n");
    if !verbose {
        return head;
    }
    let facts = [
        ("commit", env!("IDLEWISE_BUILT_COMMIT").to_owned()),
        ("target", format!("{} ({ARCH}, {OS})", env!("IDLEWISE_BUILT_TARGET"))),
        ("profile", format!("{}, opt-level {}", env!("IDLEWISE_BUILT_PROFILE"), env!("IDLEWISE_BUILT_OPT"))),
        ("compiler", env!("IDLEWISE_BUILT_RUSTC").to_owned()),
        ("governors", count(idlewise_governor::catalog().len(), "compiled in, and the oracle")),
        ("platforms", count(idlewise_platform::shipped().len(), "compiled in")),
        ("experiments", count(idlewise_reproduce::shipped().len(), "compiled in")),
    ];
    facts.iter().fold(head, |text, (name, fact)| text + &format!("{name:<12}{fact}\n"))
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}")
}
