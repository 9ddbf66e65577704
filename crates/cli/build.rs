// SPDX-License-Identifier: GPL-2.0-only
//! Hands the facts of the build to `idlewise --version --verbose`. The commit comes from `IDLEWISE_COMMIT`, which the Makefile
//! sets: only a caller that asks git at every build knows whether the commit is still that of the sources.
#![allow(clippy::print_stdout, reason = "that is how a build script talks to cargo")]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Tests are not built anew for each commit.
    let released = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if released {
        println!("cargo::rerun-if-env-changed=IDLEWISE_COMMIT");
    }
    let commit = env::var("IDLEWISE_COMMIT").ok().filter(|commit| released && !commit.is_empty());
    let facts = [
        ("COMMIT", commit),
        ("TARGET", env::var("TARGET").ok()),
        ("PROFILE", env::var("PROFILE").ok()),
        ("OPT", env::var("OPT_LEVEL").ok()),
        ("RUSTC", compiler()),
    ];
    for (name, fact) in facts {
        println!("cargo::rustc-env=IDLEWISE_BUILT_{name}={}", fact.as_deref().unwrap_or("not recorded"));
    }
}

/// `rustc 1.88.0 (6b00bc388 2025-06-23)`
fn compiler() -> Option<String> {
    let done = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    Some(String::from_utf8(done.stdout).ok()?.trim().to_owned())
}
