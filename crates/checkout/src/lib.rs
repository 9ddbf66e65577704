// SPDX-License-Identifier: GPL-2.0-only
//! The project's own folder, as tests and benchmarks use it: where it is, where recordings lie that are not part of it, and
//! how kernel C in it is written.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

pub mod kernel_style;

use std::path::{Path, PathBuf};

/// The folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of recordings that are not part of the project, whether it is there or not.
pub fn shared() -> PathBuf {
    std::env::var_os("IDLEWISE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from)
}

/// Whether a test goes through all that it could (`make thorough`), and not through the part that `make test` has time for.
pub fn thorough() -> bool {
    std::env::var_os("IDLEWISE_THOROUGH").is_some_and(|value| !value.is_empty())
}

/// All of `cases` where [`thorough`]; else at most `few` of them, evenly spread, and at another place in each part, so that combinations
/// that were counted through do not all lack the same.
pub fn some_of<T>(cases: Vec<T>, few: usize) -> Vec<T> {
    let step = if thorough() { 1 } else { cases.len().div_ceil(few) };
    let taken = |i: usize| i % step == i / step % step;
    cases.into_iter().enumerate().filter(|(i, _)| taken(*i)).map(|(_, case)| case).collect()
}

/// The versions of Debian's kernels in whose tree a test compiles: the newest whose archive is in `IDLEWISE_KERNEL_SOURCES`, or unpacked
/// in the folder of the lab already; all of them where [`thorough`]. Without one, 6.12, which the lab then fetches.
pub fn kernels_to_compile_in(lab: &Path) -> Vec<&'static str> {
    let sources = std::env::var_os("IDLEWISE_KERNEL_SOURCES").map(PathBuf::from);
    let is_there = |version: &&str| {
        let name = format!("linux-source-{version}");
        let archive = sources.iter().map(|folder| folder.join(format!("{name}.tar.xz")));
        archive.chain([lab.join("source").join(&name)]).any(|path| path.exists())
    };
    let there: Vec<&str> = ["7.3", "6.12"].into_iter().filter(is_there).collect();
    match there.len() {
        0 => vec!["6.12"],
        all => there[..if thorough() { all } else { 1 }].to_vec(),
    }
}

/// The number in an environment variable that a benchmark is set by.
pub fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}
